"""Evaluations of models over HTTP: what a provider does wrong, and runs that are killed."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import pytest

from deskgym.agents import AgentOptions
from deskgym.evaluate import EpisodeSpec, ResultsFile, read_results, stream
from deskgym.evaluate.page import page
from deskgym.evaluate.report import report_on
from deskgym.models.options import ModelOptions, RetryPolicy
from deskgym.suite import load_suite
from deskgym.testing.model_server import ModelServer, Player, play_controls, with_faults

KEY = "sk-secret-5f2d9c81"
AGENT = "openai:scripted"
TIERS = [f"tickets/{task.name}" for task in load_suite("tickets").tasks]


def options(server: ModelServer, *, attempts: int = 3) -> AgentOptions:
    return AgentOptions(
        ModelOptions(
            base_url=server.url("openai"),
            api_key=KEY,
            timeout_s=1.0,
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
        for finished in stream(specs, concurrency=64):
            results.append(finished.result, finished.line)
        results.finish()


@pytest.fixture(scope="module")
def oracle() -> Player:
    return play_controls(["tickets"], seeds=range(45))


def test_a_provider_that_fails_at_random_costs_no_episode_and_no_reward(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, oracle: Player
) -> None:
    file = tmp_path / "runs.jsonl"
    with (
        caplog.at_level(logging.DEBUG),
        ModelServer(with_faults(oracle, 0.5, seed=7), api_key=KEY) as server,
    ):
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

    everything = file.read_text() + page("T", [made], timing=True) + caplog.text
    assert KEY not in everything
    assert "secret" not in everything


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
