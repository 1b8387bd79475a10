"""Fenced code blocks, as CommonMark has them, followed a character at a time.

Quotes and lists are not followed, only allowed for, where an example must not run: a fence may
stand behind their marks, and at any indentation once there was a list; it lasts until a closing
fence at most as far in, even if the quote or list ends. A line that opens with backticks and has as
many again is a block of one line.
"""

from __future__ import annotations

from typing import Final

LINE_ENDS: Final = "\r\n"
INDENT_MAX: Final = 3
_RUN_MIN: Final = 3
_DIGITS: Final = "0123456789"
_DIGITS_MAX: Final = 9
_TAB_COLUMNS: Final = 4


class LineStart:
    """Decides whether a line opens a fenced code block.

    Attributes:
        held: what was taken while that is open.
        listed: whether this line or one before began with the mark of a list.
        columns: how far in the line's text begins.
        quotes: how many marks of a quote it begins with.
        fence: the fence's character, once there is one.
    """

    __slots__ = ("_marker", "_run", "columns", "fence", "held", "listed", "quotes")

    def __init__(self, *, listed: bool = False) -> None:
        self.held: list[str] = []
        self.listed = listed
        self.columns = 0
        self.quotes = 0
        self.fence = ""
        self._run = 0
        self._marker = ""

    def push(self, character: str) -> bool:
        """Take one character; whether the line may still open a block, or does."""
        fits = self._takes(character)
        if fits:
            self.held.append(character)
        return fits

    @property
    def opens(self) -> bool:
        """Whether the line opens a block."""
        return self._run == _RUN_MIN

    def _takes(self, character: str) -> bool:
        if self._run:
            self._run += character == self.fence
            return character == self.fence
        if character in " \t":
            return self._space(_TAB_COLUMNS if character == "\t" else 1)
        if self._marker:
            return self._in_marker(character)
        if character == ">":
            self.quotes += 1
            self.columns += 1
        elif character in "`~":
            self.fence, self._run = character, 1
        elif character in "-*+" or character in _DIGITS:
            self._marker = character
        else:
            return False
        return True

    def _space(self, columns: int) -> bool:
        if self._marker:
            if self._marker[-1] in _DIGITS:
                return False
            self.listed, self.columns, self._marker = True, self.columns + len(self._marker), ""
        self.columns += columns
        return self.listed or self.quotes > 0 or self.columns <= INDENT_MAX

    def _in_marker(self, character: str) -> bool:
        """The rest of `12.` or `12)`; a bullet has none."""
        if self._marker[-1] not in _DIGITS or len(self._marker) > _DIGITS_MAX:
            return False
        self._marker += character
        return character in ".)" or character in _DIGITS


class Fence:
    """An open fenced code block, from its fence's third character to the end of its last line."""

    __slots__ = (
        "_character",
        "_columns_max",
        "_length",
        "_opening",
        "_quotes",
        "_quotes_left",
        "_run",
        "_state",
    )

    def __init__(self, line: LineStart) -> None:
        self._character = line.fence
        self._columns_max = max(INDENT_MAX, line.columns)
        self._quotes = self._quotes_left = line.quotes
        self._length = _RUN_MIN
        self._opening = True
        self._state = "fence"
        self._run = 0

    def push(self, character: str) -> bool:
        """Take one character; whether the block ended with it, which is then a line's end."""
        if character in LINE_ENDS:
            return self._end_line()
        if self._opening:
            self._open(character)
        else:
            self._close(character)
        return False

    @property
    def idle(self) -> bool:
        """Whether nothing before the line's end matters any more."""
        return not self._opening and self._state == "content"

    def _end_line(self) -> bool:
        if self._opening:
            ended = self._state == "one_line"
        else:
            ended = self._state in ("fence", "after") and self._run >= self._length
        self._opening, self._state, self._run = False, "indent", 0
        self._quotes_left = self._quotes
        return ended

    def _open(self, character: str) -> None:
        if self._state == "fence":
            if character == self._character:
                self._length += 1
            else:
                self._state = "info"
        elif self._state == "info":
            self._run = self._run + 1 if character == self._character == "`" else 0
            if self._run >= self._length:
                self._state = "one_line"

    def _close(self, character: str) -> None:
        if self._state == "indent" and character in " \t>":
            self._run += _TAB_COLUMNS if character == "\t" else 1
            self._quotes_left -= character == ">"
            if self._run > self._columns_max or self._quotes_left < 0:
                self._state = "content"
        elif self._state == "indent" and character == self._character:
            self._state, self._run = ("content" if self._quotes_left else "fence"), 1
        elif self._state == "fence" and character == self._character:
            self._run += 1
        elif self._state in ("fence", "after") and character in " \t":
            self._state = "after"
        else:
            self._state = "content"
