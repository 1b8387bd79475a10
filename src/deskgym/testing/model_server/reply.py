"""What the server can be told to answer: a model's words, or what goes wrong on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from deskgym.models.chat import Finish
from deskgym.models.meter import NO_USAGE, Usage


class RawCall(NamedTuple):
    """A native tool call as a model writes it, right or wrong.

    Attributes:
        name: any text.
        arguments: any text, which should be JSON.
    """

    name: str
    arguments: str


@dataclass(frozen=True)
class Say:
    """A model's reply.

    Attributes:
        text: what it writes.
        calls: its native calls.
        finish: why it ended; by whether there are calls if None.
        usage: the tokens that are told.
        delay_s: how long it takes, in seconds.
    """

    text: str = ""
    calls: tuple[RawCall, ...] = ()
    finish: Finish | None = None
    usage: Usage = NO_USAGE
    delay_s: float = 0.0


@dataclass(frozen=True)
class Fail:
    """An error of the provider's.

    Attributes:
        status: such as 429, 500 or 400.
        message: what its body says.
        headers: such as `{"Retry-After": "1"}`.
        delay_s: how long it takes, in seconds.
    """

    status: int = 500
    message: str = "scripted failure"
    headers: Mapping[str, str] | None = None
    delay_s: float = 0.0


@dataclass(frozen=True)
class Send:
    """A body that is sent as it is.

    Attributes:
        body: the bytes.
        status: the status that it is sent with.
        kind: its content type.
    """

    body: bytes
    status: int = 200
    kind: str = "application/json"


@dataclass(frozen=True)
class Half:
    """A reply of which only the first half is sent, as if that were all of it."""

    reply: Say


@dataclass(frozen=True)
class Drop:
    """A connection that is closed: at once, or in the middle of a reply."""

    reply: Say | None = None


@dataclass(frozen=True)
class Stall:
    """A reply of which the half comes, and then nothing more while the connection stays open."""

    reply: Say | None = None


Reply = Say | Fail | Send | Half | Drop | Stall
