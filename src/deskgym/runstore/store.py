"""A run store: episodes, recordings and evaluation runs in one database."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

from sqlalchemy import Select, exists, func, select

from deskgym.runstore.address import parse_url, plain_url
from deskgym.runstore.archive import Recordings
from deskgym.runstore.database import CONNECTIONS_MAX, POOL_TIMEOUT_S, Database
from deskgym.runstore.episodes import ENVIRONMENTS_MAX, Episodes
from deskgym.runstore.evaluation import Evaluations
from deskgym.runstore.listing import ANY_EPISODE, EpisodeFilter, list_episodes
from deskgym.runstore.migrate import migrate
from deskgym.runstore.page import Page
from deskgym.runstore.state import EpisodeState
from deskgym.runstore.tables import actions, episodes
from deskgym.store import WorldEngine, default_engine, open_engine


class RunStore:
    """An open run store. One serves a whole process, and all of its threads.

    Each process opens its own: connections are not to be carried over a fork.

    Attributes:
        database: the connections.
        engine: where the worlds of its episodes live.
        recordings: the recordings.
        evaluations: the evaluation runs.
        version: the version of deskgym that writes.
    """

    def __init__(
        self,
        database: Database,
        *,
        engine: WorldEngine | None = None,
        owns_engine: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`open_run_store` is the shorter way; here the schema must be there already.

        Args:
            database: the connections; closed with the store.
            engine: where worlds live; this process's SQLite engine if None.
            owns_engine: whether the engine is closed with the store.
            clock: seconds since 1970.
        """
        self.database: Final = database
        self.engine: Final = engine or default_engine()
        self.version: Final = version("deskgym")
        self._clock: Final = clock
        self._owns_engine: Final = owns_engine
        self.recordings: Final = Recordings(database, self._now_ms)
        self.evaluations: Final = Evaluations(database, self._now_ms, self.version)

    def episodes(
        self,
        *,
        environments_max: int = ENVIRONMENTS_MAX,
        live_max: int | None = None,
        live_max_per_holder: int | None = None,
        record: bool = True,
    ) -> Episodes:
        """A keeper of live episodes for this process; see `Episodes`."""
        return Episodes(
            self,
            environments_max=environments_max,
            live_max=live_max,
            live_max_per_holder=live_max_per_holder,
            record=record,
            clock=self._clock,
        )

    def list_episodes(
        self,
        which: EpisodeFilter = ANY_EPISODE,
        *,
        limit: int = 50,
        page: str | None = None,
    ) -> Page[EpisodeState]:
        """A page of the episodes that fit a filter, newest first.

        Args:
            which: the filter.
            limit: how many, at most 1,000.
            page: the token that came with the page before; None for the first.

        Raises:
            UsageError: the limit or the token is none.
        """
        return list_episodes(self.database, which, limit=limit, page=page)

    def idle_episodes(self, before_ms: int, limit: int, *, id: str | None = None) -> list[str]:
        """Live episodes that took no action since a time; their ids, the oldest first."""
        recent = exists().where(
            actions.c.episode == episodes.c.id, actions.c.created_ms >= before_ms
        )
        statement: Select[Any] = (
            select(episodes.c.id)
            .where(episodes.c.status == "live", episodes.c.created_ms < before_ms, ~recent)
            .order_by(episodes.c.created_ms)
            .limit(limit)
        )
        if id is not None:
            statement = statement.where(episodes.c.id == id)
        with self.database.read() as connection:
            return list(connection.execute(statement).scalars())

    def ping(self) -> None:
        """Ask the database for nothing; raises `InvalidDatabase` where it cannot serve."""
        with self.database.read() as connection:
            connection.execute(
                select(func.count()).select_from(episodes).where(episodes.c.id == "")
            )

    def close(self) -> None:
        """Close the connections. Episodes stay as they are stored."""
        if self._owns_engine:
            self.engine.close()
        self.database.close()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _now_ms(self) -> int:
        return round(self._clock() * 1_000)


def open_run_store(
    url: str,
    *,
    engine: WorldEngine | None = None,
    connections_max: int = CONNECTIONS_MAX,
    pool_timeout_s: float = POOL_TIMEOUT_S,
    clock: Callable[[], float] = time.time,
) -> RunStore:
    """Open the run store of a database, and make or migrate its tables if they are not there.

    Args:
        url: `sqlite:///FILE`, `postgresql://…`, `embedded` or `default`.
        engine: where worlds live; the URL's own where None.
        connections_max: how many connections to a server are open at once.
        pool_timeout_s: how long to wait for a free one.
        clock: seconds since 1970.

    Raises:
        UsageError: the URL is none that deskgym knows.
        MissingExtra: it needs `deskgym[postgres]`.
        InvalidDatabase: the database cannot serve; the message says what to do.
    """
    parsed = parse_url(url)
    database = Database(parsed, connections_max=connections_max, pool_timeout_s=pool_timeout_s)
    try:
        migrate(database)
        own = open_engine(plain_url(parsed)) if engine is None and database.postgres else None
    except BaseException:
        database.close()
        raise
    return RunStore(database, engine=engine or own, owns_engine=own is not None, clock=clock)
