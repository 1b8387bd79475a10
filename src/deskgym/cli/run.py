"""`deskgym run`: an agent over tasks and seeds."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import typer
from rich.padding import Padding

from deskgym.agents import find_agent
from deskgym.cli.console import (
    AsJson,
    Seeds,
    err,
    escape,
    out,
    parse_parameters,
    parse_seeds,
    print_json,
    reward_text,
    table,
    tracked,
)
from deskgym.environment import Environment
from deskgym.errors import UsageError
from deskgym.evaluate import EpisodeSpec, run_episodes
from deskgym.recording import Recording
from deskgym.suite import find_tasks, load_suite
from deskgym.task import SEED_MAX

REASONS_MAX: Final = 24
"""How many runs are explained below the table; --json and the recordings explain all."""


def run(
    name: Annotated[str, typer.Argument(metavar="TASK|SUITE", help="A task's id, or a suite.")],
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="Who acts: oracle, null, a control of the task (see `deskgym tasks --json`), or "
            "on the back office careful and eager. May be repeated; oracle by default.",
        ),
    ] = None,
    seeds: Seeds = "0",
    file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the recordings here, one a line."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite FILE if it exists.")] = False,
    rubric: Annotated[
        str | None, typer.Option(help="The rubric's version; the suite's default otherwise.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=NUMBER", help="A parameter; may be repeated."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="How many processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Run agents on a task or a suite, over seeds, and show what each episode earned, and why."""
    parameters = parse_parameters(settings or [])
    chosen = parse_seeds(seeds)
    specs = [
        EpisodeSpec(f"{suite.name}/{task.name}", agent, seed, rubric, parameters)
        for agent in agents or ["oracle"]
        for suite, task in find_tasks([name])
        for seed in chosen
    ]
    _check(specs)
    done: list[Recording] = []
    try:
        with _opened(file, force=force) as lines:
            for recording in tracked(run_episodes(specs, jobs=jobs), len(specs), "episodes"):
                done.append(recording)
                if lines is not None:
                    lines.write(recording.to_json() + b"\n")
                    lines.flush()
    except KeyboardInterrupt:
        kept = "" if file is None else f"; {file} holds them"
        err.print(escape(f"stopped after {len(done)} of {len(specs)} episodes{kept}"))
        raise typer.Exit(130) from None
    if as_json:
        print_json({"episodes": [_as_json(item) for item in done], "mean": _means(done)})
    else:
        _print(done)
    if any(item.footer.status == "error" for item in done):
        raise typer.Exit(1)


def _check(specs: list[EpisodeSpec]) -> None:
    """Find what is wrong with the request before the first episode runs."""
    for spec in {(item.task, item.agent): item for item in specs}.values():
        suite = load_suite(spec.task.partition("/")[0])
        task = suite.task(spec.task)
        find_agent(suite, task, spec.agent)
        Environment(suite, task, parameters=spec.parameters, rubric=spec.rubric)
    highest = max(spec.seed for spec in specs)
    if highest > SEED_MAX:
        raise UsageError(f"a seed is at most {SEED_MAX}, not {highest}")


@contextmanager
def _opened(file: Path | None, *, force: bool) -> Generator[BinaryIO | None]:
    if file is None:
        yield None
        return
    try:
        with file.open("wb" if force else "xb") as lines:
            yield lines
    except FileExistsError:
        raise UsageError(f"{file} exists; --force overwrites it") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error


def _print(done: list[Recording]) -> None:
    rows = table(
        "task", "agent", "seed", "reward", "actions", "ended",
        right=("seed", "reward", "actions"), whole=("task", "agent", "reward"),
    )  # fmt: skip
    for item in done:
        footer = item.footer
        judged = footer.status == "reward"
        rows.add_row(
            item.header.task,
            item.header.agent,
            str(item.header.seed),
            reward_text(item.reward) if judged else footer.status,
            str(len(item.steps)),
            footer.ended or "agent stopped",
        )
    out.print(rows)
    _print_reasons(done)
    for mean in _means(done):
        reward = "none" if mean["reward"] is None else f"{mean['reward']:.4f}"
        out.print(
            f"\n{mean['agent']} by {mean['rubric']}: mean reward {reward} over "
            f"{mean['episodes']} episodes; {mean['invalid']} invalid, {mean['error']} errors"
        )


def _print_reasons(done: list[Recording]) -> None:
    """What kept each run from the full reward, below the table: a column would be too narrow."""
    short = [item for item in done if item.footer.score["reasons"]]
    for item in short[:REASONS_MAX]:
        header, score = item.header, item.footer.score
        verdict = score["verdict"].replace("_", " ")
        out.print(
            f"\n{escape(header.task)} {escape(header.agent)} seed {header.seed}: "
            f"{reward_text(item.reward)}, {verdict}"
        )
        for reason in score["reasons"]:
            out.print(Padding(escape(reason), (0, 0, 0, 2)))
    if len(short) > REASONS_MAX:
        out.print(f"\n… and {len(short) - REASONS_MAX} more; --json explains each.")


def _means(done: list[Recording]) -> list[dict[str, Any]]:
    """The mean reward by agent and rubric: those of different versions are never averaged."""
    means: list[dict[str, Any]] = []
    for agent, version in dict.fromkeys((item.header.agent, item.header.rubric) for item in done):
        group = [
            item for item in done if (item.header.agent, item.header.rubric) == (agent, version)
        ]
        rewards = [item.reward for item in group if item.footer.status == "reward"]
        means.append(
            {
                "agent": agent,
                "rubric": version,
                "reward": sum(rewards) / len(rewards) if rewards else None,
                "episodes": len(rewards),
                "invalid": sum(item.footer.status == "invalid" for item in group),
                "error": sum(item.footer.status == "error" for item in group),
            }
        )
    return means


def _as_json(item: Recording) -> dict[str, Any]:
    return {
        "task": item.header.task,
        "agent": item.header.agent,
        "seed": item.header.seed,
        "parameters": item.header.parameters,
        "rubric": item.header.rubric,
        "status": item.footer.status,
        "reward": item.reward if item.footer.status == "reward" else None,
        "verdict": item.footer.score["verdict"],
        "reasons": item.footer.score["reasons"],
        "actions": len(item.steps),
        "ended": item.footer.ended,
    }
