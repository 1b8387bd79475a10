"""The desk: an episode's dialogue, whose agent is whoever calls from outside.

`play_dialogue` asks an agent for its turns; an Inspect agent acts by calling tools. A seat between
them hands each turn over, so that customers, limits, bugs and the recording are the dialogue's.
"""

from __future__ import annotations

import asyncio
from typing import Final

from deskgym.adapters.judgement import raise_unless_judged
from deskgym.agents.model import answer_text
from deskgym.agents.player import AgentBriefing, AgentTurn, Player, Seen
from deskgym.customers import Customer
from deskgym.dialogue import Limits, PlayedEpisode, play_dialogue
from deskgym.environment import Environment
from deskgym.errors import RunInvalid
from deskgym.models.meter import Meter
from deskgym.trajectory import Action

OVER: Final = "The conversation is over, and nothing was done."


class _Seat:
    """An agent whose turns are put in from outside."""

    is_budgeted: bool = True

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.turns: Final[asyncio.Queue[AgentTurn | RunInvalid]] = asyncio.Queue()
        self.waiting: asyncio.Future[Seen] | None = None
        self.briefed: Final[asyncio.Future[AgentBriefing]] = (
            asyncio.get_running_loop().create_future()
        )

    def start(self, briefing: AgentBriefing, meter: Meter) -> Player:
        del meter
        self.briefed.set_result(briefing)
        return self

    async def turn(self, seen: Seen | None) -> AgentTurn:
        if seen is not None and self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(seen)
        turn = await self.turns.get()
        if isinstance(turn, RunInvalid):
            raise turn
        return turn


class Desk:
    """An episode under way, in one event loop; `open_desk` makes one.

    Attributes:
        environment: where it is.
        briefing: what the agent is told before its first turn.
    """

    def __init__(
        self,
        environment: Environment,
        briefing: AgentBriefing,
        seat: _Seat,
        dialogue: asyncio.Task[PlayedEpisode],
    ) -> None:
        self.environment: Final = environment
        self.briefing: Final = briefing
        self._seat: Final = seat
        self._dialogue: Final = dialogue

    @property
    def over(self) -> bool:
        """Whether nothing more can be done."""
        return self._dialogue.done()

    async def take(self, turn: AgentTurn) -> Seen | None:
        """Take a turn and return what came of it; None where the episode is over with it."""
        if self.over:
            return None
        waiting: asyncio.Future[Seen] = asyncio.get_running_loop().create_future()
        self._seat.waiting = waiting
        self._seat.turns.put_nowait(turn)
        await asyncio.wait((waiting, self._dialogue), return_when=asyncio.FIRST_COMPLETED)
        return waiting.result() if waiting.done() else None

    async def call(self, action: Action) -> str:
        """Carry out one call and return what the agent is told of it, as JSON."""
        environment = self.environment
        if self.over:
            return answer_text(environment.step(action)).text if environment.done else OVER
        taken = len(environment.steps)
        seen = await self.take(AgentTurn((action,)))
        if seen is not None:
            return answer_text(seen.answers[0]).text
        return answer_text(environment.observe()).text if len(environment.steps) > taken else OVER

    async def leave(self, failure: RunInvalid | None = None) -> PlayedEpisode:
        """End the episode where it is, and return how it went.

        Args:
            failure: what keeps it from being judged; None where the agent just stops.
        """
        if not self.over:
            self._seat.turns.put_nowait(failure or AgentTurn(stop=True))
        return await self._dialogue


async def open_desk(
    environment: Environment,
    *,
    agent: str,
    seed: int,
    customer: Customer | None = None,
    limits: Limits | None = None,
) -> Desk:
    """Start an episode, to be left with `leave` in any case.

    Args:
        environment: where to act; it is reset.
        agent: who acts, as the recording names it.
        seed: the episode's seed.
        customer: who speaks for the customer; the task's own script if None.
        limits: the budgets; those of `Limits()` if None.

    Raises:
        UsageError: the seed is out of its limits, or the suite has no customer to speak for.
    """
    seat = _Seat(agent)
    played = play_dialogue(environment, seat, customer, seed=seed, limits=limits)
    dialogue = asyncio.create_task(played)
    await asyncio.wait((seat.briefed, dialogue), return_when=asyncio.FIRST_COMPLETED)
    if not seat.briefed.done():
        raise_unless_judged(dialogue.result(), environment)
    return Desk(environment, seat.briefed.result(), seat, dialogue)
