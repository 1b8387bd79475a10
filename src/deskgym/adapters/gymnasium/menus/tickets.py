"""The menu of the tickets: it can sort a ticket, ask, and close politely.

Tickets are solved in words of one's own, which no menu holds: of `easy` it expresses the whole
answer, of `medium` and `hard` the sentences that fit any ticket.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from deskgym.adapters.gymnasium.memory import Memory
from deskgym.adapters.gymnasium.menu import Arguments, Family, MenuDefinition
from deskgym.tool import Toolbox

CATEGORIES: Final = ("refund", "technical", "shipping", "billing", "account")
"""As the policy names them."""
SENTENCES: Final = (
    ("ask", "clarify", "Thanks for getting in touch. Could you tell me a little more about it?"),
    (
        "solve",
        "respond",
        "I am sorry about this, and I understand how annoying it is. We have looked into it and "
        "corrected it on our side; please try it once more from the beginning.",
    ),
    ("close", "close", "I am glad that we could sort this out. Thank you for your patience!"),
)


def _replies(_: Memory) -> list[Arguments | None]:
    sorts = [
        {"message": f"This ticket is about: {category}.", "intent": "classify"}
        for category in CATEGORIES
    ]
    return [*sorts, *({"message": words, "intent": intent} for _, intent, words in SENTENCES)]


def families(_: Toolbox) -> Sequence[Family]:
    """The one family of the tickets."""
    places = (*(f"sort, {one}" for one in CATEGORIES), *(name for name, _, _ in SENTENCES))
    return (Family("respond", places, _replies),)


MENU: Final = MenuDefinition(families)
