"""`ticket-reward.v2`: the default. Each tier reaches exactly 1.00, and one text does not fit all.

A phrase counts as whole words, once, and only in a clause that asserts it (see
`deskgym.rubric.language`). What a reply promises from another category's solutions counts against
it, so a list of everything is worth its courtesy and its length and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from deskgym.rubric.language import (
    QUOTED,
    Clause,
    Phrasebook,
    clauses,
    negated_closely,
    normalise,
)
from deskgym.rubric.language.fold import words
from deskgym.rubric.turns import Part, TurnScore, total
from deskgym.suites.tickets.catalogue import SCENARIOS, others
from deskgym.suites.tickets.scenario import (
    CATEGORIES,
    Category,
    Intent,
    Scenario,
    Tier,
    Wording,
    require_turn,
)

RUBRIC: Final = "ticket-reward.v2"


@dataclass(frozen=True)
class Weights:
    """Points are ten-thousandths of a reward."""

    category: int = 10_000
    synonym: int = 5_000
    keyword: int = 2_000
    keywords_max: int = 4
    foreign_categories_max: int = 1
    keyword_words_percent_max: int = 50
    empathy: int = 1_000
    detail: int = 1_000
    detail_characters: int = 80
    needless_escalation: int = -2_000
    question: int = 3_000
    on_topic: int = 7_000
    closing: int = 4_000
    restated: int = 6_000
    courtesy_words_max: int = 14
    copied_words_min: int = 6
    characters_shown_max: int = 80


WEIGHTS: Final = Weights()

EMPATHY: Final = (
    "sorry", "apologise", "apologize", "apologised", "apologized", "apologising", "apologizing",
    "apology", "apologies", "understand", "understandable", "understandably",
)  # fmt: skip
HANDOVER: Final = (
    "escalate", "escalated", "escalating", "escalation", "supervisor", "supervisors",
    "human agent", "human colleague", "human representative", "human being", "real person",
    "to a human", "to a person", "transfer you to", "transferring you to", "hand you over",
    "handing you over", "hand this over", "handing this over", "pass you to", "pass you over",
    "passing you to", "my manager", "to a manager",
)  # fmt: skip
CLOSING: Final = (
    "thank you", "thanks", "thank", "take care", "have a good", "have a great", "have a lovely",
    "have a nice", "have a wonderful", "glad", "happy to help", "pleasure", "best wishes",
    "kind regards", "best regards", "warm regards", "all the best", "goodbye", "anything else",
    "you're welcome", "you are welcome",
)  # fmt: skip
_COURTESY: Final = "anything else"


def score_turn(
    tier: Tier, turn: int, scenario: Scenario, message: str, intent: Intent | None = None
) -> TurnScore:
    """Score one reply. Turns count from 0.

    Raises:
        UsageError: there is no such tier, turn or intent.
    """
    require_turn(tier, turn, intent)
    reply = clauses(message)
    if tier == "easy":
        return total((_category(scenario, reply),))
    reply = _without_copies(scenario, reply)
    if tier == "medium":
        return total((*_solution(scenario, message, reply), _escalation(reply, intent)))
    if turn == 0:
        return total(_clarify(scenario, reply))
    if turn == 1:
        return total(_solution(scenario, message, reply))
    return total(_close(scenario, reply))


# --- the customer's own words -------------------------------------------------------------------


@lru_cache(maxsize=len(SCENARIOS))
def _customer_runs(wordings: tuple[Wording, ...]) -> frozenset[tuple[str, ...]]:
    """Every run of words, of the length that makes a copy, that a scenario's customer writes."""
    return frozenset(
        run
        for wording in wordings
        for text in (wording.opening, wording.follow_up, wording.acknowledgement)
        for run in _runs(words(text))
    )


def _runs(texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    length = WEIGHTS.copied_words_min
    return (tuple(texts[at : at + length]) for at in range(len(texts) - length + 1))


def _without_copies(scenario: Scenario, reply: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """The reply with what it copies from the customer taken for a quotation, marked or not."""
    said = [word for clause in reply for word in clause.words]
    theirs = _customer_runs(scenario.wordings)
    copied: set[int] = set()
    for at, run in enumerate(_runs(said)):
        if run in theirs:
            copied.update(range(at, at + len(run)))
    if not copied:
        return reply
    own = iter([QUOTED if at in copied else word for at, word in enumerate(said)])
    return tuple(clause._replace(words=tuple(islice(own, len(clause.words)))) for clause in reply)


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
def _keyword_owners() -> dict[str, Category]:
    """The category of each keyword; none is shared, or one text would solve tickets of two."""
    return {
        keyword.name: scenario.category for scenario in SCENARIOS for keyword in scenario.keywords
    }


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
    most = WEIGHTS.category
    if len(named) > 1:
        return Part("category", 0, most, tuple(named), "more than one category is named")
    if named and scenario.category in asserted:
        return Part("category", most, most, tuple(named))
    if named:
        wrong = scenario.category not in named
        return Part("category", 0, most, tuple(named), "another one" if wrong else "not asserted")
    if hinted == {own_synonym} and own_synonym in asserted:
        return Part("synonym", WEIGHTS.synonym, most, (asserted[own_synonym],))
    return Part("category", 0, most, reason="no category is named, and no one synonym is clear")


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
            owner = _keyword_owners()[match.name]
            if not clause.asserted:
                continue
            if match.name in own_names:
                own.setdefault(match.name, match.written)
            elif owner != scenario.category and match.name not in fair_names:
                foreign.setdefault(match.name, match.written)
                categories.add(owner)
    words_count = sum(len(clause.words) for clause in reply)
    mostly = keyword_words * 100 >= words_count * WEIGHTS.keyword_words_percent_max
    return _Solution(own, foreign, frozenset(categories), mostly and bool(keyword_words))


def _keywords(solution: _Solution) -> tuple[Part, ...]:
    most = WEIGHTS.keywords_max * WEIGHTS.keyword
    earned = min(len(solution.own) * WEIGHTS.keyword, most)
    gained = Part("keywords", earned, most, tuple(solution.own.values()))
    lost = solution.count * WEIGHTS.keyword - earned
    if not lost:
        return (gained,)
    reason = solution.worthless or "promises from another category"
    return gained, Part("keywords lost", lost, 0, tuple(solution.foreign.values()), reason)


def _solution(scenario: Scenario, message: str, reply: tuple[Clause, ...]) -> tuple[Part, ...]:
    length = len(normalise(message))
    detail = WEIGHTS.detail if length > WEIGHTS.detail_characters else 0
    return (
        *_keywords(_read_solution(scenario, reply)),
        _if_found("empathy", _said(_empathy_book(), reply), WEIGHTS.empathy),
        Part("detail", detail, WEIGHTS.detail, reason=f"{length} characters"),
    )


def _if_found(name: str, found: tuple[str, ...], points: int) -> Part:
    return Part(name, points if found else 0, points, found)


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
    return Part("needless escalation", WEIGHTS.needless_escalation if found else 0, 0, found)


def _mentioned(book: Phrasebook, reply: Iterable[Clause]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match.name for clause in reply for match in book.find(clause.words)))


# --- the first and the third turn of hard -------------------------------------------------------


def _clarify(scenario: Scenario, reply: tuple[Clause, ...]) -> tuple[Part, ...]:
    questions = [clause for clause in reply if clause.question and _own_words(clause)]
    asked = tuple(_shown(clause.words) for clause in questions[:1])
    asks = _if_found("question", asked, WEIGHTS.question)
    foreign_topics = {
        topic for scenario_ in others(scenario.category) for topic in scenario_.topics
    } - set(scenario.topics)
    topics = tuple(t for t in _mentioned(_topic_book(), questions) if t in scenario.topics)
    foreign = tuple(t for t in _mentioned(_topic_book(), reply) if t in foreign_topics)
    if foreign:
        return asks, Part("on topic", 0, WEIGHTS.on_topic, foreign, "topics of another category")
    return asks, _if_found("on topic", topics, WEIGHTS.on_topic)


def _shown(words: tuple[str, ...]) -> str:
    """The beginning of what was asked, for the breakdown."""
    return " ".join(words)[: WEIGHTS.characters_shown_max]


def _own_words(clause: Clause) -> bool:
    return any(word[0].isalnum() for word in clause.words)


def _close(scenario: Scenario, reply: tuple[Clause, ...]) -> tuple[Part, ...]:
    question = _new_question(reply)
    if question:
        most = WEIGHTS.closing + WEIGHTS.restated
        return (Part("close", 0, most, (question,), "it asks a new question"),)
    closing = _said(_closing_book(), reply) + _courtesies(reply)
    return (
        _if_found("closing phrase", closing, WEIGHTS.closing),
        _restated(_read_solution(scenario, reply)),
    )


def _restated(solution: _Solution) -> Part:
    """A summary that has a promise from another category in it sums up another solution."""
    name, most = "solution restated", WEIGHTS.restated
    if not solution.own:
        return Part(name, 0, most)
    if solution.worthless:
        return Part(name, 0, most, tuple(solution.own.values()), solution.worthless)
    if solution.foreign:
        foreign = tuple(solution.foreign.values())
        return Part(name, 0, most, foreign, "promises from another category")
    return Part(name, most, most, tuple(solution.own.values()))


def _questions(reply: tuple[Clause, ...]) -> list[tuple[str, ...]]:
    asked: dict[int, tuple[str, ...]] = {}
    for clause in reply:
        if clause.question:
            asked[clause.sentence] = asked.get(clause.sentence, ()) + clause.words
    return list(asked.values())


def _is_courtesy(question: tuple[str, ...]) -> bool:
    """Whether it is a way to close: "Is there anything else I can help with?"."""
    return len(question) <= WEIGHTS.courtesy_words_max and _COURTESY in " ".join(question)


def _new_question(reply: tuple[Clause, ...]) -> str:
    asked = (q for q in _questions(reply) if not _is_courtesy(q))
    return _shown(next(asked, ()))


def _courtesies(reply: tuple[Clause, ...]) -> tuple[str, ...]:
    return (_COURTESY,) if any(_is_courtesy(q) for q in _questions(reply)) else ()
