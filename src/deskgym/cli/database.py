"""`deskgym database`: make, check, list and prune what is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from deskgym.cli.console import AsJson, counted, err, escape, out, print_json, reward_text, table
from deskgym.cli.keeping import Place
from deskgym.errors import UsageError
from deskgym.store import default_engine

if TYPE_CHECKING:
    from deskgym.runstore.database import Database

DAY_MS: Final = 24 * 60 * 60 * 1_000

app: Final = typer.Typer(
    help="Make, check, list and prune the database where episodes and recordings are kept.",
    no_args_is_help=True,
)


@app.command()
def init(url: Place = None, as_json: AsJson = False) -> None:
    """Make the tables, or migrate those of an older version. Other commands do it by themselves."""
    from deskgym.runstore.migrate import migrate
    from deskgym.runstore.tables import HEAD

    with _database(url) as database:
        before = migrate(database)
        where = database.where
    if as_json:
        print_json({"database": where, "before": before, "revision": HEAD})
    elif before == HEAD:
        out.print(escape(f"{where} has the newest schema, {HEAD}"))
    else:
        done = "made" if before is None else f"migrated from {before}"
        out.print(escape(f"{where}: schema {HEAD} {done}"))


@app.command()
def check(url: Place = None, as_json: AsJson = False) -> None:
    """Check that every episode and recording is as it was written; count and measure them."""
    from deskgym.runstore import upkeep

    with _database(url) as database, _progress("checked") as progress:
        found = upkeep.check(database, progress)
    if as_json:
        print_json(found.to_dict())
    else:
        if found.revision is None:
            out.print(escape(f"{found.database} has no run store; run: deskgym database init"))
        else:
            older = "" if found.revision == found.newest else f", and the newest is {found.newest}"
            out.print(escape(f"{found.database}: schema {found.revision}{older}"))
        rows = table("table", "rows", right=("rows",))
        for name, count in found.rows.items():
            rows.add_row(name, f"{count:,}")
        if found.rows:
            out.print(rows)
            out.print(f"{counted(found.live, 'live episode')}, {_size(found.bytes)}")
        for problem in found.problems:
            out.print(f"[red]FAILS[/] {escape(problem)}")
        if found.revision == found.newest:
            out.print(f"{counted(found.problems_found, 'problem')} found")
    if not found.holds:
        raise typer.Exit(1)


@app.command()
def prune(
    days: Annotated[
        float, typer.Option("--older-than-days", min=0, help="Delete what ended so long ago.")
    ] = 30,
    url: Place = None,
    keep_recordings: Annotated[
        bool, typer.Option("--keep-recordings", help="Delete episodes alone.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and delete nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete episodes that ended, and old recordings, and give the space back. Live ones stay."""
    from deskgym.runstore import upkeep

    with _database(url) as database:
        upkeep.require_current(database)
        before_ms = round(time.time() * 1_000 - days * DAY_MS)
        gone = upkeep.prune(database, before_ms, keep_recordings=keep_recordings, dry_run=dry_run)
    if as_json:
        print_json(gone.to_dict())
        return
    counts = (
        counted(gone.episodes, "episode"),
        counted(gone.recordings, "recording"),
        counted(gone.evaluations, "evaluation run"),
    )
    verb = "would go" if dry_run else "deleted"
    out.print(f"{', '.join(counts)} {verb}")
    out.print(f"{_size(gone.bytes_before)} before, {_size(gone.bytes_after)} now")


@app.command(name="list")
def list_(
    url: Place = None,
    suite: Annotated[str | None, typer.Option(help="Only of this suite.")] = None,
    task: Annotated[str | None, typer.Option(help="Only of this task.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only of this agent.")] = None,
    run: Annotated[str | None, typer.Option(help="Only of this evaluation run.")] = None,
    sort: Annotated[
        str, typer.Option(help="newest, oldest, highest or lowest (by reward).")
    ] = "newest",
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many.")] = 20,
    page: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="The next page's token, as printed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the recordings that are kept. `deskgym show` and `replay` take their ids."""
    from deskgym.runstore import RecordingFilter, open_run_store

    with open_run_store(url or "default", engine=default_engine()) as store:
        which = RecordingFilter(suite=suite, task=task, agent=agent, evaluation=run)
        found = store.recordings.list(which, sort=_sort(sort), limit=limit, page=page)
        total = store.recordings.count(which)
    if as_json:
        items = [item.to_dict() for item in found.items]
        print_json({"recordings": items, "total": total, "next": found.next})
        return
    rows = table(
        "id", "saved", "task", "agent", "seed", "reward", "run",
        right=("seed", "reward"), whole=("id", "saved", "run"),
    )  # fmt: skip
    for item in found.items:
        judged = item.status == "reward"
        rows.add_row(
            item.id,
            _time(item.created_ms),
            escape(item.task),
            escape(item.agent),
            str(item.seed),
            reward_text(item.reward) if judged else item.status,
            item.evaluation or "",
        )
    out.print(rows)
    out.print(f"{len(found.items)} of {counted(total, 'recording')}")
    if found.next is not None:
        out.print(escape(f"further ones: --page {found.next}"))


def _sort(text: str) -> Any:
    if text not in ("newest", "oldest", "highest", "lowest"):
        raise UsageError(f"--sort takes newest, oldest, highest or lowest, not {text!r}")
    return text


@contextmanager
def _database(url: str | None) -> Generator[Database]:
    from deskgym.runstore.address import parse_url
    from deskgym.runstore.database import Database

    database = Database(parse_url(url or "default"))
    try:
        yield database
    finally:
        database.close()


@contextmanager
def _progress(what: str) -> Generator[Callable[[int, int], None]]:
    """Something to call with how much is done, shown on standard error where a person looks."""
    if not err.is_terminal:
        yield _unseen
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(what, total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield show


def _unseen(done: int, total: int) -> None:
    """Nobody looks."""


def _size(count: int) -> str:
    return f"{count / 2**20:,.1f} MB"


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M")
