"""A dialogue whose model is whoever calls: a request comes out, a text goes in, until it ends.

It is the dialogue of an evaluation, with its prompts, its text protocol and its limits. Trainers
that generate texts themselves want it turned round: they ask what the model is to read next.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import suppress
from functools import cache
from threading import Thread
from typing import Any, Final, TypeVar
from weakref import finalize

from deskgym.agents.model import ModelAgent
from deskgym.dialogue import Limits, PlayedEpisode, play_dialogue
from deskgym.environment import Environment
from deskgym.errors import UsageError
from deskgym.models.chat import ChatReply, ChatRequest

T = TypeVar("T")


class _Handed:
    """A model that passes each request on, and waits for the reply to be brought."""

    def __init__(self) -> None:
        self.requests: Final[asyncio.Queue[ChatRequest]] = asyncio.Queue()
        self.replies: Final[asyncio.Queue[ChatReply]] = asyncio.Queue()

    async def reply(self, request: ChatRequest) -> ChatReply:
        self.requests.put_nowait(request)
        return await self.replies.get()


class HandedDialogue:
    """One episode of a dialogue. It may be used from any thread, from one at a time."""

    def __init__(
        self, environment: Environment, *, agent: str, seed: int = 0, limits: Limits | None = None
    ) -> None:
        """Nothing happens before `start`.

        Args:
            environment: where it is played; it is reset.
            agent: what the recording calls the agent.
            seed: the episode's seed.
            limits: the budgets; those of `Limits()` if None.
        """
        self.environment: Final = environment
        self._agent: Final = agent
        self._seed: Final = seed
        self._limits: Final = limits
        self._model: _Handed | None = None
        self._task: asyncio.Task[PlayedEpisode] | None = None

    def start(self) -> ChatRequest:
        """Start the episode; what the model reads first.

        Raises:
            UsageError: the seed is out of its limits.
        """
        first = _in_the_loop(self._begin())
        if isinstance(first, PlayedEpisode):
            raise UsageError(f"{self.environment.id} is over before anything is done")
        return first

    def answer(self, text: str) -> ChatRequest | PlayedEpisode:
        """Give the model's text; what it reads next, or the episode if that was its end.

        Raises:
            UsageError: the episode has not been started, or it is over.
        """
        return _in_the_loop(self._go_on(text))

    def close(self) -> None:
        """Leave the episode where it is; its environment keeps its score."""
        if self._task is not None and not self._task.done():
            _in_the_loop(self._cancel())

    async def _begin(self) -> ChatRequest | PlayedEpisode:
        self._model = _Handed()
        agent = ModelAgent(self._agent, self._model, "text")
        self._task = asyncio.create_task(
            play_dialogue(self.environment, agent, seed=self._seed, limits=self._limits)
        )
        # The loop holds the task, so that it would wait for ever for a text that nobody brings.
        finalize(self, _abandon, self._task)
        return await self._next()

    async def _go_on(self, text: str) -> ChatRequest | PlayedEpisode:
        if self._model is None or self._task is None or self._task.done():
            raise UsageError(f"{self.environment.id}: there is no episode that goes on")
        self._model.replies.put_nowait(ChatReply(text))
        return await self._next()

    async def _next(self) -> ChatRequest | PlayedEpisode:
        assert self._model is not None, "it was started"
        assert self._task is not None, "it was started"
        asked = asyncio.create_task(self._model.requests.get())
        await asyncio.wait((asked, self._task), return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            return asked.result()
        asked.cancel()
        return await self._task

    async def _cancel(self) -> None:
        assert self._task is not None, "it was started"
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def _abandon(task: asyncio.Task[PlayedEpisode]) -> None:
    # Not waited for: this may be the loop's own thread, as it collects garbage.
    task.get_loop().call_soon_threadsafe(task.cancel)


def _in_the_loop(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, _loop(os.getpid())).result()


@cache
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """The event loop of all handed dialogues of a process; a process that forks has none of it."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name=f"dialogues-{process}", daemon=True).start()
    return loop
