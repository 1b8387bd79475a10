"""A model's seat in a rollout: who is told what, and what verifiers' own limits end."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import verifiers.v1 as vf

from deskgym.agents.model import ModelAgent
from deskgym.agents.player import AgentBriefing, AgentTurn, Player, Seen
from deskgym.errors import RunInvalid
from deskgym.models.meter import Meter


@dataclass
class Seat:
    """A model that acts in a rollout.

    Where verifiers refuses it a turn (a limit, a `@stop`) or its time is up, the episode ends as
    if the agent had stopped, and what was done until then is scored: so has it verifiers.

    Attributes:
        agent: the model.
        trace: the rollout's, which says whether verifiers stopped it.
        instructions: the policy, if another one than the suite's is to be tried; None for that.
        interrupted: whether the rollout's time was up.
    """

    agent: ModelAgent
    trace: vf.Trace
    instructions: str | None
    interrupted: bool = False
    is_budgeted: bool = True

    @property
    def name(self) -> str:
        """As recordings name it."""
        return self.agent.name

    def start(self, briefing: AgentBriefing, meter: Meter) -> Player:
        """The model in a new episode."""
        if self.instructions is not None:
            briefing = briefing._replace(instructions=self.instructions)
        return _Seated(self, self.agent.start(briefing, meter))


@dataclass
class _Seated:
    seat: Seat
    player: Player

    async def turn(self, seen: Seen | None) -> AgentTurn:
        try:
            return await self.player.turn(seen)
        except RunInvalid:
            if self.seat.trace.stop_condition is None:
                raise
        except asyncio.CancelledError:
            # The harness raises it again once the episode is recorded.
            self.seat.interrupted = True
        return AgentTurn(stop=True)
