"""`python -m examples.learn`: train a policy, evaluate it beside other agents, draw its curve."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from examples.learn.curve import draw, read_log
from examples.learn.evaluation import HELD_OUT_SEEDS, Row, evaluate, figures
from examples.learn.training import Interrupted, Plan, progress_bar, train, write_log
from examples.learn.vec_env import Outcome

DOCUMENT = """\
Trains a small policy on the back office's threads by reward alone, evaluates it on seeds that it
was not trained on beside the null, random, eager and careful agents, and draws its curve.
It writes policy.zip, log.csv, figures.json and curve.png."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, evaluate, draw; 1 where the policy does not do what it is meant to."""
    asked = _parser().parse_args(arguments)
    plan = Plan(steps=asked.steps, seconds_max=asked.seconds_max, seed=asked.seed)
    folder: Path = asked.out
    folder.mkdir(parents=True, exist_ok=True)
    before = None
    if asked.go_on:
        before = Interrupted(folder / "policy.zip", read_log(folder / "log.csv"))
    with progress_bar() as progress:
        model, log = train(plan, progress, before)
        seeds = HELD_OUT_SEEDS[: asked.seeds]
        found = evaluate(model, plan.tasks, seeds, progress)
    model.save(folder / "policy.zip")
    write_log(log, folder / "log.csv")
    rows = [figures(name, outcomes) for name, outcomes in found.items()]
    document = figures_document(plan, log, found)
    (folder / "figures.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    draw(log, rows, folder / "curve.png")
    _print(rows, found["learnt"])
    return _verdict(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m examples.learn",
        description=DOCUMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan = Plan()
    parser.add_argument("--steps", type=int, default=plan.steps, help="actions (%(default)s)")
    parser.add_argument(
        "--seconds-max", type=float, default=plan.seconds_max,
        help="when to stop at the latest, in seconds (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--go-on", action="store_true",
        help="go on from the policy in the folder, which its time ended before all steps",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=plan.seed, help="of the policy (%(default)s)")
    parser.add_argument(
        "--seeds", type=int, default=len(HELD_OUT_SEEDS),
        help="held-out seeds of each task to evaluate on (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=Path("out/learn"), help="where to write (%(default)s)"
    )
    return parser


def figures_document(
    plan: Plan, log: Sequence[dict[str, float]], found: dict[str, list[Outcome]]
) -> dict[str, Any]:
    """The figures, with what they depend on."""
    rows = [figures(name, outcomes) for name, outcomes in found.items()]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {
            name: version(name) for name in ("deskgym", "gymnasium", "sb3-contrib", "torch")
        },
        "python": platform.python_version(),
        "plan": {"steps": plan.steps, "seconds_max": plan.seconds_max, "seed": plan.seed},
        "held_out_seeds": len(found["learnt"]) // len(plan.tasks),
        "trained": {"steps": log[-1]["steps"], "seconds": log[-1]["seconds"]},
        "agents": [row._asdict() for row in rows],
        "learnt": [row._asdict() for row in _by_task(found["learnt"])],
    }


def _by_task(outcomes: Sequence[Outcome]) -> list[Row]:
    tasks = dict.fromkeys(outcome.task for outcome in outcomes)
    return [figures(task, [one for one in outcomes if one.task == task]) for task in tasks]


def _print(rows: Sequence[Row], learnt: Sequence[Outcome]) -> None:
    console = Console()
    for title, first, shown in (
        ("On held-out seeds", "agent", rows),
        ("The learnt policy", "task", _by_task(learnt)),
    ):
        table = Table(title=title)
        for name in (first, "reward", "resolved", "in a trap", "traps"):
            table.add_column(name, justify="left" if name in (first, "traps") else "right")
        for row in shown:
            traps = ", ".join(f"{name} {times}" for name, times in row.traps.items())
            table.add_row(
                row.agent, f"{row.reward:.2f}", f"{row.resolved:.0%}", f"{row.trapped:.1%}", traps
            )
        console.print(table)


def _verdict(rows: Sequence[Row]) -> int:
    by_name = {row.agent: row for row in rows}
    learnt, eager, careful = (by_name[name] for name in ("learnt", "eager", "careful"))
    held = {
        "it earns more than eager": learnt.reward > eager.reward,
        "it is in a trap no more often than careful": learnt.trapped <= careful.trapped,
    }
    for claim, holds in held.items():
        print(f"{'yes' if holds else 'NO '}  {claim}")
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
