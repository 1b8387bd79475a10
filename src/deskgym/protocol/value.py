"""One strict JSON object, read as it comes: a scanner that knows its end, or where it went wrong.

Python's decoder cannot be fed in pieces, gives up on deep nesting, and takes NaN. The scanner keeps
one state and a stack, so that a megabyte in single characters costs what it costs at once.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from deskgym.protocol.parsed import DEPTH_MAX, NUMBER_CHARACTERS_MAX

_SPACE: Final = " \t\n\r"
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]+')
_ESCAPES: Final = '"\\/bfnrt'
_HEX: Final = "0123456789abcdefABCDEF"
_LITERALS: Final = {"t": "rue", "f": "alse", "n": "ull"}

_DIGITS: Final = "0123456789"
# What may follow in a number, by what was last read; a state in _WHOLE may also be its end.
_NUMBER: Final = {
    "minus": {"0": "zero", **dict.fromkeys("123456789", "integer")},
    "zero": {".": "point", **dict.fromkeys("eE", "exponent")},
    "integer": {
        **dict.fromkeys(_DIGITS, "integer"),
        ".": "point",
        **dict.fromkeys("eE", "exponent"),
    },
    "point": dict.fromkeys(_DIGITS, "fraction"),
    "fraction": {**dict.fromkeys(_DIGITS, "fraction"), **dict.fromkeys("eE", "exponent")},
    "exponent": {**dict.fromkeys("+-", "sign"), **dict.fromkeys(_DIGITS, "power")},
    "sign": dict.fromkeys(_DIGITS, "power"),
    "power": dict.fromkeys(_DIGITS, "power"),
}
_WHOLE: Final = ("zero", "integer", "fraction", "power")

Status = Literal["more", "complete", "wrong"]


class ValueScanner:
    """Finds the end of one JSON object in text that comes in pieces.

    Attributes:
        status: `more` until the object is `complete`, or cannot become one.
        over_limit: whether it is nested too deep, or holds a number that is too long.
    """

    __slots__ = ("_expect", "_key", "_number", "_rest", "_stack", "over_limit", "status")

    def __init__(self) -> None:
        self.status: Status = "more"
        self.over_limit = False
        self._stack: list[str] = []
        self._expect = "object"
        self._key = False
        self._rest = ""
        self._number = 0

    def scan(self, text: str, at: int) -> int:
        """Read on from a place in the text.

        Returns:
            Where the object ended, or the first character that cannot be, or the text's end.
        """
        while at < len(text) and self.status == "more":
            if self._expect == "text" and (plain := _PLAIN.match(text, at)):
                at = plain.end()
            elif self._step(text[at]):
                at += 1
        return at

    def _step(self, character: str) -> bool:
        """Take one character; whether it is used up."""
        match self._expect:
            case "text":
                return self._in_text(character)
            case "escape":
                return self._in_escape(character)
            case "hex" | "literal":
                return self._in_rest(character)
            case expect if expect in _NUMBER:
                return self._in_number(character)
            case _:
                return character in _SPACE or self._between(character)

    def _between(self, character: str) -> bool:
        match self._expect, character:
            case (("object" | "value" | "value_or_end"), "{"):
                return self._open("{", "key_or_end")
            case (("value" | "value_or_end"), "["):
                return self._open("[", "value_or_end")
            case (("key" | "key_or_end"), '"'):
                self._key, self._expect = True, "text"
            case (("value" | "value_or_end"), '"'):
                self._key, self._expect = False, "text"
            case (("value" | "value_or_end"), _) if character in _LITERALS:
                self._rest, self._expect = _LITERALS[character], "literal"
            case (("value" | "value_or_end"), _) if character == "-" or character in _DIGITS:
                self._number = 1
                self._expect = "minus" if character == "-" else _NUMBER["minus"][character]
            case "colon", ":":
                self._expect = "value"
            case "comma_or_end", ",":
                self._expect = "key" if self._stack[-1] == "{" else "value"
            case (("comma_or_end" | "key_or_end"), "}") if self._stack[-1] == "{":
                self._close()
            case (("comma_or_end" | "value_or_end"), "]") if self._stack[-1] == "[":
                self._close()
            case _:
                return self._wrong()
        return True

    def _open(self, bracket: str, expect: str) -> bool:
        self._stack.append(bracket)
        self._expect = expect
        self.over_limit |= len(self._stack) > DEPTH_MAX
        return True

    def _close(self) -> None:
        self._stack.pop()
        self._expect = "comma_or_end"
        if not self._stack:
            self.status = "complete"

    def _wrong(self) -> bool:
        self.status = "wrong"
        return False

    def _in_text(self, character: str) -> bool:
        if character == '"':
            self._expect = "colon" if self._key else "comma_or_end"
        elif character == "\\":
            self._expect = "escape"
        else:
            return self._wrong()
        return True

    def _in_escape(self, character: str) -> bool:
        if character == "u":
            self._rest, self._expect = "hhhh", "hex"
        elif character in _ESCAPES:
            self._expect = "text"
        else:
            return self._wrong()
        return True

    def _in_rest(self, character: str) -> bool:
        """What is left of `true`, `false` and `null`, or of an escape's four digits."""
        fits = character in _HEX if self._expect == "hex" else character == self._rest[0]
        if not fits:
            return self._wrong()
        self._rest = self._rest[1:]
        if not self._rest:
            self._expect = "text" if self._expect == "hex" else "comma_or_end"
        return True

    def _in_number(self, character: str) -> bool:
        following = _NUMBER[self._expect].get(character)
        if following is not None:
            self._expect = following
            self._number += 1
            self.over_limit |= self._number > NUMBER_CHARACTERS_MAX
            return True
        if self._expect not in _WHOLE:
            return self._wrong()
        self._expect = "comma_or_end"
        return False
