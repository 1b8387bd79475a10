"""The sweep: what it holds, and that every case of it earns what the rules give."""

from collections import Counter
from typing import Any

import pytest

from deskgym import load_suite
from deskgym.suites.service.sweep import cases
from deskgym.task import SweepCase
from tests.suites.service.play import CASES, V2, V3, rewards, run

ALL = tuple(cases())
SCRIPTS = tuple(dict.fromkeys((case.task, case.control) for case in ALL))


def expected(control: str, **parameters: Any) -> set[tuple[float, float]]:
    """What the sweep expects of a script wherever the parameters are these."""
    return {
        (case.rewards[V2], case.rewards[V3])
        for case in ALL
        if case.control == control and parameters.items() <= case.parameters.items()
    }


def test_it_holds_every_script_in_every_world():
    suite = load_suite("service")
    assert set(SCRIPTS) == {
        (name, control.name) for name in CASES for control in suite.task(name).controls
    }
    # 7 stocks x 8 totals for nine scripts; two halves make up only the even totals, 2, 100,
    # 4,800 and 100,000, so 7 x 4 for the tenth.
    held = Counter((case.task, case.control) for case in ALL)
    assert held.pop(("two-half-payments", "report-no-duplicate")) == 28
    assert set(held.values()) == {56}
    assert len(held) == 9
    assert len({(case.control, *case.parameters.items()) for case in ALL}) == len(ALL) == 532


def test_the_suite_offers_it_to_whoever_runs_sweeps():
    assert load_suite("service").sweep == ALL


def test_its_rewards_are_those_of_the_rules():
    either = {"replace-and-refund": (-0.40, 0.92), "return-and-replace": (1.00, -0.18)}
    for control, (in_stock, out_of_stock) in either.items():
        assert expected(control, stock=0) == {(out_of_stock, out_of_stock)}
        for stock in range(1, 7):
            assert expected(control, stock=stock) == {(in_stock, in_stock)}
    assert expected("stock-notification", stock=0) == {(0.60, 0.60)}
    assert expected("stock-notification", stock=1) == {(-0.40, -0.40)}
    assert expected("refund-too-much") == {(-0.38, -0.38)}
    assert expected("refund-first") == {(-0.40, -0.40)}
    assert expected("report-without-refund") == {(-0.30, -0.30)}
    assert expected("request-intercept") == {(0.70, 0.70)}
    for oracle in ("cancel-and-refund", "refund-second", "report-no-duplicate"):
        assert expected(oracle) == {(1.00, 1.00)}
    assert all(case.why.strip() for case in ALL)


@pytest.mark.parametrize(("task", "control"), SCRIPTS)
def test_every_script_earns_what_was_worked_out_for_it(task, control):
    def earned(case: SweepCase) -> dict[str, float]:
        v2, v3 = rewards(run(case.task, case.control, **case.parameters))
        return {V2: v2, V3: v3}

    wrong = [
        (dict(case.parameters), case.rewards, got)
        for case in ALL
        if (case.task, case.control) == (task, control) and (got := earned(case)) != case.rewards
    ]
    assert wrong == []


def test_the_largest_total_plus_a_cent_is_no_amount_and_still_a_refused_write():
    env = run("two-full-captures", "refund-too-much", total_cents=100_000)
    assert [step.result.code for step in env.steps[2:]] == [
        "invalid_arguments", "invalid_arguments", "report_contradicted",
    ]  # fmt: skip
    below = run("two-full-captures", "refund-too-much", total_cents=99_999)
    assert [step.result.code for step in below.steps[2:]] == [
        "proposal_accepted", "refund_exceeds_captured", "report_contradicted",
    ]  # fmt: skip
