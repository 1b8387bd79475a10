"""Agents with known scores: a good one, ones that say the same to all, one that lists everything.

Each is a pure function of the tier, the turn (from 0) and the ticket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from deskgym.suites.tickets.catalogue import SCENARIOS
from deskgym.suites.tickets.scenario import CATEGORIES, Intent, Tier, require_turn
from deskgym.suites.tickets.ticket import Ticket


class Reply(NamedTuple):
    """A message and the intent declared with it."""

    message: str
    intent: Intent


Agent = Callable[[Tier, int, Ticket], Reply]

_GREETINGS: Final = (
    "Thank you for writing to us.",
    "Hello, and thanks for getting in touch.",
    "Good day, and thank you for telling us about this.",
)
_SYMPATHIES: Final = (
    "I am sorry about the trouble this has caused you.",
    "I understand how annoying this is, and I apologise for it.",
    "I apologise: this should have gone better, and I understand that you are counting on us.",
)
_FAREWELLS: Final = (
    "Thank you for your patience, and have a good day.",
    "I am glad that we could sort this out. Take care!",
    "Is there anything else I can help with? If not, all the best from all of us.",
)


def oracle(tier: Tier, turn: int, ticket: Ticket) -> Reply:
    """A good agent, which knows the scenario. Worth 1.00 in every tier by v2."""
    require_turn(tier, turn, None)
    good = ticket.scenario.good_reply
    manner = ticket.number % len(_GREETINGS)
    if tier == "easy":
        return Reply(f"This ticket is about: {ticket.scenario.category}.", "classify")
    if tier == "medium" or turn == 1:
        return Reply(f"{_SYMPATHIES[manner]} {good.resolution}", "respond")
    if turn == 0:
        return Reply(f"{_GREETINGS[manner]} {good.question}", "clarify")
    return Reply(f"{good.recap} {_FAREWELLS[manner]}", "close")


def fixed_reply(tier: Tier, turn: int, ticket: Ticket) -> Reply:
    """A polite agent that says the same to every customer."""
    del ticket
    require_turn(tier, turn, None)
    if tier == "easy":
        return Reply("refund", "classify")
    if tier == "medium" or turn == 1:
        return Reply(
            "I am sorry for the inconvenience. We understand how important this is to you. We "
            "have processed your refund, and it arrives within five business days.",
            "respond",
        )
    if turn == 0:
        return Reply("Thank you for contacting us. Could you share your order number?", "clarify")
    return Reply("Thank you for contacting us. Have a great day!", "close")


def keyword_stuffing(tier: Tier, turn: int, ticket: Ticket) -> Reply:
    """An agent that lists every word it could be paid for, whatever the ticket is."""
    del ticket
    require_turn(tier, turn, None)
    if tier == "easy":
        return Reply(", ".join(CATEGORIES), "classify")
    if tier == "medium" or turn == 1:
        names = dict.fromkeys(k.name for s in SCENARIOS for k in s.keywords)
        return Reply(f"Sorry, I understand: {', '.join(names)}.", "respond")
    if turn == 0:
        topics = dict.fromkeys(topic for s in SCENARIOS for topic in s.topics)
        return Reply(f"{', '.join(topics)}?", "clarify")
    names = dict.fromkeys(k.name for s in SCENARIOS for k in s.keywords)
    return Reply(f"Thank you, glad to help: {', '.join(names)}.", "close")


def polite_words(tier: Tier, turn: int, ticket: Ticket) -> Reply:
    """A polite agent that names nothing and solves nothing, with a question where one is due."""
    del ticket
    require_turn(tier, turn, None)
    if tier == "hard" and turn == 0:
        return Reply("Thank you for your message. Could you tell me a little more?", "clarify")
    if tier == "hard" and turn == 2:
        return Reply("Thank you for your patience, and take care.", "close")
    return Reply(
        "I am sorry to hear this, and I understand how tiresome it is for you. It will be seen to "
        "as soon as we can.",
        "respond",
    )


def synonym(tier: Tier, turn: int, ticket: Ticket) -> Reply:
    """An agent that names the category by another word, which means that one only."""
    require_turn(tier, turn, None)
    return Reply(f"This ticket is about: {ticket.scenario.synonyms[0]}.", "classify")


def escalating(tier: Tier, turn: int, ticket: Ticket) -> Reply:
    """The good agent, but it hands the ticket over all the same."""
    return oracle(tier, turn, ticket)._replace(intent="escalate")


def solving_each_turn(tier: Tier, turn: int, ticket: Ticket) -> Reply:
    """An agent that gives the solution at once, and again in every turn."""
    require_turn(tier, turn, None)
    return oracle("medium", 0, ticket)


BASELINES: Final[Mapping[str, Agent]] = {
    "oracle": oracle,
    "fixed reply": fixed_reply,
    "keyword stuffing": keyword_stuffing,
}
"""The built-in agents that `baseline` runs, by name."""
