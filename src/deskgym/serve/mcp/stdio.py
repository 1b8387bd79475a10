"""One episode over standard input and output, for an MCP client that starts its servers itself."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from deskgym.errors import MissingExtra
from deskgym.recording import Recording
from deskgym.runstore import EpisodeState, open_run_store
from deskgym.runstore.episodes import Episodes
from deskgym.serve.mcp.seat import Seat, briefing_of
from deskgym.trajectory import Action, Observation


@dataclass(frozen=True)
class StdioEpisode:
    """Which episode to serve, and where to keep it.

    Attributes:
        task: the task's id.
        database: the run store's URL; see `deskgym.runstore.open_run_store`.
        seed: the episode's seed.
        parameters: the task's parameters.
        rubric: the rubric's version; the suite's default if None.
        id: the episode's id. One with an id of its caller's stays open when the client goes, and
            the next client with that id goes on with it; any other is closed.
        agent: who acts, for lists and recordings.
    """

    task: str
    database: str
    seed: int = 0
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    rubric: str | None = None
    id: str | None = None
    agent: str = "agent"


Ended = Callable[[EpisodeState, Recording | None], None]
"""Told how the episode stands when its client has gone; the recording if it is over."""


def serve(episode: StdioEpisode, ended: Ended) -> None:
    """Serve the episode until the client closes standard input, or stops this process.

    Nothing but the protocol is written to standard output.

    Raises:
        MissingExtra: the MCP SDK is not installed.
        UsageError: there is no such task, or its parameters or the database cannot be used.
    """
    if find_spec("mcp") is None:
        raise MissingExtra("`deskgym mcp`", "mcp")
    # The SDK tells of every request, and standard error is shown as a server's complaints.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    with open_run_store(episode.database) as store:
        episodes = store.episodes()
        made = episodes.create(
            episode.task, episode.seed, parameters=episode.parameters, rubric=episode.rubric,
            id=episode.id, agent=episode.agent,
        )  # fmt: skip

        def finish() -> None:
            _finish(episodes, made.id, ended, keep=episode.id is not None)

        asyncio.run(_serve(episodes, made.id, store.version, finish))


async def _serve(episodes: Episodes, id: str, version: str, finish: Callable[[], None]) -> None:
    from deskgym.serve.mcp import sdk  # it takes two seconds; a wrong task is told before

    async def take(action: Action, number: int | None) -> Observation:
        return episodes.step(id, action, number)

    def stop() -> None:
        # A thread waits for the client's next line, and nothing can wake it.
        finish()
        sys.stderr.flush()
        os._exit(0)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    with episodes.environment(id) as environment:
        briefing = briefing_of(environment)
    await sdk.serve_stdio(Seat(briefing, take), version)
    finish()


def _finish(episodes: Episodes, id: str, ended: Ended, *, keep: bool) -> None:
    state = episodes.state(id)
    if keep and state.live:
        ended(state, None)
        return
    ended(episodes.close(id), episodes.recording(id))
