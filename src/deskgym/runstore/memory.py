"""The live episodes that a worker process holds in memory, each behind a lock of its own."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Final

import orjson

from deskgym.environment import Environment
from deskgym.errors import DatabaseDamaged, UnknownEpisode
from deskgym.runstore.chain import opening_chain
from deskgym.runstore.log import EpisodeLog, EpisodeRow
from deskgym.runstore.rebuild import environment_of, replayed
from deskgym.store import WorldEngine

ID_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Live:
    """An episode in this process's memory. Whoever holds `lock` may use it.

    `environment` is None until it is built; `gone` says that it was dropped from memory while
    somebody waited for the lock.
    """

    __slots__ = ("chain", "environment", "gone", "lock", "owned", "row")

    def __init__(self) -> None:
        self.lock: Final = Lock()
        self.environment: Environment | None = None
        self.row: EpisodeRow | None = None
        self.chain = ""
        self.owned = False
        self.gone = False


def built(live: Live) -> tuple[Environment, EpisodeRow]:
    """The environment and the row of an episode that is held."""
    assert live.environment is not None, "a held episode is built"
    assert live.row is not None, "a built episode has its row"
    return live.environment, live.row


class Memory:
    """The episodes of one worker, up to a bound; others are built from what is stored of them."""

    def __init__(self, log: EpisodeLog, engine: WorldEngine, environments_max: int) -> None:
        self._log: Final = log
        self._engine: Final = engine
        self._environments_max: Final = environments_max
        self._lock: Final = RLock()
        self._live: Final[OrderedDict[str, Live]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._live)

    def keep(self, environment: Environment, row: EpisodeRow) -> None:
        """Hold an episode that this worker has just made and stored."""
        live = Live()
        live.environment, live.row, live.chain, live.owned = environment, row, row.chain, True
        with self._lock:
            self._live[row.id] = live
        self._evict()

    def clear(self) -> None:
        """Drop every environment; the episodes stay as they are stored."""
        with self._lock:
            ids = list(self._live)
        for id in ids:
            with self._lock:
                live = self._live.get(id)
            if live is not None:
                with live.lock:
                    self.forget(id, live)

    @contextmanager
    def held(self, id: str, *, own: bool) -> Generator[Live]:
        """An episode in memory, built if it was not, and locked."""
        live = self._locked(id)
        try:
            if live.environment is None or (own and not live.owned):
                self._build(id, live, own=own)
            yield live
        except BaseException:
            if live.environment is None:
                self.forget(id, live)
            raise
        finally:
            live.lock.release()

    def _locked(self, id: str) -> Live:
        while True:
            with self._lock:
                live = self._live.get(id)
                if live is None:
                    live = self._live[id] = Live()
                self._live.move_to_end(id)
            live.lock.acquire()
            if not live.gone:
                return live
            live.lock.release()

    def row(self, id: str) -> EpisodeRow:
        """An episode's row; raises `UnknownEpisode`, also for what no id can be."""
        row = self._log.read(id) if ID_PATTERN.fullmatch(id) else None
        if row is None:
            raise _unknown(id)
        return row

    def _build(self, id: str, live: Live, *, own: bool) -> None:
        """Take an episode over, if it is to be owned, and build it as it is stored then."""
        live.owned = own and ID_PATTERN.fullmatch(id) is not None and self._log.claim(id)
        if live.environment is None:
            live.row = self.row(id)
            live.environment, live.chain = self.rebuilt(live.row)
            self._evict()
        else:
            self.refresh(id, live)
        # A closed episode has no owner any more, and nobody adds to it.
        live.owned = live.owned or (live.row is not None and live.row.status != "live")

    def refresh(self, id: str, live: Live) -> None:
        """Catch up with what other workers stored since."""
        environment, row = built(live)
        standing = self._log.standing(id)
        if standing is None:
            self.forget(id, live)
            raise _unknown(id)
        status, count = standing
        if count < len(environment.steps):
            self.forget(id, live)
            raise DatabaseDamaged(f"steps of the episode {id} are stored no more")
        if count > len(environment.steps):
            live.owned = False
            steps = self._log.steps_after(id, len(environment.steps))
            live.chain = replayed(id, environment, steps, live.chain)
        if status != row.status:
            live.row = self._log.read(id)

    def rebuilt(
        self, row: EpisodeRow, after_step: Callable[[Environment], None] | None = None
    ) -> tuple[Environment, str]:
        """A stored episode's environment, from its actions, and the hash of its chain."""
        environment = environment_of(
            f"{row.suite}/{row.task}", orjson.loads(row.parameters), row.rubric, self._engine
        )
        environment.reset(row.seed)
        if opening_chain(environment) != row.chain:
            raise DatabaseDamaged(
                f"the episode {row.id} starts otherwise than when deskgym {row.version} made it: "
                "its row was changed, or its task is of another version"
            )
        steps = self._log.steps_after(row.id, 0)
        if row.steps is not None and row.steps != len(steps):
            raise DatabaseDamaged(
                f"the episode {row.id} ended after {row.steps} steps, and {len(steps)} are stored"
            )
        return environment, replayed(row.id, environment, steps, row.chain, after_step)

    def forget(self, id: str, live: Live) -> None:
        """Drop an episode from memory; its lock is held."""
        live.gone = True
        with self._lock:
            if self._live.get(id) is live:
                del self._live[id]
        if live.environment is not None:
            live.environment.close()

    def _evict(self) -> None:
        """Drop what was used longest ago, down to the bound; what is in use stays."""
        with self._lock:
            surplus = len(self._live) - self._environments_max
            if surplus <= 0:
                return
            oldest = list(self._live.items())[: surplus + 1]
        for id, live in oldest[:surplus]:
            if live.lock.acquire(blocking=False):
                try:
                    self.forget(id, live)
                finally:
                    live.lock.release()


def _unknown(id: str) -> UnknownEpisode:
    return UnknownEpisode(f"there is no episode {id!r}: it was never made, or it was pruned")
