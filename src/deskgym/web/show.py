"""How values are shown: rewards, money, times, and texts that nobody has vetted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

import orjson
from markupsafe import Markup, escape

TEXT_SHOWN_MAX: Final = 2_000
"""How many characters of a text are shown at once; the rest is there to unfold."""

ROWS_MAX: Final = 200
"""How many records of a list are shown as a table."""

ENTRIES_MAX: Final = 1_000
"""How many turns of a transcript are shown; a run with models has far fewer."""

SHORT_MAX: Final = 48
"""How many characters of an argument are shown where a call stands in a line."""

LABEL_MAX: Final = 160
"""How many characters of a text stand in a title or in the name of a part of a page."""

_VERDICTS: Final[Mapping[str, str]] = {
    "resolved": "resolved",
    "partial": "partial remedy",
    "not_resolved": "not resolved",
}

# What would act on the page or hide in it: controls but for line breaks and tabs, marks of writing
# direction and other format characters, halves of characters, and what stands for none.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def reward(value: float) -> str:
    """A reward with its sign and two decimals, or four where two would hide something."""
    if abs(value) > 100:
        return f"{value:+.2e}"  # no rubric of ours gives it; a recording may hold it
    points = round(value * 10_000)
    if points == 0:
        return "0.00"
    return f"{value:+.2f}" if points % 100 == 0 else f"{value:+.4f}"


def verdict(value: str) -> str:
    """A verdict in words; a recording may hold one that no rubric of ours gives."""
    return _VERDICTS[value] if value in _VERDICTS else shortened(value)


def money(cents: int, currency: str = "USD") -> str:
    """An amount of cents in its currency."""
    sign = "-" if cents < 0 else ""
    whole = f"{abs(cents) // 100:,}.{abs(cents) % 100:02d}"
    return f"{sign}${whole}" if currency == "USD" else f"{sign}{whole} {currency}"


def moment(ms: int) -> str:
    """Milliseconds since 1970 as a date and a time, in UTC."""
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def words(name: str) -> str:
    """A name in code as words: `two_full_captures` as `two full captures`."""
    return name.replace("_", " ").replace("-", " ")


def text(value: object) -> Markup:
    """A text as text, whatever it holds: what would act or hide is named, what is long unfolds."""
    whole = str(value)
    if len(whole) <= TEXT_SHOWN_MAX:
        return Markup("<bdi>{}</bdi>").format(_named(whole))
    head, rest = whole[:TEXT_SHOWN_MAX], whole[TEXT_SHOWN_MAX:]
    return Markup(
        "<bdi>{}</bdi><details><summary>{} more characters</summary><bdi>{}</bdi></details>"
    ).format(_named(head), f"{len(rest):,}", _named(rest))


def value(item: Any) -> Markup:
    """A cell of a row: a text as text, nothing as a word, all else as JSON."""
    if item is None:
        return Markup('<span class="none">none</span>')
    if isinstance(item, str):
        return text(item) if item else Markup('<span class="none">empty</span>')
    return text(as_json(item, indent=False))


def as_json(item: Any, *, indent: bool = True) -> str:
    """A value as JSON for people; a nesting that cannot be written is said to be one."""
    try:
        return orjson.dumps(item, option=orjson.OPT_INDENT_2 if indent else 0).decode()
    except orjson.JSONEncodeError:
        return "(nested too deep to be shown)"


def counted(number: int, what: str) -> str:
    """A number of things: `1 row`, `2 rows`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def shortened(item: object, characters_max: int = SHORT_MAX) -> str:
    """The beginning of a text, in one line."""
    whole = " ".join(str(item)[: 4 * characters_max].split())
    return whole if len(whole) <= characters_max else whole[: characters_max - 1] + "…"


def label(item: object, characters_max: int = LABEL_MAX) -> str:
    """The beginning of a text for a place where no markup stands, such as a title.

    What would act or hide there is named by its code.
    """
    return _HIDDEN.sub(lambda match: f"U+{ord(match[0]):04X}", shortened(item, characters_max))


def call_text(arguments: object, *, names_only: bool = False) -> str:
    """A call's arguments in a few words: ids, amounts and the beginnings of texts.

    Args:
        arguments: as they were sent, whatever they are.
        names_only: leave texts of several words out.
    """
    if not isinstance(arguments, Mapping):
        return shortened(as_json(arguments, indent=False))
    shown: list[str] = []
    for name, item in cast(Mapping[object, object], arguments).items():
        if str(name).endswith("_cents") and type(item) is int:
            shown.append(money(item))
        elif isinstance(item, str):
            if not (names_only and " " in item.strip()):
                shown.append(shortened(item))
        elif item is not None:
            shown.append(f"{shortened(name)} {shortened(as_json(item, indent=False))}")
    return shortened(", ".join(shown), 4 * SHORT_MAX)


class Cell(NamedTuple):
    """A column of a changed row: what it held before and after, where it was there."""

    column: str
    had: bool
    before: Any
    has: bool
    after: Any

    @property
    def differs(self) -> bool:
        """Whether the change is in it; that a row without a value came or went is none."""
        return self.before != self.after or type(self.before) is not type(self.after)


def cells(change: Mapping[str, Any], whole: bool = False) -> list[Cell]:
    """The columns of a changed row that differ, or all of them. A row may have any."""
    before: Mapping[str, Any] = change["before"] or {}
    after: Mapping[str, Any] = change["after"] or {}
    found = [
        Cell(name, name in before, before.get(name), name in after, after.get(name))
        for name in [*dict.fromkeys((*before, *after))][:ROWS_MAX]
    ]
    return [cell for cell in found if whole or cell.differs]


def _named(part: str) -> Markup:
    """The text, escaped, with each character that would act or hide as its code."""
    shown = escape(part)
    if part.isascii() and part.isprintable():
        return shown
    return Markup(_HIDDEN.sub(_name, str(shown)))


def _name(match: re.Match[str]) -> str:
    character = match[0]
    title = unicodedata.name(character, "control character").lower()
    return f'<span class="hidden-character" title="{title}">U+{ord(character):04X}</span>'


def entries(transcript: object) -> list[dict[str, Any]]:
    """What was said in a run with models, as far as a recording holds it in the known form."""
    found: list[dict[str, Any]] = []
    for item in (
        cast(list[object], transcript)[:ENTRIES_MAX] if isinstance(transcript, list) else []
    ):
        entry = cast(dict[str, Any], item) if isinstance(item, dict) else {"text": item}
        role = entry.get("role")
        found.append(
            {
                "role": role if role in ("agent", "customer", "error") else "other",
                "text": entry.get("text", ""),
                "heard": entry.get("heard") is not False,
                "reason": entry.get("reason", ""),
                "step": label(entry.get("step", ""), SHORT_MAX),
            }
        )
    return found


def is_records(item: object) -> bool:
    """Whether a value is a list of records with the same fields, to be shown as a table."""
    if not isinstance(item, list) or not item:
        return False
    records = cast(list[object], item)
    first = records[0]
    if not isinstance(first, Mapping) or len(records) > ROWS_MAX:
        return False
    fields = cast(Mapping[str, object], first).keys()
    return bool(fields) and all(
        isinstance(record, Mapping) and cast(Mapping[str, object], record).keys() == fields
        for record in records
    )


FILTERS: Final[Mapping[str, Callable[..., object]]] = {
    "as_json": as_json,
    "call_text": call_text,
    "cells": cells,
    "count": counted,
    "entries": entries,
    "label": label,
    "moment": moment,
    "money": money,
    "reward": reward,
    "shortened": shortened,
    "text": text,
    "value": value,
    "verdict": verdict,
    "words": words,
}
"""What templates show values with."""

TESTS: Final[Mapping[str, Callable[..., bool]]] = {"records": is_records}
"""What templates ask of values."""
