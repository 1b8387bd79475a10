"""Many episodes at once in one process, on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import NamedTuple

from deskgym.evaluate.episode import EpisodeSpec, Play
from deskgym.evaluate.result import Episode, EpisodeResult, parse_episode

OpenStage = Callable[[], AbstractAsyncContextManager[Play]]
"""Opens what plays episodes in an event loop; a function of a module, so that other processes
find it."""


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
    specs: Iterable[EpisodeSpec], play: Play, concurrency: int
) -> AsyncGenerator[Finished]:
    """Run episodes, at most `concurrency` at once, and yield each when it ends."""
    waiting = enumerate(specs)
    flying: set[asyncio.Task[Finished]] = set()
    try:
        while True:
            while len(flying) < concurrency and (following := next(waiting, None)):
                flying.add(asyncio.create_task(play_numbered(*following, play)))
            if not flying:
                return
            landed, flying = await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
            for finished in sorted((task.result() for task in landed), key=lambda one: one.number):
                yield finished
    finally:
        for task in flying:
            task.cancel()
        await asyncio.gather(*flying, return_exceptions=True)


def fly_here(
    specs: Iterable[EpisodeSpec], open_stage: OpenStage, concurrency: int
) -> Iterator[Finished]:
    """The same for a caller without an event loop; the episodes wait while the caller works."""

    async def episodes() -> AsyncGenerator[Finished]:
        async with open_stage() as play, aclosing(fly(specs, play, concurrency)) as flight:
            async for finished in flight:
                yield finished

    with asyncio.Runner() as runner:
        ending = episodes()

        async def following() -> Finished | None:
            return await anext(ending, None)

        try:
            while (finished := runner.run(following())) is not None:
                yield finished
        finally:
            runner.run(ending.aclose())
