"""`deskgym audit`: attack the rewards of tasks, and say what was found."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from deskgym.audit.attacks import ATTACKS
from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.page import page
from deskgym.audit.report import Report, report_of, sentence_of
from deskgym.audit.run import Piece, chosen_attacks, pieces, run_pieces
from deskgym.cli.console import (
    AsJson,
    Seeds,
    counted,
    err,
    escape,
    out,
    parse_seeds,
    print_json,
    table,
    tracked,
)
from deskgym.errors import UsageError
from deskgym.task import SEED_MAX

ROWS_MAX: Final = 60
"""A table with more rows is printed when it is asked for."""

FINDINGS_MAX: Final = 20


def audit(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUITE|TASK", help="What to audit; all suites by default."),
    ] = None,
    seeds: Seeds = "0-19",
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            metavar="NAME",
            help=f"Only this attack; may be repeated: {', '.join(item.name for item in ATTACKS)}.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many processes; one a core by default.")
    ] = None,
    page_file: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a page.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the findings' runs as recordings."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite files that exist.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Print long tables too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Attack tasks' rewards: who is paid has solved it, and who solves it is paid.

    deskgym audit                              all suites, 20 seeds
    deskgym audit service --seeds 0-99         one suite, more seeds
    deskgym audit backoffice/late-return --attack adversaries --tables
    deskgym audit --html audit.html --out findings.jsonl

    It exits with 1 if anything was found. A finding's recording is looked at with `deskgym show`.
    """
    chosen = parse_seeds(seeds)
    if max(chosen) > SEED_MAX:
        raise UsageError(f"a seed is at most {SEED_MAX}, not {max(chosen)}")
    work = pieces(names or [], chosen, attacks or [])
    files = [item for item in (page_file, file) if item is not None]
    _check_files(files, force=force)
    report = _run(work, chosen, attacks or [], jobs or os.cpu_count() or 1)
    if page_file is not None:
        page_file.write_text(page(report), encoding="utf-8")
    if file is not None:
        _write_recordings(report, file)
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report, tables=tables)
    if report.findings:
        raise typer.Exit(1)


def _check_files(files: list[Path], *, force: bool) -> None:
    """Find out that a file cannot be written before the work is done."""
    for file in files:
        if file.exists() and not force:
            raise UsageError(f"{file} exists; --force overwrites it")
        try:
            with file.open("ab"):
                pass
            if not file.stat().st_size:
                file.unlink()  # an interrupted audit leaves nothing behind
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror}") from error


def _run(work: list[Piece], seeds: list[int], attacks: list[str], jobs: int) -> Report:
    started = time.perf_counter()
    sections: list[Section] = []
    try:
        sections.extend(tracked(run_pieces(work, jobs=jobs), len(work), "audit"))
    except KeyboardInterrupt:
        err.print("stopped; nothing was written")
        raise typer.Exit(130) from None
    tasks = dict.fromkeys(f"{piece.suite}/{task}" for piece in work for task in piece.tasks)
    return report_of(
        sections, attacks=chosen_attacks(attacks), tasks=tuple(tasks), seeds=seeds,
        elapsed_s=time.perf_counter() - started, jobs=jobs,
    )  # fmt: skip


def _write_recordings(report: Report, file: Path) -> None:
    with file.open("wb") as lines:
        for finding in report.findings:
            recording = finding.recording()
            if recording is not None:
                lines.write(recording.to_json() + b"\n")


def _print(report: Report, *, tables: bool) -> None:
    rows = table(
        "attack", "what has to hold", "episodes", "CPU s", "findings",
        right=("episodes", "CPU s", "findings"), whole=("attack",),
    )  # fmt: skip
    for section in report.sections:
        rows.add_row(
            section.attack,
            sentence_of(section.attack),
            f"{section.trajectories:,}",
            f"{section.cpu_s:.1f}",
            str(len(section.findings)),
        )
    out.print(rows)
    left_out = 0
    for section in report.sections:
        for item in section.tables:
            if len(item.rows) <= ROWS_MAX or tables:
                _print_table(item)
            else:
                left_out += 1
    if left_out:
        out.print(
            f"\n{counted(left_out, 'long table')} left out; --tables prints them, --html and "
            "--json hold them."
        )
    _print_accepted(report)
    _print_findings(report.findings)
    out.print(
        f"\n{counted(len(report.findings), 'finding')} in {report.trajectories:,} episodes of "
        f"{counted(len(report.tasks), 'task')} over {counted(len(report.seeds), 'seed')}, "
        f"{report.elapsed_s:.0f} s, deskgym {report.version}."
    )


def _print_table(item: Table) -> None:
    numbers = [
        name
        for at, name in enumerate(item.columns)
        if item.rows and all(isinstance(row[at], int | float) for row in item.rows)
    ]
    out.print(f"\n[bold]{escape(item.title)}[/]")
    rows = table(*item.columns, right=tuple(numbers))
    for row in item.rows:
        rows.add_row(*(escape(str(cell)) for cell in row))
    out.print(rows)


def _print_accepted(report: Report) -> None:
    if not report.accepted:
        return
    actors: dict[str, list[str]] = {}
    for item in report.accepted:
        of_task = actors.setdefault(item.id, [])
        if item.by not in of_task:
            of_task.append(item.by)
    out.print("\n[bold]paid, and right by the suite's second opinion[/]")
    rows = table("task", "who", whole=("task",))
    for task, names in actors.items():
        rows.add_row(task, escape(", ".join(names)))
    out.print(rows)


def _print_findings(findings: tuple[Finding, ...]) -> None:
    for item in findings[:FINDINGS_MAX]:
        out.print(f"\n[red]FOUND[/] {escape(str(item))}")
    if len(findings) > FINDINGS_MAX:
        out.print(
            f"\n… and {len(findings) - FINDINGS_MAX} more; --json and --html list all, --out "
            "writes their runs."
        )
