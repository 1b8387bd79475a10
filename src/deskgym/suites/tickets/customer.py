"""The scripted customer of a ticket: a follow-up, an acknowledgement, and then no more."""

from __future__ import annotations

from dataclasses import dataclass

from deskgym.suites.tickets.scenario import TURNS, Tier, Wording


@dataclass(frozen=True)
class Customer:
    """Answers the agent's replies in order, whatever they say.

    Attributes:
        tier: which task the ticket is.
        answers: what is said after each reply but the last.
    """

    tier: Tier
    answers: tuple[str, ...]

    @property
    def turns(self) -> int:
        """How many replies the ticket takes."""
        return len(self.answers) + 1

    @property
    def goal(self) -> str:
        """What the customer wants, for whoever speaks for it instead; private."""
        known = self.answers[:1]
        more = f" Asked about it, you can say this: {known[0]}" if known else ""
        return f"You want the problem of your first message solved.{more}"


def customer_of(tier: Tier, wording: Wording) -> Customer:
    """The customer of a tier, in one wording."""
    answers = (wording.follow_up, wording.acknowledgement)
    return Customer(tier, answers[: TURNS[tier] - 1])
