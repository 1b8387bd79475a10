"""A script as an agent: one action a turn, until it has no more."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from deskgym.agents.player import AgentBriefing, AgentTurn, Seen
from deskgym.models.meter import Meter
from deskgym.protocol import CallError
from deskgym.task import Script
from deskgym.trajectory import Action, Observation


@dataclass(frozen=True)
class ScriptedAgent:
    """An agent that plays a script: a control, or a built-in agent that follows rules."""

    name: str
    script: Script
    is_budgeted: bool = False

    def start(self, briefing: AgentBriefing, meter: Meter) -> ScriptPlayer:
        """The script from its start; it asks no model."""
        del meter
        return ScriptPlayer(self.script(briefing.opening))


class ScriptPlayer:
    """A script in one episode."""

    def __init__(self, moves: Generator[Action, Observation, None]) -> None:
        self._moves: Final = moves

    async def turn(self, seen: Seen | None) -> AgentTurn:
        """The script's next action."""
        try:
            if seen is None:
                return AgentTurn((next(self._moves),))
            answer = seen.answers[-1]
            assert not isinstance(answer, CallError), "a script's actions are read as they are"
            return AgentTurn((self._moves.send(answer),))
        except StopIteration:
            return AgentTurn(stop=True)
