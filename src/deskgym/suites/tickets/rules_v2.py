"""`ticket-reward.v2`: the default. Each tier reaches exactly 1.00, and one text does not fit all.

A phrase counts as whole words, once, and only in a clause that asserts it (see `language`). What a
reply promises from another category's solutions counts against it, so a list of everything is
worth its courtesy and its length and no more.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from deskgym.suites.tickets.catalogue import SCENARIOS, others
from deskgym.rubric.language import (
    Clause,
    Phrasebook,
    clauses,
    negated_closely,
    normalise,
)
from deskgym.suites.tickets.scenario import CATEGORIES, TURNS, Category, Intent, Scenario, Tier
from deskgym.suites.tickets.turn import Part, TurnScore, mean_reward, require_turn, total

RUBRIC = "ticket-reward.v2"


@dataclass(frozen=True)
class Weights:
    """Points are hundredths of a reward."""

    category: int = 100
    synonym: int = 50
    keyword: int = 20
    keywords_max: int = 4
    foreign_categories_max: int = 1
    keyword_words_percent_max: int = 50
    empathy: int = 10
    detail: int = 10
    detail_characters: int = 80
    needless_escalation: int = -20
    question: int = 30
    on_topic: int = 70
    closing: int = 40
    restated: int = 60
    courtesy_words_max: int = 14


WEIGHTS = Weights()

EMPATHY = (
    "sorry", "apologise", "apologize", "apologised", "apologized", "apologising", "apologizing",
    "apology", "apologies", "understand", "understandable", "understandably",
)  # fmt: skip
HANDOVER = (
    "escalate", "escalated", "escalating", "escalation", "supervisor", "supervisors",
    "human agent", "human colleague", "human representative", "human being", "real person",
    "to a human", "to a person", "transfer you to", "transferring you to", "hand you over",
    "handing you over", "hand this over", "handing this over", "pass you to", "pass you over",
    "passing you to", "my manager", "to a manager",
)  # fmt: skip
CLOSING = (
    "thank you", "thanks", "thank", "take care", "have a good", "have a great", "have a lovely",
    "have a nice", "have a wonderful", "glad", "happy to help", "pleasure", "best wishes",
    "kind regards", "best regards", "warm regards", "all the best", "goodbye", "anything else",
    "you're welcome", "you are welcome",
)  # fmt: skip
_COURTESY = "anything else"


def score_turn(
    tier: Tier, turn_index: int, scenario: Scenario, message: str, intent: Intent | None = None
) -> TurnScore:
    """Score one reply. turn_index: from 0, the turns of this tier.

    Raises ValueError for a turn that the tier does not have.
    """
    require_turn(tier, turn_index, intent)
    reply = clauses(message)
    if tier == "easy":
        return total((_category(scenario, reply),))
    if tier == "medium":
        return total((*_solution(scenario, message, reply), _escalation(reply, intent)))
    if turn_index == 0:
        return total(_clarify(scenario, reply))
    if turn_index == 1:
        return total(_solution(scenario, message, reply))
    return total(_close(scenario, reply))


def cumulative_reward(turns: tuple[TurnScore, ...]) -> float:
    """The mean of the turns so far; 0.0 before the first."""
    return mean_reward(turns, len(turns))


def episode_reward(tier: Tier, turns: tuple[TurnScore, ...]) -> float:
    """The mean over the tier's turns: one that was never taken counts as 0."""
    return mean_reward(turns, TURNS[tier])


# --- phrases, gathered once from the scenarios --------------------------------------------------


@lru_cache(maxsize=1)
def _keyword_book() -> Phrasebook:
    forms = {
        (form, keyword.name)
        for scenario in SCENARIOS
        for keyword in scenario.keywords
        for form in keyword.forms
    }
    return Phrasebook(sorted(forms))


@lru_cache(maxsize=1)
def _keyword_owners() -> dict[str, frozenset[Category]]:
    owners: dict[str, set[Category]] = {}
    for scenario in SCENARIOS:
        for keyword in scenario.keywords:
            owners.setdefault(keyword.name, set()).add(scenario.category)
    return {name: frozenset(categories) for name, categories in owners.items()}


def _book(phrases: Iterable[str]) -> Phrasebook:
    return Phrasebook((phrase, phrase) for phrase in sorted(set(phrases)))


@lru_cache(maxsize=1)
def _topic_book() -> Phrasebook:
    return _book(topic for scenario in SCENARIOS for topic in scenario.topics)


@lru_cache(maxsize=1)
def _category_book() -> Phrasebook:
    categories = [(category, category) for category in CATEGORIES]
    synonyms = {(word, f"{s.category} synonym") for s in SCENARIOS for word in s.synonyms}
    return Phrasebook([*categories, *sorted(synonyms)])


@lru_cache(maxsize=1)
def _empathy_book() -> Phrasebook:
    return _book(EMPATHY)


@lru_cache(maxsize=1)
def _handover_book() -> Phrasebook:
    return _book(HANDOVER)


@lru_cache(maxsize=1)
def _closing_book() -> Phrasebook:
    return _book(CLOSING)


# --- easy ---------------------------------------------------------------------------------------


def _category(scenario: Scenario, reply: tuple[Clause, ...]) -> Part:
    found = [(match, clause) for clause in reply for match in _category_book().find(clause.words)]
    # A category that is only denied is named all the same: the answer is one category.
    named = sorted({match.name for match, _ in found if match.name in CATEGORIES})
    hinted = {match.name for match, _ in found if match.name not in CATEGORIES}
    asserted = {match.name: match.written for match, clause in found if clause.asserted}
    own_synonym = f"{scenario.category} synonym"
    if len(named) > 1:
        return Part("category", 0, tuple(named), "more than one category is named")
    if named and scenario.category in asserted:
        return Part("category", WEIGHTS.category, tuple(named))
    if named:
        wrong = scenario.category not in named
        return Part("category", 0, tuple(named), "another one" if wrong else "not asserted")
    if hinted == {own_synonym} and own_synonym in asserted:
        return Part("synonym", WEIGHTS.synonym, (asserted[own_synonym],))
    return Part("category", 0, reason="no category is named, and no one synonym is clear")


# --- medium, and the second turn of hard --------------------------------------------------------


@dataclass(frozen=True)
class _Solution:
    """What a reply says of solutions: name of a keyword to the way that it is written."""

    own: dict[str, str]
    foreign: dict[str, str]
    foreign_categories: frozenset[Category]
    mostly_keywords: bool

    @property
    def worthless(self) -> str:
        """Why the keywords earn nothing at all; empty when they may."""
        if self.mostly_keywords:
            return "the reply is mostly keywords"
        if len(self.foreign_categories) > WEIGHTS.foreign_categories_max:
            return f"it also solves {', '.join(sorted(self.foreign_categories))}"
        return ""

    @property
    def count(self) -> int:
        """The keywords that count, after what is promised from another category is taken off."""
        if self.worthless:
            return 0
        return max(0, min(len(self.own), WEIGHTS.keywords_max) - len(self.foreign))


def _read_solution(scenario: Scenario, reply: tuple[Clause, ...]) -> _Solution:
    own_names = {keyword.name for keyword in scenario.keywords}
    fair_names = {keyword.name for keyword in scenario.fair}
    own: dict[str, str] = {}
    foreign: dict[str, str] = {}
    categories: set[Category] = set()
    keyword_words = 0
    for clause in reply:
        for match in _keyword_book().find(clause.words):
            keyword_words += match.length
            owners = _keyword_owners()[match.name]
            if not clause.asserted:
                continue
            if match.name in own_names:
                own.setdefault(match.name, match.written)
            elif scenario.category not in owners and match.name not in fair_names:
                foreign.setdefault(match.name, match.written)
                if len(owners) == 1:
                    categories |= owners
    words_count = sum(len(clause.words) for clause in reply)
    mostly = keyword_words * 100 >= words_count * WEIGHTS.keyword_words_percent_max
    return _Solution(own, foreign, frozenset(categories), mostly and bool(keyword_words))


def _keywords(solution: _Solution) -> tuple[Part, ...]:
    counted = min(len(solution.own), WEIGHTS.keywords_max)
    gained = Part("keywords", counted * WEIGHTS.keyword, tuple(solution.own.values()))
    lost = solution.count * WEIGHTS.keyword - gained.points
    if not lost:
        return (gained,)
    reason = solution.worthless or "promises from another category"
    return gained, Part("keywords lost", lost, tuple(solution.foreign.values()), reason)


def _solution(scenario: Scenario, message: str, reply: tuple[Clause, ...]) -> tuple[Part, ...]:
    length = len(normalise(message))
    detail = WEIGHTS.detail if length > WEIGHTS.detail_characters else 0
    empathy = _said(_empathy_book(), reply)
    return (
        *_keywords(_read_solution(scenario, reply)),
        Part("empathy", WEIGHTS.empathy if empathy else 0, empathy),
        Part("detail", detail, reason=f"{length} characters"),
    )


def _said(book: Phrasebook, reply: tuple[Clause, ...]) -> tuple[str, ...]:
    """Courtesies. "I am sorry that we could not come" is one, "I am not sorry" is not."""
    found = (
        match.name
        for clause in reply
        if not clause.question
        for match in book.find(clause.words)
        if not negated_closely(clause.words, match.at)
    )
    return tuple(dict.fromkeys(found))


def _escalation(reply: tuple[Clause, ...], intent: Intent | None) -> Part:
    found = ("intent escalate",) if intent == "escalate" else ()
    found += _mentioned(_handover_book(), (clause for clause in reply if clause.asserted))
    return Part("needless escalation", WEIGHTS.needless_escalation if found else 0, found)


def _mentioned(book: Phrasebook, reply: Iterable[Clause]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match.name for clause in reply for match in book.find(clause.words)))


# --- the first and the third turn of hard -------------------------------------------------------


def _clarify(scenario: Scenario, reply: tuple[Clause, ...]) -> tuple[Part, ...]:
    questions = [clause for clause in reply if clause.question and _own_words(clause)]
    asks = Part("question", WEIGHTS.question if questions else 0)
    foreign_topics = {
        topic for scenario_ in others(scenario.category) for topic in scenario_.topics
    } - set(scenario.topics)
    topics = tuple(t for t in _mentioned(_topic_book(), questions) if t in scenario.topics)
    foreign = tuple(t for t in _mentioned(_topic_book(), reply) if t in foreign_topics)
    if foreign:
        return asks, Part("on topic", 0, foreign, "topics of another category")
    return asks, Part("on topic", WEIGHTS.on_topic if topics else 0, topics)


def _own_words(clause: Clause) -> bool:
    return any(word[0].isalnum() for word in clause.words)


def _close(scenario: Scenario, reply: tuple[Clause, ...]) -> tuple[Part, ...]:
    question = _new_question(reply)
    if question:
        return (Part("close", 0, (question,), "it asks a new question"),)
    closing = _said(_closing_book(), reply) + _courtesies(reply)
    solution = _read_solution(scenario, reply)
    restated = tuple(solution.own.values())
    return (
        Part("closing phrase", WEIGHTS.closing if closing else 0, closing),
        Part(
            "solution restated",
            WEIGHTS.restated if solution.count else 0,
            restated,
            "" if solution.count or not restated else _keywords(solution)[-1].reason,
        ),
    )


def _questions(reply: tuple[Clause, ...]) -> list[tuple[str, ...]]:
    asked: dict[int, tuple[str, ...]] = {}
    for clause in reply:
        if clause.question:
            asked[clause.sentence] = asked.get(clause.sentence, ()) + clause.words
    return list(asked.values())


def _is_courtesy(question: tuple[str, ...]) -> bool:
    """ "Is there anything else I can help with?" is a way to close, not a new question."""
    return len(question) <= WEIGHTS.courtesy_words_max and _COURTESY in " ".join(question)


def _new_question(reply: tuple[Clause, ...]) -> str:
    asked = (" ".join(q) for q in _questions(reply) if not _is_courtesy(q))
    return next(asked, "")


def _courtesies(reply: tuple[Clause, ...]) -> tuple[str, ...]:
    return (_COURTESY,) if any(_is_courtesy(q) for q in _questions(reply)) else ()
