"""Upkeep of a run store: is it what was written, how large is it, and what may go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, and_, delete, exists, func, select, text

from deskgym.errors import InvalidDatabase
from deskgym.recording import InvalidRecording, parse
from deskgym.runstore.chain import StoredStep
from deskgym.runstore.database import Database
from deskgym.runstore.migrate import revision
from deskgym.runstore.tables import (
    HEAD,
    SCHEMA,
    actions,
    documents,
    episodes,
    evaluations,
    metadata,
    recordings,
)

_AT_ONCE: Final = 500
PROBLEMS_MAX: Final = 20
"""How many problems a check lists; it counts all."""

Progress = Callable[[int, int], None]
"""Is told how many of how many episodes and recordings were looked at."""


@dataclass(frozen=True)
class Check:
    """What a check found.

    Attributes:
        database: its URL, without the password.
        revision: the schema's revision; None where there are no tables yet.
        newest: the newest revision that this version knows.
        rows: how many rows each table has.
        live: how many episodes are live.
        bytes: the size of the database's tables, or of the file with its log.
        problems: sentences about what is not as it was written, the first 20.
        problems_found: how many there are.
    """

    database: str
    revision: str | None
    newest: str
    rows: dict[str, int]
    live: int
    bytes: int
    problems: tuple[str, ...]
    problems_found: int

    @property
    def holds(self) -> bool:
        """Whether all is as it was written, and the schema is the newest."""
        return not self.problems_found and self.revision == self.newest

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON."""
        return {**asdict(self), "problems": list(self.problems), "holds": self.holds}


@dataclass(frozen=True)
class Pruned:
    """How much was deleted, and how large the database was before and is now."""

    episodes: int
    recordings: int
    evaluations: int
    bytes_before: int
    bytes_after: int

    def to_dict(self) -> dict[str, int]:
        """The counts as JSON."""
        return asdict(self)


def check(database: Database, progress: Progress = lambda done, total: None) -> Check:
    """Look at everything that is stored: the schema, each episode's hash chain, each recording.

    It changes nothing, and can run beside others.

    Raises:
        InvalidDatabase: it is no run store.
        DatabaseDamaged: the file or server itself says that it is damaged.
    """
    found = revision(database)
    if found != HEAD:
        return Check(database.where, found, HEAD, {}, 0, size_bytes(database), (), 0)
    problems: list[str] = []
    count = 0
    with database.read() as connection:
        rows = {str(table.name): _count(connection, table) for table in metadata.sorted_tables}
        live = connection.execute(
            select(func.count()).select_from(episodes).where(episodes.c.status == "live")
        ).scalar_one()
    total = rows["episodes"] + rows["recordings"]
    done = 0
    for problem in _problems(database):
        if problem is None:
            done += 1
            progress(done, total)
            continue
        count += 1
        if len(problems) < PROBLEMS_MAX:
            problems.append(problem)
    size = size_bytes(database)
    return Check(database.where, found, HEAD, rows, live, size, tuple(problems), count)


def prune(
    database: Database, before_ms: int, *, keep_recordings: bool = False, dry_run: bool = False
) -> Pruned:
    """Delete what ended before a time, and give its space back. Live episodes stay.

    Episodes go with their actions and scores; recordings that were saved before it go too, and
    evaluation runs that started before it and have no later recording.

    Args:
        database: whose rows.
        before_ms: milliseconds since 1970.
        keep_recordings: delete no recording and no evaluation run.
        dry_run: count, and delete nothing.

    Raises:
        DatabaseUnavailable: another process holds it for too long.
    """
    size = size_bytes(database)
    ended = and_(episodes.c.status != "live", episodes.c.ended_ms < before_ms)
    of_live = exists().where(episodes.c.id == recordings.c.episode, episodes.c.status == "live")
    saved = and_(recordings.c.created_ms < before_ms, ~of_live)
    empty = and_(
        evaluations.c.created_ms < before_ms,
        ~exists().where(
            recordings.c.evaluation == evaluations.c.id, recordings.c.created_ms >= before_ms
        ),
    )
    counts = {"episodes": 0, "recordings": 0, "evaluations": 0}
    for table, condition in ((episodes, ended), (recordings, saved), (evaluations, empty)):
        if keep_recordings and table is not episodes:
            continue
        counts[table.name] = _delete(database, table, condition, dry_run=dry_run)
    if not dry_run and any(counts.values()):
        vacuum(database)
    return Pruned(**counts, bytes_before=size, bytes_after=size_bytes(database))


def vacuum(database: Database) -> None:
    """Give the space of deleted rows back, to the system where it can be."""
    with database.connect() as connection:
        if database.postgres:
            names = ", ".join(f"{SCHEMA}.{table.name}" for table in metadata.sorted_tables)
            connection.execute(text(f"VACUUM (ANALYZE) {names}"))
            return
        connection.rollback()
        driver: Any = connection.connection.driver_connection
        driver.execute("VACUUM")
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def size_bytes(database: Database) -> int:
    """How large the tables are with their indexes, or the file with its log."""
    file = database.file
    if file is not None:
        parts = (file, file.with_name(f"{file.name}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())
    with database.read() as connection:
        return connection.execute(
            text(
                "SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
                "JOIN pg_namespace n ON n.oid = c.relnamespace "
                "WHERE n.nspname = :schema AND c.relkind = 'r'"
            ),
            {"schema": SCHEMA},
        ).scalar_one()


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _delete(database: Database, table: Table, condition: Any, *, dry_run: bool) -> int:
    """Delete rows, some at a time, so that writers wait for no long transaction."""
    if dry_run:
        with database.read() as connection:
            statement = select(func.count()).select_from(table).where(condition)
            return connection.execute(statement).scalar_one()
    gone = 0
    while True:
        some = select(table.c.id).where(condition).limit(_AT_ONCE)
        with database.begin() as connection:
            count = connection.execute(delete(table).where(table.c.id.in_(some))).rowcount
        gone += count
        if count < _AT_ONCE:
            return gone


def _problems(database: Database) -> Iterator[str | None]:
    """Each problem as a sentence, and None after each episode and recording."""
    yield from _file_problems(database)
    for id, status, taken, chain in _each(
        database,
        select(episodes.c.id, episodes.c.status, episodes.c.steps, episodes.c.chain),
        episodes.c.id,
    ):
        steps = _steps(database, id)
        problem = _chain_problem(id, chain, steps)
        if problem is None and status != "live" and taken != len(steps):
            problem = f"the episode {id} ended after {taken} steps, and {len(steps)} are stored"
        if problem is not None:
            yield problem
        yield None
    for id, document in _each(
        database, select(documents.c.recording, documents.c.document), documents.c.recording
    ):
        try:
            parse(document, f"the recording {id}")
        except InvalidRecording as error:
            yield str(error)
        yield None
    with database.read() as connection:
        bare = connection.execute(
            select(recordings.c.id).where(~exists().where(documents.c.recording == recordings.c.id))
        ).scalars()
        yield from [f"the recording {id} has no document" for id in bare]


def _file_problems(database: Database) -> Iterator[str]:
    if database.postgres:
        return
    with database.read() as connection:
        for (answer,) in connection.execute(text("PRAGMA quick_check")):
            if answer != "ok":
                yield f"the file is damaged: {answer}"
        for row in connection.execute(text("PRAGMA foreign_key_check")):
            yield f"a row of {row[0]} belongs to none of {row[2]}"


def _each(database: Database, statement: Any, key: Any) -> Iterator[Any]:
    """The rows of a statement in the order of a key, some in memory at a time."""
    last: str | None = None
    while True:
        further = statement if last is None else statement.where(key > last)
        with database.read() as connection:
            rows = connection.execute(further.order_by(key).limit(_AT_ONCE)).all()
        yield from rows
        if len(rows) < _AT_ONCE:
            return
        last = rows[-1][0]


def _steps(database: Database, id: str) -> list[StoredStep]:
    statement = (
        select(*(actions.c[name] for name in StoredStep._fields))
        .where(actions.c.episode == id)
        .order_by(actions.c.number)
    )
    with database.read() as connection:
        return [StoredStep(*row) for row in connection.execute(statement)]


def _chain_problem(id: str, chain: str, steps: list[StoredStep]) -> str | None:
    for place, step in enumerate(steps, start=1):
        if step.number != place:
            return f"step {place} of the episode {id} is missing"
        if not step.holds_after(chain):
            return f"step {place} of the episode {id} was changed after it was stored"
        chain = step.chain
    return None


def require_current(database: Database) -> None:
    """Refuse a database whose schema is not the newest; raises `InvalidDatabase`."""
    found = revision(database)
    if found != HEAD:
        state = "has no run store" if found is None else f"has the older schema {found}"
        raise InvalidDatabase(f"{database.where} {state}; run: deskgym database init")
