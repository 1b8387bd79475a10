"""What the parser gathers: the text for the customer, and the JSON of a call."""

from __future__ import annotations

from deskgym.protocol.parsed import CALL_CHARACTERS_MAX
from deskgym.protocol.value import ValueScanner


class VisibleText:
    """The text for the customer without its outer white space, handed out piece by piece."""

    __slots__ = ("_begun", "_ready", "_space")

    def __init__(self) -> None:
        self._ready: list[str] = []
        self._space: list[str] = []
        self._begun = False

    def write(self, text: str) -> None:
        """Add text; white space waits for something to follow it."""
        body = text.rstrip()
        if not body:
            self._space.append(text)
            return
        space = "".join(self._space) + text[: len(text) - len(text.lstrip())]
        self._ready += (space if self._begun else "", body.lstrip())
        self._space = [text[len(body) :]]
        self._begun = True

    def take(self) -> str:
        """What has come since the last time."""
        taken, self._ready = "".join(self._ready), []
        return taken


class CallText:
    """The JSON of one call; its text is kept only while it is within the limits."""

    __slots__ = ("_characters", "_pieces", "scanner")

    def __init__(self) -> None:
        self.scanner = ValueScanner()
        self._pieces: list[str] = []
        self._characters = 0

    def read(self, text: str, at: int) -> int:
        """Read on from a place in the text; returns where the scanner stopped."""
        end = self.scanner.scan(text, at)
        self._characters += end - at
        if self.over_limit:
            self._pieces.clear()
        else:
            self._pieces.append(text[at:end])
        return end

    @property
    def over_limit(self) -> bool:
        """Whether the call is larger than what is read."""
        return self.scanner.over_limit or self._characters > CALL_CHARACTERS_MAX

    @property
    def body(self) -> str:
        """The JSON so far."""
        return "".join(self._pieces)
