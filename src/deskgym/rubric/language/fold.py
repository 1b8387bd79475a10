"""Fold a text to what a reader sees of it: plain lower-case letters, and the words they make."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Letters that look like a Latin one in most fonts. Capitals are apart, because some pairs part
# company in lower case: the capital of Greek nu looks like N, its small letter like v.
_CAPITAL_LOOKALIKES: Final = dict(
    zip("АВЕЅІЈКМНОРСТУХҮԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "abesijkmhopctyxygqwabezhikmnoptyxc", strict=True)
)
_SMALL_LOOKALIKES: Final = dict(
    zip("авеѕіјкмнорстухүԁԛԝһӏґгпαβεικνορτυχγηωϲϳıɑɡɩʀ",
        "abesijkmhopctyxydqwhlrrnabeikvoptuxynwcjiagir", strict=True)
)  # fmt: skip
_PUNCTUATION: Final = {
    **dict.fromkeys("‘’‚‛′ʼʹ`´＇", "'"),
    **dict.fromkeys("“”„‟″«»‹›＂", '"'),
    **dict.fromkeys("‐‑‒−﹣－", "-"),
    **dict.fromkeys("؟⁇⸮", "?"),
}
# A ligature that stands for a whole phrase would make a text many times longer.
_EXPANSION_MAX: Final = 4


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if character in _PUNCTUATION:
        return _PUNCTUATION[character]
    if character in "\n\x85\u2028\u2029\x0b\x0c":
        return "\n"
    parts = unicodedata.normalize("NFKD", character)
    if len(parts) > _EXPANSION_MAX:
        return character
    folded: list[str] = []
    for part in parts:
        if part.isspace():
            folded.append(" ")
            continue
        # Marks (M), controls, formats (zero width), surrogates and unassigned (C) show nothing.
        if unicodedata.category(part)[0] in "MC":
            continue
        part = _PUNCTUATION.get(part, _CAPITAL_LOOKALIKES.get(part, part))
        folded.extend(_SMALL_LOOKALIKES.get(small, small) for small in part.casefold())
    return "".join(folded)


def fold(text: str) -> str:
    """Lower case, compatibility forms, quotes and look-alikes made plain; line breaks kept.

    Works a character at a time: `unicodedata.normalize` on a whole text sorts runs of combining
    marks in quadratic time, and accents are dropped here anyway.
    """
    return text.translate({ord(character): _fold_character(character) for character in set(text)})


def normalise(text: str) -> str:
    """`fold`, with every run of white space made one space and none at the ends."""
    return " ".join(fold(text).split())


_WORD: Final = re.compile(r"\w+(?:'\w+)*")


def words(text: str) -> tuple[str, ...]:
    """The words of a text, folded. A hyphen parts words, an apostrophe inside one does not."""
    return tuple(_WORD.findall(fold(text)))
