"""Turn rubrics: from rows to a mean, and how it is explained."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from deskgym.rubric.turns import (
    Part,
    Reply,
    TurnBreakdown,
    TurnRubric,
    TurnRules,
    TurnScore,
    mean_points,
    total,
)


class Rows:
    """A world of replies and nothing else."""

    def __init__(self, *replies: tuple[str, str]) -> None:
        self.replies = list(replies)

    def rows(
        self, sql: str, bindings: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[object, ...]]:
        assert "env_turn" in sql
        assert not bindings
        return list(self.replies)

    def records(
        self, sql: str, bindings: Sequence[object] | Mapping[str, object] = ()
    ) -> list[dict[str, Any]]:
        raise AssertionError("a turn rubric reads rows as tuples")


def judge(turn: int, reply: Reply) -> TurnScore:
    """A third for a reply of the turn's number, and a tenth off for shouting."""
    earned = 3_333 if reply.message == str(turn) else 0
    shouts = reply.intent == "shout"
    return total(
        (
            Part("number", earned, 3_333, (reply.message,)),
            Part("shouting", -1_000 if shouts else 0, 0, reason="it shouts" if shouts else ""),
        )
    )


def rubric(*, untaken_count: bool) -> TurnRubric:
    return TurnRubric("toy.v1", lambda _: TurnRules(3, judge), untaken_count=untaken_count)


@pytest.mark.parametrize(
    ("points", "count", "mean"),
    [((), 0, 0), ((), 3, 0), ((1,), 2, 1), ((1,), 3, 0), ((1, 1), 3, 1), ((10_000,) * 3, 3, 10_000),
     ((3_000, 2_000, 3_000), 3, 2_667), ((4_000, 5_000, 3_000), 3, 4_000)],
)  # fmt: skip
def test_a_mean_is_rounded_to_the_nearest_point_halves_up(
    points: tuple[int, ...], count: int, mean: int
) -> None:
    assert mean_points([TurnScore(each, ()) for each in points], count) == mean


def test_the_parts_are_held_to_nothing_and_to_the_turns_most() -> None:
    assert total((Part("a", -1, 0),)).points == 0
    assert total((Part("a", 9_000, 9_000), Part("b", 9_000, 9_000))).points == 10_000
    assert total((Part("a", 9_000, 9_000),), 5_000).points == 5_000


def test_a_turn_that_was_never_taken_counts_as_nothing_or_not_at_all() -> None:
    two = Rows(("0", ""), ("1", ""))
    assert rubric(untaken_count=True).score(two, None).points == 2_222
    assert rubric(untaken_count=False).score(two, None).points == 3_333
    for untaken_count in (True, False):
        assert rubric(untaken_count=untaken_count).score(Rows(), None).points == 0


def test_an_intent_that_was_not_declared_is_none() -> None:
    assert rubric(untaken_count=True).score(Rows(("0", "shout")), None).points == 778
    assert rubric(untaken_count=True).score(Rows(("0", "")), None).points == 1_111


@pytest.mark.parametrize(
    ("reward", "verdict"),
    [(10_000, "resolved"), (9_999, "partial"), (1, "partial"), (0, "not_resolved")],
)
def test_the_verdict_is_full_some_or_none_of_the_reward(reward: int, verdict: str) -> None:
    one = TurnRules(1, lambda _, __: TurnScore(reward, ()))
    score = TurnRubric("toy.v1", lambda _: one, untaken_count=True).score(Rows(("", "")), None)
    assert score.verdict == verdict


def test_the_explanation_names_each_turns_parts_their_words_and_what_is_missing() -> None:
    score = rubric(untaken_count=True).score(Rows(("0", ""), ("x", "shout")), None)
    assert score.explain().splitlines() == [
        "reward +0.11 by toy.v1: partial",
        "  turn 1 of 3: 0.3333",
        "    number 0.3333 of 0.3333: 0",
        "    shouting 0.00",
        "  turn 2 of 3: 0.00",
        "    number 0.00 of 0.3333: x",
        "    shouting -0.10 (it shouts)",
        "  turn 3 of 3: not taken",
        "  mean of 3 turns",
    ]
    assert isinstance(score.breakdown, TurnBreakdown)
    assert score.breakdown.reasons() == [
        "turn 2: number 0.00 of 0.3333: x",
        "turn 2: shouting -0.10 (it shouts)",
        "turn 3 of 3: not taken",
    ]
    assert score.breakdown.brief() == {"turn_scores": [0.3333, 0.0]}
    assert score.breakdown.mean_so_far_points == 1_667


def test_the_breakdown_as_json_holds_rewards_and_every_word() -> None:
    words = tuple(str(number) for number in range(10))
    assert str(Part("listed", 0, 0, words)) == "listed 0.00: 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
    breakdown = TurnBreakdown((TurnScore(2_000, (Part("listed", 2_000, 8_000, words),)),), 1, 1)
    assert breakdown.to_dict() == {
        "turns": [
            {
                "reward": 0.2,
                "parts": [
                    {"name": "listed", "points": 0.2, "points_max": 0.8, "words": list(words),
                     "reason": ""}
                ],
            }
        ],
        "turns_max": 1,
        "mean_of": 1,
    }  # fmt: skip
    assert "mean of" not in "\n".join(breakdown.lines())
