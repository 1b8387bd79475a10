"""`ticket-reward.v1`: the published rules, kept for comparison with all their faults.

Everything matches as a substring of the lower-cased reply, wherever it stands. So a keyword
counts inside another word, under a negation, and in a list of everything; a list of all five
categories is right on easy; and a perfect hard episode is worth 0.40, since the three turns reach
0.4, 0.5 and 0.3 and the reward is their mean. `ticket-reward.v2` mends this; here it must stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from deskgym.rubric.turns import Part, TurnScore, total
from deskgym.suites.tickets.scenario import Intent, Scenario, Tier, require_turn

RUBRIC: Final = "ticket-reward.v1"


@dataclass(frozen=True)
class Weights:
    """The published table. Points are ten-thousandths of a reward."""

    exact_category: int = 10_000
    partial_category: int = 5_000
    keyword: int = 2_000
    keywords_max: int = 4
    empathy: int = 1_000
    detail: int = 1_000
    detail_characters: int = 80
    needless_escalation: int = -2_000
    question: int = 3_000
    on_topic: int = 1_000
    hard_empathy: int = 1_200
    hard_detail: int = 800
    hard_resolve_max: int = 5_000
    polite_close: int = 3_000


WEIGHTS: Final = Weights()

EMPATHY: Final = ("apologise", "apologize", "sorry", "understand")
HANDOVER: Final = ("escalat", "supervisor", "human")
CLOSING: Final = (
    "thank", "glad", "happy to help", "anything else", "have a great", "have a good",
    "have a nice", "take care", "regards", "best wishes", "welcome",
)  # fmt: skip


def score_turn(
    tier: Tier, turn: int, scenario: Scenario, message: str, intent: Intent | None = None
) -> TurnScore:
    """Score one reply. Turns count from 0.

    Raises:
        UsageError: there is no such tier, turn or intent.
    """
    require_turn(tier, turn, intent)
    reply = message.lower()
    if tier == "easy":
        return total((_category(scenario, reply),))
    if tier == "medium":
        return total(_answer(scenario, reply, intent))
    return (_clarify, _resolve, _close)[turn](scenario, reply)


def _found(phrases: tuple[str, ...], reply: str) -> tuple[str, ...]:
    return tuple(phrase for phrase in phrases if phrase in reply)


def _category(scenario: Scenario, reply: str) -> Part:
    most = WEIGHTS.exact_category
    if scenario.category in reply:
        return Part("exact category", most, most, (scenario.category,))
    if partial := _found(scenario.synonyms, reply):
        return Part("partial category", WEIGHTS.partial_category, most, partial)
    return Part("category", 0, most, reason="neither the category nor a partial keyword")


def _keywords(scenario: Scenario, reply: str) -> Part:
    found = tuple(
        matches[0] for keyword in scenario.keywords if (matches := _found(keyword.forms, reply))
    )
    most = WEIGHTS.keyword * WEIGHTS.keywords_max
    return Part("keywords", min(WEIGHTS.keyword * len(found), most), most, found)


def _if_found(name: str, found: tuple[str, ...], points: int) -> Part:
    return Part(name, points if found else 0, points, found)


def _detail(reply: str, points: int) -> Part:
    enough = len(reply) > WEIGHTS.detail_characters
    return Part("detail", points if enough else 0, points, reason=f"{len(reply)} characters")


def _answer(scenario: Scenario, reply: str, intent: Intent | None) -> tuple[Part, ...]:
    handover = _found(HANDOVER, reply)
    if intent == "escalate":
        handover = ("intent escalate", *handover)
    return (
        _keywords(scenario, reply),
        _if_found("empathy", _found(EMPATHY, reply), WEIGHTS.empathy),
        _detail(reply, WEIGHTS.detail),
        Part("needless escalation", WEIGHTS.needless_escalation if handover else 0, 0, handover),
    )


def _clarify(scenario: Scenario, reply: str) -> TurnScore:
    asks = ("?",) if "?" in reply else ()
    topics = _found(scenario.topics, reply) if asks else ()
    return total(
        (
            _if_found("question", asks, WEIGHTS.question),
            _if_found("on topic", topics, WEIGHTS.on_topic),
        )
    )


def _resolve(scenario: Scenario, reply: str) -> TurnScore:
    return total(
        (
            _keywords(scenario, reply),
            _if_found("empathy", _found(EMPATHY, reply), WEIGHTS.hard_empathy),
            _detail(reply, WEIGHTS.hard_detail),
        ),
        WEIGHTS.hard_resolve_max,
    )


def _close(scenario: Scenario, reply: str) -> TurnScore:
    del scenario
    return total((_if_found("polite close", _found(CLOSING, reply), WEIGHTS.polite_close),))
