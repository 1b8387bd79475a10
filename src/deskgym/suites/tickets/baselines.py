"""Agents with known scores: a good one, one that says the same to all, one that lists everything.

Each is a pure function of the tier, the turn (from 0), the scenario and the wording's number.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deskgym.suites.tickets.catalogue import SCENARIOS
from deskgym.suites.tickets.scenario import CATEGORIES, Intent, Scenario, Tier
from deskgym.suites.tickets.turn import require_turn


@dataclass(frozen=True)
class Reply:
    """A message and the intent declared with it."""

    message: str
    intent: Intent


Baseline = Callable[[Tier, int, Scenario, int], Reply]

_GREETINGS = (
    "Thank you for writing to us.",
    "Hello, and thanks for getting in touch.",
    "Good day, and thank you for telling us about this.",
)
_SYMPATHIES = (
    "I am sorry about the trouble this has caused you.",
    "I understand how annoying this is, and I apologise for it.",
    "I apologise: this should have gone better, and I understand that you are counting on us.",
)
_FAREWELLS = (
    "Thank you for your patience, and have a good day.",
    "I am glad that we could sort this out. Take care!",
    "Is there anything else I can help with? If not, all the best from all of us.",
)


def oracle(tier: Tier, turn_index: int, scenario: Scenario, wording: int) -> Reply:
    """A good agent, which knows the scenario. Worth 1.00 in every tier by v2."""
    require_turn(tier, turn_index, None)
    good = scenario.good_reply
    manner = wording % len(_GREETINGS)
    if tier == "easy":
        return Reply(f"This ticket is about: {scenario.category}.", "classify")
    if tier == "medium" or turn_index == 1:
        return Reply(f"{_SYMPATHIES[manner]} {good.resolution}", "respond")
    if turn_index == 0:
        return Reply(f"{_GREETINGS[manner]} {good.question}", "clarify")
    return Reply(f"{good.recap} {_FAREWELLS[manner]}", "close")


def fixed_reply(tier: Tier, turn_index: int, scenario: Scenario, wording: int) -> Reply:
    """A polite agent that says the same to every customer."""
    del scenario, wording
    require_turn(tier, turn_index, None)
    if tier == "easy":
        return Reply("refund", "classify")
    if tier == "medium" or turn_index == 1:
        return Reply(
            "I am sorry for the inconvenience. We understand how important this is to you. We "
            "have processed your refund, and it arrives within five business days.",
            "respond",
        )
    if turn_index == 0:
        return Reply("Thank you for contacting us. Could you share your order number?", "clarify")
    return Reply("Thank you for contacting us. Have a great day!", "close")


def keyword_stuffing(tier: Tier, turn_index: int, scenario: Scenario, wording: int) -> Reply:
    """An agent that lists every word it could be paid for, whatever the ticket is."""
    del scenario, wording
    require_turn(tier, turn_index, None)
    if tier == "easy":
        return Reply(", ".join(CATEGORIES), "classify")
    if tier == "medium" or turn_index == 1:
        names = dict.fromkeys(k.name for s in SCENARIOS for k in s.keywords)
        return Reply(f"Sorry, I understand: {', '.join(names)}.", "respond")
    if turn_index == 0:
        topics = dict.fromkeys(topic for s in SCENARIOS for topic in s.topics)
        return Reply(f"{', '.join(topics)}?", "clarify")
    names = dict.fromkeys(k.name for s in SCENARIOS for k in s.keywords)
    return Reply(f"Thank you, glad to help: {', '.join(names)}.", "close")


BASELINES: dict[str, Baseline] = {
    "oracle": oracle,
    "fixed reply": fixed_reply,
    "keyword stuffing": keyword_stuffing,
}
