"""Many episodes at once in one process, on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from queue import SimpleQueue
from threading import Thread
from typing import Final, NamedTuple

from deskgym.evaluate.episode import EpisodeSpec, Play
from deskgym.evaluate.result import Episode, EpisodeResult, parse_episode

OpenStage = Callable[[], AbstractAsyncContextManager[Play]]
"""Opens what plays episodes in an event loop; a function of a module, so that other processes
find it."""


START_INTERVAL_S: Final = 0.003
START_MAX_S: Final = 0.2
"""How long the first episodes wait for each other, and all of them together at most, in seconds.

A provider does not get them all at once; and where its replies take equally long, those that were
asked for together would come back together, and wait for each other every time.
"""


class Finished(NamedTuple):
    """An episode that has ended.

    Attributes:
        number: its place among those that were asked for, from 0.
        line: the episode as a line of a results file.
    """

    number: int
    result: EpisodeResult
    line: bytes

    def episode(self) -> Episode:
        """The episode with its recording."""
        return parse_episode(self.line, str(self.result.key))


async def play_numbered(number: int, spec: EpisodeSpec, play: Play) -> Finished:
    """Run an episode, and note which it was."""
    episode = await play(spec)
    return Finished(number, episode.result, episode.to_line())


async def fly(
    specs: Sequence[EpisodeSpec], play: Play, concurrency: int
) -> AsyncGenerator[Finished]:
    """Run episodes, at most `concurrency` at once, and yield each when it ends."""
    waiting = enumerate(specs)
    landed: asyncio.Queue[Finished | asyncio.Task[None]] = asyncio.Queue()

    async def fly_one_after_another(place: int) -> None:
        # The next starts where one ends, without waiting for whoever takes the result.
        await asyncio.sleep(place * min(START_INTERVAL_S, START_MAX_S / concurrency))
        for number, spec in waiting:
            landed.put_nowait(await play_numbered(number, spec, play))

    places = min(concurrency, len(specs))
    flying = [asyncio.create_task(fly_one_after_another(place)) for place in range(places)]
    for task in flying:
        task.add_done_callback(landed.put_nowait)
    ended = 0
    try:
        while ended < places:
            match await landed.get():
                case Finished() as finished:
                    yield finished
                case task:
                    task.result()  # raises what ended it
                    ended += 1
    finally:
        for task in flying:
            task.cancel()
        await asyncio.gather(*flying, return_exceptions=True)


class _Ended(NamedTuple):
    """What a loop's thread says last: what it failed with, or None if all episodes have ended."""

    error: BaseException | None


def fly_here(
    specs: Sequence[EpisodeSpec], open_stage: OpenStage, concurrency: int
) -> Iterator[Finished]:
    """The same for a caller without an event loop, who is not waited for.

    The loop has a thread of its own: an interrupt then reaches the caller at once, wherever the
    loop is, and never breaks into it.
    """
    news: SimpleQueue[Finished | _Ended] = SimpleQueue()
    loop = asyncio.new_event_loop()
    stopped = asyncio.Event()

    async def fly_until_stopped() -> None:
        flight = asyncio.create_task(_fly_into(news, specs, open_stage, concurrency))
        stop = asyncio.create_task(stopped.wait())
        await asyncio.wait((flight, stop), return_when=asyncio.FIRST_COMPLETED)
        for task in (flight, stop):
            task.cancel()
        await asyncio.gather(flight, stop, return_exceptions=True)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(fly_until_stopped())

    thread = Thread(target=run, name="episodes", daemon=True)
    thread.start()
    try:
        while not isinstance(item := news.get(), _Ended):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        if thread.is_alive():
            with suppress(RuntimeError):  # the loop has just closed
                loop.call_soon_threadsafe(stopped.set)
            thread.join()


async def _fly_into(
    news: SimpleQueue[Finished | _Ended],
    specs: Sequence[EpisodeSpec],
    open_stage: OpenStage,
    concurrency: int,
) -> None:
    error: BaseException | None = None
    try:
        async with open_stage() as play, aclosing(fly(specs, play, concurrency)) as flight:
            async for finished in flight:
                news.put(finished)
    except BaseException as raised:
        error = raised  # raised again where the episodes are waited for
        if isinstance(raised, asyncio.CancelledError):
            raise
    finally:
        news.put(_Ended(error))


def fly_in_turn(specs: Sequence[EpisodeSpec], open_stage: OpenStage) -> Iterator[Finished]:
    """Run episodes one after another in the caller's own thread, which has the keyboard."""

    async def play_alone(number: int, spec: EpisodeSpec) -> Finished:
        async with open_stage() as play:
            return await play_numbered(number, spec, play)

    for number, spec in enumerate(specs):
        yield asyncio.run(play_alone(number, spec))
