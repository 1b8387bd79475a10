"""`deskgym run`: an agent over tasks and seeds."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from deskgym.agents import find_agent
from deskgym.cli.console import (
    AsJson,
    Seeds,
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
from deskgym.suite import find_tasks


def run(
    name: Annotated[str, typer.Argument(metavar="TASK|SUITE", help="A task's id, or a suite.")],
    agent: Annotated[
        str,
        typer.Option(
            help="Who acts: oracle, null, or another control of the task (see `deskgym tasks`)."
        ),
    ] = "oracle",
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
    """Run an agent on a task or a suite, over seeds, and show what each episode earned."""
    parameters = parse_parameters(settings or [])
    specs = [
        EpisodeSpec(f"{suite.name}/{task.name}", agent, seed, rubric, parameters)
        for suite, task in find_tasks([name])
        for seed in parse_seeds(seeds)
    ]
    _check(specs, name)
    done: list[Recording] = []
    with _opened(file, force=force) as lines:
        for recording in tracked(run_episodes(specs, jobs=jobs), len(specs), "episodes"):
            done.append(recording)
            if lines is not None:
                lines.write(recording.to_json() + b"\n")
                lines.flush()
    if as_json:
        print_json({"episodes": [_as_json(item) for item in done], "mean": _means(done)})
    else:
        _print(done)
    if any(item.footer.status == "error" for item in done):
        raise typer.Exit(1)


def _check(specs: list[EpisodeSpec], name: str) -> None:
    """Find what is wrong with the request before the first episode runs."""
    if not specs:
        raise UsageError(f"{name} has no tasks")
    for suite, task in find_tasks([name]):
        find_agent(task, specs[0].agent)
        Environment(suite, task, parameters=specs[0].parameters, rubric=specs[0].rubric)
    for spec in specs:
        if spec.seed >= 2**31:
            raise UsageError(f"a seed is at most {2**31 - 1}, not {spec.seed}")


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
        "task",
        "agent",
        "seed",
        "reward",
        "verdict",
        "actions",
        "ended",
        right=("seed", "reward"),
        whole=("task",),
    )
    for item in done:
        header, footer = item.header, item.footer
        failed = footer.status != "reward"
        rows.add_row(
            header.task,
            header.agent,
            str(header.seed),
            footer.status if failed else reward_text(item.reward),
            "" if failed else footer.score["verdict"].replace("_", " "),
            str(len(item.steps)),
            footer.ended or "agent stopped",
        )
    out.print(rows)
    for mean in _means(done):
        out.print(
            f"\n{mean['rubric']}: mean reward {mean['reward']:.4f} over {mean['episodes']} "
            f"episodes; {mean['invalid']} invalid, {mean['error']} errors"
        )


def _means(done: list[Recording]) -> list[dict[str, Any]]:
    """The mean reward by rubric: rewards of different versions are never averaged together."""
    means: list[dict[str, Any]] = []
    for version in dict.fromkeys(item.header.rubric for item in done):
        of_version = [item for item in done if item.header.rubric == version]
        rewards = [item.reward for item in of_version if item.footer.status == "reward"]
        means.append(
            {
                "rubric": version,
                "reward": sum(rewards) / len(rewards) if rewards else float("nan"),
                "episodes": len(rewards),
                "invalid": sum(item.footer.status == "invalid" for item in of_version),
                "error": sum(item.footer.status == "error" for item in of_version),
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
        "actions": len(item.steps),
        "ended": item.footer.ended,
    }
