"""`baseline`: episodes, averages, and what is saved."""

import json

import pytest

import deskgym
from deskgym.suites.tickets import SupportAction, SupportObservation
from deskgym.suites.tickets.baseline import BUILT_IN, baseline


def test_by_v2_the_oracle_is_full_and_the_naive_agents_stay_low() -> None:
    assert baseline().averages() == {
        "oracle": {"easy": 1.0, "medium": 1.0, "hard": 1.0},
        "fixed reply": {"easy": 0.2, "medium": 0.28, "hard": 0.3267},
        "keyword stuffing": {"easy": 0.0, "medium": 0.2, "hard": 0.3},
    }


def test_by_v1_stuffing_is_as_good_as_the_oracle() -> None:
    averages = baseline("ticket-reward.v1").averages()
    assert averages["oracle"] == averages["keyword stuffing"]
    assert averages["oracle"] == {"easy": 1.0, "medium": 1.0, "hard": 0.4}


def test_the_episodes_and_the_averages_are_printed_and_saved() -> None:
    run = baseline(tiers=("hard", "easy"), seeds=[3, 1], policies={"good": BUILT_IN["oracle"]})
    assert [str(episode) for episode in run.episodes] == [
        "good hard seed 3: 1.0000 (1.00, 1.00, 1.00)",
        "good hard seed 1: 1.0000 (1.00, 1.00, 1.00)",
        "good easy seed 3: 1.0000 (1.00)",
        "good easy seed 1: 1.0000 (1.00)",
    ]
    assert run.table().splitlines() == [
        "ticket-reward.v2    hard    easy",
        "good              1.0000  1.0000",
    ]
    assert json.loads(json.dumps(run.to_dict())) == {
        "rubric": "ticket-reward.v2",
        "agents": [
            {
                "agent": "good",
                "averages": {"hard": 1.0, "easy": 1.0},
                "episodes": [
                    {"task_name": tier, "seed": seed, "reward": 1.0, "turn_scores": [1.0] * turns}
                    for tier, turns in (("hard", 3), ("easy", 1))
                    for seed in (3, 1)
                ],
            }
        ],
    }


def test_an_agent_of_ones_own_is_shown_no_reward() -> None:
    seen: list[SupportObservation] = []

    def watching(observation: SupportObservation) -> SupportAction:
        seen.append(observation)
        return SupportAction(message="Could you tell me a little more?")

    run = baseline(tiers=["hard"], seeds=[0], policies={"watching": watching})
    assert run.episodes[0].turn_scores == (0.3, 0.0, 0.0)
    assert len(seen) == 3
    assert all(
        (each.reward, each.cumulative_reward, each.turn_scores) == (None, 0.0, []) for each in seen
    )


def test_a_wrong_tier_or_rubric_is_an_error() -> None:
    with pytest.raises(deskgym.UnknownName, match="no task_name 'harder'"):
        baseline(tiers=["harder"])
    with pytest.raises(deskgym.UnknownName, match="no rubric of tickets"):
        baseline("ticket-reward.v9")
