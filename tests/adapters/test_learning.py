"""The example of a policy that learns, for half a minute."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sb3_contrib", reason="it is in another environment: make test-adapters")

from examples.learn.__main__ import main
from examples.learn.curve import draw, read_log
from examples.learn.evaluation import by_chance, by_policy, by_script, figures
from examples.learn.training import TRAIN_SEEDS, Plan, train, write_log
from examples.learn.vec_env import Outcome

# Torch and its friends warn of their own future.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

TASK = "backoffice/not-their-order"
SEEDS = range(10_000, 10_020)


@pytest.fixture(scope="module")
def trained() -> tuple[object, list[dict[str, float]]]:
    return train(Plan(steps=12_288, tasks=(TASK,)))


def mean(outcomes: list[Outcome]) -> float:
    return sum(outcome.reward for outcome in outcomes) / len(outcomes)


def test_training_moves_the_reward_above_chance_on_seeds_that_it_did_not_see(trained):
    model, _ = trained
    assert TRAIN_SEEDS[1] <= SEEDS[0]
    learnt = mean([by_policy(model)(TASK, seed) for seed in SEEDS])
    chance = mean([by_chance()(TASK, seed) for seed in SEEDS])
    # The reply that declines pays 0.75 and having looked before it 0.25; chance finds neither.
    assert chance < 0.2
    assert learnt >= 0.7


def test_the_log_shows_it_and_is_drawn(trained, tmp_path: Path):
    _, log = trained
    # These are the rewards of a policy that still tries things out, over the last 500 episodes.
    assert log[-1]["reward"] > log[0]["reward"] + 0.05
    write_log(log, tmp_path / "log.csv")
    assert read_log(tmp_path / "log.csv") == log
    rows = [figures("learnt", [Outcome(TASK, 1.0, ())]), figures("eager", [Outcome(TASK, 0.0, ())])]
    draw(log, rows, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_trains_the_same_policy():
    first, second = (train(Plan(steps=2_048, tasks=(TASK,)))[1] for _ in range(2))
    assert [{**row, "seconds": 0} for row in first] == [{**row, "seconds": 0} for row in second]


def test_figures_count_traps_by_their_names():
    outcomes = [
        by_script("eager")("backoffice/late-return", 10_000),
        by_script("careful")("backoffice/late-return", 10_000),
    ]
    row = figures("both", outcomes)
    # Eager refunds what came back too late; careful declines.
    assert (row.reward, row.resolved, row.trapped) == (0.5, 0.5, 0.5)
    assert row.traps["refunds-follow-policy"] == 1


def test_the_command_writes_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    status = main(["--steps", "2048", "--seeds", "1", "--out", str(tmp_path)])
    # Two thousand steps teach nothing; that is said, and the status tells.
    assert status == 1
    assert "NO   it earns more than eager" in capsys.readouterr().out
    found = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert [row["agent"] for row in found["agents"]] == [
        "null", "random", "eager", "learnt", "careful",
    ]  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {
        "policy.zip", "log.csv", "figures.json", "curve.png",
    }  # fmt: skip
