"""What looks like one of the protocol's tags, to a model or to a person.

Tag-shaped is an opening bracket, or a character that looks like one, then the letters of `tool`
and of `call`, `result` or `error`: in any case, plain or styled, whatever punctuation, white space
or invisible characters stand between.
"""

from __future__ import annotations

import unicodedata
from typing import Final, Literal

# Written as escapes, since an editor may compose or confuse them; in pairs, opening and closing.
OPENERS: Final = (
    "<\uff1c\ufe64\u2039\u00ab\u27e8\u27ea\u2329\u3008\u300a"
    "\u276c\u276e\u2770\u2991\u29fc\u02c2\u1438\u226e"
)
CLOSERS: Final = (
    ">\uff1e\ufe65\u203a\u00bb\u27e9\u27eb\u232a\u3009\u300b"
    "\u276d\u276f\u2771\u2992\u29fd\u02c3\u1433\u226f"
)
_SLASHES: Final = "/\\\uff0f\uff3c\u2215\u2044\u29f8"
_WORDS: Final = ("toolcall", "toolresult", "toolerror")

Shape = Literal["opening", "closing", "other", "undecided", "none"]
"""What text from a bracket on is: a call's tag, opening or closing; a result's or an error's;
what may still become one; or no tag."""


def _letters(character: str) -> str:
    """The plain small letters and digits that a character stands for; empty for anything else."""
    if character.isascii():
        return character.lower() if character.isalnum() else ""
    folded = unicodedata.normalize("NFKD", character).casefold()
    return "".join(part for part in folded if part.isalnum())


class TagMatcher:
    """Follows text from an opening bracket until it is tag-shaped, or cannot become so.

    A bracket inside starts over, and what stood before it is kept: were the inner tag cut out, the
    rest could close up to a new one, so both go together.
    """

    __slots__ = ("_closing", "_held", "_start", "_word")

    def __init__(self, opener: str) -> None:
        self._held = [opener]
        self._start = 0
        self._word = ""
        self._closing = False

    def push(self, character: str) -> Shape:
        """Take one character, unless with it the text is no tag; returns what it is."""
        if character in OPENERS:
            self._start, self._word, self._closing = len(self._held), "", False
        elif character in CLOSERS:
            return "none"
        elif letters := _letters(character):
            self._word += letters
            if not any(word.startswith(self._word[: len(word)]) for word in _WORDS):
                return "none"
        elif character in _SLASHES and not self._word:
            self._closing = True
        self._held.append(character)
        return self._shape()

    def _shape(self) -> Shape:
        if self._word.startswith(_WORDS[0]):
            return "closing" if self._closing else "opening"
        return "other" if self._word.startswith(_WORDS[1:]) else "undecided"

    @property
    def text(self) -> str:
        """All that was taken."""
        return "".join(self._held)

    @property
    def before(self) -> str:
        """What was taken before the last opening bracket."""
        return "".join(self._held[: self._start])

    @property
    def tag(self) -> str:
        """What was taken from the last opening bracket on."""
        return "".join(self._held[self._start :])

    @property
    def begun(self) -> bool:
        """Whether the first of the two words is there."""
        return self._word.startswith("tool")
