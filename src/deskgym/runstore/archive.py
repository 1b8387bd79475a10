"""Recordings in the database: saved whole, found by what they were and what they earned."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, Final, Literal, NamedTuple

import orjson
from sqlalchemy import Column, ColumnElement, Select, bindparam, delete, func, insert, select
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from deskgym.errors import UnknownName, UsageError
from deskgym.recording import InvalidRecording, Recording, parse
from deskgym.rubric.held import broken_of
from deskgym.runstore.database import Database, Driver
from deskgym.runstore.page import Fields, Order, Page, checked_limit, page_of
from deskgym.runstore.tables import broken_checks, documents, recordings

Sort = Literal["newest", "oldest", "highest", "lowest"]
_ORDERS: Final[Mapping[str, Order]] = {
    "newest": Order(recordings, "created_ms"),
    "oldest": Order(recordings, "created_ms", descending=False),
    "highest": Order(recordings, "reward"),
    "lowest": Order(recordings, "reward", descending=False),
}
_SAVED_AT_ONCE: Final = 200

Origin = Literal["own", "uploaded"]
"""Whether a recording was run here, or made elsewhere and brought in."""

NAME_CHARACTERS_MAX: Final = 200
"""How much of a name is kept to find a recording by: an index takes no text of any length."""
NAMES_MAX: Final = 1_000
"""How many names of agents or checks are told of."""
_NAMES: Final = frozenset({"suite", "agent", "rubric", "verdict"})


@dataclass(frozen=True)
class RecordingSummary:
    """What a list shows of a recording.

    Attributes:
        id: the recording's id in this database.
        episode: the stored episode that it is of, or None.
        evaluation: the evaluation run that it belongs to, or None.
        task: the task's id.
        status: `reward`, `invalid` or `error`.
        bytes: the document's size.
        hash: the recording's seal: equal recordings have equal ones.
        created_ms: when it was saved, in milliseconds since 1970.
        origin: `own`, or `uploaded`.
    """

    id: str
    episode: str | None
    evaluation: str | None
    task: str
    seed: int
    parameters: dict[str, int]
    agent: str
    rubric: str
    status: str
    reward: float
    verdict: str
    ended: str | None
    steps: int
    bytes: int
    hash: str
    created_ms: int
    origin: str

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class RecordingFilter:
    """Which recordings; what is None does not matter. Values are data, and compared exactly.

    `broken` is the name of a check that did not hold, or of a ceiling or gate: see `broken_of`.
    """

    suite: str | None = None
    task: str | None = None
    agent: str | None = None
    rubric: str | None = None
    status: str | None = None
    verdict: str | None = None
    evaluation: str | None = None
    episode: str | None = None
    hash: str | None = None
    seed: int | None = None
    reward_min: float | None = None
    reward_max: float | None = None
    origin: str | None = None
    broken: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """The filter as conditions on the table."""
        found: list[ColumnElement[bool]] = []
        for name in (
            "suite", "agent", "rubric", "status", "verdict", "evaluation", "episode", "hash",
            "seed", "origin",
        ):  # fmt: skip
            value = getattr(self, name)
            if value is not None:
                found.append(
                    recordings.c[name] == (_name(value) if name in _NAMES else comparable(value))
                )
        if self.broken is not None:
            broke = select(broken_checks.c.recording).where(
                broken_checks.c.name == comparable(self.broken)
            )
            found.append(recordings.c.id.in_(broke))
        if self.task is not None:
            suite, slash, task = comparable(self.task).rpartition("/")
            found.append(recordings.c.task == task)
            if slash:
                found.append(recordings.c.suite == suite)
        if self.reward_min is not None:
            found.append(recordings.c.reward >= self.reward_min)
        if self.reward_max is not None:
            found.append(recordings.c.reward <= self.reward_max)
        return found


def comparable(value: Any) -> Any:
    """A value that every database takes: texts without NUL or halves of characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise UsageError(f"{value} is too large a number to look for")
    return value


def _name(text: str) -> str:
    """A name as it is kept to find a recording by."""
    return comparable(text)[:NAME_CHARACTERS_MAX]


class _Rows(NamedTuple):
    """A recording's row, that of its document, and those of what it broke."""

    row: dict[str, object]
    document: dict[str, object]
    broken: list[dict[str, object]]


class Recordings:
    """The recordings of a run store."""

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        self._database: Final = database
        self._now_ms: Final = now_ms
        self._turns: Final = count()
        insert_new = postgres_insert if database.postgres else sqlite_insert
        self._add: Final = (
            insert_new(recordings)
            .values({column.name: bindparam(column.name) for column in recordings.columns})
            .on_conflict_do_nothing()
        )
        self._of_episode: Final = select(recordings.c.id).where(
            recordings.c.episode == bindparam("episode")
        )
        self._add_document: Final = insert_new(documents).values(
            {column.name: bindparam(column.name) for column in documents.columns}
        )
        self._add_broken: Final = insert_new(broken_checks).values(
            {column.name: bindparam(column.name) for column in broken_checks.columns}
        )

    def save(
        self, recording: Recording, *, evaluation: str | None = None, origin: Origin = "own"
    ) -> str:
        """Save a recording, of an evaluation run or of none; its id.

        Raises:
            InvalidRecording: no database takes it: its seed has more than 64 bits.
        """
        return self.save_many([recording], evaluation=evaluation, origin=origin)[0]

    def save_many(
        self,
        items: Iterable[Recording],
        *,
        evaluation: str | None = None,
        origin: Origin = "own",
    ) -> list[str]:
        """Save recordings, some at a time in a transaction each; their ids. Raises as `save`."""
        ids: list[str] = []
        batch: list[_Rows] = []
        for recording in items:
            batch.append(self._rows(recording, None, evaluation, origin))
            if len(batch) == _SAVED_AT_ONCE:
                ids.extend(self._insert(batch))
                batch = []
        ids.extend(self._insert(batch))
        return ids

    def save_episode(self, recording: Recording, episode: str) -> None:
        """Save a stored episode's recording, unless it has one: workers may close it at once."""
        row, document, broken = self._rows(recording, episode, None, "own")

        def work(driver: Driver) -> None:
            if self._database.execute(driver, self._add, row).rowcount == 1:
                self._database.execute(driver, self._add_document, document)
                self._database.execute_each(driver, self._add_broken, broken)

        self._database.transaction(work)

    def import_(self, recording: Recording) -> tuple[str, bool]:
        """Save a recording, unless an equal one is there; its id, and whether it was saved.

        Raises as `save`.
        """
        known = self._id_of(recordings.c.hash == recording.hash)
        if known is not None:
            return known, False
        return self.save(recording, origin="uploaded"), True

    def get(self, id: str) -> Recording:
        """A recording, checked whole.

        Raises:
            UnknownName: there is none of that id.
            InvalidRecording: it was changed since it was saved.
        """
        return parse(self.document(id), f"the recording {id}")

    def document(self, id: str) -> str:
        """A recording's JSON as it was saved; raises `UnknownName`."""
        wanted = comparable(id)
        with self._database.read() as connection:
            found = connection.execute(
                select(documents.c.document).where(documents.c.recording == wanted)
            ).scalar_one_or_none()
        if found is None:
            raise UnknownName("recording", id, ())
        return found

    def of_episode(self, episode: str) -> str | None:
        """The JSON of an episode's recording, or None where it has none."""
        statement = (
            select(documents.c.document)
            .join(recordings, recordings.c.id == documents.c.recording)
            .where(recordings.c.episode == comparable(episode))
        )
        with self._database.read() as connection:
            return connection.execute(statement).scalar_one_or_none()

    def has_episode(self, episode: str) -> bool:
        """Whether an episode has a recording."""
        values = {"episode": episode}
        return self._database.run(
            lambda driver: (
                self._database.execute(driver, self._of_episode, values).fetchone() is not None
            )
        )

    def summary(self, id: str) -> RecordingSummary:
        """What a list shows of a recording; raises `UnknownName`."""
        statement = select(recordings).where(recordings.c.id == comparable(id))
        with self._database.read() as connection:
            row = connection.execute(statement).mappings().one_or_none()
        if row is None:
            raise UnknownName("recording", id, ())
        return _summary(row)

    def list(
        self,
        which: RecordingFilter = RecordingFilter(),
        *,
        sort: Sort = "newest",
        limit: int = 50,
        page: str | None = None,
    ) -> Page[RecordingSummary]:
        """A page of the recordings that fit a filter.

        Args:
            which: the filter.
            sort: by when they were saved, or by reward.
            limit: how many, at most 1,000.
            page: the token that came with the page before; None for the first.

        Raises:
            UsageError: the order, the limit or the token is none.
        """
        statement = page_statement(which, sort, limit, page)
        with self._database.read() as connection:
            rows = connection.execute(statement).mappings().all()
        return page_of(rows, limit, _ORDERS[sort], _summary)

    def count(self, which: RecordingFilter = RecordingFilter()) -> int:
        """How many recordings fit a filter."""
        statement = select(func.count()).select_from(recordings).where(*which.conditions())
        with self._database.read() as connection:
            return connection.execute(statement).scalar_one()

    def broken(self) -> list[str]:
        """The names of what any recording broke, in order: what `RecordingFilter.broken` takes."""
        return self._distinct(broken_checks.c.name)

    def broken_by(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """What each of some recordings broke, by its id; those that broke nothing are left out."""
        statement = (
            select(broken_checks)
            .where(broken_checks.c.recording.in_(map(comparable, ids)))
            .order_by(broken_checks.c.recording, broken_checks.c.name)
        )
        found: dict[str, list[str]] = {}
        with self._database.read() as connection:
            for row in connection.execute(statement):
                found.setdefault(row.recording, []).append(row.name)
        return found

    def agents(self) -> list[str]:
        """The names of the agents that any recording is of, in order."""
        return self._distinct(recordings.c.agent)

    def _distinct(self, column: Column[Any]) -> list[str]:
        """The values of a column, by steps through its index, however many rows there are."""
        found = select(func.min(column).label("value")).cte(recursive=True)
        following = select(func.min(column)).where(column > found.c.value).scalar_subquery()
        found = found.union_all(select(following).where(found.c.value.is_not(None)))
        statement = select(found.c.value).where(found.c.value.is_not(None)).limit(NAMES_MAX)
        with self._database.read() as connection:
            return list(connection.execute(statement).scalars())

    def each(self, which: RecordingFilter = RecordingFilter()) -> Iterator[tuple[str, Recording]]:
        """The recordings that fit a filter with their ids, oldest first, few in memory at once."""
        token: str | None = None
        while True:
            page = self.list(which, sort="oldest", limit=_SAVED_AT_ONCE, page=token)
            for item in page.items:
                yield item.id, self.get(item.id)
            token = page.next
            if token is None:
                return

    def delete(self, id: str) -> None:
        """Delete a recording; raises `UnknownName`."""
        with self._database.begin() as connection:
            gone = connection.execute(
                delete(recordings).where(recordings.c.id == comparable(id))
            ).rowcount
        if not gone:
            raise UnknownName("recording", id, ())

    def _id_of(self, condition: ColumnElement[bool]) -> str | None:
        statement = select(recordings.c.id).where(condition).order_by(recordings.c.created_ms)
        with self._database.read() as connection:
            return connection.execute(statement.limit(1)).scalar_one_or_none()

    def _insert(self, batch: list[_Rows]) -> list[str]:
        if not batch:
            return []
        with self._database.begin() as connection:
            connection.execute(insert(recordings), [item.row for item in batch])
            connection.execute(insert(documents), [item.document for item in batch])
            broken = [row for item in batch for row in item.broken]
            if broken:
                connection.execute(insert(broken_checks), broken)
        return [str(item.row["id"]) for item in batch]

    def _rows(
        self, recording: Recording, episode: str | None, evaluation: str | None, origin: Origin
    ) -> _Rows:
        header, footer = recording.header, recording.footer
        if abs(header.seed) >= 2**63:
            raise InvalidRecording(f"the recording's seed, {header.seed}, has more than 64 bits")
        suite, _, task = header.task.partition("/")
        document = recording.to_json().decode()
        now_ms = self._now_ms()
        row: dict[str, object] = {
            # Sorts by time, and within a millisecond by turn.
            "id": f"{now_ms:012x}{next(self._turns) % 0x10000:04x}{secrets.token_hex(4)}",
            "episode": episode,
            "evaluation": evaluation,
            "suite": _name(suite),
            "task": _name(task),
            "seed": header.seed,
            "parameters": orjson.dumps(header.parameters).decode(),
            "agent": _name(header.agent),
            "rubric": _name(header.rubric),
            "status": footer.status,
            "reward": recording.reward,
            "verdict": _name(footer.score["verdict"]),
            "ended": None if footer.ended is None else _name(footer.ended),
            "steps": len(recording.steps),
            "bytes": len(document.encode()),
            "hash": recording.hash,
            "created_ms": now_ms,
            "origin": origin,
        }
        names = broken_of(footer.score) if footer.status == "reward" else ()
        broken = [
            {"recording": row["id"], "name": name} for name in dict.fromkeys(map(_name, names))
        ]
        return _Rows(row, {"recording": row["id"], "document": document}, broken)


def page_statement(which: RecordingFilter, sort: Sort, limit: int, page: str | None) -> Select[Any]:
    """A page's query, of a row more than the page has."""
    if sort not in _ORDERS:
        raise UnknownName("order of recordings", sort, _ORDERS)
    statement: Select[Any] = select(recordings).where(*which.conditions())
    return _ORDERS[sort].after(statement, page).limit(checked_limit(limit) + 1)


def _summary(row: Fields) -> RecordingSummary:
    fields: dict[str, Any] = {name: row[name] for name in RecordingSummary.__dataclass_fields__}
    fields["task"] = f"{row['suite']}/{row['task']}"
    fields["parameters"] = orjson.loads(row["parameters"])
    return RecordingSummary(**fields)
