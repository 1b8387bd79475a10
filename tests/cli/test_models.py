"""`deskgym run` with models: as agents, as customers, and with what cannot be asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, cycle
from pathlib import Path

import orjson
import pytest

from deskgym.models.meter import Usage
from deskgym.testing.model_server import (
    Fail,
    ModelRequest,
    ModelServer,
    RawCall,
    Reply,
    Say,
    play_controls,
)
from tests.cli.test_cli import Deskgym, deskgym
from tests.scripted import KEY

__all__ = ["deskgym"]

RUN = ("run", "service/damaged-lamp", "--seeds", "0-1", "--agent", "openai:scripted")


def desk_and_customer() -> Callable[[ModelRequest], Reply]:
    """One server for both roles, who are told apart by their instructions."""
    desk = play_controls(["service/damaged-lamp"], seeds=range(2))
    words = count()

    def play(request: ModelRequest) -> Reply:
        if "You play a customer" not in request.system:
            return desk(request)
        fields = {"message": f"Yes ({next(words)}).", "done": False, "reason": "", "accepts": True}
        return Say(orjson.dumps(fields).decode())

    return play


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(desk_and_customer(), api_key=KEY) as running:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", running.url("openai"))
        yield running
        assert not running.failures


def test_a_model_acts_where_the_environment_says_and_no_file_shows_its_key(
    deskgym: Deskgym, server: ModelServer, tmp_path: Path
) -> None:
    done = deskgym(*RUN, "--protocol", "text", "--price", "1,2", "--out", "runs.jsonl")
    assert done.code == 0, done.err
    assert done.words.count("openai:scripted 0 1.00") == 1
    assert KEY not in done.out + done.err + (tmp_path / "runs.jsonl").read_text()
    assert "tools" not in server.requests[0].body


def test_a_model_speaks_for_the_customer_and_the_recording_replays_without_it(
    deskgym: Deskgym, server: ModelServer, tmp_path: Path
) -> None:
    customer = ("--customer", "model:openai:customer", "--persona", "pushy,curt")
    done = deskgym(*RUN, *customer, "--out", "runs.jsonl")
    assert done.code == 0, done.err
    assert "Yes (0)." in (tmp_path / "runs.jsonl").read_text()
    asked = len(server.requests)
    assert deskgym("replay", "runs.jsonl").code == 0
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--protocol", "json"), "--protocol takes native or text"),
        (("--price", "1"), "--price takes IN,OUT"),
        (("--price", "-1,2"), "a price is"),
        (("--customer-price", "1"), "--customer-price takes IN,OUT"),
        (("--temperature", "nan"), "temperature is a number of at least 0"),
        (("--sampling-seed", "9223372036854775808"), "64 bits"),
        (("--turns-max", "0"), "--turns-max"),
        (("--rounds-max", "0"), "--rounds-max"),
        (("--extra", "top_k"), "--extra takes NAME=JSON"),
        (("--customer", "nobody"), "--customer takes scripted or a model"),
        (("--persona", "pushi"), "did you mean 'pushy'"),
        (("--call-timeout", "0"), "more than 0 seconds"),
        (("--base-url", "localhost"), "the base URL has to be such as"),
        (("--agent", "opnai:m"), "opnai"),
        (("--agent", "openai:"), "names no model"),
    ],
)
def test_what_cannot_be_asked_for_is_named_before_anything_runs(
    deskgym: Deskgym, server: ModelServer, arguments: tuple[str, ...], words: str
) -> None:
    done = deskgym(*RUN, *arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert server.requests == []


def test_a_suite_without_a_customer_takes_none(deskgym: Deskgym, server: ModelServer) -> None:
    done = deskgym("run", "backoffice/late-return", "--customer", "openai:m")
    assert done.code == 2
    assert "no customer to talk to" in " ".join(done.err.split())
    assert server.requests == []


def with_usage(player: Callable[[ModelRequest], Reply]) -> Callable[[ModelRequest], Reply]:
    """The same, where each reply takes a million tokens each way."""

    def play(request: ModelRequest) -> Reply:
        said = player(request)
        assert isinstance(said, Say)
        return replace(said, usage=Usage(1_000_000, 1_000_000))

    return play


def test_each_role_has_its_own_price_and_its_own_sampling(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer(with_usage(desk_and_customer())) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url("openai"))
        done = deskgym(
            *RUN, "--seeds", "0", "--json", "--customer", "openai:c", "--temperature", "0.5",
            "--top-p", "0.9", "--extra", "top_k=40", "--price", "1,2", "--customer-price", "10,20",
            "--customer-temperature", "1.5",
        )  # fmt: skip
        assert done.code == 0, done.err
        roles = [request.body["model"] for request in server.requests]
        (episode,) = orjson.loads(done.out)["episodes"]
        assert episode["usage"]["cost_usd"] == 3 * roles.count("scripted") + 30 * roles.count("c")
        assert roles.count("c") > 0
        for request in server.requests:
            sampled = {name: request.body.get(name) for name in ("temperature", "top_p", "top_k")}
            assert tuple(sampled.values()) == (
                (1.5, None, None) if request.body["model"] == "c" else (0.5, 0.9, 40)
            )


def test_a_customer_of_another_provider_is_not_sent_to_the_agent_s_address(
    deskgym: Deskgym, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    customer = ("--customer", "anthropic:c")
    done = deskgym(*RUN, "--base-url", server.url("openai"), *customer)
    assert done.code == 2
    assert "ANTHROPIC_API_KEY" in done.err
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url("anthropic"))
    done = deskgym(*RUN, "--base-url", server.url("openai"), *customer)
    assert done.code == 0, done.err
    assert {(request.provider, request.body["model"]) for request in server.requests} == {
        ("openai", "scripted"), ("anthropic", "c"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("option", "says", "ended"),
    [
        ("--turns-max", cycle([Say("Well?"), Say("And?")]), "turn_limit"),
        (
            "--rounds-max",
            cycle(
                Say(calls=(RawCall(name, '{"order_id": "S-410"}'),))
                for name in ("get_order", "list_shipments")
            ),
            "round_limit",
        ),
    ],
)
def test_how_long_a_dialogue_may_go_on_is_said_on_the_command_line(
    deskgym: Deskgym, option: str, says: Iterator[Say], ended: str
) -> None:
    with ModelServer(lambda _: next(says)) as server:
        done = deskgym(
            *RUN, "--seeds", "0", "--json", "--base-url", server.url("openai"), option, "2"
        )
    assert done.code == 0, done.err
    (episode,) = orjson.loads(done.out)["episodes"]
    assert episode["termination"] == ended
    assert len(server.requests) == 3


def test_a_run_of_which_nothing_could_be_judged_exits_with_1(deskgym: Deskgym) -> None:
    with ModelServer(lambda _: Fail(401)) as server:
        done = deskgym(*RUN, "--base-url", server.url("openai"))
    assert done.code == 1
    assert "mean reward none over 0 episodes; 2 invalid, 0 errors" in done.words
