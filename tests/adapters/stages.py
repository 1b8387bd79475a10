"""Stages that misbehave, for actors of Ray, which find them by their names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from deskgym.evaluate import Episode, EpisodeSpec
from deskgym.evaluate.episode import Play, open_stage

LATENCY_S = 0.02
DEADLY_SEED = 13


@asynccontextmanager
async def slow_stage() -> AsyncGenerator[Play]:
    """Episodes wait before they start, as those of a model do."""
    async with open_stage() as play:

        async def play_later(spec: EpisodeSpec) -> Episode:
            await asyncio.sleep(LATENCY_S)
            return await play(spec)

        yield play_later


@asynccontextmanager
async def deadly_stage() -> AsyncGenerator[Play]:
    """One seed ends its process, whoever plays it."""
    async with open_stage() as play:

        async def play_or_die(spec: EpisodeSpec) -> Episode:
            if spec.seed == DEADLY_SEED:
                os._exit(1)
            return await play(spec)

        yield play_or_die


@asynccontextmanager
async def stillborn_stage() -> AsyncGenerator[Play]:
    """The process ends before anything is played."""
    os._exit(1)
    yield  # pyright: ignore[reportUnreachable]


@asynccontextmanager
async def faulty_stage() -> AsyncGenerator[Play]:
    """Playing has a bug."""

    async def fail(spec: EpisodeSpec) -> Episode:
        raise ZeroDivisionError(f"a planted bug at seed {spec.seed}")

    yield fail
