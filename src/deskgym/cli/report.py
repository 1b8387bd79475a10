"""`deskgym report` and `deskgym compare`: what results say, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from deskgym.cli.console import AsJson, counted, escape, out, print_json, table
from deskgym.cli.recordings import shown_and_stored
from deskgym.errors import UsageError
from deskgym.evaluate import EpisodeResult, read_results
from deskgym.evaluate.compare import compare as compare_results
from deskgym.evaluate.markdown import markdown
from deskgym.evaluate.page import page
from deskgym.evaluate.report import report_on
from deskgym.evaluate.text import Section, comparison_sections, sections

TITLE = "deskgym report"
FILE_HELP = "A file of `deskgym run --out`, or of recordings; @backoffice comes with that suite."
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown instead of tables.")]


def _results(file: Path) -> Iterator[EpisodeResult]:
    shown, stored = shown_and_stored(file)
    yield from read_results(stored, shown)


def report(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help=FILE_HELP)],
    as_markdown: AsMarkdown = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with charts here."),
    ] = None,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing",
            help="Add what a clock measured: how long replies took, and how often a call was made "
            "again. No two runs share it; the rest is the same for the same answers.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Report on results: rewards with intervals, pass^k, tasks, checks, attacks, tokens, cost."""
    made = report_on(result for file in files for result in _results(file))
    if html is not None:
        try:
            html.write_text(page(TITLE, made, timing=timing), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{html} cannot be written: {error.strerror}") from error
    if as_json:
        print_json([item.to_dict(timing=timing) for item in made])
    elif html is None or as_markdown:
        _print(sections(made, timing=timing), TITLE, as_markdown=as_markdown)
    else:
        out.print(escape(f"{html} shows {counted(len(made), 'agent')}"))


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help=FILE_HELP)],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one, or the same.")],
    agent_a: Annotated[
        str | None, typer.Option("--a", metavar="AGENT", help="The agent of A, if it has several.")
    ] = None,
    agent_b: Annotated[
        str | None, typer.Option("--b", metavar="AGENT", help="The agent of B, if it has several.")
    ] = None,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Compare two agents by task and seed: the difference with its interval, and what flipped."""
    made = compare_results(_of(_results(a), agent_a, a), _of(_results(b), agent_b, b))
    if as_json:
        print_json(made.to_dict())
    else:
        _print(comparison_sections(made), "deskgym compare", as_markdown=as_markdown)


def _of(results: Iterable[EpisodeResult], agent: str | None, file: Path) -> list[EpisodeResult]:
    found = list(results)
    if agent is None:
        return found
    chosen = [result for result in found if result.agent == agent]
    if not chosen:
        names = ", ".join(sorted({result.agent for result in found}))
        raise UsageError(f"{file} holds no results of {agent!r} (it holds: {names})")
    return chosen


def _print(made: list[Section], title: str, *, as_markdown: bool) -> None:
    if as_markdown:
        out.file.write(markdown(title, made))
        return
    for place, section in enumerate(made):
        columns = section.columns
        rows = table(*columns, right=columns[section.words :])
        for row in section.rows:
            rows.add_row(*map(escape, row))
        out.print(f"{'' if place == 0 else chr(10)}[bold]{escape(section.title)}[/]")
        out.print(rows)
        if section.note:
            out.print(f"[dim]{escape(section.note)}[/]")
