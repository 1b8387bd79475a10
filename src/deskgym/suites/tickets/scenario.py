"""What a ticket is made of: a customer's texts, and the words that a good reply uses."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Category: TypeAlias = Literal["refund", "technical", "shipping", "billing", "account"]
Tier: TypeAlias = Literal["easy", "medium", "hard"]
Intent: TypeAlias = Literal["classify", "respond", "clarify", "escalate", "close"]

CATEGORIES: tuple[Category, ...] = ("refund", "technical", "shipping", "billing", "account")
TIERS: tuple[Tier, ...] = ("easy", "medium", "hard")
TURNS: dict[Tier, int] = {"easy": 1, "medium": 1, "hard": 3}
"""How many replies an episode of a tier takes."""


@dataclass(frozen=True)
class Keyword:
    """One step of a solution, in the ways that a reply may write it. The first names it."""

    forms: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.forms[0]


def keyword(*forms: str) -> Keyword:
    return Keyword(forms)


@dataclass(frozen=True)
class Wording:
    """A customer's three messages, in one voice.

    opening: the ticket. follow_up: answers a clarifying question. acknowledgement: says that the
    solution was understood.
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

    keywords: the steps of the solution. fair: steps of other categories which are honest here
    too, and so count neither way. topics: what a good clarifying question asks about. synonyms:
    words that mean the category and no other.
    """

    name: str
    category: Category
    wordings: tuple[Wording, ...]
    keywords: tuple[Keyword, ...]
    fair: tuple[Keyword, ...]
    topics: tuple[str, ...]
    synonyms: tuple[str, ...]
    good_reply: GoodReply
