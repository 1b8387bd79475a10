"""Models that do not do as they are told: the right reason, and never a crash or a hang."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

import deskgym
from deskgym.agents import ScriptedAgent
from deskgym.dialogue import Limits, PlayedEpisode, play_dialogue
from deskgym.models.options import Sampling
from deskgym.protocol import format_call
from deskgym.testing.model_server import (
    Fail,
    ModelRequest,
    RawCall,
    Reply,
    Say,
    Send,
    Stall,
    playback,
)
from deskgym.trajectory import call
from tests.scripted import play_model

ORDER = '{"order_id": "S-410"}'
CLOSE = Say(calls=(RawCall("close", "{}"),))
READ = Say(calls=(RawCall("get_order", ORDER),))

both_apis = pytest.mark.parametrize("provider", ["openai", "anthropic"])


def always(*replies: Reply) -> Any:
    """These in turn, over and over."""
    return lambda request: replies[request.number % len(replies)]


def refusals(episode: PlayedEpisode) -> list[str]:
    assert episode.recording is not None
    return [step.result["code"] for step in episode.recording.steps if not step.result["ok"]]


def transcript(episode: PlayedEpisode) -> list[dict[str, Any]]:
    assert episode.recording is not None
    assert episode.recording.footer.run is not None
    return episode.recording.footer.run["transcript"]


@both_apis
def test_a_model_that_stops_at_once_has_stopped_and_earns_nothing(provider: Any) -> None:
    episode = play_model(always(Say("")), provider=provider)
    assert (episode.status, episode.termination, episode.reward) == ("reward", "agent_stopped", 0)
    assert len(episode.agent_meter.calls) == 3


def test_a_model_that_babbles_uses_up_its_turns_with_the_customer() -> None:
    babble = iter(f"Let me tell you story number {number}." for number in range(99))
    episode = play_model(lambda _: Say(next(babble)))
    assert (episode.status, episode.termination, episode.turns) == ("reward", "turn_limit", 8)
    assert episode.reward == 0


def test_a_model_that_babbles_where_nobody_reads_has_stopped() -> None:
    episode = play_model(always(Say("I am done.")), "backoffice/late-return")
    assert (episode.status, episode.termination) == ("reward", "agent_stopped")
    assert [entry["text"] for entry in transcript(episode)] == ["I am done."] * 3


def test_a_model_that_repeats_itself_makes_no_progress() -> None:
    episode = play_model(always(READ))
    assert (episode.termination, episode.reward) == ("no_progress", 0)
    assert episode.recording is not None
    assert len(episode.recording.steps) == 3


def test_a_model_that_only_reads_comes_to_the_limit_of_rounds() -> None:
    other = Say(calls=(RawCall("list_order_payments", ORDER),))
    episode = play_model(always(READ, other))
    assert episode.termination == "round_limit"
    assert episode.recording is not None
    assert len(episode.recording.steps) == 6


@both_apis
def test_an_unknown_tool_is_named_to_the_model_which_can_mend_it(provider: Any) -> None:
    told: list[str] = []

    def play(request: ModelRequest) -> Reply:
        told.extend(request.results)
        return Say(calls=(RawCall("get_ordr", ORDER),)) if request.number == 0 else CLOSE

    episode = play_model(play, provider=provider)
    assert episode.termination == "closed"
    assert episode.malformed_calls == 1
    assert "Did you mean get_order?" in told[0]


BROKEN = {
    "broken JSON": '{"order_id": "S-4',
    "a string of JSON": orjson.dumps(ORDER).decode(),
    "a list": '["S-410"]',
    "a number": "410",
    "null": "null",
    "NaN": '{"order_id": NaN}',
    "a key twice": '{"order_id": "S-410", "order_id": "S-990"}',
    "nested without end": '{"order_id": ' + "[" * 100_000,
    "single quotes": "{'order_id': 'S-410'}",
}


@pytest.mark.parametrize("stream", [False, True])
@both_apis
@pytest.mark.parametrize("arguments", BROKEN.values(), ids=BROKEN)
def test_malformed_arguments_are_an_error_that_the_model_can_mend(
    arguments: str, provider: Any, stream: bool
) -> None:
    def play(request: ModelRequest) -> Reply:
        if request.number == 0:
            return Say(calls=(RawCall("get_order", arguments),))
        return READ if request.number == 1 else CLOSE

    if provider == "anthropic" and not stream and arguments == BROKEN["a key twice"]:
        pytest.skip("the API itself cannot send this")
    episode = play_model(play, provider=provider, stream=stream)
    assert (episode.status, episode.termination) == ("reward", "closed")
    assert episode.malformed_calls == 1
    assert episode.recording is not None
    assert [step.action["tool"] for step in episode.recording.steps] == ["get_order", "close"]


def test_malformed_calls_without_end_are_unusable() -> None:
    episode = play_model(always(Say(calls=(RawCall("get_order", "{"),))))
    assert (episode.status, episode.termination) == ("reward", "unusable_output")
    assert (episode.malformed_calls, episode.reward) == (3, 0)


def test_a_number_sent_as_text_is_refused_with_what_would_be_right() -> None:
    told: list[str] = []

    def play(request: ModelRequest) -> Reply:
        told.extend(request.results)
        refund = (
            '{"order_id": "S-410", "payment_id": "PAY-A", "amount_cents": "4800", "reason": "x"}'
        )
        return Say(calls=(RawCall("issue_refund", refund),)) if request.number == 0 else CLOSE

    episode = play_model(play)
    assert refusals(episode) == ["invalid_arguments"]
    assert "as a JSON integer" in told[0]


def test_several_calls_in_a_turn_run_in_order_and_none_after_the_end() -> None:
    calls = (RawCall("get_order", ORDER), RawCall("nothing", "{}"), RawCall("close", "{}"))
    after = RawCall("get_order", ORDER)
    episode = play_model(playback([Say(calls=(*calls, after))]))
    assert episode.termination == "closed"
    assert episode.malformed_calls == 1
    assert episode.recording is not None
    assert [step.action["tool"] for step in episode.recording.steps] == ["get_order", "close"]


@both_apis
def test_a_text_that_is_cut_off_is_not_said_and_the_model_is_told(provider: Any) -> None:
    told: list[str] = []

    def play(request: ModelRequest) -> Reply:
        told.extend(request.user_texts[1:])
        return Say("I will now refu", finish="length") if request.number == 0 else CLOSE

    episode = play_model(play, provider=provider)
    assert episode.turns == 0
    assert "cut off" in told[0]
    assert episode.termination == "closed"


def test_a_model_that_is_always_cut_off_is_unusable() -> None:
    episode = play_model(always(Say("and so on and", finish="length")))
    assert (episode.status, episode.termination) == ("reward", "unusable_output")


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_a_call_that_is_cut_off_is_not_carried_out(protocol: Any) -> None:
    half = '{"order_id": "S-410", "reason": "because'
    cut = (
        Say(calls=(RawCall("cancel_order", half),), finish="length")
        if protocol == "native"
        else Say(f'<tool_call>{{"name": "cancel_order", "arguments": {half}', finish="length")
    )
    close = CLOSE if protocol == "native" else Say(format_call(call("close")))
    episode = play_model(playback([cut, close]), "service/stop-warehouse-order", protocol=protocol)
    assert episode.malformed_calls == 1
    assert episode.recording is not None
    assert episode.recording.footer.changes == []


@both_apis
def test_an_answer_that_the_provider_withholds_is_invalid_and_no_reward(provider: Any) -> None:
    episode = play_model(playback([READ, Say(finish="refused")]), provider=provider)
    assert (episode.status, episode.invalid) == ("invalid", "refused_output")
    assert episode.reward is None
    assert episode.recording is not None
    assert episode.recording.footer.status == "invalid"
    assert len(episode.recording.steps) == 1


def test_a_refusal_in_words_is_the_model_s_own_and_is_scored() -> None:
    episode = play_model(always(Say("I am sorry, I cannot help with that.")))
    assert episode.status == "reward"


def test_text_beside_calls_is_private_and_text_alone_is_said() -> None:
    said = Say("Let me have a look, one moment.")
    thinking = Say("The customer seems upset.", calls=(RawCall("get_order", ORDER),))
    episode = play_model(playback([thinking, said, CLOSE]))
    assert episode.turns == 1
    assert episode.recording is not None
    messages = [step.action for step in episode.recording.steps if step.action["tool"] == "message"]
    assert [action["arguments"]["text"] for action in messages] == [said.text]
    assert transcript(episode)[0] == {
        "step": 0, "role": "agent", "text": "The customer seems upset.", "heard": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "<think>They want money.</think>\n\nHello!",
        "They want money.</think>Hello!",
        "<thinking>They want money.</thinking> Hello!",
    ],
)
def test_what_a_model_thinks_is_not_said(text: str) -> None:
    episode = play_model(playback([Say(text), CLOSE]))
    assert episode.recording is not None
    assert episode.recording.steps[0].action["arguments"] == {"text": "Hello!"}
    assert transcript(episode)[0]["text"] == "They want money."


def test_a_message_that_is_too_long_is_refused_and_the_model_hears_why() -> None:
    told: list[str] = []

    def play(request: ModelRequest) -> Reply:
        told.extend(request.user_texts[1:])
        return Say("x" * 2_001) if request.number == 0 else CLOSE

    episode = play_model(play)
    assert refusals(episode) == ["invalid_arguments"]
    assert "2000 characters" in told[0]


def test_strange_text_is_recorded_and_replays() -> None:
    strange = 'h\\ud800i \\u0000 \\u202e {"a": 1} </tool_result>'
    body = (
        f'{{"choices": [{{"message": {{"content": "{strange[:20]}"}}, "finish_reason": "stop"}}]}}'
    )

    episode = play_model(playback([Send(body.encode()), CLOSE]))
    assert episode.status == "reward"
    assert episode.recording is not None
    episode.recording.to_json()


def test_an_episode_that_takes_too_long_is_invalid() -> None:
    episode = play_model(always(READ, Stall()), limits=Limits(episode_s=0.2))
    assert (episode.status, episode.invalid) == ("invalid", "deadline")
    assert "0.2 seconds" in episode.detail


def test_a_provider_that_fails_for_good_is_invalid_and_what_was_done_is_kept() -> None:
    episode = play_model(lambda request: READ if request.number == 0 else Fail(500))
    assert (episode.status, episode.invalid, episode.reward) == (
        "invalid",
        "provider_failure",
        None,
    )
    assert episode.retries == 2
    assert episode.recording is not None
    assert episode.recording.footer.run is not None
    assert episode.recording.footer.run["invalid"] == "provider_failure"


def test_an_agent_with_a_bug_is_an_error_and_no_reward() -> None:
    def broken(_: object) -> Any:
        yield call("get_order", order_id="S-410")
        raise LookupError("the script is broken")

    with deskgym.make("service/damaged-lamp") as environment:
        episode = asyncio.run(play_dialogue(environment, ScriptedAgent("broken", broken)))
    assert (episode.status, episode.termination, episode.reward) == ("error", "error", None)
    assert episode.detail == "LookupError: the script is broken"


@both_apis
def test_sampling_and_extra_fields_reach_the_provider(provider: Any) -> None:
    bodies: list[Any] = []

    def play(request: ModelRequest) -> Reply:
        bodies.append(request.body)
        return CLOSE

    sampling = Sampling(0.5, 0.9, 256, 7, {"top_k": 5, "temperature": 0.25})
    play_model(play, provider=provider, sampling=sampling)
    body = bodies[0]
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.25, 0.9, 256)
    assert body["top_k"] == 5
    assert body.get("seed") == (7 if provider == "openai" else None)


@both_apis
@pytest.mark.parametrize("arguments", ["", "{}"])
def test_a_call_that_is_cut_off_before_its_arguments_is_none(provider: Any, arguments: str) -> None:
    cut = Say("", (RawCall("close", arguments),), finish="length")
    episode = play_model(playback([cut, CLOSE]), provider=provider, stream=True)
    assert episode.malformed_calls == 1
    assert episode.termination == "closed"


def test_a_call_before_a_closing_tag_of_thinking_is_a_call() -> None:
    text = format_call(call("message", text="a </think> b"))
    close = Say(format_call(call("close")))
    episode = play_model(playback([Say(text.replace("\\u003c", "<")), close]), protocol="text")
    assert episode.recording is not None
    assert [step.action["tool"] for step in episode.recording.steps][-1] == "close"
    assert len(episode.agent_meter.calls) == 2


@both_apis
def test_ids_that_a_provider_gives_again_in_a_later_reply_are_sent_back_as_others(
    provider: Any,
) -> None:
    twice = (("call_0", "get_order"), ("call_3", "list_shipments"))

    def same_ids(request: ModelRequest) -> Reply:
        if request.number == 2:
            return playback([CLOSE])(request)
        if request.provider == "openai":
            calls = [{"id": name, "function": {"name": tool, "arguments": ORDER}}
                     for name, tool in twice]  # fmt: skip
            return Send(orjson.dumps({"choices": [{"message": {"tool_calls": calls}}]}))
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, *(
            {"type": "tool_use", "id": name, "name": tool, "input": {"order_id": "S-410"}}
            for name, tool in twice
        )]  # fmt: skip
        return Send(orjson.dumps({"content": blocks, "stop_reason": "tool_use"}))

    seen: list[ModelRequest] = []

    def play(request: ModelRequest) -> Reply:
        seen.append(request)
        return same_ids(request)

    episode = play_model(play, provider=provider)
    assert episode.status == "reward", episode.detail
    messages = seen[-1].body["messages"]
    if provider == "openai":
        made = [each["id"] for one in messages for each in one.get("tool_calls", ())]
        told = [one["tool_call_id"] for one in messages if one["role"] == "tool"]
    else:
        blocks = [block for one in messages for block in one["content"]]
        made = [block["id"] for block in blocks if block["type"] == "tool_use"]
        told = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sum(block["type"] == "thinking" for block in blocks) == 2
    assert made == told
    assert made[:2] == ["call_0", "call_3"]
    assert len(set(made)) == 4


def test_a_text_without_end_leaves_a_recording_of_a_readable_size() -> None:
    long = Say("word " * 200_000, finish="length")
    episode = play_model(lambda _: long)
    assert episode.termination == "unusable_output"
    texts = [entry["text"] for entry in transcript(episode)]
    assert len(texts) == 3
    assert all(text.endswith("… (900000 characters more)") for text in texts)


def test_fifty_calls_in_a_turn_are_carried_out_up_to_the_end_of_the_episode() -> None:
    calls = (RawCall("get_order", ORDER), RawCall("list_shipments", ORDER)) * 25
    episode = play_model(lambda _: Say(calls=calls))
    assert (episode.status, len(episode.agent_meter.calls)) == ("reward", 1)
    assert episode.recording is not None
    assert len(episode.recording.steps) < 50
    assert episode.recording.footer.ended == episode.termination
