"""A request that came in, in the same words whichever API it came by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import orjson

from deskgym.protocol import format_call
from deskgym.testing.model_server.reply import RawCall, Say
from deskgym.trajectory import Action

Provider = Literal["openai", "anthropic"]


@dataclass(frozen=True)
class ModelRequest:
    """One request.

    Attributes:
        provider: whose API it came by.
        number: its place among all requests of the server, from 0.
        body: what was sent.
        headers: by lower-case name; the key is among them.
    """

    provider: Provider
    number: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)

    @property
    def is_streaming(self) -> bool:
        """Whether the reply is to be a stream."""
        return bool(self.body.get("stream"))

    @property
    def is_native(self) -> bool:
        """Whether the model may call tools natively."""
        return bool(self.body.get("tools"))

    @property
    def key(self) -> str | None:
        """The API key that came with it."""
        if self.provider == "anthropic":
            return self.headers.get("x-api-key")
        return self.headers.get("authorization", "").removeprefix("Bearer ") or None

    @property
    def system(self) -> str:
        """The instructions."""
        if self.provider == "anthropic":
            return str(self.body.get("system", ""))
        return "\n".join(
            str(message["content"]) for message in self._messages if message["role"] == "system"
        )

    def _said_by(self, role: str) -> tuple[str, ...]:
        return tuple(
            text
            for message in self._messages
            if message["role"] == role
            for text in _texts(message["content"])
        )

    @property
    def user_texts(self) -> tuple[str, ...]:
        """What was said to the model, in order, without what its native calls returned."""
        return self._said_by("user")

    @property
    def model_texts(self) -> tuple[str, ...]:
        """What the model has said so far, in order."""
        return self._said_by("assistant")

    @property
    def results(self) -> tuple[str, ...]:
        """What the native calls so far returned, in order, as it was sent."""
        found: list[str] = []
        for message in self._messages:
            if message["role"] == "tool":
                found.append(str(message["content"]))
            elif isinstance(message["content"], list):
                blocks = cast(list[dict[str, Any]], message["content"])
                found.extend(
                    str(block["content"]) for block in blocks if block["type"] == "tool_result"
                )
        return tuple(found)

    def calling(self, *actions: Action, text: str = "") -> Say:
        """A reply with these calls, in the way that this request takes them."""
        if self.is_native:
            calls = tuple(
                RawCall(action.tool, orjson.dumps(action.arguments).decode()) for action in actions
            )
            return Say(text, calls)
        return Say("\n".join([*filter(None, [text]), *map(format_call, actions)]))

    @property
    def _messages(self) -> Sequence[Mapping[str, Any]]:
        return self.body["messages"]


def _texts(content: object) -> list[str]:
    if isinstance(content, list):
        blocks = cast(list[dict[str, Any]], content)
        return [str(block["text"]) for block in blocks if block["type"] == "text"]
    return [] if content is None else [str(content)]
