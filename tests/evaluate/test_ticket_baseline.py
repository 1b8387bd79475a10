"""`deskgym baseline --model`: a model on the tickets, here or on a server, as published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deskgym.suites.tickets.agents import BASELINES
from deskgym.suites.tickets.scenario import Tier
from deskgym.suites.tickets.ticket import recognise
from deskgym.testing.model_server import Fail, ModelRequest, ModelServer, Reply, Say
from tests.cli.test_cli import Deskgym, deskgym
from tests.evaluate.ticket_server import ticket_server

__all__ = ["deskgym"]

KEY = "gsk-secret-71ac30be"


def oracle(request: ModelRequest) -> Reply:
    """The oracle by plain chat: it reads the ticket and what it is asked for."""
    opening = request.user_texts[0].partition("\n\n[")[0]
    last = request.user_texts[-1]
    turn = len(request.user_texts) - 1
    tier: Tier = "hard" if "of 3:" in last or turn else "easy" if "category" in last else "medium"
    return Say(BASELINES["oracle"](tier, turn, recognise(opening)).message)


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENV_BASE_URL", "GROQ_MODEL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GROQ_API_KEY", KEY)


def test_a_model_is_run_on_five_episodes_a_tier_and_its_scores_are_saved(
    deskgym: Deskgym, tmp_path: Path
) -> None:
    with ModelServer(oracle, api_key=KEY) as server:
        ran = deskgym("baseline", "--model", "groq", "--base-url", server.url("openai"))
        requests = server.requests
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[:2] == [
        "openai:llama-3.1-8b-instant easy seed 0: 1.0000 (1.00)",
        "openai:llama-3.1-8b-instant easy seed 1: 1.0000 (1.00)",
    ]
    assert lines[14] == "openai:llama-3.1-8b-instant hard seed 4: 1.0000 (1.00, 1.00, 1.00)"
    assert "15 episodes with a reward, 0 invalid; saved to baseline_scores.json" in ran.words
    assert json.loads((tmp_path / "baseline_scores.json").read_text()) == {
        tier: {
            "average_score": 1.0,
            "scores": [1.0] * 5,
            "episodes": 5,
            "invalid": 0,
            "model": "openai:llama-3.1-8b-instant",
            "rubric": "ticket-reward.v2",
        }
        for tier in ("easy", "medium", "hard")
    }
    # As published: the model, how it is sampled, and one call a turn.
    assert len(requests) == 5 + 5 + 15
    assert {request.body["model"] for request in requests} == {"llama-3.1-8b-instant"}
    assert {request.body["temperature"] for request in requests} == {0.3}


def test_a_model_is_shown_no_reward(deskgym: Deskgym) -> None:
    with ModelServer(oracle) as server:
        deskgym("baseline", "--model", "openai:m", "--base-url", server.url("openai"))
        seen = json.dumps([dict(request.body) for request in server.requests])
    assert "reward" not in seen
    assert "score" not in seen


def test_the_episodes_of_a_server_are_played_where_env_base_url_says(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(oracle) as models, ticket_server() as tickets:
        monkeypatch.setenv("ENV_BASE_URL", tickets.url)
        ran = deskgym(
            "baseline", "--model", "openai:m", "--base-url", models.url("openai"), "--json"
        )
        asked = tickets.asked
    assert ran.code == 0
    assert {tier: scores["average_score"] for tier, scores in ran.json.items()} == {
        "easy": 1.0, "medium": 1.0, "hard": 1.0,
    }  # fmt: skip
    assert (asked.count("POST /reset"), asked.count("POST /step")) == (15, 25)
    assert ran.json["easy"]["rubric"] == f"that of {tickets.url}"


def test_what_the_provider_or_the_server_fails_is_invalid_and_not_0(
    deskgym: Deskgym, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(request: ModelRequest) -> Reply:
        refused = request.user_texts[0].startswith(recognise_seed_2())
        return Fail(400, f"no {KEY} here") if refused else oracle(request)

    with ModelServer(failing, api_key=KEY) as server:
        ran = deskgym("baseline", "--model", "openai:m", "--base-url", server.url("openai"))
    assert "easy seed 2: invalid (provider_rejected:" in ran.words
    assert "12 episodes with a reward, 3 invalid" in ran.words
    saved = (tmp_path / "baseline_scores.json").read_text()
    scores = json.loads(saved)
    assert scores["easy"]["scores"] == [1.0, 1.0, None, 1.0, 1.0]
    assert scores["easy"]["average_score"] == 1.0
    assert scores["easy"]["invalid"] == 1
    assert KEY not in ran.out + ran.err + saved

    with ModelServer(oracle) as models, ticket_server() as tickets:
        tickets.broken["/step"] = (500, b"")
        monkeypatch.setenv("ENV_BASE_URL", tickets.url)
        ran = deskgym("baseline", "--model", "openai:m", "--base-url", models.url("openai"))
    assert "0 episodes with a reward, 15 invalid" in ran.words
    assert "environment_failure" in ran.out
    assert "none" in ran.out


def recognise_seed_2() -> str:
    from deskgym.suites.tickets.ticket import ticket_of

    return ticket_of(2).wording.opening


def test_a_ticket_server_that_is_not_there_is_named_before_the_model_is_asked(
    deskgym: Deskgym,
) -> None:
    with ModelServer(oracle) as server:
        ran = deskgym(
            "baseline", "--model", "openai:m", "--base-url", server.url("openai"),
            "--env-base-url", "http://127.0.0.1:9",
        )  # fmt: skip
        assert server.requests == []
    assert ran.code == 2
    assert "the ticket server is not there: http://127.0.0.1:9" in " ".join(ran.err.split())


def test_an_empty_or_unprintable_reply_is_the_models_own_fault(deskgym: Deskgym) -> None:
    with ModelServer(lambda _: Say(" \x00 ")) as server:
        ran = deskgym(
            "baseline", "--model", "openai:m", "--base-url", server.url("openai"), "--json"
        )
    assert {tier: scores["average_score"] for tier, scores in ran.json.items()} == {
        "easy": 0.0, "medium": 0.0, "hard": 0.0,
    }  # fmt: skip


def test_a_key_in_the_environment_is_hinted_at_and_not_used(deskgym: Deskgym) -> None:
    ran = deskgym("baseline", "--seeds", "0")
    assert ran.code == 0
    assert "`deskgym baseline --model groq` runs its model" in " ".join(ran.err.split())
    assert KEY not in ran.out + ran.err
