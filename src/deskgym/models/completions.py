"""The Chat Completions dialect, which most providers and servers speak."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, cast

from deskgym.models.answer import Answer, CallId, Count, OrNone, read_as
from deskgym.models.chat import (
    ChatReply,
    ChatRequest,
    Finish,
    ModelFault,
    ToolCall,
    UserTurn,
    as_unicode,
)
from deskgym.models.meter import Usage
from deskgym.models.options import Sampling

HOST: Final = "https://api.openai.com/v1"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FINISH: Final[Mapping[str, Finish]] = {
    "length": "length",
    "content_filter": "refused",
    "refusal": "refused",
}


class _Part(Answer):
    type: str | None = None
    text: str | None = None


class _Function(Answer):
    name: str | None = None
    arguments: Any = None


class _Call(Answer):
    index: int | None = None
    id: CallId = None
    function: _Function | None = None


class _Message(Answer):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None  # as it was before there were several calls

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""

    @property
    def calls(self) -> list[_Call]:
        if self.tool_calls or self.function_call is None:
            return self.tool_calls or []
        return [_Call(function=self.function_call)]


class _Choice(Answer):
    index: int | None = None
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None
    stop_reason: Any = None


class _Cached(Answer):
    cached_tokens: Count = None


class _Usage(Answer):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: Annotated[_Cached | None, OrNone] = None


class _Completion(Answer):
    choices: list[_Choice] | None = None
    usage: Annotated[_Usage | None, OrNone] = None


class Completions:
    """Requests and replies as Chat Completions has them."""

    path: str = "/chat/completions"
    host: str = HOST
    end: str = "[DONE]"

    def headers(self, api_key: str | None) -> dict[str, str]:
        """What goes with each request."""
        return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}

    def body(
        self, model: str, request: ChatRequest, sampling: Sampling, *, stream: bool, own_host: bool
    ) -> dict[str, Any]:
        """A request's body; OpenAI itself names the limit of tokens otherwise than all others."""
        longest = "max_completion_tokens" if own_host else "max_tokens"
        fields: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": request.system},
                *(message for turn in request.turns for message in _messages(turn)),
            ],
            "tools": [tool.openai() for tool in request.tools] or None,
            "stop": list(request.stop) or None,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            longest: sampling.max_tokens,
            "seed": sampling.seed,
            "stream": stream or None,
            "stream_options": {"include_usage": True} if stream else None,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return {**given, **sampling.extra}

    def read(self, body: Mapping[str, Any]) -> ChatReply:
        """The reply that a whole body holds; raises `ModelFault`."""
        answer = read_as(_Completion, body)
        if not answer.choices:
            raise ModelFault("garbled", "the answer holds no choice")
        choice = answer.choices[0]
        return _reply(choice.message or _Message(), choice, _usage(answer.usage))

    def reader(self) -> CompletionsReader:
        """What puts the pieces of a stream together."""
        return CompletionsReader()


def _messages(turn: UserTurn | ChatReply) -> list[dict[str, Any]]:
    if isinstance(turn, UserTurn):
        answers = [
            {"role": "tool", "tool_call_id": answer.id, "content": answer.text}
            for answer in turn.answers
        ]
        return [*answers, *([{"role": "user", "content": turn.text}] if turn.text else [])]
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": echoed_name(call.name), "arguments": _echoed(call.arguments)},
            }
            for call in turn.calls
        ]
    elif not turn.text:
        message["content"] = "(nothing)"
    return [message]


def echoed_name(name: str) -> str:
    """A called tool's name as it can be sent back: over a strange one, a request is refused."""
    return name if _NAME.fullmatch(name) else "unknown_tool"


def echoed_arguments(text: str) -> dict[str, Any]:
    """A call's arguments as they can be sent back: servers refuse a request over broken JSON."""
    try:
        value = json.loads(text or "{}", parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return cast(dict[str, Any], value)
    return {"malformed_arguments": text[:2_000]}


def _echoed(text: str) -> str:
    return json.dumps(echoed_arguments(text))


def _reply(message: _Message, choice: _Choice, usage: Usage) -> ChatReply:
    calls = tuple(_call(number, item) for number, item in enumerate(message.calls, start=1))
    text = message.text
    finish: Finish = _FINISH.get(choice.finish_reason or "", "calls" if calls else "end")
    if finish == "end" and isinstance(choice.stop_reason, str):
        finish = "stop_sequence"  # vLLM names the sequence that it stopped at
    if message.refusal and not text and not calls:
        finish = "refused"
    return ChatReply(as_unicode(text), unique(calls), finish, usage)


def _call(number: int, item: _Call) -> ToolCall:
    function = item.function or _Function()
    given: Any = {} if function.arguments is None else function.arguments
    arguments = given if isinstance(given, str) else json.dumps(given)
    return ToolCall(
        item.id or f"call_{number}", as_unicode(function.name or ""), as_unicode(arguments)
    )


def unique(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls under ids of their own: some servers give several calls the same one."""
    if len({call.id for call in calls}) == len(calls):
        return calls
    return tuple(call._replace(id=f"call_{number}") for number, call in enumerate(calls, start=1))


def _usage(counts: _Usage | None) -> Usage:
    if counts is None:
        return Usage()
    details = counts.prompt_tokens_details
    return Usage(
        counts.prompt_tokens,
        counts.completion_tokens,
        None if details is None else details.cached_tokens,
    )


@dataclass
class _Written:
    """A tool call as it is put together from its pieces."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class CompletionsReader:
    """Puts the pieces of a streamed reply together."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal = ""
        self._calls: dict[int, _Written] = {}
        self._choice = _Choice()
        self._usage: _Usage | None = None

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take the next piece; raises `ModelFault` for one that is none."""
        piece = read_as(_Completion, event)
        self._usage = piece.usage or self._usage
        for choice in piece.choices or ():
            if choice.index:
                continue  # one choice is asked for
            delta = choice.delta or _Message()
            self._text.append(delta.text)
            self._refusal += delta.refusal or ""
            for place, call in enumerate(delta.calls):
                self._feed_call(place if call.index is None else call.index, call)
            if choice.finish_reason is not None:
                self._choice = choice

    def _feed_call(self, place: int, call: _Call) -> None:
        written = self._calls.setdefault(place, _Written())
        function = call.function or _Function()
        written.id = written.id or call.id or ""
        written.name += function.name or ""
        given = function.arguments
        if given is not None:
            written.arguments += given if isinstance(given, str) else json.dumps(given)

    def finish(self, *, ended: bool) -> ChatReply:
        """The reply; raises `ModelFault` where the stream broke off before its end.

        Args:
            ended: whether its last line came, which some servers let stand for the reason.
        """
        came = bool(self._calls or any(self._text) or self._refusal)
        if self._choice.finish_reason is None and not (ended and came):
            raise ModelFault("garbled", "the stream broke off before the end of the answer")
        calls = [
            _Call(id=call.id, function=_Function(name=call.name, arguments=call.arguments))
            for _, call in sorted(self._calls.items())
        ]
        message = _Message(content="".join(self._text), refusal=self._refusal, tool_calls=calls)
        return _reply(message, self._choice, _usage(self._usage))
