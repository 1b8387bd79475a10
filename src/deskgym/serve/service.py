"""The service: what every door works with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, ParamSpec, TypeVar

from starlette.responses import Response
from starlette.types import Scope

from deskgym.desk import CustomerReply
from deskgym.errors import DeskgymError
from deskgym.runstore import Created, NewEpisode, NextStep, RunStore, open_run_store
from deskgym.serve.access import Hosts, Keys
from deskgym.serve.metrics import Metrics
from deskgym.serve.problem import Problem
from deskgym.serve.settings import Settings
from deskgym.store import Engine
from deskgym.trajectory import Action, Observation

P = ParamSpec("P")
T = TypeVar("T")


def _no_page(scope: Scope, problem: Problem) -> Response | None:
    return None


class Service:
    """The episodes, recordings, keys and settings of one worker process.

    A door awaits `step` for an action, and `run` for any other call on `episodes` or `store`: on a
    SQLite file they are made inline, which is fastest; on a server's database in a thread, where
    steps that come in together are stored in one transaction.

    Attributes:
        settings: how the server serves.
        store: the run store.
        episodes: its live episodes.
        keys: the trainers' keys.
        hosts: the hosts that a request may name.
        metrics: what is counted.
        imports: the paths that recordings are sent to, whose bodies may be as large as a recording.
        refusal: a page that tells a browser of a request that no door sees; None for programs.
    """

    def __init__(self, settings: Settings, store: RunStore | None = None) -> None:
        self.settings: Final = settings
        # Worlds live in this process, whichever database keeps the log: that is far faster, and
        # any other process rebuilds them from it.
        self._engine: Final = Engine(settings.worlds_max)
        self.store: Final = store or open_run_store(settings.database, engine=self._engine)
        self.episodes: Final = self.store.episodes(
            environments_max=settings.environments_max,
            live_max=settings.live_max,
            live_max_per_holder=settings.live_max_per_key,
        )
        self.keys: Final = Keys(settings.keys)
        self.hosts: Final = Hosts(settings)
        self.metrics: Final = Metrics(self.episodes.count_live)
        self.imports: Final = {"/api/recordings"}
        self.refusal: Callable[[Scope, Problem], Response | None] = _no_page
        self._inline: Final = not self.store.database.postgres
        self._waiting: list[tuple[NextStep, asyncio.Future[Observation]]] = []
        self._storing: asyncio.Task[None] | None = None

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something that uses the database."""
        if self._inline:
            return work(*args, **kwargs)
        return await asyncio.to_thread(work, *args, **kwargs)

    async def create(self, new: Sequence[NewEpisode]) -> list[Created]:
        """Start episodes, all or none. Raises what `Episodes.create_many` raises."""
        made = await self.run(self.episodes.create_many, new)
        self.metrics.created.inc(len(made))
        return made

    async def step(
        self,
        id: str,
        action: Action,
        number: int | None = None,
        reply: CustomerReply | None = None,
    ) -> Observation:
        """Take one action; it is stored when this returns. Raises what `Episodes.step` raises."""
        self.metrics.steps.inc()
        if self._inline:
            return self.episodes.step(id, action, number, reply=reply)
        future: asyncio.Future[Observation] = asyncio.get_running_loop().create_future()
        self._waiting.append((NextStep(id, action, number, reply), future))
        if self._storing is None:
            self._storing = asyncio.create_task(self._store_waiting())
        return await future

    async def step_many(self, steps: Sequence[NextStep]) -> list[Observation | DeskgymError]:
        """Take actions of many episodes. Raises what `Episodes.step_many` raises."""
        self.metrics.steps.inc(len(steps))
        return await self.run(self.episodes.step_many, steps)

    async def _store_waiting(self) -> None:
        """Store what waits, one transaction after another; what comes meanwhile is the next."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._store(batch)
        finally:
            self._storing = None

    async def _store(self, batch: list[tuple[NextStep, asyncio.Future[Observation]]]) -> None:
        try:
            steps = [step for step, _ in batch]
            answers = await asyncio.to_thread(self.episodes.step_many, steps)
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue  # its client has gone
            if isinstance(answer, DeskgymError):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def close(self) -> None:
        """Give memory and connections back. Episodes stay as they are stored."""
        self.episodes.shut()
        self.store.close()
        self._engine.close()
