"""What the commands share: the consoles, the option types, progress and JSON."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, TextIO, TypeVar

import orjson
import typer
from rich import markup
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from deskgym import task
from deskgym.errors import UsageError

T = TypeVar("T")

PIPED_COLUMNS: Final = 120
"""How wide a line is in a file or a pipe, which have no width; COLUMNS says otherwise."""


def columns_of(stream: TextIO, asked: str | None) -> int | None:
    """The width to print with; None leaves it to the terminal or to COLUMNS."""
    if asked is not None and asked.isdecimal() and int(asked) > 0:
        return None
    return None if stream.isatty() else PIPED_COLUMNS


out: Final = Console(highlight=False, width=columns_of(sys.stdout, os.environ.get("COLUMNS")))
err: Final = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seeds = Annotated[
    str, typer.Option("--seeds", metavar="SEEDS", help="Seeds, such as 0-9 or 0,3,5-7.")
]


def parse_seeds(text: str) -> list[int]:
    """The seeds of `--seeds`; raises `UsageError`."""
    return task.parse_seeds(text, "--seeds")


def parse_parameters(settings: Iterable[str]) -> dict[str, int]:
    """Parameters from `name=value`; raises `UsageError`."""
    parameters: dict[str, int] = {}
    for setting in settings:
        match = re.fullmatch(r"(\w+)=(-?\d{1,18})", setting, re.ASCII)
        if match is None:
            raise UsageError(f"--set takes name=number, such as stock=0, not {setting!r}")
        parameters[match[1]] = int(match[2])
    return parameters


_UNSAFE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escape(text: str) -> str:
    """A text to print as it is: no markup, and no character that steers a terminal.

    Names of tools and arguments are whatever an agent wrote.
    """
    return markup.escape(_UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text))


def print_json(value: Any) -> None:
    """Print a value as JSON, in ASCII where the output cannot take all of it."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    try:
        text.encode(out.encoding)
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    out.file.write(f"{text}\n")


def print_what_fits() -> None:
    """Let standard output and error escape what their encoding lacks, and not fail at it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def table(*columns: str, right: tuple[str, ...] = (), whole: tuple[str, ...] = ()) -> Table:
    """A table without rules: columns in `right` stand to the right, those in `whole` never wrap."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        justify = "right" if column in right else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=column in whole)
    return made


def tracked(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """The items, with a progress bar on standard error where a person looks at it."""
    if not sys.stderr.isatty() or total < 2:
        yield from items
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(what, total=total)
        for item in items:
            progress.advance(task)
            yield item


def counted(count: int, noun: str) -> str:
    """A number of things: `1 task`, `2 tasks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def reward_text(reward: float) -> str:
    """A reward with two decimals, or as many as it needs."""
    return f"{reward:.2f}" if round(reward, 2) == reward else f"{reward:.4f}"
