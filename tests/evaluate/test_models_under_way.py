"""Evaluations of models over HTTP: what a provider does wrong, and runs that are killed."""

from __future__ import annotations

import itertools
import logging
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from deskgym.agents import AgentOptions
from deskgym.evaluate import EpisodeSpec, ResultsFile, read_results, stream
from deskgym.evaluate.page import page
from deskgym.evaluate.report import report_on
from deskgym.models.options import ModelOptions, RetryPolicy
from deskgym.suite import load_suite
from deskgym.testing.model_server import (
    ModelRequest,
    ModelServer,
    Player,
    Reply,
    Say,
    Stall,
    play_controls,
    with_faults,
)
from tests.cli.test_cli import Deskgym, deskgym

__all__ = ["deskgym"]

KEY = "sk-secret-5f2d9c81"
AGENT = "openai:scripted"
TIERS = [f"tickets/{task.name}" for task in load_suite("tickets").tasks]


def options(server: ModelServer, *, attempts: int = 3) -> AgentOptions:
    return AgentOptions(
        ModelOptions(
            base_url=server.url("openai"),
            api_key=KEY,
            timeout_s=5.0,
            retry=RetryPolicy(attempts_max=attempts, wait_s=0.001, wait_max_s=0.01),
        )
    )


def specs_for(server: ModelServer, episodes: int) -> list[EpisodeSpec]:
    made = options(server)
    return [
        EpisodeSpec(TIERS[number % 3], AGENT, number // 3, options=made)
        for number in range(episodes)
    ]


def evaluate(specs: list[EpisodeSpec], file: Path) -> None:
    with ResultsFile(file, [spec.planned() for spec in specs]) as results:
        for finished in stream(specs, concurrency=32):
            results.append(finished.result, finished.line)
        results.finish()


@pytest.fixture(scope="module")
def oracle() -> Player:
    return play_controls(["tickets"], seeds=range(45))


def with_stalls(player: Player, every: int) -> Player:
    """Stall now and then: a client waits for its deadline, which a busy machine needs long."""

    def play(request: ModelRequest) -> Reply:
        reply = player(request)
        if isinstance(reply, Say) and request.number % every == every - 1:
            return Stall(reply)
        return reply

    return play


def test_a_provider_that_fails_at_random_costs_no_episode_and_no_reward(
    tmp_path: Path, oracle: Player
) -> None:
    file = tmp_path / "runs.jsonl"
    player = with_stalls(with_faults(oracle, 0.5, seed=7, stall=False), every=100)
    with ModelServer(player, api_key=KEY) as server:
        specs = specs_for(server, 500)
        evaluate(specs, file)
        kinds = server.replies
    # Every way to fail has happened.
    assert {"Say", "Fail", "Half", "Drop", "Stall"} <= set(kinds)

    results = list(read_results(file))
    assert [result.key for result in results] == [spec.planned().key for spec in specs]
    statuses = Counter(result.status for result in results)
    assert statuses["reward"] + statuses["invalid"] == 500
    assert statuses["reward"] > 250
    assert statuses["invalid"] > 10
    # What was judged is the oracle's reward; what the provider failed has none.
    assert {result.reward for result in results if result.status == "reward"} == {1.0}
    failed = [result for result in results if result.status == "invalid"]
    assert {(result.reward, result.termination) for result in failed} == {
        (None, "provider_failure")
    }

    (made,) = report_on(results)
    assert made.counts.to_dict() == {
        "episodes": 500, "reward": statuses["reward"], "invalid": statuses["invalid"], "error": 0,
    }  # fmt: skip
    assert made.reward.mean == 1.0
    assert made.invalid == {"provider_failure": statuses["invalid"]}
    assert made.usage is not None
    assert made.usage.episodes == 500

    assert KEY not in file.read_text() + page("T", [made], timing=True)


def test_a_key_is_in_no_log_however_much_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, oracle: Player
) -> None:
    with (
        caplog.at_level(logging.DEBUG),
        ModelServer(with_faults(oracle, 0.5, stall=False), api_key=KEY) as server,
    ):
        evaluate(specs_for(server, 12), tmp_path / "runs.jsonl")
    assert caplog.records
    assert KEY not in caplog.text
    assert "secret" not in caplog.text


def test_a_model_earns_the_same_in_any_number_of_processes(tmp_path: Path, oracle: Player) -> None:
    with ModelServer(oracle, api_key=KEY) as server:
        specs = specs_for(server, 24)
        reports = [
            [
                item.to_dict()
                for item in report_on(
                    finished.result for finished in stream(specs, concurrency=8, jobs=jobs)
                )
            ]
            for jobs in (1, 2)
        ]
    assert reports[0] == reports[1]
    assert reports[0][0]["counts"]["reward"] == 24


DESKGYM = [sys.executable, "-c", "from deskgym.cli import main; main()"]
VARIABLES = {**os.environ, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
def test_a_run_of_a_model_that_was_stopped_twice_has_the_report_of_an_undisturbed_one(
    tmp_path: Path, oracle: Player
) -> None:
    def slowly(request: ModelRequest) -> Reply:
        reply = oracle(request)
        return replace(reply, delay_s=0.03) if isinstance(reply, Say) else reply

    with ModelServer(slowly, api_key=KEY) as server:
        command = [
            *DESKGYM, "run", "tickets", "--agent", AGENT, "--seeds", "0-14", "--base-url",
            server.url("openai"), "--price", "1,2", "--concurrency", "4", "--openenv-lines",
        ]  # fmt: skip

        def stop(number: signal.Signals) -> int:
            """Stop it after its fifth episode, with others under way."""
            process = subprocess.Popen(
                [*command, "--out", "disturbed.jsonl"], cwd=tmp_path, env=VARIABLES,
                stdout=subprocess.PIPE, text=True, start_new_session=True,
            )  # fmt: skip
            with process:
                assert process.stdout is not None
                ends = (line for line in process.stdout if line.startswith("[END]"))
                for _ in itertools.islice(ends, 5):
                    pass
                os.killpg(process.pid, number)
                process.stdout.read()
            return process.returncode

        assert stop(signal.SIGINT) == 130
        assert stop(signal.SIGKILL) == -signal.SIGKILL
        for name in ("disturbed.jsonl", "whole.jsonl"):
            done = subprocess.run(
                [*command, "--out", name], cwd=tmp_path, env=VARIABLES, check=True,
                capture_output=True, text=True,
            )  # fmt: skip
            assert KEY not in done.stdout + done.stderr + (tmp_path / name).read_text()
    reports = [
        [part.to_dict() for part in report_on(read_results(tmp_path / name))]
        for name in ("disturbed.jsonl", "whole.jsonl")
    ]
    assert reports[0] == reports[1]
    assert reports[0][0]["counts"] == {"episodes": 45, "reward": 45, "invalid": 0, "error": 0}


def test_the_options_of_a_model_reach_it_and_other_ones_do_not_go_on_in_its_file(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch, oracle: Player
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ModelServer(oracle, api_key=KEY) as server:
        command = (
            "run", "tickets/easy", "--agent", "anthropic:m", "--base-url", server.url("anthropic"),
            "--temperature", "0.5", "--max-tokens", "99", "--out", "runs.jsonl",
        )  # fmt: skip
        ran = deskgym(*command, "--extra", "top_k=3", "--price", "1,2")
        body = server.requests[0].body
        more = deskgym(*command, "--temperature", "0.7")
    assert ran.code == 0
    assert "mean reward 1.0000 over 1 episode" in ran.words
    told = (body["model"], body["temperature"], body["max_tokens"], body["top_k"])
    assert told == ("m", 0.5, 99, 3)
    assert more.code == 2
    assert "runs.jsonl was made with temperature 0.5, and this run asks for 0.7" in " ".join(
        more.err.split()
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--extra", "{"), "--extra takes NAME=JSON"),
        (("--price", "1"), "--price takes IN,OUT"),
        (("--price", "-1,1"), "a price is a number of dollars of at least 0"),
        (("--customer", "pushy"), "--customer takes scripted or a model"),
        (("--customer", "openai:m", "--persona", "kind"), "no trait of a customer 'kind'"),
        (("--base-url", "nowhere"), "the base URL has to be such as"),
        (("--call-timeout", "0"), "deadline is more than 0 seconds"),
    ],
)
def test_options_that_cannot_be_are_refused(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shown = deskgym("run", "service/damaged-lamp", "--agent", "openai:m", *arguments)
    assert shown.code == 2
    assert sentence in " ".join(shown.err.split())
    assert KEY not in shown.out + shown.err


def test_two_names_of_one_model_are_refused(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ran = deskgym("run", "tickets", "--agent", "groq:m", "--agent", "openai:m")
    assert ran.code == 2
    assert "two of the agents have the same name" in " ".join(ran.err.split())


def test_a_model_can_speak_for_the_customer_and_is_part_of_the_settings(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    answer = '{"message": "Yes, do that.", "accepts": true, "done": false, "reason": "fine"}'
    with ModelServer(lambda _: Say(answer), api_key=KEY) as server:
        ran = deskgym(
            "run", "service/cancel-pending", "--agent", "oracle", "--customer", "openai:c",
            "--customer-base-url", server.url("openai"), "--persona", "curt,pushy",
            "--out", "runs.jsonl",
        )  # fmt: skip
        assert server.requests
    assert ran.code == 0
    (result,) = read_results(tmp_path / "runs.jsonl")
    assert result.settings["customer"]["name"] == "openai:c"
    assert result.settings["customer"]["traits"] == ["curt", "pushy"]
    assert result.usage is not None
    assert result.usage.calls == len(server.requests)
    assert deskgym("replay", "runs.jsonl").code == 0
