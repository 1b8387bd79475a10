"""`run --out`, `report` and `compare` as a person uses them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from deskgym.environment import Environment
from tests.cli.test_cli import Deskgym, deskgym

__all__ = ["deskgym"]

RUN = ("run", "service/damaged-lamp", "--seeds", "0-4", "--out", "runs.jsonl")


def test_the_same_command_again_has_nothing_to_do_and_shows_the_same(
    deskgym: Deskgym, tmp_path: Path
) -> None:
    first = deskgym(*RUN)
    content = (tmp_path / "runs.jsonl").read_bytes()
    again = deskgym(*RUN)
    assert (again.code, again.out, again.err) == (0, first.out, "")
    assert (tmp_path / "runs.jsonl").read_bytes() == content


def test_a_stopped_run_goes_on_and_ends_as_an_undisturbed_one(
    deskgym: Deskgym, tmp_path: Path
) -> None:
    first = deskgym(*RUN)
    file = tmp_path / "runs.jsonl"
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    again = deskgym(*RUN)
    assert again.out == first.out
    assert again.err == "runs.jsonl holds 2 of 5 episodes\n"
    assert file.read_bytes() == content


def test_other_settings_for_the_same_file_are_named(deskgym: Deskgym) -> None:
    deskgym(*RUN)
    other = deskgym(*RUN, "--rubric", "service-reward.v2")
    assert other.code == 2
    assert 'made with rubric "service-reward.v3"' in " ".join(other.err.split())
    fewer = deskgym("run", "service/damaged-lamp", "--seeds", "0-1", "--out", "runs.jsonl")
    assert fewer.code == 2
    assert "which this run does not ask for" in " ".join(fewer.err.split())
    assert deskgym(*RUN, "--rubric", "service-reward.v2", "--force").code == 0


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seeds on which our own code fails; emptied to mend it."""
    seeds = [1, 3]
    reset = Environment.reset

    def failing(self: Environment, seed: int = 0) -> Any:
        if seed in seeds:
            raise ZeroDivisionError("a bug of ours")
        return reset(self, seed)

    monkeypatch.setattr(Environment, "reset", failing)
    return seeds


def test_a_bug_of_ours_is_an_error_beside_the_rewards_and_exits_with_1(
    deskgym: Deskgym, broken: list[int]
) -> None:
    ran = deskgym(*RUN)
    assert ran.code == 1
    assert "mean reward 1.0000 over 3 episodes; 0 invalid, 2 errors" in ran.words
    assert "seed 1: error, error ZeroDivisionError: a bug of ours" in ran.words
    made = deskgym("report", "runs.jsonl", "--json").json[0]
    assert made["counts"] == {"episodes": 5, "reward": 3, "invalid": 0, "error": 2}
    assert made["reward"]["mean"] == 1.0
    assert len(made["errors"]) == 2
    # The recordings that there are can be used.
    assert "3 recordings read as made" in deskgym("verify", "runs.jsonl").words
    assert deskgym("replay", "runs.jsonl").code == 0
    # Nothing is run twice unless it is asked for.
    assert deskgym(*RUN).code == 1
    broken.clear()
    assert deskgym(*RUN).code == 1
    mended = deskgym(*RUN, "--again")
    assert mended.code == 0
    assert "over 5 episodes; 0 invalid, 0 errors" in mended.words
    assert deskgym("report", "runs.jsonl", "--json").json[0]["counts"]["reward"] == 5


def test_again_without_a_file_is_refused(deskgym: Deskgym) -> None:
    assert "--out names it" in deskgym("run", "service/damaged-lamp", "--again").err


def test_trials_repeat_a_seed_and_are_told_apart(deskgym: Deskgym) -> None:
    ran = deskgym(
        "run", "service/damaged-lamp", "--seeds", "0-1", "--trials", "3", "--out", "t.jsonl",
        "--json",
    )  # fmt: skip
    assert [(item["seed"], item["trial"]) for item in ran.json["episodes"]] == [
        (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2),
    ]  # fmt: skip
    made = deskgym("report", "t.jsonl", "--json").json[0]
    assert [hat["k"] for hat in made["pass_hat_k"]] == [1, 2, 3]
    assert made["pass_hat_k_over"] == "repeated episodes"


def test_submission_lines_are_all_that_is_printed(deskgym: Deskgym) -> None:
    ran = deskgym("run", "tickets", "--seeds", "0-1", "--openenv-lines")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert all(re.match(r"\[(START|STEP|END)\] ", line) for line in lines)
    assert sum(line.startswith("[START]") for line in lines) == 6
    assert sum(line.startswith("[END] success=true") for line in lines) == 6


def test_an_episode_without_a_reward_is_told_beside_its_submission_lines(
    deskgym: Deskgym, broken: list[int]
) -> None:
    ran = deskgym("run", "service/damaged-lamp", "--seeds", "1", "--openenv-lines")
    assert ran.code == 1
    assert "[END] success=false steps=0 score=0.00 rewards=" in ran.out
    assert "has no reward, it is error" in " ".join(ran.err.split())


def test_a_changed_result_fails_verification(deskgym: Deskgym, tmp_path: Path) -> None:
    deskgym(*RUN)
    file = tmp_path / "runs.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"trial":0', b'"trial":1'))
    shown = deskgym("verify", "runs.jsonl")
    assert shown.code == 1
    assert "runs.jsonl:1 was changed: the result is not what was written" in shown.words


def test_a_result_that_was_sealed_anew_beside_its_recording_fails_verification(
    deskgym: Deskgym, tmp_path: Path
) -> None:
    from deskgym.evaluate.result import Episode, parse_episode

    deskgym(*RUN)
    file = tmp_path / "runs.jsonl"
    episode = parse_episode(file.read_bytes().splitlines()[0], "here")
    better = episode.result.model_copy(update={"reward": 0.5})
    file.write_bytes(Episode(better, episode.recording).to_line())
    shown = deskgym("verify", "runs.jsonl")
    assert shown.code == 1
    assert "the result is not that of the recording beside it" in shown.words


def test_reports_are_tables_markdown_json_and_pages(deskgym: Deskgym, tmp_path: Path) -> None:
    deskgym("run", "backoffice", "--agent", "careful", "--agent", "eager", "--out", "b.jsonl")
    assert "careful" in deskgym("report", "b.jsonl").out
    assert deskgym("report", "b.jsonl", "--markdown").out.startswith("# deskgym report\n")
    assert [item["agent"] for item in deskgym("report", "b.jsonl", "--json").json] == [
        "careful", "eager",
    ]  # fmt: skip
    assert deskgym("report", "b.jsonl", "--html", "r.html").out == "r.html shows 2 agents\n"
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert deskgym("report", "b.jsonl", "--html", "no/r.html").code == 2
    assert deskgym("report", "@backoffice", "--json").json[0]["counts"]["episodes"] == 24


def test_two_agents_are_compared_by_task_and_seed(deskgym: Deskgym) -> None:
    shown = deskgym("compare", "@backoffice", "@backoffice", "--a", "careful", "--b", "eager")
    assert shown.code == 0
    assert "over 24 pairs" in shown.words
    made = deskgym(
        "compare", "@backoffice", "@backoffice", "--a", "careful", "--b", "eager", "--json"
    ).json
    assert made["difference"]["mean"] == pytest.approx(made["b"]["reward"] - made["a"]["reward"])
    assert len(made["lost"]) == 17
    text = deskgym(
        "compare", "@backoffice", "@backoffice", "--a", "careful", "--b", "eager", "--markdown"
    ).out
    assert "## Episodes that flipped" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("report", "missing.jsonl"), "missing.jsonl cannot be read"),
        (("report", "@nobody"), "there is no suite with shipped recordings"),
        (("report", "@backoffice", "@backoffice"), "is there 2 times"),
        (("compare", "@backoffice", "@backoffice"), "--a careful takes those of one"),
        (("compare", "@backoffice", "@backoffice", "--a", "x"), "holds no results of 'x'"),
        (("run", "service", "--trials", "0"), "--trials"),
        (("run", "service", "--concurrency", "0"), "--concurrency"),
        (("baseline", "--base-url", "http://h"), "--model names one"),
        (("baseline", "--model", "gpt"), "PROVIDER:MODEL"),
        (("baseline", "--model", "openai:m"), "needs OPENAI_API_KEY"),
    ],
)
def test_wrong_use_is_a_sentence_and_exit_code_2(
    deskgym: Deskgym,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    shown = deskgym(*arguments)
    assert shown.code == 2
    assert sentence in " ".join(shown.err.split())


def test_a_file_that_a_run_is_still_writing_can_be_reported_on(
    deskgym: Deskgym, tmp_path: Path
) -> None:
    deskgym(*RUN)
    file = tmp_path / "runs.jsonl"
    file.write_bytes(file.read_bytes()[:-200])
    assert deskgym("report", "runs.jsonl", "--json").json[0]["counts"]["episodes"] == 4


def test_json_has_every_episode_and_no_timing(deskgym: Deskgym) -> None:
    made = json.loads(orjson.dumps(deskgym(*RUN, "--json").json))
    assert set(made["episodes"][0]) == {
        "task", "agent", "seed", "trial", "parameters", "rubric", "status", "reward",
        "termination", "detail", "verdict", "reasons", "actions", "checks", "usage",
    }  # fmt: skip
