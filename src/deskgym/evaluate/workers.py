"""Many episodes at once in several processes, each with an event loop of its own."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from typing import Final, NamedTuple

from deskgym.errors import DeskgymError, UsageError
from deskgym.evaluate.episode import EpisodeSpec, Play
from deskgym.evaluate.flight import Finished, OpenStage, play_numbered

JOIN_TIMEOUT_S: Final = 5.0


class WorkerLost(DeskgymError):
    """A process that ran episodes ended by itself, as one does that the system kills."""


class _Order(NamedTuple):
    """An episode on its way to a process."""

    number: int
    spec: EpisodeSpec


class _Crew:
    """The processes, each with the number of episodes that it is at."""

    def __init__(self, open_stage: OpenStage, jobs: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.processes: Final[list[SpawnProcess]] = []
        self.load: Final[dict[Connection, int]] = {}
        for _ in range(jobs):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, open_stage), daemon=True)
            process.start()
            theirs.close()
            self.processes.append(process)
            self.load[ours] = 0

    def dismiss(self) -> None:
        """End every process: each ends when its pipe closes."""
        for connection in self.load:
            connection.close()
        for process in self.processes:
            process.join(JOIN_TIMEOUT_S)
            if process.is_alive():
                process.kill()
                process.join()


def spread(
    specs: Sequence[EpisodeSpec], open_stage: OpenStage, concurrency: int, jobs: int
) -> Iterator[Finished]:
    """Run episodes in several processes and yield each when it ends.

    Args:
        specs: what to run.
        open_stage: opens what plays them, in each process.
        concurrency: how many are run at once, in all processes together.
        jobs: how many processes.

    Raises:
        UsageError: what is asked for cannot be.
        WorkerLost: a process ended by itself.
    """
    waiting = deque(_Order(number, spec) for number, spec in enumerate(specs))
    each = max(1, -(-concurrency // jobs))
    crew = _Crew(open_stage, min(jobs, len(specs)))
    try:
        _assign(crew, waiting, each)
        while any(crew.load.values()):
            for ready in wait(list(crew.load)):
                assert isinstance(ready, Connection), "only connections are waited for"
                yield _receive(crew, ready)
                _assign(crew, waiting, each)
    finally:
        crew.dismiss()


def _assign(crew: _Crew, waiting: deque[_Order], each: int) -> None:
    """Give every process work, one episode each in turn, until each has its fill."""
    for level in range(each):
        for connection, load in crew.load.items():
            if load <= level and waiting:
                with suppress(BrokenPipeError):  # found again, and told, when it is waited for
                    connection.send(waiting.popleft())
                crew.load[connection] += 1


def _receive(crew: _Crew, connection: Connection) -> Finished:
    try:
        finished: Finished | UsageError = connection.recv()
    except (EOFError, ConnectionResetError) as error:
        raise WorkerLost(
            "a process that ran episodes ended by itself (was memory short?); "
            "the episodes that it was at are not recorded"
        ) from error
    if isinstance(finished, UsageError):
        raise finished
    crew.load[connection] -= 1
    return finished


def _work(connection: Connection, open_stage: OpenStage) -> None:
    """Run what the pipe brings until it closes; an interrupt is for the process that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(connection, open_stage))


async def _serve(connection: Connection, open_stage: OpenStage) -> None:
    loop = asyncio.get_running_loop()
    orders: asyncio.Queue[_Order] = asyncio.Queue()

    def listen() -> None:
        while True:
            try:
                order = connection.recv()
            except (EOFError, OSError):
                # Whoever asked is gone, perhaps killed: nobody wants what is still running.
                os._exit(0)
            loop.call_soon_threadsafe(orders.put_nowait, order)

    Thread(target=listen, daemon=True).start()

    async def run(order: _Order, play: Play) -> None:
        try:
            connection.send(await play_numbered(order.number, order.spec, play))
        except UsageError as error:
            connection.send(UsageError(str(error)))

    # Another exception ends the process, which closes the pipe, of which whoever asked is told.
    async with open_stage() as play, asyncio.TaskGroup() as group:
        while True:
            group.create_task(run(await orders.get(), play))
