"""A reply in the shape of each API: as one body, or as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from deskgym.models.chat import Finish
from deskgym.testing.model_server.reply import Say
from deskgym.testing.model_server.request import ModelRequest

PIECE_CHARACTERS: Final = 7
"""How long the pieces of a stream are: short, so that names and tags are cut anywhere."""

_COMPLETIONS: Final[Mapping[Finish, str]] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "stop_sequence": "stop",
    "refused": "content_filter",
}
_MESSAGES: Final[Mapping[Finish, str]] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refused": "refusal",
}


def body_of(say: Say, request: ModelRequest) -> dict[str, Any]:
    """The whole answer as one JSON object."""
    return _completion(say, request) if request.provider == "openai" else _message(say, request)


def events_of(say: Say, request: ModelRequest) -> list[bytes]:
    """The answer as the events of a stream."""
    if request.provider == "openai":
        return [b"data: %s\n\n" % _json(event) for event in _chunks(say, request)] + [
            b"data: [DONE]\n\n"
        ]
    return [
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), _json(event))
        for event in _message_events(say, request)
    ]


def error_of(status: int, message: str, request: ModelRequest) -> dict[str, Any]:
    """An error's body."""
    kind = {429: "rate_limit_error", 401: "authentication_error"}.get(status, "api_error")
    error = {"type": kind, "message": message}
    return {"error": error} if request.provider == "openai" else {"type": "error", "error": error}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _finish(say: Say) -> Finish:
    return say.finish or ("calls" if say.calls else "end")


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE_CHARACTERS] for at in range(0, len(text), PIECE_CHARACTERS))


def _call_ids(request: ModelRequest) -> Iterator[str]:
    return (f"call_{request.number}_{place}" for place in count())


def _usage(say: Say, **names: str) -> dict[str, Any]:
    told = say.usage._asdict()
    return {theirs: told[ours] for theirs, ours in names.items() if told[ours] is not None}


def _completion_usage(say: Say) -> dict[str, Any] | None:
    usage = _usage(say, prompt_tokens="prompt_tokens", completion_tokens="completion_tokens")
    if say.usage.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": say.usage.cached_tokens}
    return usage or None


def _message_usage(say: Say) -> dict[str, Any] | None:
    usage = _usage(say, output_tokens="completion_tokens", cache_read_input_tokens="cached_tokens")
    if say.usage.prompt_tokens is not None:
        usage["input_tokens"] = say.usage.prompt_tokens - (say.usage.cached_tokens or 0)
    return usage or None


def _completion(say: Say, request: ModelRequest) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
    if say.calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": call._asdict()}
            for call_id, call in zip(_call_ids(request), say.calls, strict=False)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _COMPLETIONS[_finish(say)]}
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 0,
        "model": request.body.get("model"),
        "choices": [choice],
        "usage": _completion_usage(say),
    }


def _chunks(say: Say, request: ModelRequest) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{request.number}",
            "object": "chat.completion.chunk",
            "model": request.body.get("model"),
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(say.text):
        yield chunk({"content": piece})
    for place, (call_id, call) in enumerate(zip(_call_ids(request), say.calls, strict=False)):
        function = {"name": call.name, "arguments": ""}
        first = {"index": place, "id": call_id, "type": "function", "function": function}
        yield chunk({"tool_calls": [first]})
        for piece in _pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield chunk({}, _COMPLETIONS[_finish(say)])
    usage = _completion_usage(say)
    if usage is not None:
        yield {"id": f"chatcmpl-{request.number}", "choices": [], "usage": usage}


def _input(arguments: str) -> object:
    """The arguments as Messages gives them: an object. What is no JSON comes as its text."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _message(say: Say, request: ModelRequest) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": say.text}] if say.text else []
    content.extend(
        {"type": "tool_use", "id": call_id, "name": call.name, "input": _input(call.arguments)}
        for call_id, call in zip(_call_ids(request), say.calls, strict=False)
    )
    return {
        "id": f"msg_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model"),
        "content": content,
        "stop_reason": _MESSAGES[_finish(say)],
        "usage": _message_usage(say),
    }


def _message_events(say: Say, request: ModelRequest) -> Iterator[dict[str, Any]]:
    whole = _message(say, request)
    usage: dict[str, Any] = whole["usage"] or {}
    start: dict[str, Any] = {**whole, "content": [], "stop_reason": None}
    first = {name: value for name, value in usage.items() if name != "output_tokens"}
    yield {"type": "message_start", "message": {**start, "usage": first or None}}
    yield {"type": "ping"}
    parts = [*([None] if say.text else []), *say.calls]
    for place, (block, call) in enumerate(zip(whole["content"], parts, strict=True)):
        empty: dict[str, Any] = {**block, "text": ""} if call is None else {**block, "input": {}}
        yield {"type": "content_block_start", "index": place, "content_block": empty}
        kind, field = (
            ("text_delta", "text") if call is None else ("input_json_delta", "partial_json")
        )
        for piece in _pieces(say.text if call is None else call.arguments):
            delta = {"type": kind, field: piece}
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    told = {name: value for name, value in usage.items() if name == "output_tokens"}
    delta = {"stop_reason": whole["stop_reason"]}
    yield {"type": "message_delta", "delta": delta, "usage": told or None}
    yield {"type": "message_stop"}
