"""`deskgym show`, `replay` and `verify`: recordings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import orjson
import typer

from deskgym.cli.console import AsJson, counted, escape, out, print_json, reward_text, table
from deskgym.cli.keeping import Worlds, kept_recordings, worlds_in
from deskgym.errors import UsageError
from deskgym.evaluate import InvalidResults
from deskgym.evaluate.results_file import check_results
from deskgym.recording import InvalidRecording, Located, RecordedStep, Recording, read, shipped
from deskgym.replay import Replay, final_world, initial_world
from deskgym.replay import replay as replay_recording

FILE_HELP = "A file of recordings; @backoffice is the one that comes with that suite."
KEPT_HELP = f"{FILE_HELP} With --database also the id of a recording, episode or run that it keeps."
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help=FILE_HELP)]
KeptFiles = Annotated[list[Path], typer.Argument(metavar="FILE|ID", help=KEPT_HELP)]


class Named(NamedTuple):
    """A file as a user named it, and where it is."""

    shown: str
    stored: Path


def shown_and_stored(file: Path) -> Named:
    """A file by its path, or by the suite that it comes with; raises `UnknownName`."""
    name = str(file)
    return Named(name, shipped(name[1:]) if name.startswith("@") else file)


def _located(file: Path, database: str | None = None) -> Iterator[Located]:
    name, path = shown_and_stored(file)
    if database is not None and path == file and not file.exists():
        yield from kept_recordings(database, name)
        return
    for located in read(path):
        yield replace(located, where=located.where.replace(str(path), name, 1))


class WorldChoice(StrEnum):
    """Which world to show."""

    initial = "initial"
    final = "final"


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE|ID", help=KEPT_HELP)],
    number: Annotated[
        int, typer.Option("--episode", min=1, help="Which recording of the file, from 1.")
    ] = 1,
    step: Annotated[
        int | None, typer.Option(min=1, help="Show this step whole, from 1; all by default.")
    ] = None,
    world: Annotated[
        WorldChoice | None, typer.Option(help="Show every row of the world, as JSON.")
    ] = None,
    database: Worlds = None,
    as_json: AsJson = False,
) -> None:
    """Step through a recording: each call, its result, the rows that it changed, the score."""
    located = _nth(file, number, database)
    recording = located.recording
    if world is not None:
        pick = initial_world if world is WorldChoice.initial else final_world
        print_json(pick(recording))
        return
    if step is not None and step > len(recording.steps):
        raise UsageError(f"{located.where} has {len(recording.steps)} steps, and no step {step}")
    chosen = recording.steps if step is None else [recording.steps[step - 1]]
    if as_json:
        print_json(recording.model_dump() if step is None else chosen[0].model_dump())
        return
    _print_header(recording)
    for item in chosen:
        _print_step(item)
    if step is None:
        _print_footer(recording)


def _nth(file: Path, number: int, database: str | None) -> Located:
    count = 0
    for count, located in enumerate(_located(file, database), start=1):
        if count == number:
            return located
    raise UsageError(f"{file} has {count} recordings, and no recording {number}")


def _print_header(recording: Recording) -> None:
    header = recording.header
    settings = ", ".join(f"{name} {value}" for name, value in header.parameters.items())
    out.print(
        f"[bold]{escape(header.task)}[/] seed {header.seed}, agent {escape(header.agent)}"
        + (f", {escape(settings)}" if settings else "")
    )
    out.print(escape(str(header.opening["message"])))


def _print_step(item: RecordedStep) -> None:
    out.print(f"\n[bold]#{item.step}[/] {escape(_call_text(item.action))}")
    mark = "ok" if item.result["ok"] else "refused"
    out.print(f"  {mark} {item.result['code']}: {escape(item.result['message'])}")
    if item.result["data"]:
        out.print(f"  {escape(orjson.dumps(item.result['data']).decode())}")
    for change in item.changes:
        for line in change_lines(change):
            out.print(f"  {escape(line)}")
    out.print(f"  reward {reward_text(item.score['reward'])}", end="")
    out.print(f", ended: {item.ended}" if item.ended else "")


def _call_text(action: dict[str, Any]) -> str:
    arguments = action["arguments"]
    if not isinstance(arguments, dict):
        return f"{action['tool']}: {arguments!r}"
    named = cast(dict[str, Any], arguments)
    return f"{action['tool']}({', '.join(f'{key}={value!r}' for key, value in named.items())})"


def change_lines(change: dict[str, Any]) -> list[str]:
    """A row change as lines: the row, then each column that differs, before and after."""
    before: dict[str, Any] = change["before"] or {}
    after: dict[str, Any] = change["after"] or {}
    operation = "add" if not before else "remove" if not after else "change"
    lines = [f"{operation} {change['table']} {'/'.join(map(str, change['key']))}"]
    for name in before or after:
        if not before:
            lines.append(f"  {name}: {after[name]!r}")
        elif not after:
            lines.append(f"  {name}: {before[name]!r}")
        elif before[name] != after.get(name):
            lines.append(f"  {name}: {before[name]!r} -> {after.get(name)!r}")
    return lines


def _print_footer(recording: Recording) -> None:
    footer = recording.footer
    status = "" if footer.status == "reward" else f", {footer.status}"
    taken, steps_max = len(recording.steps), recording.header.opening["steps_max"]
    out.print(
        f"\n[bold]reward {reward_text(recording.reward)}[/] by "
        f"{escape(recording.header.rubric)}{status}, "
        f"ended: {escape(footer.ended or 'agent stopped')}"
    )
    out.print(
        f"{taken} of {steps_max} actions, {counted(len(footer.changes), 'row')} changed, "
        f"world {escape(footer.digest[:12])}"
    )


def verify(files: Files) -> None:
    """Check that recordings are as they were made: nothing changed, missing or reordered."""
    count = failed = 0
    for file in files:
        try:
            for _ in _located(file):
                count += 1
            shown, stored = shown_and_stored(file)
            check_results(stored, shown)
        except (InvalidRecording, InvalidResults) as error:
            failed += 1
            out.print(f"[red]FAILS[/] {escape(str(error))}")
    made, other = counted(count, "recording"), counted(failed, "file")
    out.print(f"{made} read as made; {other} changed or unreadable")
    if failed:
        raise typer.Exit(1)


def _replay_note(made: Replay) -> str:
    if made.difference is None:
        note = "the same"
    else:
        note = f"[red]DIFFERS[/] {escape(str(made.difference))}"
    if made.rescored is None:
        return note
    recorded = reward_text(made.recording.reward)
    return f"{note}; rescored by {made.score.rubric} ({recorded} by {made.rescored})"


def replay(
    files: KeptFiles,
    rubric: Annotated[
        str | None,
        typer.Option(help="Score with this version; the recording's own by default."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print each score in full: what it is made of.")
    ] = False,
    database: Worlds = None,
    as_json: AsJson = False,
) -> None:
    """Re-execute recordings in fresh worlds: every result, row, reward and digest must recur."""
    results: list[dict[str, Any]] = []
    explanations: list[str] = []
    rows = table(
        "recording",
        "task",
        "seed",
        "reward",
        "replayed",
        right=("seed", "reward"),
        whole=("recording", "task"),
    )
    with worlds_in(database) as engine:
        for located in (item for file in files for item in _located(file, database)):
            made = replay_recording(located.recording, rubric=rubric, engine=engine)
            header = located.recording.header
            note = _replay_note(made)
            reward = reward_text(made.score.reward)
            rows.add_row(escape(located.where), escape(header.task), str(header.seed), reward, note)
            if explain:
                explanations.append(f"\n{located.where}: {made.score.explain()}")
            results.append(
                {
                    "recording": located.where,
                    "task": header.task,
                    "seed": header.seed,
                    "rubric": made.score.rubric,
                    "reward": made.score.reward,
                    "recorded_rubric": header.rubric,
                    "recorded_reward": located.recording.reward,
                    "difference": None if made.difference is None else str(made.difference),
                }
            )
    if as_json:
        print_json(results)
    else:
        out.print(rows)
        for explanation in explanations:
            out.print(escape(explanation))
    if any(result["difference"] for result in results):
        raise typer.Exit(1)
