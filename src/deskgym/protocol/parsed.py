"""What the parser hands back: calls and errors in order, and the text that the customer sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from deskgym.trajectory import Action

OPENING_TAG: Final = "<tool_call>"
STOP_SEQUENCE: Final = "</tool_call>"
"""The closing tag, which is what a provider should be told to stop on."""

DEPTH_MAX: Final = 64
NUMBER_CHARACTERS_MAX: Final = 400
CALL_CHARACTERS_MAX: Final = 262_144

ERROR_CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "malformed_json": "What stands between the tags is not one strict JSON object.",
        "missing_name": "The call names no tool.",
        "unknown_tool": "There is no such tool.",
        "malformed_arguments": "The call's arguments are not one JSON object.",
        "unclosed_tag": "The call has no closing tag.",
        "malformed_tag": "The call's tag is not written as it must be.",
        "limit_exceeded": "The call is too long, nested too deep, or holds too large a number.",
    }
)
"""Every code of a `CallError`, with its sentence."""


@dataclass(frozen=True, slots=True)
class CallError:
    """A call that was not run, and how to write it right. It is a value, and never raised.

    Neither sentence quotes what the agent wrote.

    Attributes:
        code: one of `ERROR_CODES`.
        message: what is wrong.
        hint: what would be right.
    """

    code: str
    message: str
    hint: str


def call_error(code: str, hint: str) -> CallError:
    """An error with its code's sentence."""
    return CallError(code, ERROR_CODES[code], hint)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an agent's text, or a further piece of it, comes to.

    Attributes:
        items: calls to run and errors to send back, in the order of the text.
        visible: what the customer sees.
    """

    items: tuple[Action | CallError, ...]
    visible: str

    @property
    def calls(self) -> tuple[Action, ...]:
        """The calls alone."""
        return tuple(item for item in self.items if isinstance(item, Action))

    @property
    def errors(self) -> tuple[CallError, ...]:
        """The errors alone."""
        return tuple(item for item in self.items if isinstance(item, CallError))
