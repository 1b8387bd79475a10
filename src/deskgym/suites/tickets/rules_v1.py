"""`ticket-reward.v1`: the published rules, kept for comparison with all their faults.

Everything matches as a substring of the lower-cased reply, wherever it stands. So a keyword
counts inside another word, under a negation, and in a list of everything; a list of all five
categories is right on easy; and a perfect hard episode is worth 0.40, since the three turns reach
0.4, 0.5 and 0.3 and the reward is their mean. `ticket-reward.v2` mends this; here it must stay.
"""

from dataclasses import dataclass

from deskgym.suites.tickets.scenario import Intent, Scenario, Tier
from deskgym.suites.tickets.turn import Part, TurnScore, mean_reward, require_turn, total

RUBRIC = "ticket-reward.v1"


@dataclass(frozen=True)
class Weights:
    """The published table. Points are hundredths of a reward."""

    exact_category: int = 100
    partial_category: int = 50
    keyword: int = 20
    keywords_max: int = 4
    empathy: int = 10
    detail: int = 10
    detail_characters: int = 80
    needless_escalation: int = -20
    question: int = 30
    on_topic: int = 10
    hard_empathy: int = 12
    hard_detail: int = 8
    hard_resolve_max: int = 50
    polite_close: int = 30


WEIGHTS = Weights()

EMPATHY = ("apologise", "apologize", "sorry", "understand")
HANDOVER = ("escalat", "supervisor", "human")
CLOSING = (
    "thank", "glad", "happy to help", "anything else", "have a great", "have a good",
    "have a nice", "take care", "regards", "best wishes", "welcome",
)  # fmt: skip


def score_turn(
    tier: Tier, turn_index: int, scenario: Scenario, message: str, intent: Intent | None = None
) -> TurnScore:
    """Score one reply. turn_index: from 0, the turns of this tier.

    Raises ValueError for a turn that the tier does not have.
    """
    require_turn(tier, turn_index, intent)
    reply = message.lower()
    if tier == "easy":
        return total((_category(scenario, reply),))
    if tier == "medium":
        return total(_answer(scenario, reply, intent))
    return (_clarify, _resolve, _close)[turn_index](scenario, reply)


def cumulative_reward(turns: tuple[TurnScore, ...]) -> float:
    """The mean of the turns so far; 0.0 before the first."""
    return mean_reward(turns, len(turns))


def episode_reward(tier: Tier, turns: tuple[TurnScore, ...]) -> float:
    """The mean of the turns played, as published: a turn that was never taken costs nothing."""
    del tier
    return cumulative_reward(turns)


def _found(phrases: tuple[str, ...], reply: str) -> tuple[str, ...]:
    return tuple(phrase for phrase in phrases if phrase in reply)


def _category(scenario: Scenario, reply: str) -> Part:
    if scenario.category in reply:
        return Part("exact category", WEIGHTS.exact_category, (scenario.category,))
    if partial := _found(scenario.synonyms, reply):
        return Part("partial category", WEIGHTS.partial_category, partial)
    return Part("category", 0, reason="neither the category nor a partial keyword")


def _keywords(scenario: Scenario, reply: str) -> Part:
    found = tuple(
        matches[0] for keyword in scenario.keywords if (matches := _found(keyword.forms, reply))
    )
    return Part("keywords", WEIGHTS.keyword * min(len(found), WEIGHTS.keywords_max), found)


def _empathy(reply: str, points: int) -> Part:
    found = _found(EMPATHY, reply)
    return Part("empathy", points if found else 0, found)


def _detail(reply: str, points: int) -> Part:
    enough = len(reply) > WEIGHTS.detail_characters
    return Part("detail", points if enough else 0, reason=f"{len(reply)} characters")


def _answer(scenario: Scenario, reply: str, intent: Intent | None) -> tuple[Part, ...]:
    handover = _found(HANDOVER, reply)
    if intent == "escalate":
        handover = ("intent escalate", *handover)
    return (
        _keywords(scenario, reply),
        _empathy(reply, WEIGHTS.empathy),
        _detail(reply, WEIGHTS.detail),
        Part("needless escalation", WEIGHTS.needless_escalation if handover else 0, handover),
    )


def _clarify(scenario: Scenario, reply: str) -> TurnScore:
    asks = "?" in reply
    topics = _found(scenario.topics, reply) if asks else ()
    return total(
        (
            Part("question", WEIGHTS.question if asks else 0, ("?",) if asks else ()),
            Part("on topic", WEIGHTS.on_topic if topics else 0, topics),
        )
    )


def _resolve(scenario: Scenario, reply: str) -> TurnScore:
    return total(
        (
            _keywords(scenario, reply),
            _empathy(reply, WEIGHTS.hard_empathy),
            _detail(reply, WEIGHTS.hard_detail),
        ),
        WEIGHTS.hard_resolve_max,
    )


def _close(scenario: Scenario, reply: str) -> TurnScore:
    del scenario
    found = _found(CLOSING, reply)
    return total((Part("polite close", WEIGHTS.polite_close if found else 0, found),))
