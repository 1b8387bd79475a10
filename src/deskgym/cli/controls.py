"""`deskgym controls` and `deskgym sweep`: what scripted runs must earn against what they do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final

import typer
from rich.padding import Padding
from rich.table import Table

from deskgym.cli.console import (
    AsJson,
    Seeds,
    counted,
    escape,
    out,
    parse_seeds,
    print_json,
    reward_text,
    table,
    tracked,
)
from deskgym.cli.keeping import Worlds, worlds_in
from deskgym.errors import UsageError
from deskgym.evaluate import ControlRun, run_controls, run_sweep
from deskgym.rubric import Verdict
from deskgym.suite import find_tasks, load_suite
from deskgym.testing.gate import GateResult, Rewards, is_gated, judge_rewards

BOARD_COLUMNS_MIN: Final = 120
"""How wide a terminal has to be for the board to be a table."""

Name = Annotated[
    str | None, typer.Argument(metavar="SUITE|TASK", help="A suite or a task; all by default.")
]
Rubrics = Annotated[
    list[str] | None,
    typer.Option("--rubric", help="A version of the rubric; may be repeated; all by default."),
]


def controls(
    name: Name = None,
    seeds: Seeds = "0",
    rubric: Rubrics = None,
    database: Worlds = None,
    as_json: AsJson = False,
) -> None:
    """Run the controls, scripted runs whose reward is known: expected against got, and why."""
    chosen = parse_seeds(seeds)
    found = find_tasks([name] if name else [])
    versions = sum(len(task.controls) * len(rubric or suite.rubrics) for suite, task in found)
    names = [f"{suite.name}/{task.name}" for suite, task in found]
    with worlds_in(database) as engine:
        runs = run_controls(names, seeds=chosen, rubrics=rubric or (), engine=engine)
        done = list(tracked(runs, versions * len(chosen), "controls"))
    gates = _gates(done)
    if as_json:
        print_json([_as_json(item) for item in done])
    else:
        if len(chosen) > 1:
            out.print(_over_seeds(done))
        elif out.width < BOARD_COLUMNS_MIN:
            _print_narrow(done)
        else:
            out.print(board(done))
        _print_summary(done, gates)
    if not all(item.holds for item in done) or not all(gate.passes for gate in gates):
        raise typer.Exit(1)


def _by_control(done: Iterable[ControlRun]) -> list[list[ControlRun]]:
    groups: dict[tuple[str, int], list[ControlRun]] = {}
    for item in done:
        groups.setdefault((item.suite.name, item.number), []).append(item)
    return list(groups.values())


def _print_narrow(done: list[ControlRun]) -> None:
    """The board on a narrow terminal: what changed and why stand below each run."""
    for group in _by_control(done):
        first = group[0]
        rewards = dict.fromkeys(reward_text(item.reward) for item in group)
        out.print(
            f"[bold]{first.number:>3}[/] {first.task.name}: {escape(first.control.title)}\n"
            f"    reward {_colored(first, ' / '.join(rewards))}, expected {_expected(group)}"
            + (f", {_verdict(first)}" if _hold(group) else " [red]FAILS[/]")
        )
        changes = [change.summary() for change in first.changes] or ["no row changed"]
        for line in (*changes, *first.score.breakdown.reasons()):
            out.print(Padding(escape(line), (0, 0, 0, 4)))


def board(done: list[ControlRun]) -> Table:
    """Each control with its reward by every version, the rows that it changed, and why."""
    rows = table(
        "#",
        "task",
        "control",
        "reward",
        "expected",
        "rows changed",
        "why",
        right=("#",),
        whole=("task",),
    )
    rows.padding = (0, 2, 1, 0)  # a line between runs
    for group in _by_control(done):
        first = group[0]
        why = [_verdict(first), *first.score.breakdown.reasons()]
        rewards = dict.fromkeys(reward_text(item.reward) for item in group)
        rows.add_row(
            str(first.number),
            first.task.name,
            escape(first.control.title),
            _colored(first, " / ".join(rewards)),
            _expected(group) + ("" if _hold(group) else " [red]FAILS[/]"),
            escape("\n".join(change.summary() for change in first.changes)) or "none",
            escape("\n".join(why)),
        )
    return rows


_COLORS: Final[dict[Verdict, str]] = {
    "resolved": "green",
    "partial": "yellow",
    "not_resolved": "red",
}


def _verdict(run: ControlRun) -> str:
    return run.score.verdict.replace("_", " ")


def _colored(run: ControlRun, text: str) -> str:
    """The reward in the color of its verdict, which stands in words beside it."""
    return f"[{_COLORS[run.score.verdict]}]{text}[/]"


def _over_seeds(done: list[ControlRun]) -> Table:
    """Each control with its lowest and highest reward over the seeds."""
    rows = table(
        "#", "task", "control", "kind", "expected", "lowest", "highest", "as expected",
        right=("#", "expected", "lowest", "highest", "as expected"),
        whole=("task", "kind"),
    )  # fmt: skip
    for group in _by_control(done):
        first = group[0]
        held = sum(item.holds for item in group)
        rows.add_row(
            str(first.number),
            first.task.name,
            escape(first.control.title),
            first.control.kind,
            _expected(group),
            reward_text(min(item.reward for item in group)),
            reward_text(max(item.reward for item in group)),
            f"{held}/{len(group)}" + ("" if held == len(group) else " [red]FAILS[/]"),
        )
    return rows


def _expected(group: Iterable[ControlRun]) -> str:
    """What a control must earn; several amounts where the versions judge it otherwise."""
    return " / ".join(dict.fromkeys(reward_text(item.expected) for item in group))


def _hold(group: Iterable[ControlRun]) -> bool:
    return all(item.holds for item in group)


def _gates(done: Iterable[ControlRun]) -> list[GateResult]:
    """The gates of the tasks that have a control of every kind.

    The default version of a rubric has to tell right from wrong. An older one is kept for its
    known faults.
    """
    runs: dict[tuple[str, str], list[ControlRun]] = {}
    for item in done:
        if is_gated(item.task) and item.score.rubric == item.suite.rubric().version:
            runs.setdefault((item.suite.name, item.task.name), []).append(item)
    results: list[GateResult] = []
    for group in runs.values():
        suite, task = group[0].suite, group[0].task
        rewards: Rewards = {}
        for item in group:
            of_kind = rewards.setdefault(item.control.kind, {})
            of_kind.setdefault(item.control.name, []).append(item.reward)
        results.append(judge_rewards(suite, task, rewards))
    return results


def _print_summary(done: list[ControlRun], gates: list[GateResult]) -> None:
    """What holds, in a few lines, and each thing that does not."""
    versions = ", ".join(sorted({item.score.rubric for item in done}))
    out.print(f"\nBy {versions}:")
    for what, gated in (("scripts", False), ("controls", True)):
        groups = [group for group in _by_control(done) if is_gated(group[0].task) == gated]
        tasks = {(group[0].suite.name, group[0].task.name) for group in groups}
        if groups:
            held = sum(map(_hold, groups))
            of = counted(len(tasks), "gated task" if gated else "task")
            out.print(f"{held} of {len(groups)} {what} of {of} earn what they must")
    for version in dict.fromkeys(gate.rubric for gate in gates):
        of_version = [gate for gate in gates if gate.rubric == version]
        passed = sum(gate.passes for gate in of_version)
        out.print(f"{passed} of {counted(len(of_version), 'gate')} pass by {version}")
    for item in done:
        if not item.holds:
            out.print(
                f"[red]FAILS[/] {item.task.name} {item.control.name} seed {item.seed} by "
                f"{item.score.rubric}: {item.reward} and not {item.expected}"
            )
    for gate in gates:
        for reason in gate.reasons:
            out.print(f"[red]FAILS[/] the gate of {gate.task} by {gate.rubric}: {escape(reason)}")


def _as_json(item: ControlRun) -> dict[str, Any]:
    return {
        "number": item.number,
        "task": f"{item.suite.name}/{item.task.name}",
        "control": item.control.name,
        "kind": item.control.kind,
        "seed": item.seed,
        "rubric": item.score.rubric,
        "expected": item.expected,
        "reward": item.reward,
        "holds": item.holds,
        "verdict": item.score.verdict,
        "actions": item.actions,
        "changes": [change.to_dict() for change in item.changes],
        "breakdown": item.score.breakdown.to_dict(),
    }


def sweep(
    suite: Annotated[str, typer.Argument(help="A suite that has a sweep.")],
    database: Worlds = None,
    as_json: AsJson = False,
) -> None:
    """Run every script over a grid of parameters, against rewards worked out from the rules."""
    owner = load_suite(suite)
    if not owner.sweep:
        raise UsageError(f"the suite {suite} has no sweep; service has one")
    total = sum(len(case.rewards) for case in owner.sweep)
    with worlds_in(database) as engine:
        done = list(tracked(run_sweep(owner, engine=engine), total, "runs"))
    failed = [item for item in done if not item.holds]
    if as_json:
        print_json([item.to_dict() for item in done])
    else:
        rows = table("task", "script", "runs", "rewards", "as expected", right=("runs",))
        for key in dict.fromkeys((item.case.task, item.case.control) for item in done):
            group = [item for item in done if (item.case.task, item.case.control) == key]
            rewards = sorted({item.expected for item in group}, reverse=True)
            held = sum(item.holds for item in group)
            rows.add_row(
                *key,
                str(len(group)),
                ", ".join(map(reward_text, rewards)),
                f"{held}/{len(group)}",
            )
        out.print(rows)
        out.print(f"\n{len(done) - len(failed)} of {len(done)} runs earn what the rules say.")
        for item in failed:
            out.print(f"[red]FAILS[/] {item}")
    if failed:
        raise typer.Exit(1)
