"""The Messages dialect, which Anthropic speaks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from deskgym.models.answer import Answer, Count, OrNone, read_as
from deskgym.models.chat import (
    ChatReply,
    ChatRequest,
    Finish,
    ModelFault,
    ToolCall,
    UserTurn,
    as_unicode,
)
from deskgym.models.completions import echoed_arguments, echoed_name, unique
from deskgym.models.meter import Usage
from deskgym.models.options import Sampling

HOST: Final = "https://api.anthropic.com/v1"
VERSION: Final = "2023-06-01"
MAX_TOKENS: Final = 4_096
"""How long a reply may be where the user does not say: Messages has no default."""

_FINISH: Final[Mapping[str, Finish]] = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "refusal": "refused",
}


_DELTAS: Final = {
    "text": "text",
    "thinking": "thinking",
    "signature": "signature",
    "partial_json": "input_text",
}
"""What a piece of a stream adds to, by its own field."""


class _Usage(Answer):
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None


class _Whole(Answer):
    content: list[dict[str, Any]]
    stop_reason: str | None = None
    usage: Annotated[_Usage | None, OrNone] = None


class _Start(Answer):
    usage: Annotated[_Usage | None, OrNone] = None


class _Event(Answer):
    type: str
    index: int | None = None
    message: _Start | None = None
    content_block: dict[str, Any] | None = None
    delta: dict[str, Any] | None = None
    usage: Annotated[_Usage | None, OrNone] = None


class Messages:
    """Requests and replies as Messages has them."""

    path: str = "/messages"
    host: str = HOST
    end: str = ""

    def headers(self, api_key: str | None) -> dict[str, str]:
        """What goes with each request."""
        version = {"anthropic-version": VERSION}
        return version if api_key is None else {**version, "x-api-key": api_key}

    def body(
        self, model: str, request: ChatRequest, sampling: Sampling, *, stream: bool, own_host: bool
    ) -> dict[str, Any]:
        """A request's body."""
        del own_host
        fields: dict[str, Any] = {
            "model": model,
            "max_tokens": sampling.max_tokens or MAX_TOKENS,
            "system": request.system,
            "messages": [_message(turn) for turn in request.turns],
            "tools": [tool.anthropic() for tool in request.tools] or None,
            "stop_sequences": list(request.stop) or None,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "stream": stream or None,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return {**given, **sampling.extra}

    def read(self, body: Mapping[str, Any]) -> ChatReply:
        """The reply that a whole body holds; raises `ModelFault`."""
        answer = read_as(_Whole, body)
        return _reply(answer.content, answer.stop_reason, _usage(answer.usage))

    def reader(self) -> MessagesReader:
        """What puts the pieces of a stream together."""
        return MessagesReader()


def _message(turn: UserTurn | ChatReply) -> dict[str, Any]:
    if isinstance(turn, UserTurn):
        blocks: list[dict[str, Any]] = [
            {
                "type": "tool_result",
                "tool_use_id": answer.id,
                "content": answer.text,
                "is_error": not answer.ok,
            }
            for answer in turn.answers
        ]
        if turn.text:
            blocks.append({"type": "text", "text": turn.text})
        return {"role": "user", "content": blocks}
    if turn.blocks:
        return {"role": "assistant", "content": list(turn.blocks)}
    # An empty text is refused, as is white space at the end of the last one.
    return {"role": "assistant", "content": turn.text.rstrip() or "(nothing)"}


def _reply(blocks: list[dict[str, Any]], stop_reason: str | None, usage: Usage) -> ChatReply:
    texts: list[str] = []
    calls: list[ToolCall] = []
    kept: list[dict[str, Any]] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                text = as_unicode(str(block.get("text") or ""))
                texts.append(text)
                if text.strip():  # an empty one is refused when it comes back
                    kept.append({"type": "text", "text": text})
            case "tool_use":
                calls.append(_call(len(calls) + 1, block))
                kept.append({"type": "tool_use"})
            case str():
                kept.append(block)  # such as thinking, which has to go back as it came
            case _:
                raise ModelFault("garbled", "a part of the answer has no type")
    own = unique(tuple(calls))
    finish: Finish = _FINISH.get(stop_reason or "", "calls" if calls else "end")
    more_than_text = any(block["type"] != "text" for block in kept)
    return ChatReply(
        "".join(texts), own, finish, usage, _with_calls(kept, own) if more_than_text else ()
    )


def _call(number: int, block: Mapping[str, Any]) -> ToolCall:
    call_id, name, given = block.get("id"), block.get("name"), block.get("input", {})
    # A stream gives the JSON as it was written, which may be broken.
    arguments = block.get("input_text") or json.dumps(given)
    return ToolCall(
        call_id if isinstance(call_id, str) and call_id else f"call_{number}",
        as_unicode(name) if isinstance(name, str) else "",
        as_unicode(arguments),
    )


def _with_calls(
    blocks: list[dict[str, Any]], calls: tuple[ToolCall, ...]
) -> tuple[dict[str, Any], ...]:
    """The blocks as they can be sent back, each call in its place."""
    rest = iter(calls)
    return tuple(
        {
            "type": "tool_use",
            "id": (call := next(rest)).id,
            "name": echoed_name(call.name),
            "input": echoed_arguments(call.arguments),
        }
        if block["type"] == "tool_use"
        else block
        for block in blocks
    )


def _usage(counts: _Usage | None) -> Usage:
    """The tokens: Messages counts those of the cache beside what was read."""
    if counts is None:
        return Usage()
    read, cached = counts.input_tokens, counts.cache_read_input_tokens
    made = counts.cache_creation_input_tokens
    prompt = None if read is None else read + (cached or 0) + (made or 0)
    return Usage(prompt, counts.output_tokens, cached)


class MessagesReader:
    """Puts the pieces of a streamed reply together."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._stop_reason: str | None = None
        self._counts = _Usage()
        self._finished = False

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take the next piece; raises `ModelFault` for one that is none."""
        piece = read_as(_Event, event)
        match piece.type:
            case "message_start" if piece.message is not None:
                self._count(piece.message.usage)
            case "content_block_start" if piece.index is not None:
                self._blocks[piece.index] = dict(piece.content_block or {})
            case "content_block_delta":
                self._feed_block(piece.index, piece.delta or {})
            case "message_delta":
                reason = (piece.delta or {}).get("stop_reason")
                self._stop_reason = reason if isinstance(reason, str) else self._stop_reason
                self._count(piece.usage)
            case "message_stop":
                self._finished = True
            case _:
                pass  # a ping, or an event of a later version

    def _count(self, usage: _Usage | None) -> None:
        """The last word on each count: the end of a stream tells some of them anew."""
        if usage is not None:
            self._counts = self._counts.model_copy(update=usage.model_dump(exclude_none=True))

    def _feed_block(self, index: int | None, delta: Mapping[str, Any]) -> None:
        block = None if index is None else self._blocks.get(index)
        if block is None:
            raise ModelFault("garbled", "the stream adds to a part that it has not begun")
        for name, field in _DELTAS.items():
            if isinstance(delta.get(name), str):
                block[field] = str(block.get(field) or "") + delta[name]

    def finish(self, *, ended: bool) -> ChatReply:
        """The reply; raises `ModelFault` where the stream broke off before its end."""
        del ended  # this API ends with an event
        if not self._finished:
            raise ModelFault("garbled", "the stream broke off before the end of the answer")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        return _reply(blocks, self._stop_reason, _usage(self._counts))
