"""Which ticket replies are acceptable, in plain Python and without the rules that score them.

It is the audit's second opinion: words are looked for as a reader's eye finds them, and the bar is
what the policy asks of an agent. It knows the scenarios, as the people do who wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from deskgym.aftermath import Aftermath
from deskgym.suites.tickets.catalogue import others, scenario
from deskgym.suites.tickets.scenario import CATEGORIES, TURNS, Scenario, tier_of

STEPS_MIN: Final = 4
"""How many steps of the solution a reply names that solves a ticket."""

_KEYWORD_WORDS_PERCENT_MAX: Final = 60
_FOREIGN_MAX: Final = 1


def objections(run: Aftermath) -> tuple[str, ...]:
    """What is wrong with the replies of a ticket; nothing if they are what its policy asks for."""
    tier = tier_of(run.task)
    asked = scenario(run.log["env_ticket"][0]["scenario"])
    replies = [row["body"] for row in run.log["env_message"] if row["role"] == "agent"]
    if len(replies) != TURNS[tier]:
        return (f"{len(replies)} of {TURNS[tier]} replies were made",)
    if tier == "easy":
        return tuple(_sorted_wrongly(asked, replies[0]))
    # Which intent is declared matters where a ticket is solved in one reply, and only there.
    if tier == "medium" and any(row["intent"] == "escalate" for row in run.log["env_turn"]):
        return ("the ticket was handed to somebody else",)
    if tier == "medium":
        return tuple(_unsolved(asked, replies[0]))
    question, solution, farewell = replies
    return (
        *_asks_nothing(asked, question),
        *_unsolved(asked, solution),
        *_ends_badly(asked, farewell),
    )


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[\w@'-]+", text.casefold().replace("’", "'")))


def _named(phrases: Iterable[str], text: str) -> list[str]:
    words = f" {_plain(text)} "
    return [phrase for phrase in phrases if f" {_plain(phrase)} " in words]


def _sorted_wrongly(asked: Scenario, reply: str) -> Iterator[str]:
    named = _named(CATEGORIES, reply)
    if named != [asked.category]:
        yield f"the reply names {named or 'no category'}, and the ticket is about {asked.category}"


def _steps(asked: Scenario, reply: str) -> set[str]:
    return {keyword.name for keyword in asked.keywords if _named(keyword.forms, reply)}


def _foreign(asked: Scenario, reply: str) -> set[str]:
    """Categories whose remedies the reply names, and which are not fair here."""
    fair = {keyword.name for keyword in (*asked.fair, *asked.keywords)}
    return {
        other.category
        for other in others(asked.category)
        for keyword in other.keywords
        if keyword.name not in fair and _named(keyword.forms, reply)
    }


def _unsolved(asked: Scenario, reply: str) -> Iterator[str]:
    steps = _steps(asked, reply)
    if len(steps) < STEPS_MIN:
        yield f"the reply has {len(steps)} steps of the solution: {sorted(steps)}"
    foreign = _foreign(asked, reply)
    if len(foreign) > _FOREIGN_MAX:
        yield f"the reply also gives remedies for {sorted(foreign)}"
    forms = [form for keyword in asked.keywords for form in keyword.forms]
    taken = {word for form in _named(forms, reply) for word in _plain(form).split()}
    words = _plain(reply).split()
    share = 100 * sum(word in taken for word in words) // max(1, len(words))
    if share > _KEYWORD_WORDS_PERCENT_MAX:
        yield f"{share} % of the reply's words are keywords: it is a list, not an answer"


def _asks_nothing(asked: Scenario, reply: str) -> Iterator[str]:
    if "?" not in reply:
        yield "the first reply asks nothing"
    if not _named(asked.topics, reply):
        yield "the first reply asks about nothing of this ticket"


def _ends_badly(asked: Scenario, reply: str) -> Iterator[str]:
    if not _steps(asked, reply):
        yield "the last reply does not say again what solved it"
    if len(_foreign(asked, reply)) > _FOREIGN_MAX:
        yield "the last reply sums up other solutions"
