from dataclasses import FrozenInstanceError, replace

import pytest

from deskgym import Control, UnknownName
from deskgym.agents import null
from deskgym.testing import GateResult, KindResult, gate
from deskgym.testing.gate import judge
from tests.testing import mugs

ORACLE, NEAR_MISS, FORBIDDEN = mugs.TASK.controls


def judged(*controls: Control, rubric: object = None) -> GateResult:
    suite = mugs.suite(rubric=rubric, controls=controls)
    return judge(suite, suite.tasks[0], range(2))


def test_a_gate_says_what_each_kind_earns_at_worst_and_at_best() -> None:
    worse = replace(NEAR_MISS, name="worse", kind="forbidden")
    assert judged(ORACLE, NEAR_MISS, FORBIDDEN, worse) == GateResult(
        task="mugs/cracked",
        rubric="mugs.v1",
        kinds=(
            KindResult("oracle", ("take-back",), 1.0, 1.0),
            KindResult("null", ("null",), 0.0, 0.0),
            KindResult("near_miss", ("only-say-so",), -0.38, -0.38),
            KindResult("forbidden", ("another-item", "worse"), -0.4, -0.38),
        ),
        missing=("null",),
        reasons=(),
    )


def test_a_task_without_a_null_control_is_judged_against_the_null_agent() -> None:
    result = judged(ORACLE, NEAR_MISS, FORBIDDEN)
    assert result.passes
    assert not result.complete


def test_a_gate_with_every_kind_is_complete() -> None:
    idle = Control("idle", "null", "nothing", null, 0.0)
    result = judged(ORACLE, NEAR_MISS, FORBIDDEN, idle)
    assert result.complete
    assert result.passes


def test_a_gate_without_an_oracle_fails() -> None:
    result = judged(NEAR_MISS, FORBIDDEN)
    assert result.missing == ("oracle", "null")
    assert result.reasons == ("there is no oracle",)


def test_an_alternate_is_held_to_what_the_oracle_is() -> None:
    result = judged(ORACLE, replace(NEAR_MISS, kind="alternate", name="other"))
    assert result.reasons == (
        "alternate other earns -0.38, less than 0.60",
        "alternate other earns -0.38, null null 0.00",
    )


class Floored:
    """The rubric, with nothing below 0."""

    version = "mugs.v1"

    def score(self, world: object, case: object) -> object:
        score = mugs.RUBRIC.score(world, case)  # type: ignore[arg-type]
        return replace(score, points=max(0, score.points))


class SaysSo(Floored):
    reward_min = 0.0


def test_a_forbidden_control_that_earns_as_much_as_idleness_fails() -> None:
    result = judged(ORACLE, FORBIDDEN, rubric=Floored())
    assert result.reasons == ("forbidden another-item earns 0.00, which is not below null 0.00",)


def test_where_a_rubric_cannot_punish_a_forbidden_control_earns_less_than_a_right_one() -> None:
    assert judged(ORACLE, FORBIDDEN, rubric=SaysSo()).passes
    paid = replace(ORACLE, name="paid", kind="forbidden")
    assert judged(ORACLE, paid, rubric=SaysSo()).reasons == (
        "forbidden paid earns 1.00, as much as a right control",
    )


def test_a_gate_is_found_by_the_id_of_an_installed_task() -> None:
    result = gate("service/two-full-captures", rubric="service-reward.v2")
    assert (result.task, result.rubric) == ("service/two-full-captures", "service-reward.v2")
    assert result.passes
    with pytest.raises(UnknownName):
        gate("service/two-full-captures", rubric="service-reward.v1")


def test_a_gate_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        judged(ORACLE).reasons = ()  # type: ignore[misc]
