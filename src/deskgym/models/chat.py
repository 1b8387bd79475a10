"""A conversation with a model, whoever its provider is: what is sent and what comes back."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final, Literal, NamedTuple, Protocol

from deskgym.models.meter import NO_USAGE, Usage
from deskgym.tool import Tool

Finish = Literal["end", "calls", "length", "stop_sequence", "refused"]
"""Why a reply ended: the model was done; it waits for what its calls return; a length limit cut it
off; it came to a sequence that it was told to stop at; or the provider or the model withheld it."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def as_unicode(text: str) -> str:
    """The text with what is no Unicode replaced, so that it can be recorded and sent."""
    return _SURROGATE.sub("\ufffd", text)


class ToolCall(NamedTuple):
    """A native tool call.

    Attributes:
        id: by which its result is told.
        name: the tool's, as the model wrote it.
        arguments: JSON as the model wrote it, which may be broken.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ChatReply:
    """What a model answered; it goes into the next request as it is.

    Attributes:
        text: what it wrote beside its calls.
        calls: its native tool calls, in order.
        finish: why it ended.
        usage: the tokens, where the provider counted them.
        blocks: the provider's own form, where the text and the calls are not all of it.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "end"
    usage: Usage = NO_USAGE
    blocks: tuple[dict[str, Any], ...] = ()


def with_new_ids(reply: ChatReply, taken: Collection[str]) -> ChatReply:
    """The reply with its calls under ids that no earlier call of the conversation has.

    Some servers number the calls of each reply anew, and some of those refuse ids that come twice.
    """
    if not any(call.id in taken for call in reply.calls):
        return reply
    first = len(taken) + 1
    free = (name for name in map("call_{}".format, count(first)) if name not in taken)
    calls = tuple(call._replace(id=name) for call, name in zip(reply.calls, free, strict=False))
    ids = (call.id for call in calls)
    blocks = tuple(
        {**block, "id": next(ids)} if block.get("type") == "tool_use" else block
        for block in reply.blocks
    )
    return replace(reply, calls=calls, blocks=blocks)


class ToolAnswer(NamedTuple):
    """What a native tool call returned."""

    id: str
    text: str
    ok: bool


@dataclass(frozen=True)
class UserTurn:
    """What the model is told next: what its calls returned, then words."""

    answers: tuple[ToolAnswer, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class ChatRequest:
    """A conversation so far, to be answered.

    Attributes:
        system: the instructions.
        turns: by turns the user's and the model's, the user's first and last.
        tools: what the model can call natively.
        stop: sequences at which the model is to stop.
    """

    system: str
    turns: tuple[UserTurn | ChatReply, ...]
    tools: tuple[Tool, ...] = ()
    stop: tuple[str, ...] = ()


FaultKind = Literal["timeout", "connection", "garbled", "server_error", "rate_limited", "rejected"]
"""What went wrong with an attempt: time was up; the connection failed or was dropped; the answer
was no whole, proper reply; a status of 5xx; 429; or the request or the key was not accepted, which
another attempt does not change."""


class ModelFault(Exception):
    """One attempt that failed. Only the owner of retries catches it.

    Attributes:
        kind: the class of the fault.
        detail: a sentence for people, without the key.
        retry_after_s: how long the provider asks to wait; None if it does not.
    """

    def __init__(self, kind: FaultKind, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: FaultKind = kind
        self.detail = detail
        self.retry_after_s = retry_after_s


class ChatModel(Protocol):
    """A model: one attempt at a reply, and no more."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        """The model's answer.

        Raises:
            ModelFault: there is none.
        """
        ...
