"""The model client against a real server that does everything wrong."""

from __future__ import annotations

import asyncio
import gzip
import logging
import re
import socket
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

import deskgym
from deskgym.agents import AgentOptions, open_agent
from deskgym.dialogue import PlayedEpisode, play_dialogue
from deskgym.errors import RunInvalid, UnknownName, UsageError
from deskgym.models.chat import ChatReply, ChatRequest, ModelFault, ToolCall, UserTurn
from deskgym.models.client import checked_url, retry_after_s
from deskgym.models.meter import Meter, Usage
from deskgym.models.open import http_model
from deskgym.models.options import ModelOptions, RetryPolicy
from deskgym.models.retry import ask
from deskgym.testing.model_server import (
    Drop,
    Fail,
    Half,
    ModelRequest,
    ModelServer,
    RawCall,
    Reply,
    Say,
    Send,
    Stall,
    play_controls,
    playback,
    with_faults,
)
from tests.scripted import KEY, QUICK, options_for

QUESTION = ChatRequest("Be brief.", (UserTurn(text="Hello?"),))
HELLO = Say("Hello!", usage=Usage(10, 3, 4))

both_apis = pytest.mark.parametrize("provider", ["openai", "anthropic"])
streamed_or_not = pytest.mark.parametrize("stream", [False, True])


def asked(
    player: Callable[[ModelRequest], Reply],
    meter: Meter | None = None,
    *,
    provider: Any = "openai",
    api_key: str | None = KEY,
    **settings: Any,
) -> ChatReply:
    """What a model answers to one question."""

    async def run(server: ModelServer) -> ChatReply:
        options = options_for(server, provider, **settings)
        async with http_model(f"{provider}:m", options) as model:
            return await ask(model, QUESTION, policy=options.retry, meter=meter or Meter())

    with ModelServer(player, api_key=api_key) as server:
        return asyncio.run(run(server))


def fault(player: Callable[[ModelRequest], Reply], **settings: Any) -> RunInvalid:
    with pytest.raises(RunInvalid) as caught:
        asked(player, **settings)
    return caught.value


@streamed_or_not
@both_apis
def test_a_reply_comes_with_its_calls_and_its_tokens(provider: Any, stream: bool) -> None:
    say = Say(
        "One — moment ✓", (RawCall("a", '{"x": "ü"}'), RawCall("b", "{}")), usage=Usage(10, 3, 4)
    )
    meter = Meter()
    reply = asked(lambda _: say, meter, provider=provider, stream=stream)
    assert reply.text == "One — moment ✓"
    assert [(call.name, orjson.loads(call.arguments)) for call in reply.calls] == [
        ("a", {"x": "ü"}), ("b", {}),
    ]  # fmt: skip
    assert reply.finish == "calls"
    assert meter.usage == Usage(10, 3, 4)


@both_apis
def test_tokens_that_are_not_told_are_unknown_and_not_0(provider: Any) -> None:
    meter = Meter()
    asked(lambda _: Say("Hello!"), meter, provider=provider)
    assert meter.usage == Usage(None, None, None)


PASSING: dict[str, Reply] = {
    "429": Fail(429),
    "429 with a wait": Fail(429, headers={"Retry-After": "0"}),
    "500": Fail(500),
    "503 in words": Send(b"<html>Service unavailable</html>", 503, "text/html"),
    "529": Fail(529),
    "408": Fail(408),
    "a dropped connection": Drop(),
    "a reply that breaks off": Drop(HELLO),
    "half a JSON": Half(HELLO),
    "no JSON": Send(b"<html>Hello</html>", kind="text/html"),
    "an empty answer": Send(b""),
    "a JSON list": Send(b"[]"),
    "another object": Send(b'{"id": 1}'),
    "an error with status 200": Send(b'{"error": {"code": 502, "message": "upstream"}}'),
    "nested without end": Send(b'{"choices": ' + b"[" * 100_000),
    "not UTF-8": Send(b'{"choices": "\xff\xfe"}'),
    "choices of another type": Send(b'{"choices": [1], "content": [1]}'),
}


@streamed_or_not
@both_apis
@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
def test_a_fault_that_may_pass_is_tried_again(reply: Reply, provider: Any, stream: bool) -> None:
    meter = Meter()
    said = asked(playback([reply, HELLO]), meter, provider=provider, stream=stream)
    assert said.text == "Hello!"
    assert (meter.retries, meter.calls[0].attempts) == (1, 2)


@both_apis
def test_a_server_that_stalls_is_given_up_after_the_call_s_deadline(provider: Any) -> None:
    meter = Meter()
    said = asked(playback([Stall(HELLO), HELLO]), meter, provider=provider, timeout_s=0.3)
    assert said.text == "Hello!"
    assert meter.calls[0].faults == ("timeout",)


def test_a_server_that_never_answers_is_a_failure_of_the_provider() -> None:
    invalid = fault(lambda _: Stall(), timeout_s=0.1)
    assert invalid.reason == "provider_failure"
    assert "3 times" in invalid.detail
    assert "0.1 seconds" in invalid.detail


def test_nobody_listening_is_a_failure_of_the_provider() -> None:
    with ModelServer(playback([])) as server:
        url = server.url("openai")

    async def run() -> None:
        async with http_model("openai:m", ModelOptions(url, KEY, retry=QUICK)) as model:
            await ask(model, QUESTION, policy=QUICK, meter=Meter())

    with pytest.raises(RunInvalid, match="ConnectError") as caught:
        asyncio.run(run())
    assert caught.value.reason == "provider_failure"


REFUSED = {"400": Fail(400), "401": Fail(401), "403": Fail(403), "404": Fail(404), "422": Fail(422),
           "429 for want of money": Send(b'{"error": {"code": "insufficient_quota"}}', 429),
           "a redirect": Fail(307, headers={"Location": "http://127.0.0.1:1/"})}  # fmt: skip


@both_apis
@pytest.mark.parametrize("reply", REFUSED.values(), ids=REFUSED)
def test_a_request_that_is_refused_is_never_sent_again(reply: Reply, provider: Any) -> None:
    meter = Meter()
    with pytest.raises(RunInvalid) as caught:
        asked(playback([reply, HELLO]), meter, provider=provider)
    assert caught.value.reason == "provider_rejected"
    assert (meter.calls[0].attempts, meter.retries) == (1, 0)


def test_attempts_are_counted_by_class_and_429_has_its_own_count() -> None:
    policy = RetryPolicy(attempts_max=2, rate_limited_max=5, wait_s=0.001, wait_max_s=0.01)
    replies = [Fail(429), Fail(429), Fail(500), Fail(429), HELLO]
    assert asked(playback(replies), retry=policy).text == "Hello!"
    assert fault(playback([Fail(500), Fail(429), Fail(500), HELLO]), retry=policy)
    assert fault(playback([*[Fail(429)] * 5, HELLO]), retry=policy)


def test_an_error_in_the_middle_of_a_stream_is_told() -> None:
    event = b'data: {"error": {"type": "overloaded_error", "message": "busy"}}\n\n'
    invalid = fault(lambda _: Send(event, kind="text/event-stream"), stream=True)
    assert "busy" in invalid.detail


def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    body = {"choices": [{"message": {"content": "Hello!"}, "finish_reason": "stop"}]}
    reply = asked(lambda _: Send(orjson.dumps(body)), stream=True)
    assert reply.text == "Hello!"


def test_a_stream_without_its_last_line_is_whole_once_it_has_said_why_it_ended() -> None:
    event = {"choices": [{"delta": {"content": "Hello!"}, "finish_reason": "stop"}]}
    sent = b": comment\n\ndata: %s\n\n" % orjson.dumps(event)
    assert asked(lambda _: Send(sent, kind="text/event-stream"), stream=True).text == "Hello!"


def test_calls_with_one_id_get_their_own() -> None:
    call = {"id": "", "function": {"name": "a", "arguments": None}}
    body = {"choices": [{"message": {"tool_calls": [call, call]}, "finish_reason": "tool_calls"}]}
    reply = asked(lambda _: Send(orjson.dumps(body)))
    assert [made.id for made in reply.calls] == ["call_1", "call_2"]
    assert [made.arguments for made in reply.calls] == ["{}", "{}"]


def completion(message: dict[str, Any], finish: str = "stop", **fields: Any) -> Send:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return Send(orjson.dumps({"choices": [choice], **fields}))


STRANGE_COUNTS: list[Any] = [
    "n/a", [], 7, {"prompt_tokens": -1}, {"prompt_tokens": 1.5}, {"completion_tokens": "many"},
    {"prompt_tokens": 10**18}, {"prompt_tokens_details": "none"},
]  # fmt: skip


@pytest.mark.parametrize("counts", STRANGE_COUNTS, ids=repr)
def test_tokens_that_are_told_strangely_are_unknown_and_the_reply_is_taken(counts: Any) -> None:
    meter = Meter()
    reply = asked(lambda _: completion({"content": "Hello!"}, usage=counts), meter)
    assert (reply.text, meter.retries) == ("Hello!", 0)
    assert meter.usage == Usage(None, None, None)


def test_a_count_of_more_than_64_bits_is_unknown() -> None:
    body = b'{"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1%s}}' % (
        b"0" * 30
    )
    meter = Meter()
    asked(lambda _: Send(body), meter, provider="anthropic")
    assert meter.usage.prompt_tokens is None


def test_ids_that_are_numbers_and_arguments_that_are_objects_are_taken() -> None:
    calls = [{"id": 7, "function": {"name": "a", "arguments": {"x": [1]}}},
             {"id": [], "function": {"name": "b", "arguments": "{}"}}]  # fmt: skip
    reply = asked(lambda _: completion({"content": None, "tool_calls": calls}, "tool_calls"))
    assert [(call.id, call.name, orjson.loads(call.arguments)) for call in reply.calls] == [
        ("7", "a", {"x": [1]}), ("call_2", "b", {}),
    ]  # fmt: skip


@streamed_or_not
def test_a_call_in_the_form_of_before_there_were_several_is_one(stream: bool) -> None:
    called = {"content": None, "function_call": {"name": "a", "arguments": '{"x": 1}'}}
    choice = {"delta" if stream else "message": called, "finish_reason": "function_call"}
    body = orjson.dumps({"choices": [choice]})
    sent = Send(b"data: %s\n\n" % body, kind="text/event-stream") if stream else Send(body)
    reply = asked(lambda _: sent, stream=stream)
    assert reply.calls == (ToolCall("call_1", "a", '{"x": 1}'),)
    assert reply.finish == "calls"


def streamed(*events: bytes) -> ChatReply:
    return asked(
        lambda _: Send(b"".join(events), kind="Text/Event-Stream; charset=utf-8"), stream=True
    )


def delta(text: str, finish: str | None = None) -> bytes:
    return orjson.dumps({"choices": [{"delta": {"content": text}, "finish_reason": finish}]})


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_lines_of_a_stream_end_in_any_of_the_three_ways(end: bytes) -> None:
    sent = b"\xef\xbb\xbf: hello\n\nevent: x\nid: 1\ndata:%s\n\ndata: %s\n\n\n"
    whole = sent.replace(b"\n", end) % (delta("Hel"), delta("lo!", "stop"))
    assert streamed(whole).text == "Hello!"


def test_data_of_several_lines_is_one_event() -> None:
    first, second = delta("Hello!", "stop").split(b",", 1)
    assert streamed(b"data: %s,\ndata: %s\n\n" % (first, second)).text == "Hello!"


def test_what_only_unicode_takes_for_a_line_s_end_is_text() -> None:
    text = "one\u2028two\u2029three\x85four\x1cfive"
    assert streamed(b"data: %s\n\n" % delta(text, "stop")).text == text


def test_a_stream_without_a_reason_is_whole_once_its_last_line_has_come() -> None:
    assert streamed(b"data: %s\n\ndata: [DONE]\n\n" % delta("Hello!")).text == "Hello!"
    for cut in (b"data: [DONE]\n\n", b"data: %s\n\n" % delta("Hello!")):
        invalid = fault(lambda _, sent=cut: Send(sent, kind="text/event-stream"), stream=True)
        assert "broke off" in invalid.detail


def test_a_server_that_streams_unasked_is_read_all_the_same() -> None:
    sent = b"data: %s\n\n" % delta("Hello!", "stop")
    assert asked(lambda _: Send(sent, kind="text/event-stream")).text == "Hello!"


def test_an_error_in_words_that_are_no_unicode_is_the_provider_s() -> None:
    body = b'{"error": {"message": "bad \\ud800 word"}}'
    assert "bad \ufffd word" in fault(lambda _: Send(body, 400)).detail
    assert fault(lambda _: Send(body, 500)).reason == "provider_failure"


def test_an_answer_that_sends_on_says_where_to_and_is_not_followed() -> None:
    with ModelServer(playback([HELLO])) as other:
        to = other.url("openai") + "/chat/completions"
        invalid = fault(lambda _: Fail(308, headers={"Location": to}))
        assert to in invalid.detail
        assert other.requests == []


def test_a_compressed_answer_is_read_and_a_broken_one_is_tried_again() -> None:
    body = orjson.dumps({"choices": [{"message": {"content": "Hello!"}, "finish_reason": "stop"}]})

    def answer(sent: bytes) -> bytes:
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        return head % len(sent) + sent

    with plain_server([answer(b"no gzip at all"), answer(gzip.compress(body))]) as url:
        meter = Meter()

        async def run() -> ChatReply:
            async with http_model("openai:m", ModelOptions(url, KEY, retry=QUICK)) as model:
                return await ask(model, QUESTION, policy=QUICK, meter=meter)

        assert asyncio.run(run()).text == "Hello!"
        assert meter.calls[0].faults == ("garbled",)


@contextmanager
def plain_server(answers: list[bytes]) -> Iterator[str]:
    """A server that gives each connection the next of these bytes and closes it."""

    def serve() -> None:
        for answer in answers:
            connection, _ = listening.accept()
            with connection:
                received = b""
                while b"\r\n\r\n" not in received:
                    received += connection.recv(65_536)
                head, _, rest = received.partition(b"\r\n\r\n")
                (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
                while len(rest) < int(length):
                    rest += connection.recv(65_536)
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join()


def test_a_proxy_of_the_environment_is_gone_through_except_where_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run(url: str) -> ChatReply:
        options = ModelOptions(url, KEY, retry=RetryPolicy(1))
        async with http_model("openai:m", options) as model:
            return await ask(model, QUESTION, policy=options.retry, meter=Meter())

    with ModelServer(playback([HELLO])) as proxy, ModelServer(playback([HELLO])) as near:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert asyncio.run(run("http://model.invalid/v1")).text == "Hello!"
        assert asyncio.run(run(near.url("openai"))).text == "Hello!"
        assert (len(proxy.requests), len(near.requests)) == (1, 1)


@pytest.mark.parametrize("proxy", ["ftp://user:sesame@host", "socks5://user:sesame@host"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setitem(sys.modules, "socksio", None)

    async def run() -> None:
        async with http_model("openai:m", ModelOptions("http://model.invalid/v1")) as model:
            await model.reply(QUESTION)

    with pytest.raises(UsageError, match="proxy") as caught:
        asyncio.run(run())
    assert "sesame" not in str(caught.value)


# Waiting.


class Headers(dict[str, str]):
    pass


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
          "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT",
          "date": "Wed, 21 Oct 2026 07:28:30 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:3022215718 GMT"}, None),
        ({"retry-after": "Wed, 99 Oct 2026 99:28:00 GMT"}, None),
    ],
)  # fmt: skip
def test_how_long_an_answer_asks_to_wait(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers) == expected


class Timed:
    """A model that fails so often, and what was waited between."""

    def __init__(self, *faults: ModelFault) -> None:
        self.faults = list(faults)

    async def reply(self, request: ChatRequest) -> ChatReply:
        del request
        if self.faults:
            raise self.faults.pop(0)
        return ChatReply("Hello!")


def waits(monkeypatch: pytest.MonkeyPatch, policy: RetryPolicy, *faults: ModelFault) -> list[float]:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    coroutine: Awaitable[ChatReply] = ask(Timed(*faults), QUESTION, policy=policy, meter=Meter())
    asyncio.run(coroutine)  # pyright: ignore[reportArgumentType]
    return waited


def test_waits_double_and_are_drawn_from_their_upper_half(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = RetryPolicy(attempts_max=9, wait_s=1.0, wait_max_s=5.0)
    waited = waits(monkeypatch, policy, *[ModelFault("server_error", "")] * 5)
    for seconds, longest in zip(waited, (1, 2, 4, 5, 5), strict=True):
        assert longest / 2 <= seconds <= longest


def test_what_the_provider_asks_for_is_waited_up_to_the_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = RetryPolicy(wait_s=0.5, wait_max_s=20)
    asked_for = [ModelFault("rate_limited", "", 7.0), ModelFault("rate_limited", "", 900.0)]
    first, second = waits(monkeypatch, policy, *asked_for)
    assert 7 <= first <= 7.5
    assert 20 <= second <= 20.5


# Keys and addresses.


@pytest.mark.parametrize(
    "reply",
    [
        Fail(401, f"wrong API key: {KEY}"),
        Fail(500, f"{KEY} is broken"),
        Send(f'{{"error": "no access for {KEY}"}}'.encode(), 403),
        Send(f'{{"error": {{"code": 400, "message": "{KEY}"}}}}'.encode()),
        Send(KEY.encode()),
        Drop(),
    ],
)
@both_apis
def test_no_error_shows_the_key(
    reply: Reply, provider: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    invalid = fault(lambda _: reply, provider=provider)
    shown = "".join(traceback.format_exception(invalid)) + repr(invalid) + caplog.text
    assert KEY not in shown
    error: BaseException | None = invalid
    while error is not None:
        # Nothing on the chain leads to the request, whose headers hold the key.
        assert not hasattr(error, "request")
        error = error.__cause__ or error.__context__


@both_apis
def test_a_key_that_a_proxy_sends_back_is_in_no_recording(provider: Any) -> None:
    async def run(server: ModelServer) -> PlayedEpisode:
        options = AgentOptions(options_for(server, provider))
        async with open_agent(f"{provider}:m", options) as agents:
            assert KEY not in repr(agents) + repr(options)
            with deskgym.make("service/damaged-lamp") as environment:
                agent = agents.agent_for(environment.suite, environment.task)
                return await play_dialogue(environment, agent)

    call = RawCall("get_order", f'{{"order_id": "{KEY}"}}')
    replies = [Say(f"The key is {KEY}", (call,)), Say(KEY), Say("", (RawCall("close", "{}"),))]
    with ModelServer(playback(replies)) as server:
        episode = asyncio.run(run(server))
    assert episode.termination == "closed"
    assert episode.recording is not None
    assert KEY.encode() not in episode.recording.to_json()
    assert KEY not in repr(episode)


@pytest.mark.parametrize("key", ["sk-a\nb", "sk a", "sk-\u00e9", "sk-\x00"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError, match="character that no key has") as caught:
        http_model("openai:m", ModelOptions(api_key=key))
    assert key not in str(caught.value)


def test_white_space_around_a_key_is_left_out() -> None:
    assert asked(lambda _: HELLO, api_key=KEY) == asked(lambda _: HELLO)

    async def run(server: ModelServer) -> ChatReply:
        options = ModelOptions(server.url("openai"), f" {KEY}\n", retry=QUICK)
        async with http_model("openai:m", options) as model:
            return await model.reply(QUESTION)

    with ModelServer(lambda _: HELLO, api_key=KEY) as server:
        assert asyncio.run(run(server)).text == "Hello!"


@pytest.mark.parametrize(
    ("url", "path", "expected"),
    [
        ("http://localhost:8000/v1", "/chat/completions", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1/", "/chat/completions", "http://localhost:8000/v1"),
        ("https://x.example/v1/chat/completions", "/chat/completions", "https://x.example/v1"),
        ("https://api.anthropic.com", "/messages", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1/", "/messages", "https://api.anthropic.com/v1"),
        ("https://x.example/v1/messages", "/messages", "https://x.example/v1"),
    ],
)
def test_an_address_is_taken_as_people_give_it(url: str, path: str, expected: str) -> None:
    assert checked_url(url, path) == expected


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://x.example", "http://", "http://[", "http://a:b@x.example/v1",
            "http://x.example/v1?key=secret"],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused_and_shows_no_secret(url: str) -> None:
    with pytest.raises(UsageError, match="base URL") as caught:
        checked_url(url, "/messages")
    assert "secret" not in str(caught.value)
    assert "a:b" not in str(caught.value)


def test_a_name_without_a_model_or_of_no_provider_is_refused() -> None:
    with pytest.raises(UsageError, match="names no model"):
        http_model("openai:", ModelOptions())
    with pytest.raises(UnknownName, match="did you mean 'openai'"):
        http_model("openia:m", ModelOptions())


# Many at once.


def test_faults_at_random_lose_and_double_no_episode_and_score_none_0() -> None:
    seeds = range(30)
    play = play_controls(["service/damaged-lamp"], seeds=seeds)

    async def run(server: ModelServer) -> list[PlayedEpisode]:
        settings = {"timeout_s": 1.0, "retry": RetryPolicy(2, 4, 0.001, 0.01)}
        options = AgentOptions(options_for(server, **settings))
        async with open_agent("openai:m", options) as agents:

            async def one(seed: int) -> PlayedEpisode:
                with deskgym.make("service/damaged-lamp") as environment:
                    agent = agents.agent_for(environment.suite, environment.task)
                    return await play_dialogue(environment, agent, seed=seed)

            return await asyncio.gather(*map(one, seeds))

    with ModelServer(with_faults(play, 0.2, seed=1)) as server:
        episodes = asyncio.run(run(server))
        assert not server.failures
        assert set(server.replies) == {"Say", "Fail", "Half", "Drop", "Stall"}
        attempts = sum(call.attempts for each in episodes for call in each.agent_meter.calls)
        assert attempts >= len(server.requests)  # one that found no connection is none there
    assert {(each.status, each.reward, each.invalid) for each in episodes} == {
        ("reward", 1.0, None),
        ("invalid", None, "provider_failure"),
    }
