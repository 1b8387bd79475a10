"""What a customer is to the runner: it is told a `CustomerBriefing`, and answers what it hears.

A customer gets what these types hold and nothing else: no tool, no call, no result, no score.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from deskgym.desk import CustomerReply
from deskgym.models.meter import Meter


class CustomerBriefing(NamedTuple):
    """What a customer knows before the conversation.

    Attributes:
        goal: what the customer wants, which is private.
        opening: what the customer has written first.
    """

    goal: str
    opening: str


class Spoken(NamedTuple):
    """What an agent said to the customer.

    Attributes:
        words: a message, or a proposal as a plain sentence.
        proposal: whether it is a proposal, to be accepted or declined.
    """

    words: str
    proposal: bool


class Answered(NamedTuple):
    """A customer's reply, and why, which is private."""

    reply: CustomerReply
    reason: str = ""


class Voice(Protocol):
    """A customer in one episode."""

    async def answer(self, spoken: Spoken) -> Answered:
        """What the customer says to it.

        Raises:
            RunInvalid: no usable answer could be had.
        """
        ...


class Customer(Protocol):
    """Who speaks for the customer. One can be in many episodes at once.

    Attributes:
        name: as results name it.
    """

    @property
    def name(self) -> str: ...

    def start(self, briefing: CustomerBriefing, meter: Meter) -> Voice:
        """The customer in a new episode; it counts its model calls in the meter."""
        ...
