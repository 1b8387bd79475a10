"""A model on the tickets' tiers by plain chat, as the published baseline runs it.

The episodes are played here, or on a server with the published endpoints.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Protocol

from deskgym.errors import RunInvalid
from deskgym.evaluate.ticket_client import TicketClient, TicketServerFailed
from deskgym.models.chat import ChatModel, ChatReply, ChatRequest, UserTurn
from deskgym.models.meter import Meter
from deskgym.models.open import http_model
from deskgym.models.options import ModelOptions, Sampling
from deskgym.models.retry import ask
from deskgym.suites.tickets.baseline import Episode
from deskgym.suites.tickets.conversation import TicketEnvironment
from deskgym.suites.tickets.models import SupportAction, SupportObservation
from deskgym.suites.tickets.scenario import CATEGORIES, Intent, Tier
from deskgym.trajectory import TEXT_CHARACTERS_MAX

EPISODES: Final = 5
"""How many episodes a tier has, as published."""

SAMPLING: Final = Sampling(temperature=0.3, max_tokens=300)
"""How the published baseline samples."""

_SYSTEM: Final = (
    "You are a customer support agent. Be helpful, specific and polite, and write to the customer "
    "in plain text.\n"
    f"When you are asked for a category, answer with one word only: {', '.join(CATEGORIES)}.\n"
    "When you are asked to solve a ticket, apologise, name the concrete steps that you take, and "
    "stay below 150 words."
)
_INTENTS: Final[dict[Tier, tuple[Intent, ...]]] = {
    "easy": ("classify",),
    "medium": ("respond",),
    "hard": ("clarify", "respond", "close"),
}
_ASKED: Final[dict[Tier, tuple[str, ...]]] = {
    "easy": ("Name the one category that this ticket belongs to.",),
    "medium": ("Solve the ticket in one reply.",),
    "hard": (
        "Turn 1 of 3: ask one question about what you need to know.",
        "Turn 2 of 3: solve the ticket.",
        "Turn 3 of 3: say again what was done, and close the conversation politely.",
    ),
}


class Desk(Protocol):
    """Where one episode is played."""

    async def reset(self, task_name: Tier, seed: int) -> SupportObservation:
        """Start it."""
        ...

    async def step(self, action: SupportAction) -> SupportObservation:
        """Send a reply."""
        ...


class _Here:
    """An episode in this process."""

    def __init__(self, environment: TicketEnvironment) -> None:
        self._environment: Final = environment

    async def reset(self, task_name: Tier, seed: int) -> SupportObservation:
        return self._environment.reset(task_name, seed)

    async def step(self, action: SupportAction) -> SupportObservation:
        return self._environment.step(action)


class _There:
    """An episode on a server."""

    def __init__(self, client: TicketClient) -> None:
        self._client: Final = client
        self._session = ""

    async def reset(self, task_name: Tier, seed: int) -> SupportObservation:
        self._session, observation = await self._client.reset(task_name, seed)
        return observation

    async def step(self, action: SupportAction) -> SupportObservation:
        return await self._client.step(self._session, action)


@dataclass(frozen=True)
class ModelBaseline:
    """A model and where it plays.

    Attributes:
        model: its name, such as `openai:MODEL`.
        options: how it is reached.
        server: the address of a ticket server; None plays here.
        rubric: the rubric's version, where it plays here; the default one if None.
        concurrency: how many episodes are played at once.
    """

    model: str
    options: ModelOptions
    server: str | None = None
    rubric: str | None = None
    concurrency: int = EPISODES

    async def episodes(
        self, tiers: Sequence[Tier], seeds: Sequence[int]
    ) -> AsyncGenerator[Episode]:
        """Every episode, by tier and seed; one that the provider or the server fails is invalid.

        Raises:
            UsageError: the model or the server has no proper name, or there is no such rubric.
            TicketServerFailed: the server is not there at all.
        """
        async with AsyncExitStack() as opened:
            model = await opened.enter_async_context(http_model(self.model, self.options))
            client: TicketClient | None = None
            if self.server is not None:
                client = await opened.enter_async_context(TicketClient(self.server))
                await client.health()
            turnstile = asyncio.Semaphore(self.concurrency)

            async def play(tier: Tier, seed: int) -> Episode:
                async with turnstile:
                    return await self._episode(model, client, tier, seed)

            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(play(tier, seed)) for tier in tiers for seed in seeds]
                for task in tasks:
                    yield await task

    async def _episode(
        self, model: ChatModel, client: TicketClient | None, tier: Tier, seed: int
    ) -> Episode:
        try:
            if client is not None:
                return await self._played(_There(client), model, tier, seed)
            with TicketEnvironment(rubric=self.rubric) as environment:
                return await self._played(_Here(environment), model, tier, seed)
        except RunInvalid as invalid:
            return Episode(self.model, tier, seed, None, (), str(invalid))
        except TicketServerFailed as failed:
            return Episode(self.model, tier, seed, None, (), f"environment_failure: {failed}")

    async def _played(self, desk: Desk, model: ChatModel, tier: Tier, seed: int) -> Episode:
        meter = Meter()
        observation = await desk.reset(tier, seed)
        for turn in range(len(_INTENTS[tier])):
            if observation.done:
                break
            request = ChatRequest(_SYSTEM, _turns(observation.conversation, _ASKED[tier][turn]))
            reply = await ask(model, request, policy=self.options.retry, meter=meter)
            observation = await desk.step(_action(reply.text, _INTENTS[tier][turn]))
        return Episode(
            self.model,
            tier,
            seed,
            observation.cumulative_reward,
            tuple(observation.turn_scores),
        )


def _action(text: str, intent: Intent) -> SupportAction:
    """A reply as the environment takes it; an empty one becomes a full stop, and earns nothing."""
    shown = "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)
    return SupportAction(message=shown.strip()[:TEXT_CHARACTERS_MAX].strip() or ".", intent=intent)


def _turns(conversation: Sequence[str], asked: str) -> tuple[UserTurn | ChatReply, ...]:
    """The conversation as the model sees it: no reward, and what this turn is for at its end."""
    turns: list[UserTurn | ChatReply] = [
        ChatReply(text) if place % 2 else UserTurn(text=text)
        for place, text in enumerate(conversation)
    ]
    last = turns[-1]
    assert isinstance(last, UserTurn), "the customer has the last word before a turn"
    return (*turns[:-1], UserTurn(text=f"{last.text}\n\n[{asked}]"))
