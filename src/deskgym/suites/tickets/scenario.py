"""What a ticket is made of: a customer's texts, and the words that a good reply uses."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from deskgym.errors import UnknownName, UsageError

Category: TypeAlias = Literal["refund", "technical", "shipping", "billing", "account"]
Tier: TypeAlias = Literal["easy", "medium", "hard"]
Intent: TypeAlias = Literal["classify", "respond", "clarify", "escalate", "close"]

CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
TIERS: Final[tuple[Tier, ...]] = get_args(Tier)
INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)
TURNS: Final[dict[Tier, int]] = {"easy": 1, "medium": 1, "hard": 3}
"""How many replies an episode of a tier takes."""


@dataclass(frozen=True)
class Keyword:
    """One step of a solution, in the ways that a reply may write it. The first names it."""

    forms: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.forms[0]


def keyword(*forms: str) -> Keyword:
    """A step of a solution, in these forms."""
    return Keyword(forms)


@dataclass(frozen=True)
class Wording:
    """A customer's three messages, in one voice.

    Attributes:
        opening: the ticket.
        follow_up: answers a clarifying question.
        acknowledgement: says that the solution was understood.
    """

    opening: str
    follow_up: str
    acknowledgement: str


@dataclass(frozen=True)
class GoodReply:
    """What a good agent says: the question, the solution, and the solution in a sentence."""

    question: str
    resolution: str
    recap: str


@dataclass(frozen=True)
class Scenario:
    """A kind of ticket.

    Attributes:
        keywords: the steps of the solution.
        fair: steps of other categories which are honest here too, and so count neither way.
        topics: what a good clarifying question asks about.
        synonyms: words that mean the category and no other.
    """

    name: str
    category: Category
    wordings: tuple[Wording, ...]
    keywords: tuple[Keyword, ...]
    fair: tuple[Keyword, ...]
    topics: tuple[str, ...]
    synonyms: tuple[str, ...]
    good_reply: GoodReply


def tier_of(name: object) -> Tier:
    """The tier of that name; raises `UnknownName`."""
    for tier in TIERS:
        if tier == name:
            return tier
    raise UnknownName("task_name", name, TIERS)


def require_turn(tier: str, turn: int, intent: str | None) -> None:
    """Raise `UsageError` for a tier, a turn (counted from 0) or an intent that there is not."""
    turns = TURNS[tier_of(tier)]
    if not 0 <= turn < turns:
        raise UsageError(f"{tier} has {turns} turn(s); there is no turn index {turn}")
    if intent is not None and intent not in INTENTS:
        raise UnknownName("intent", intent, INTENTS)
