"""A second reading of the suite's rules: what a conversation must earn by version 2.

It is no reader of language. It knows the sentences of the suite's own good agent by heart, and
looks for a rule's words in them as they stand; a conversation with any other sentence in it is not
judged at all. None of the rubric's code, word lists or weights is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from deskgym.aftermath import Aftermath
from deskgym.suites.tickets import agents
from deskgym.suites.tickets.catalogue import SCENARIOS
from deskgym.suites.tickets.scenario import CATEGORIES, TURNS, Keyword, Scenario
from deskgym.suites.tickets.ticket import TICKETS, recognise

RUBRIC: Final = "ticket-reward.v2"
QUIET: Final = "thank you for writing."
_ENDS: Final = re.compile(r"(?<=[.!?]) ")
_POLITE: Final = re.compile(r"\b(?:thank you|thanks|glad|take care|have a good|all the best)\b")
_SYMPATHY: Final = re.compile(r"\b(?:sorry|apologise|understand)\b")
_COURTESY: Final = "is there anything else i can help with?"


def reckon(seen: Aftermath) -> Mapping[str, float]:
    """What a conversation must earn; nothing where somebody says what is not known here."""
    scenario = recognise(seen.opening).scenario
    turns = [step.action.arguments for step in seen.steps if step.result.ok]
    if not all(map(_is_known, turns)):
        return {}
    asked = TURNS[seen.task]  # type: ignore[index]
    points = [
        _turn(seen.task, number, scenario, arguments) for number, arguments in enumerate(turns)
    ]
    mean = (2 * sum(points) + asked) // (2 * asked)
    return {RUBRIC: mean / 10_000}


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def _sentences(text: str) -> list[str]:
    return _ENDS.split(_plain(text))


@cache
def _known() -> frozenset[str]:
    """Every sentence of the good agent, whatever the ticket, and one that means nothing."""
    said = [
        agents.oracle(tier, turn, ticket).message
        for tier, turns in TURNS.items()
        for turn in range(turns)
        for ticket in TICKETS
    ]
    synonyms = [agents.synonym("easy", 0, ticket).message for ticket in TICKETS]
    return frozenset(part for text in (*said, *synonyms, QUIET) for part in _sentences(text))


def _is_known(arguments: Any) -> bool:
    return _known().issuperset(_sentences(arguments["message"]))


def _turn(tier: str, number: int, scenario: Scenario, arguments: Any) -> int:
    text = _plain(arguments["message"])
    if tier == "easy":
        return _easy(scenario, text)
    if tier == "medium":
        handed_over = 2_000 * (arguments.get("intent") == "escalate")
        return max(0, _solution(scenario, text) - handed_over)
    return (_question, _solution, _close)[number](scenario, text)


def _easy(scenario: Scenario, text: str) -> int:
    named = {category for category in CATEGORIES if _has(text, [category])}
    if len(named) == 1:
        return 10_000 * (named == {scenario.category})
    hinted = {one.category for one in SCENARIOS if _has(text, one.synonyms)}
    return 5_000 * (not named and hinted == {scenario.category})


def _words(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.replace(chr(39), '')))} "


def _has(text: str, phrases: Iterable[str]) -> bool:
    line = _words(text)
    return any(_words(_plain(phrase)) in line for phrase in phrases)


def _found(text: str, keywords: Sequence[Keyword]) -> set[str]:
    """The keywords that the text affirms: a question promises nothing, nor does a denial."""
    affirmed = " . ".join(
        part for part in _ENDS.split(text) if not part.endswith("?") and " no longer " not in part
    )
    return {keyword.name for keyword in keywords if _has(affirmed, keyword.forms)}


def _of_others(scenario: Scenario, text: str) -> tuple[set[str], set[str]]:
    """Keywords of other categories that are not honest here too, and their categories."""
    fair = {keyword.name for keyword in (*scenario.fair, *scenario.keywords)}
    names: set[str] = set()
    categories: set[str] = set()
    for other in SCENARIOS:
        if other.category != scenario.category:
            found = _found(text, other.keywords) - fair
            names |= found
            categories |= {other.category} if found else set()
    return names, categories


def _solution(scenario: Scenario, text: str) -> int:
    foreign, categories = _of_others(scenario, text)
    counted = max(0, min(4, len(_found(text, scenario.keywords))) - len(foreign))
    if len(categories) > 1:
        counted = 0
    sympathy = 1_000 * bool(_SYMPATHY.search(text))
    return 2_000 * counted + sympathy + 1_000 * (len(text) > 80)


def _question(scenario: Scenario, text: str) -> int:
    questions = " ".join(part for part in _ENDS.split(text) if part.endswith("?"))
    if not questions:
        return 0
    foreign = {
        topic
        for other in SCENARIOS
        if other.category != scenario.category
        for topic in other.topics
    } - set(scenario.topics)
    on_topic = _has(questions, scenario.topics) and not _has(text, foreign)
    return 3_000 + 7_000 * on_topic


def _close(scenario: Scenario, text: str) -> int:
    questions = [part for part in _ENDS.split(text) if part.endswith("?")]
    if any(question != _COURTESY for question in questions):
        return 0
    foreign, _ = _of_others(scenario, text)
    restated = bool(_found(text, scenario.keywords)) and not foreign
    return 4_000 * bool(questions or _POLITE.search(text)) + 6_000 * restated
