"""Whatever an API answers, it is a reply that can go back and be recorded, or a `ModelFault`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from deskgym.models.chat import ChatReply, ChatRequest, ModelFault, ToolAnswer, UserTurn
from deskgym.models.client import Dialect
from deskgym.models.completions import Completions
from deskgym.models.messages import Messages
from deskgym.models.options import Sampling

CALL = {"index": 0, "id": "a", "function": {"name": "n", "arguments": '{"x": 1}'}}
TOLD = {"content": "Hello!", "tool_calls": [CALL], "function_call": None, "refusal": None}
CHOICE = {"index": 0, "message": TOLD, "delta": TOLD, "finish_reason": "stop", "stop_reason": None}
COUNTS = {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
COMPLETION = {"choices": [CHOICE], "usage": COUNTS}
BLOCKS = [
    {"type": "text", "text": "Hello!"},
    {"type": "thinking", "thinking": "Well", "signature": "s"},
    {"type": "tool_use", "id": "a", "name": "n", "input": {"x": 1}},
]
MESSAGE = {"content": BLOCKS, "stop_reason": "tool_use", "usage": {"input_tokens": 1}}
EVENTS: list[Any] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": BLOCKS[2]},
    {"type": "content_block_delta", "index": 0, "delta": {"partial_json": '{"x": 1}'}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
]
STRANGE = st.sampled_from(
    [None, 0, -1, True, 1.5, float("nan"), 10**30, "", "x", "\ud800", "text", "tool_use", [], {},
     [[]], {"type": "text"}, json.loads("[" * 300 + "]" * 300)]
)  # fmt: skip


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """The value with some of its parts left out or replaced, at any depth."""
    choice = draw(st.integers(0, 24))
    if choice == 0:
        return draw(STRANGE)
    if isinstance(value, dict):
        return {
            name: draw(spoilt(part)) for name, part in value.items() if draw(st.integers(0, 24))
        }
    return [draw(spoilt(part)) for part in value] if isinstance(value, list) else value


def check(dialect: Dialect, read: Callable[[], ChatReply]) -> None:
    try:
        reply = read()
    except ModelFault:
        return
    answers = tuple(ToolAnswer(call.id, "{}", True) for call in reply.calls)
    turns = (UserTurn(text="Hello?"), reply, UserTurn(answers, "Go on."))
    body = dialect.body(
        "m", ChatRequest("Be brief.", turns), Sampling(), stream=False, own_host=False
    )
    json.dumps(body)
    texts = [reply.text, *(call.name + call.arguments for call in reply.calls)]
    orjson.dumps({"texts": texts, "usage": reply.usage._asdict()})
    assert len({call.id for call in reply.calls}) == len(reply.calls)


@given(spoilt(COMPLETION))
def test_a_spoilt_completion_is_a_reply_or_a_fault(body: Any) -> None:
    if isinstance(body, dict):
        check(Completions(), lambda: Completions().read(body))


@given(spoilt(MESSAGE))
def test_a_spoilt_message_is_a_reply_or_a_fault(body: Any) -> None:
    if isinstance(body, dict):
        check(Messages(), lambda: Messages().read(body))


def put_together(dialect: Dialect, events: list[Any], *, ended: bool) -> ChatReply:
    reader = dialect.reader()
    for event in events:
        if isinstance(event, dict):
            reader.feed(event)
    return reader.finish(ended=ended)


@given(st.lists(spoilt(COMPLETION), max_size=3), st.booleans())
def test_a_spoilt_stream_of_a_completion_is_a_reply_or_a_fault(
    events: list[Any], ended: bool
) -> None:
    check(Completions(), lambda: put_together(Completions(), events, ended=ended))


@given(spoilt(EVENTS))
def test_a_spoilt_stream_of_a_message_is_a_reply_or_a_fault(events: Any) -> None:
    if isinstance(events, list):
        check(Messages(), lambda: put_together(Messages(), events, ended=False))


def test_what_is_not_spoilt_is_a_reply() -> None:
    assert Completions().read(COMPLETION).calls[0].arguments == '{"x": 1}'
    assert Messages().read(MESSAGE).calls[0].arguments == '{"x": 1}'
    assert put_together(Messages(), EVENTS, ended=False).calls[0].arguments == '{"x": 1}'
