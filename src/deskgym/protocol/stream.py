"""The parser, fed in pieces that may be split anywhere; the whole text at once is one piece.

It is in one mode at a time: outside a tag, in one, in a call's JSON, in a fenced block, or skipping
what a malformed call leaves. Each mode takes what it can and says where the next one goes on, and
no character is looked at more than a few times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from deskgym.errors import UsageError
from deskgym.protocol.buffer import CallText, VisibleText
from deskgym.protocol.fence import LINE_ENDS, Fence, LineStart
from deskgym.protocol.parsed import (
    OPENING_TAG,
    STOP_SEQUENCE,
    CallError,
    Parsed,
    call_error,
)
from deskgym.protocol.reading import read_call
from deskgym.protocol.tag import CLOSERS, OPENERS, Shape, TagMatcher
from deskgym.tool import Toolbox
from deskgym.trajectory import Action

_Mode = Callable[[str, int], int]

_PLAIN: Final = re.compile(f"[^{OPENERS}{LINE_ENDS}]+")
_SKIPPED: Final = re.compile(f"[^{OPENERS}]+")
_TAIL: Final = re.compile(f"[^{OPENERS}{CLOSERS}{LINE_ENDS}]+")
_LINE: Final = re.compile(f"[^{LINE_ENDS}]+")
_SPACE: Final = re.compile(r"[ \t\n\r]+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_HINT_SHAPE: Final = 'Between the tags stands one JSON object, {"name": "TOOL", "arguments": {…}}.'
_HINT_CLOSE: Final = f"End each call with {STOP_SEQUENCE}, directly after its JSON object."
_HINT_TAG: Final = f"Write {OPENING_TAG} and {STOP_SEQUENCE} exactly so, in small letters."
_HINT_LIMIT: Final = "Write a shorter and flatter call, with shorter numbers."
_HINT_CUT: Final = "The JSON ended too early; inside a text, write \\u003c for the < of a tag."


def parse(text: str, toolbox: Toolbox, *, stopped: bool = False) -> Parsed:
    """Read a whole text of the agent. It never raises, whatever the text holds.

    Args:
        text: what the agent wrote.
        toolbox: the tools that it can call.
        stopped: whether the provider stopped on `STOP_SEQUENCE`, which is then not in the text.
    """
    stream = Stream(toolbox)
    first, rest = stream.feed(text), stream.finish(stopped=stopped)
    return Parsed(first.items + rest.items, first.visible + rest.visible)


class Stream:
    """Reads the agent's text while it is written: `feed` each piece, then `finish`.

    The pieces' items and visible texts, joined, are what `parse` returns for the joined text,
    wherever it was split. A call is returned with its closing tag; visible text as soon as it
    cannot be a part of a tag, of a fence, or of the white space at the end.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox: Final = toolbox
        self._items: list[Action | CallError] = []
        self._visible = VisibleText()
        self._surrogate = ""
        self._finished = False
        self._line = LineStart()
        self._fence: Fence | None = None
        self._tag: TagMatcher | None = None
        self._call = CallText()
        self._trailing = False
        self._mode: _Mode = self._line_start
        self._after_tail: _Mode = self._outside

    def feed(self, piece: str) -> Parsed:
        """Read on.

        Returns:
            What is new: further calls and errors, and further text for the customer.

        Raises:
            UsageError: the stream was finished before.
        """
        if self._finished:
            raise UsageError("the stream is finished; make a new Stream for the next message")
        self._read(self._joined(piece))
        return self._taken()

    def finish(self, *, stopped: bool = False) -> Parsed:
        """Read the end of the text, and return what was still open.

        Args:
            stopped: whether the provider stopped on `STOP_SEQUENCE`, which was then not fed.
        """
        if not self._finished:
            self._finished = True
            self._read("\ufffd" if self._surrogate else "")
            self._end(stopped)
        return self._taken()

    def _joined(self, piece: str) -> str:
        """The piece with halves of a character put together, and lone ones replaced."""
        text = self._surrogate + piece
        self._surrogate = ""
        if not _SURROGATE.search(text):
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._surrogate = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _read(self, text: str) -> None:
        at = 0
        while at < len(text):
            at = self._mode(text, at)

    def _taken(self) -> Parsed:
        items, self._items = tuple(self._items), []
        return Parsed(items, self._visible.take())

    def _error(self, code: str, hint: str) -> None:
        self._items.append(call_error(code, hint))

    # Outside a call: text for the customer, fenced blocks, and whatever opens with a bracket.

    def _line_start(self, text: str, at: int) -> int:
        if self._line.push(text[at]):
            if self._line.opens:
                self._fence, self._tag, self._mode = Fence(self._line), None, self._in_fence
            return at + 1
        self._leave_line_start()
        return at

    def _next_line(self) -> _Mode:
        self._line = LineStart(listed=self._line.listed)
        return self._line_start

    def _leave_line_start(self) -> None:
        """The line opens no block: what was held of it is ordinary text, and has no bracket."""
        held = "".join(self._line.held)
        if self._tag is None:
            self._visible.write(held)
            self._mode = self._outside
        else:
            self._mode = self._in_tag
            self._read(held)

    def _outside(self, text: str, at: int) -> int:
        if plain := _PLAIN.match(text, at):
            self._visible.write(plain[0])
            return plain.end()
        if text[at] in LINE_ENDS:
            self._visible.write(text[at])
            self._mode = self._next_line()
        else:
            self._tag, self._mode = TagMatcher(text[at]), self._in_tag
        return at + 1

    def _in_fence(self, text: str, at: int) -> int:
        assert self._fence is not None, "this mode starts with a fence"
        if self._fence.idle and (rest := _LINE.match(text, at)):
            return rest.end()
        if self._fence.push(text[at]):
            self._fence, self._mode = None, self._next_line()
            if text[at] == "\r":
                self._mode = self._after_return
        return at + 1

    def _after_return(self, text: str, at: int) -> int:
        """The second half of a line end, which goes with the block that it ends."""
        self._mode = self._line_start
        return at + (text[at] == "\n")

    def _in_tag(self, text: str, at: int) -> int:
        assert self._tag is not None, "this mode starts with a bracket"
        shape = self._tag.push(text[at])
        if shape == "undecided":
            if text[at] in LINE_ENDS:
                self._mode = self._next_line()
            return at + 1
        if shape == "none":
            self._visible.write(self._tag.text)
            self._tag, self._mode = None, self._outside
            return at
        self._found(shape, self._tag.tag)
        return at + 1

    def _found(self, shape: Shape, tag: str) -> None:
        """A tag outside a call: an opening one begins a call, and any other is left out."""
        self._tag = None
        if shape != "opening":
            self._leave_tag(self._outside)
        elif tag == OPENING_TAG[:-1]:
            self._mode = self._opening
        else:
            self._refuse_tag()

    def _refuse_tag(self) -> None:
        self._error("malformed_tag", _HINT_TAG)
        self._trailing = False
        self._leave_tag(self._skip)

    def _leave_tag(self, mode: _Mode) -> None:
        self._tag, self._mode, self._after_tail = None, self._tail, mode

    def _tail(self, text: str, at: int) -> int:
        """The rest of a tag that is left out: to its closing bracket, or the end of the line."""
        if rest := _TAIL.match(text, at):
            return rest.end()
        self._mode = self._after_tail
        return at + (text[at] in CLOSERS)

    # In a call: its opening tag's last bracket, its JSON, its closing tag.

    def _opening(self, text: str, at: int) -> int:
        if text[at] != ">":
            self._refuse_tag()
            return at
        self._call, self._mode = CallText(), self._in_value
        return at + 1

    def _in_value(self, text: str, at: int) -> int:
        end = self._call.read(text, at)
        status = self._call.scanner.status
        if status == "complete":
            self._mode = self._after_value
        elif status == "wrong":
            self._error("malformed_json", _HINT_SHAPE)
            self._trailing, self._mode = False, self._skip
        return end

    def _after_value(self, text: str, at: int) -> int:
        if space := _SPACE.match(text, at):
            return space.end()
        if text[at] not in OPENERS:
            return self._skip_trailing(at)
        self._tag, self._mode = TagMatcher(text[at]), self._in_closing_tag
        return at + 1

    def _in_closing_tag(self, text: str, at: int) -> int:
        assert self._tag is not None, "this mode starts with a bracket"
        shape = self._tag.push(text[at])
        if shape == "none" or text[at] in OPENERS:
            return self._skip_trailing(at)
        if shape == "other":
            return self._skip_trailing(at + 1)
        if shape == "opening":
            self._error("unclosed_tag", _HINT_CLOSE)
            self._found(shape, self._tag.tag)
        elif shape == "closing":
            self._mode = self._closing
        return at + 1

    def _skip_trailing(self, at: int) -> int:
        """Something else follows the JSON; whether a closing tag does too will be seen."""
        self._trailing, self._mode, self._tag = True, self._skip, None
        return at

    def _closing(self, text: str, at: int) -> int:
        assert self._tag is not None, "this mode starts with a tag"
        if self._tag.tag + text[at] == STOP_SEQUENCE:
            self._close_call()
            return at + 1
        self._error("malformed_tag", _HINT_TAG)
        self._leave_tag(self._outside)
        return at

    def _close_call(self) -> None:
        call, self._call = self._call, CallText()
        self._tag, self._mode = None, self._outside
        if call.over_limit:
            self._error("limit_exceeded", _HINT_LIMIT)
        else:
            self._items.append(read_call(call.body, self._toolbox))

    # After a malformed call: nothing up to a closing tag is run or shown.

    def _skip(self, text: str, at: int) -> int:
        if rest := _SKIPPED.match(text, at):
            return rest.end()
        self._tag, self._mode = TagMatcher(text[at]), self._in_skipped_tag
        return at + 1

    def _in_skipped_tag(self, text: str, at: int) -> int:
        assert self._tag is not None, "this mode starts with a bracket"
        shape = self._tag.push(text[at])
        if shape == "closing":
            if self._trailing:
                self._error("malformed_json", _HINT_SHAPE)
            self._leave_tag(self._outside)
        elif shape != "undecided":
            self._tag, self._mode = None, self._skip
        return at if shape == "none" else at + 1

    # The end of the text.

    def _end(self, stopped: bool) -> None:
        if self._mode == self._line_start:
            self._leave_line_start()
        if self._mode == self._in_tag:
            assert self._tag is not None, "this mode starts with a bracket"
            self._visible.write(self._tag.before if self._tag.begun else self._tag.text)
        elif self._mode == self._in_value and stopped:
            self._error("malformed_json", _HINT_CUT)
        elif self._mode == self._after_value and stopped:
            self._close_call()
        elif self._mode in (self._skip, self._in_skipped_tag):
            self._end_skipping(stopped)
        elif self._mode in self._in_call():
            self._error("unclosed_tag", _HINT_CLOSE)

    def _in_call(self) -> tuple[_Mode, ...]:
        return (
            self._opening,
            self._in_value,
            self._after_value,
            self._in_closing_tag,
            self._closing,
        )

    def _end_skipping(self, stopped: bool) -> None:
        if self._trailing and stopped:
            self._error("malformed_json", _HINT_SHAPE)
        elif self._trailing:
            self._error("unclosed_tag", _HINT_CLOSE)
