"""What an agent is: it is told an `AgentBriefing`, and takes turns.

An agent gets what these types hold and nothing else: no fixture, no score, no goal of a customer.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from deskgym.models.meter import Meter
from deskgym.protocol import CallError
from deskgym.tool import Toolbox
from deskgym.trajectory import Action, Observation


class AgentBriefing(NamedTuple):
    """What an agent is told before its first turn.

    Attributes:
        instructions: the suite's policy.
        toolbox: what it can call.
        opening: the first observation.
        speaks: whether there is a customer whom plain text reaches.
    """

    instructions: str
    toolbox: Toolbox
    opening: Observation
    speaks: bool


class Seen(NamedTuple):
    """What came of an agent's last turn.

    Attributes:
        answers: one for each of its calls, in order.
        said: what the customer answered to its plain text, if anything.
        notice: a sentence of the runner's, such as that the last turn was cut off.
    """

    answers: tuple[Observation | CallError, ...] = ()
    said: str | None = None
    notice: str | None = None


class AgentTurn(NamedTuple):
    """What an agent does in a turn: calls, or words to the customer.

    Attributes:
        calls: what to carry out, in order; an error is a call that could not be read.
        speech: what the customer hears, where there are no calls.
        private: what it wrote that nobody hears, for the recording.
        cut: whether a length limit cut it off.
        stop: whether it will do nothing more.
    """

    calls: tuple[Action | CallError, ...] = ()
    speech: str = ""
    private: str = ""
    cut: bool = False
    stop: bool = False


class Player(Protocol):
    """An agent in one episode."""

    async def turn(self, seen: Seen | None) -> AgentTurn:
        """The next turn.

        Args:
            seen: what came of the last one; None for the first.

        Raises:
            RunInvalid: it could not be had, through no fault of the agent.
        """
        ...


class Agent(Protocol):
    """Who acts. One agent can be in many episodes at once.

    Attributes:
        name: as results name it.
        is_budgeted: whether the limits of a dialogue hold for it; a script takes its course.
    """

    @property
    def name(self) -> str: ...
    @property
    def is_budgeted(self) -> bool: ...

    def start(self, briefing: AgentBriefing, meter: Meter) -> Player:
        """The agent in a new episode; it counts its model calls in the meter."""
        ...
