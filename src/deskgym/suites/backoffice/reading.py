"""What the suite's own scripts say in their replies, read back a sentence at a time.

It is no reader of language: it knows a few dozen sentences by heart, and says so when it meets
another one. The audit needs it to tell what a changed reply says without the rubric's reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Said:
    """What replies say.

    Attributes:
        numbers: order numbers that they name.
        cents: amounts of money.
        promised: what was or will be done: `refund`, `replacement`, `cancellation`.
        denied: what is refused: `refund`, `help`.
        reasons: why, by the policy.
        days: numbers of days.
    """

    numbers: frozenset[str] = frozenset()
    cents: frozenset[int] = frozenset()
    promised: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    days: frozenset[int] = frozenset()

    def __or__(self, other: Said) -> Said:
        return Said(
            self.numbers | other.numbers,
            self.cents | other.cents,
            self.promised | other.promised,
            self.denied | other.denied,
            self.reasons | other.reasons,
            self.days | other.days,
        )


_ORDER: Final = r"(?P<order>\d+)"
_MONEY: Final = r"\$?(?P<money>[\d,]+\.\d\d)"
_DAYS: Final = r"(?P<days>\d+)"


def _sentence(
    pattern: str, promised: str = "", denied: str = "", reason: str = ""
) -> tuple[re.Pattern[str], Said]:
    facts = Said(
        promised=frozenset(filter(None, [promised])),
        denied=frozenset(filter(None, [denied])),
        reasons=frozenset(filter(None, [reason])),
    )
    return re.compile(pattern), facts


_SENTENCES: Final = (
    _sentence(r"thank you for writing\."),
    _sentence(rf"thank you for writing about order {_ORDER}\."),
    _sentence(r"i am sorry\."),
    _sentence(rf"i am sorry about the trouble with order {_ORDER}\."),
    _sentence(rf"thank you, we are looking at order {_ORDER}\."),
    _sentence(rf"this is about order #?{_ORDER}\."),
    _sentence(rf"order {_ORDER}: we have found the second charge\."),
    _sentence(rf"i have looked at order {_ORDER}\."),
    _sentence(r"we have sent you a replacement today, free of charge\.", "replacement"),
    _sentence(r"we're sending everything again: a replacement is packed\.", "replacement"),
    _sentence(rf"we have refunded {_MONEY} to the card that you paid with\.", "refund"),
    _sentence(rf"{_MONEY} has been refunded to the card that you paid with\.", "refund"),
    _sentence(rf"{_MONEY} dollars have been refunded\.", "refund"),
    _sentence(rf"you have been refunded {_MONEY} usd\.", "refund"),
    _sentence(rf"we have cancelled order {_ORDER} for you\.", "cancellation"),
    _sentence(
        rf"i am sorry, but we cannot refund order {_ORDER}: "
        rf"returns are taken up to {_DAYS} days after delivery\.",
        denied="refund",
        reason="return_window",
    ),
    _sentence(rf"our return window is {_DAYS} days\.", reason="return_window"),
    _sentence(r"it has passed, so a refund is not possible\.", denied="refund"),
    _sentence(
        r"i am sorry, but i cannot help with that order: it is on another account, and we speak "
        r"about an order only with the customer who placed it\.",
        denied="help",
        reason="other_account",
    ),
    _sentence(rf"i'm sorry, i can't help you with order {_ORDER}\.", denied="help"),
    _sentence(r"it isn't linked to your account\.", reason="other_account"),
)
_GREETING: Final = re.compile(r"^hello [^,]*, ")
_ENDS: Final = re.compile(r"(?<=[.!?]) ")


def said_in(replies: Sequence[str]) -> Said | None:
    """What replies say together; None if a sentence is none of those known here."""
    said = Said()
    for reply in replies:
        text = " ".join(reply.replace("’", "'").casefold().split())
        for sentence in filter(None, _ENDS.split(_GREETING.sub("", text))):
            found = _read(sentence)
            if found is None:
                return None
            said |= found
    return said


def _read(sentence: str) -> Said | None:
    for pattern, facts in _SENTENCES:
        match = pattern.fullmatch(sentence)
        if match is not None:
            named = match.groupdict()
            return facts | Said(
                numbers=frozenset(_given(named, "order")),
                cents=frozenset(
                    int(re.sub(r"[.,]", "", money)) for money in _given(named, "money")
                ),
                days=frozenset(map(int, _given(named, "days"))),
            )
    return None


def _given(named: dict[str, str | None], name: str) -> Iterable[str]:
    value = named.get(name)
    return [] if value is None else [value]
