"""The log of live episodes: the few statements that every step and every claim runs.

They are written in SQLAlchemy Core, compiled once, and run by the driver itself: through Core a
step's insertion takes 200 µs on a SQLite file, by the driver 16 (`python -m benchmarks runstore`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Float,
    Integer,
    Text,
    bindparam,
    func,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from deskgym.errors import TooManyEpisodes
from deskgym.runstore.chain import StoredStep
from deskgym.runstore.database import Database, Driver
from deskgym.runstore.tables import actions, episodes, scores

_CREATED_COLUMNS: Final = (
    "id", "suite", "task", "seed", "parameters", "rubric", "agent", "holder", "token_hash",
    "status", "owner", "chain", "version", "created_ms",
)  # fmt: skip
_READ_COLUMNS: Final = (
    "id", "suite", "task", "seed", "parameters", "rubric", "agent", "holder", "token_hash",
    "status", "outcome", "ended", "steps", "reward", "digest", "owner", "chain", "version",
    "created_ms", "ended_ms",
)  # fmt: skip
_LIMIT_LOCK: Final = 4_923_017_554_120_634
"""An advisory lock's number: whoever counts live episodes in order to add some holds it."""

# Written out: every other value of these statements is a parameter of the caller's.
_LIVE: Final = literal_column("'live'", Text)
_ZERO: Final = literal_column("0", Integer)


class EpisodeRow(NamedTuple):
    """An episode's row, by the names of its columns; see `tables.episodes`."""

    id: str
    suite: str
    task: str
    seed: int
    parameters: str
    rubric: str
    agent: str
    holder: str | None
    token_hash: str | None
    status: str
    outcome: str | None
    ended: str | None
    steps: int | None
    reward: float | None
    digest: str | None
    owner: str
    chain: str
    version: str
    created_ms: int
    ended_ms: int | None


class Ending(NamedTuple):
    """How an episode ended, as it is stored with its last step or at its closing."""

    status: str
    outcome: str
    ended: str | None
    steps: int
    reward: float
    verdict: str
    digest: str
    rubric: str
    score: str


class Entry(NamedTuple):
    """A step to add to an episode's log, and the ending that comes with it, if it is the last."""

    episode: str
    step: StoredStep
    ending: Ending | None


class Statements:
    """The statements of one kind of database."""

    def __init__(self, *, postgres: bool) -> None:
        insert = postgres_insert if postgres else sqlite_insert
        live = (episodes.c.id == bindparam("id"), episodes.c.status == _LIVE)
        owned = (*live, episodes.c.owner == bindparam("owner"))
        number = bindparam("number", type_=Integer)
        rows = select(
            episodes.c.id,
            number,
            *(bindparam(name, type_=Text) for name in ("action", "result", "changes", "ended")),
            bindparam("chain", type_=Text),
            bindparam("worker", type_=Text),
            bindparam("created_ms", type_=BigInteger),
            bindparam("reply", type_=Text),
        ).where(*owned)
        # The row's lock keeps a claim waiting until the step is in or out; SQLite has one writer.
        rows = rows.with_for_update() if postgres else rows
        columns = (
            "episode", "number", "action", "result", "changes", "ended", "chain", "worker",
            "created_ms", "reply",
        )  # fmt: skip
        self.append = insert(actions).from_select(columns, rows).on_conflict_do_nothing()
        taken = (
            select(func.coalesce(func.max(actions.c.number), _ZERO))
            .where(actions.c.episode == episodes.c.id)
            .scalar_subquery()
        )
        self.create = (
            insert(episodes)
            .values({name: bindparam(name) for name in _CREATED_COLUMNS})
            .on_conflict_do_nothing()
        )
        self.claim = update(episodes).where(*live).values(owner=bindparam("new_owner"))
        self.finish = (
            update(episodes)
            .where(*owned, taken == bindparam("taken", type_=Integer))
            .values(
                status=bindparam("new_status", type_=Text),
                outcome=bindparam("outcome", type_=Text),
                ended=bindparam("ended", type_=Text),
                steps=bindparam("taken", type_=Integer),
                reward=bindparam("reward", type_=Float),
                digest=bindparam("digest", type_=Text),
                ended_ms=bindparam("ended_ms", type_=BigInteger),
            )
        )
        self.score = (
            insert(scores)
            .values({column.name: bindparam(column.name) for column in scores.columns})
            .on_conflict_do_nothing()
        )
        self.read = select(*(episodes.c[name] for name in _READ_COLUMNS)).where(
            episodes.c.id == bindparam("id")
        )
        self.standing = select(episodes.c.status, taken).where(episodes.c.id == bindparam("id"))
        self.since = (
            select(*(actions.c[name] for name in StoredStep._fields))
            .where(actions.c.episode == bindparam("id"), actions.c.number > number)
            .order_by(actions.c.number)
        )
        self.writer = select(actions.c.chain, actions.c.worker).where(
            actions.c.episode == bindparam("id"), actions.c.number == number
        )
        self.set_token = (
            update(episodes)
            .where(episodes.c.id == bindparam("id"))
            .values(token_hash=bindparam("new_hash"))
        )
        self.live = select(func.count()).select_from(episodes).where(episodes.c.status == _LIVE)
        self.live_of = self.live.where(episodes.c.holder == bindparam("holder"))
        self.lock = text(f"SELECT pg_advisory_xact_lock({_LIMIT_LOCK})")


class Limits(NamedTuple):
    """How many episodes may be live at once: in all, and of one holder; None for any number."""

    live_max: int | None = None
    live_max_per_holder: int | None = None


class EpisodeLog:
    """The database's side of live episodes, for one worker.

    Attributes:
        worker: the token by which this worker owns episodes.
    """

    def __init__(self, database: Database, worker: str) -> None:
        self.worker: Final = worker
        self._database: Final = database
        self._sql: Final = Statements(postgres=database.postgres)

    def create(self, rows: Sequence[Mapping[str, object]], limits: Limits) -> list[bool]:
        """Add episodes; for each whether it was added, or its id was there already.

        Raises:
            TooManyEpisodes: with them more would be live than the limits allow; none was added.
        """

        def work(driver: Driver) -> list[bool]:
            self._check(driver, rows, limits)
            added = self._database.execute_each(driver, self._sql.create, rows)
            return [count == 1 for count in added]

        if len(rows) == 1 and limits == (None, None):
            return self._database.run(work)  # a statement is a transaction by itself
        return self._database.transaction(work)

    def _check(self, driver: Driver, rows: Sequence[Mapping[str, object]], limits: Limits) -> None:
        if limits == (None, None):
            return
        execute = self._database.execute
        if self._database.postgres:
            execute(driver, self._sql.lock, {})
        if limits.live_max is not None:
            live = execute(driver, self._sql.live, {}).fetchone()[0]
            if live + len(rows) > limits.live_max:
                raise TooManyEpisodes(
                    f"{live} episodes are live, and at most {limits.live_max} may be; close some"
                )
        if limits.live_max_per_holder is None:
            return
        for holder in {row["holder"] for row in rows} - {None}:
            asked = sum(row["holder"] == holder for row in rows)
            live = execute(driver, self._sql.live_of, {"holder": holder}).fetchone()[0]
            if live + asked > limits.live_max_per_holder:
                raise TooManyEpisodes(
                    f"{live} of your episodes are live, and at most "
                    f"{limits.live_max_per_holder} may be; close some"
                )

    def append(self, entries: Sequence[Entry], now_ms: int) -> list[bool]:
        """Store steps in one transaction; for each whether it is stored.

        A step is stored only where this worker owns the episode, it is live, and the number is
        free; and once, even where the connection was lost and the statement is run again.
        """
        rows = [self._step_values(entry, now_ms) for entry in entries]

        def one(driver: Driver) -> list[bool]:
            return [self._database.execute(driver, self._sql.append, rows[0]).rowcount == 1]

        def several(driver: Driver) -> list[bool]:
            counts = self._database.execute_each(driver, self._sql.append, rows)
            kept = [count == 1 for count in counts]
            stored = {
                entry.episode for entry, is_kept in zip(entries, kept, strict=True) if is_kept
            }
            ended = [
                (entry.episode, entry.ending)
                for entry in entries
                if entry.ending is not None and entry.episode in stored
            ]
            self._finish(driver, ended, now_ms)
            return kept

        if len(entries) == 1 and entries[0].ending is None:
            kept = self._database.run(one)
        else:
            kept = self._database.transaction(several)
        return [
            is_kept or self._is_ours(entry) for entry, is_kept in zip(entries, kept, strict=True)
        ]

    def finish(self, endings: Sequence[tuple[str, Ending]], now_ms: int) -> list[bool]:
        """End episodes in one transaction; for each whether it was ended.

        One ends only where this worker owns it, it is live, and it has just the ending's steps.
        """
        if not endings:
            return []
        return self._database.transaction(lambda driver: self._finish(driver, endings, now_ms))

    def claim(self, episode: str) -> bool:
        """Make this worker the owner of a live episode; False where there is none."""
        values = {"id": episode, "new_owner": self.worker}
        return self._database.run(
            lambda driver: self._database.execute(driver, self._sql.claim, values).rowcount == 1
        )

    def read(self, episode: str) -> EpisodeRow | None:
        """An episode's row."""
        found = self._fetch(self._sql.read, {"id": episode})
        return EpisodeRow(*found[0]) if found else None

    def standing(self, episode: str) -> tuple[str, int] | None:
        """An episode's status, and how many steps are stored."""
        found = self._fetch(self._sql.standing, {"id": episode})
        return (found[0][0], found[0][1]) if found else None

    def steps_after(self, episode: str, number: int) -> list[StoredStep]:
        """The steps that are stored after a number, in order."""
        found = self._fetch(self._sql.since, {"id": episode, "number": number})
        return [StoredStep(*row) for row in found]

    def set_token(self, episode: str, token_hash: str | None) -> bool:
        """Set the hash of an episode's token; whether there is such an episode."""
        values = {"id": episode, "new_hash": token_hash}
        return self._database.run(
            lambda driver: self._database.execute(driver, self._sql.set_token, values).rowcount == 1
        )

    def count_live(self, holder: str | None) -> int:
        """How many episodes are live, in all or of one holder."""
        if holder is None:
            return self._fetch(self._sql.live, {})[0][0]
        return self._fetch(self._sql.live_of, {"holder": holder})[0][0]

    def _fetch(self, statement: Any, values: Mapping[str, object]) -> list[Any]:
        return self._database.run(
            lambda driver: self._database.execute(driver, statement, values).fetchall()
        )

    def _is_ours(self, entry: Entry) -> bool:
        """Whether a step that was not added is there because this worker had added it.

        That is so where the connection was lost after the commit: the second attempt finds it.
        """
        found = self._fetch(self._sql.writer, {"id": entry.episode, "number": entry.step.number})
        return bool(found) and tuple(found[0]) == (entry.step.chain, self.worker)

    def _step_values(self, entry: Entry, now_ms: int) -> dict[str, object]:
        return {
            "id": entry.episode,
            "owner": self.worker,
            "worker": self.worker,
            "created_ms": now_ms,
            **entry.step._asdict(),
        }

    def _finish(
        self, driver: Driver, endings: Sequence[tuple[str, Ending]], now_ms: int
    ) -> list[bool]:
        rows = [self._finish_values(episode, ending, now_ms) for episode, ending in endings]
        counts = self._database.execute_each(driver, self._sql.finish, rows)
        done = [count == 1 for count in counts]
        scores_made = [
            _score_values(episode, ending, now_ms)
            for (episode, ending), is_done in zip(endings, done, strict=True)
            if is_done
        ]
        self._database.execute_each(driver, self._sql.score, scores_made)
        return done

    def _finish_values(self, episode: str, ending: Ending, now_ms: int) -> dict[str, object]:
        return {
            "id": episode,
            "owner": self.worker,
            "new_status": ending.status,
            "outcome": ending.outcome,
            "ended": ending.ended,
            "taken": ending.steps,
            "reward": ending.reward,
            "digest": ending.digest,
            "ended_ms": now_ms,
        }


def _score_values(episode: str, ending: Ending, now_ms: int) -> dict[str, object]:
    return {
        "episode": episode,
        "number": ending.steps,
        "rubric": ending.rubric,
        "reward": ending.reward,
        "verdict": ending.verdict,
        "document": ending.score,
        "created_ms": now_ms,
    }
