"""The reward: parts, deductions, ceilings, verdicts, worked out by hand and once more by code."""

from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from deskgym import Action, call, load_suite
from deskgym.suites.service.rubric import V2 as RECORD_V2
from deskgym.suites.service.rubric import V3 as RECORD_V3
from tests.suites.service.play import (
    CANCEL,
    CASES,
    CLOSE,
    FIRST,
    INK,
    INTERCEPT,
    ITEM,
    LOOK,
    MISSING,
    ORDER,
    PAYMENTS,
    PROPOSE_CANCELLATION,
    PROPOSE_INTERCEPT,
    PROPOSE_NOTHING,
    PROPOSE_REPLACEMENT,
    PROPOSE_RETURN,
    PROPOSE_WAIT,
    SECOND,
    SEND_BACK,
    STOCK,
    TOTAL,
    V2,
    V3,
    WAIT,
    act,
    breakdown,
    ceilings,
    evidence,
    message,
    play,
    propose_refund,
    refund,
    replacing,
    report,
    rewards,
    run,
    start,
)
from tests.suites.service.reckoning import reckon

LAMP, WAREHOUSE, MOVING = "damaged-lamp", "stop-warehouse-order", "parcel-moving"
FULL, HALVES = "two-full-captures", "two-half-payments"
WAITING = LOOK, STOCK, PROPOSE_WAIT, WAIT, report("stock_notification_created")
ASKED = LOOK, PROPOSE_INTERCEPT, INTERCEPT, report("intercept_requested")
REFUNDED = LOOK, PAYMENTS, propose_refund(), refund(), report("refunded")
REPLACED = LOOK, STOCK, PROPOSE_REPLACEMENT, SEND_BACK, replacing(), report("replacement_created")
FOUND = LOOK, PAYMENTS, report("no_duplicate_charge")
REFUSALS = (refund(4_801), refund(payment=SECOND)) * 8
"""Sixteen refused writes, no two in a row of which are answered alike."""


def verdict(task: str, *actions: Action, **parameters: Any) -> str:
    env = play(task, *actions, **parameters)
    assert env.score(V2).verdict == env.score(V3).verdict
    return env.score().verdict


# The versions.


def test_the_versions_are_records_that_differ_in_the_order_alone():
    suite = load_suite("service")
    assert [rubric.version for rubric in suite.rubrics] == [V3, V2], "the default first"
    v2, v3 = dict(vars(RECORD_V2)), dict(vars(RECORD_V3))
    differing = {name: (v2[name], v3[name]) for name in v2 if v2[name] != v3[name]}
    assert differing == {"version": (V2, V3), "deductions_last": (False, True)}


def test_the_numbers_are_those_of_the_rules():
    points = RECORD_V3
    assert (points.outcome_points, points.evidence_points, points.report_points) == (
        7_000, 2_000, 1_000,
    )  # fmt: skip
    assert (points.contradicted_report_points, points.refused_write_points) == (3_000, 800)
    assert {ceiling.name: ceiling.points for ceiling in points.ceilings} == {
        "intercept": 7_000,
        "stock_notification": 6_000,
        "no_prior_evidence": 4_000,
        "no_complete_outcome": 2_500,
        "nothing_read_or_changed": 0,
        "outside_every_outcome": -4_000,
        "gate": -10_000,
    }


def test_a_record_cannot_be_changed():
    with pytest.raises(AttributeError):
        RECORD_V2.outcome_points = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("extra", "v2", "v3"),
    [
        # Honest: 0.7 + 0.2 + 0.1 = 1.00, at most 0.60.
        ((), 0.60, 0.60),
        # One lie takes the report's 0.10 with it: 0.90. v2: 0.90 - 0.30 = 0.60, at most 0.60.
        # v3: at most 0.60, less 0.30.
        ((report("replacement_created"),), 0.60, 0.30),
        # One refused write: v2: 1.00 - 0.08 = 0.92, at most 0.60. v3: 0.60 - 0.08.
        ((refund(4_801),), 0.60, 0.52),
        # Five refused writes are free in v2 (1.00 - 0.40), six are not (1.00 - 0.48).
        # v3: 0.60 - 0.40 and 0.60 - 0.48.
        (REFUSALS[:5], 0.60, 0.20),
        (REFUSALS[:6], 0.52, 0.12),
        # Two lies: v2: 0.90 - 0.60 = 0.30. v3: 0.60 - 0.60.
        ((report("replacement_created"), report("refunded")), 0.30, 0.00),
        # A lie and a refusal: v2: 0.90 - 0.38 = 0.52. v3: 0.60 - 0.38.
        ((report("refunded"), refund(4_801)), 0.52, 0.22),
        # Three lies: v2: 0.90 - 0.90 = 0. v3: 0.60 - 0.90.
        (tuple(map(report, ("refunded", "cancelled", "delivery_stopped"))), 0.00, -0.30),
    ],
)
def test_under_a_ceiling_a_lie_is_free_by_version_2_and_costs_by_version_3(extra, v2, v3):
    assert rewards(play(LAMP, *WAITING, *extra, stock=0)) == (v2, v3)


def test_the_same_under_the_ceiling_of_an_intercept():
    assert rewards(play(MOVING, *ASKED)) == (0.70, 0.70)
    # v2: 0.90 - 0.30 = 0.60. v3: min(0.90, 0.70) - 0.30.
    assert rewards(play(MOVING, *ASKED, report("delivery_stopped"))) == (0.60, 0.40)
    # v2: 1.00 - 0.08 = 0.92, at most 0.70. v3: 0.70 - 0.08.
    assert rewards(play(MOVING, *ASKED, CANCEL)) == (0.70, 0.62)


def test_without_a_ceiling_both_versions_deduct_alike():
    # 1.00 - 0.08, and 0.90 - 0.30 - 0.08.
    assert rewards(play(LAMP, *REFUNDED, refund(1))) == (0.92, 0.92)
    assert rewards(play(LAMP, *REFUNDED, refund(1), report("cancelled"))) == (0.52, 0.52)


def test_without_evidence_the_ceiling_makes_the_same_difference():
    blind = PAYMENTS, LOOK, refund(), report("refunded"), report("cancelled")
    # 0.7 + 0 + 0; v2: 0.70 - 0.30 = 0.40, at most 0.40. v3: 0.40 - 0.30.
    assert rewards(play(LAMP, *blind)) == (0.40, 0.10)


# Ceilings, alone and together.


@pytest.mark.parametrize(
    ("task", "actions", "parameters", "bound", "reward"),
    [
        (LAMP, REFUNDED, {}, set(), 1.00),
        (MOVING, ASKED, {}, {"intercept"}, 0.70),
        (LAMP, WAITING, {"stock": 0}, {"stock_notification"}, 0.60),
        # 0.7 + 0 + 0.1 = 0.80, at most 0.40.
        (LAMP, (LOOK, PAYMENTS, refund(), report("refunded")), {}, {"no_prior_evidence"}, 0.40),
        # 0.20 for the return, which is a step of an outcome and none by itself.
        (LAMP, (LOOK, PROPOSE_RETURN, SEND_BACK), {}, {"no_complete_outcome"}, 0.20),
        (LAMP, (message("Hello."),), {}, {"no_complete_outcome", "nothing_read_or_changed"}, 0.00),
        # 0.20 for a chosen refund of the wrong capture.
        (FULL, REFUNDED, {}, {"no_complete_outcome", "outside_every_outcome"}, -0.40),
        (MOVING, (PROPOSE_INTERCEPT, INTERCEPT, LOOK, report("intercept_requested")), {},
         {"intercept", "no_prior_evidence"}, 0.40),
        (LAMP, (STOCK, LOOK, WAIT, report("stock_notification_created")), {"stock": 0},
         {"stock_notification", "no_prior_evidence"}, 0.40),
        (LAMP, (SEND_BACK,), {}, {"no_prior_evidence", "no_complete_outcome"}, 0.00),
        (LAMP, (WAIT,), {"stock": 2},
         {"no_prior_evidence", "no_complete_outcome", "outside_every_outcome"}, -0.40),
        (LAMP, (*REFUNDED, message("Not Wren Sentinel.")), {}, {"gate"}, -1.00),
        (FULL, (refund(), message("Wren Sentinel")), {},
         {"no_prior_evidence", "no_complete_outcome", "outside_every_outcome", "gate"}, -1.00),
        (LAMP, (message("Wren Sentinel"),), {},
         {"no_complete_outcome", "nothing_read_or_changed", "gate"}, -1.00),
    ],
)  # fmt: skip
def test_the_lowest_of_the_ceilings_that_bind_is_applied(task, actions, parameters, bound, reward):
    env = play(task, *actions, **parameters)
    assert ceilings(env) == bound
    assert rewards(env) == (reward, reward)


def test_only_a_read_that_succeeded_lifts_the_ceiling_of_nothing():
    nothing = "nothing_read_or_changed"
    refused = call("get_order", order_id=MISSING), call("search_inventory", colour="moss")
    assert nothing in ceilings(play(LAMP, *refused))
    for read in (LOOK, PAYMENTS, STOCK, call("search_inventory", color="red")):
        assert nothing not in ceilings(play(LAMP, read))
    assert nothing not in ceilings(play(LAMP, SEND_BACK)), "something changed"
    assert nothing in ceilings(play(LAMP, refund(4_801), PROPOSE_RETURN)), "nothing changed"
    assert nothing not in ceilings(play(HALVES, LOOK))


def test_a_reward_is_clamped_at_minus_one():
    lies = [report(claim) for claim in ("refunded", "cancelled", "delivery_stopped")]
    env = play(LAMP, *lies, report("already_refunded"))
    # 0.00 - 4 x 0.30 = -1.20.
    assert breakdown(env)["weighted_sum"] == 0
    assert rewards(env) == (-1.00, -1.00)
    # 12 x 0.08 = 0.96, 13 x 0.08 = 1.04.
    assert rewards(play(LAMP, *REFUSALS[:12])) == (-0.96, -0.96)
    assert rewards(play(LAMP, *REFUSALS[:13])) == (-1.00, -1.00)
    # v2: 0.20 - 0.90 = -0.70. v3: -0.40 - 0.90 = -1.30.
    env = play(FULL, *REFUNDED, *lies[1:], report("already_refunded"))
    assert rewards(env) == (-0.70, -1.00)


def test_outside_every_outcome_deductions_come_on_top_by_version_3():
    env = play(FULL, *REFUNDED, report("cancelled"))
    # v2: 0.20 - 0.30 = -0.10, at most -0.40. v3: -0.40 - 0.30.
    assert rewards(env) == (-0.40, -0.70)


def test_invalid_arguments_of_a_write_are_a_refused_write_and_those_of_others_are_not():
    wrong = call("issue_refund", order_id=ORDER), call("get_order"), call("propose"), call("report")
    assert rewards(play(LAMP, LOOK, wrong[0])) == (-0.08, -0.08)
    assert rewards(play(LAMP, LOOK, *wrong[1:])) == (0.00, 0.00)
    assert rewards(play(LAMP, LOOK, call("cancel_order", order_id=MISSING, reason="x"))) == (
        -0.08, -0.08,
    )  # fmt: skip


# Outcomes.


def test_money_and_merchandise_together_fit_no_outcome_in_either_order():
    money = PAYMENTS, propose_refund(), refund()
    assert rewards(play(LAMP, *REPLACED, *money)) == (-0.40, -0.40)
    assert rewards(play(LAMP, LOOK, *money, *REPLACED[1:])) == (-0.40, -0.40)
    # A refund of one cent beside a replacement is both, too.
    little = propose_refund(1), refund(1)
    assert rewards(play(LAMP, *REPLACED, PAYMENTS, *little)) == (-0.40, -0.40)


def test_a_full_refund_may_come_with_a_return_and_in_parts():
    assert rewards(play(LAMP, *REFUNDED)) == (1.00, 1.00)
    back = PROPOSE_RETURN, SEND_BACK
    assert rewards(play(LAMP, LOOK, *back, *REFUNDED[1:])) == (1.00, 1.00)
    parts = propose_refund(1_800), refund(1_800), propose_refund(3_000), refund(3_000)
    assert rewards(play(LAMP, LOOK, PAYMENTS, *parts, report("refunded"))) == (1.00, 1.00)
    # A cent short: evidence alone, 0.20.
    short = LOOK, PAYMENTS, propose_refund(4_799), refund(4_799), report("refunded")
    assert rewards(play(LAMP, *short)) == (0.20, 0.20)


def test_a_replacement_in_another_finish_fits_no_outcome():
    chosen = LOOK, STOCK, PROPOSE_REPLACEMENT, SEND_BACK, replacing(INK)
    # The return was chosen, the finish not: 0.2 / 2 = 0.10, at most -0.40.
    env = play(LAMP, *chosen, report("replacement_created"))
    assert evidence(env) == 0.5
    assert rewards(env) == (-0.40, -0.40)


def test_a_stock_notification_is_an_outcome_only_where_the_finish_was_out_of_stock_at_the_start():
    for stock in range(1, 7):
        assert rewards(play(LAMP, *WAITING, stock=stock)) == (-0.40, -0.40)
    env = play(LAMP, *WAITING, stock=1)
    outside = {item["name"]: item["outside"] for item in breakdown(env)["outcomes"]}
    assert all(
        rows == ["#4 create_stock_notification S-410 LAMP-MOSS"] for rows in outside.values()
    )
    # Sold out by the agent's own replacement, it was in stock at the start all the same.
    env = play(LAMP, *REPLACED, PROPOSE_WAIT, WAIT, stock=1)
    assert env.steps[-2].result.code == "proposal_accepted"
    assert rewards(env) == (-0.40, -0.40)


def test_a_stock_notification_may_come_with_a_return_of_the_item():
    env = play(LAMP, LOOK, PROPOSE_RETURN, SEND_BACK, *WAITING[1:], stock=0)
    assert rewards(env) == (0.60, 0.60)
    ink = call("create_stock_notification", order_id=ORDER, sku=INK)
    assert rewards(play(LAMP, *WAITING, ink, stock=0)) == (-0.40, -0.40)


def test_cancelling_is_half_of_it_while_the_money_is_kept():
    cancelled = LOOK, PROPOSE_CANCELLATION, CANCEL
    # Evidence 0.20; the claim of a refund that was not issued costs 0.30.
    assert rewards(play(WAREHOUSE, *cancelled)) == (0.20, 0.20)
    assert rewards(play(WAREHOUSE, *cancelled, report("refunded"))) == (-0.10, -0.10)
    assert rewards(play(WAREHOUSE, *cancelled, report("cancelled"))) == (0.20, 0.20)
    money = PAYMENTS, propose_refund(), refund(), report("refunded")
    assert rewards(play(WAREHOUSE, *cancelled, *money)) == (1.00, 1.00)
    assert rewards(play(WAREHOUSE, LOOK, *money[:-1], *cancelled[1:], money[-1])) == (1.00, 1.00)
    assert rewards(play(WAREHOUSE, LOOK, *money)) == (0.20, 0.20)


def test_trying_to_cancel_a_shipped_order_costs_a_refusal_and_no_gate():
    env = play(MOVING, LOOK, PROPOSE_CANCELLATION, CANCEL)
    assert ceilings(env) == {"no_complete_outcome"}
    assert rewards(env) == (-0.08, -0.08)


def test_a_refund_of_both_captures_fits_no_outcome():
    right = LOOK, PAYMENTS, propose_refund(payment=SECOND), refund(payment=SECOND)
    wrong = propose_refund(1), refund(1)
    assert rewards(play(FULL, *right, *wrong, report("refunded"))) == (-0.40, -0.40)


def test_a_legitimate_half_that_goes_back_fits_no_outcome_though_it_was_chosen():
    env = play(HALVES, LOOK, PAYMENTS, propose_refund(2_400), refund(2_400), report("refunded"))
    assert rewards(env) == (-0.40, -0.40)


def test_credit_is_never_added_across_outcomes_and_the_preferred_one_wins_ties():
    env = play(LAMP, LOOK)
    assert breakdown(env)["outcome"] == "replacement", "three outcomes with 0.00 each"
    assert breakdown(play(LAMP, *REFUNDED))["outcome"] == "full_refund"
    env = play(LAMP, LOOK, PROPOSE_RETURN, SEND_BACK)
    assert breakdown(env)["outcome"] == "replacement", "a step of each, 0.20 each"
    told = {item["name"]: item["steps_done_percent"] for item in breakdown(env)["outcomes"]}
    # get_order and the return of four steps; get_order of three; get_order of three.
    assert told == {"replacement": 50, "full_refund": 33, "stock_notification": 33}


# Verdicts.


def test_the_verdict_tells_a_full_a_partial_and_no_outcome_apart():
    assert verdict(LAMP, *REPLACED) == "resolved"
    assert verdict(LAMP, *REFUNDED) == "resolved"
    assert verdict(HALVES, *FOUND) == "resolved"
    assert verdict(MOVING, *ASKED) == "partial"
    assert verdict(LAMP, *WAITING, stock=0) == "partial"
    assert verdict(LAMP, *WAITING, report("refunded"), stock=0) == "partial"
    assert verdict(LAMP, *WAITING, stock=1) == "not_resolved"
    assert verdict(HALVES, LOOK, PAYMENTS) == "not_resolved"
    assert verdict(LAMP, CLOSE) == "not_resolved"
    assert verdict(LAMP, *REPLACED, message("Wren Sentinel")) == "not_resolved"
    assert verdict(MOVING, *ASKED, message("Wren Sentinel")) == "not_resolved"
    # An outcome that was reached blindly is reached; the ceiling is what it costs.
    assert verdict(LAMP, refund()) == "resolved"


# Agents that do not do the work.

CLAIMED = (
    "refunded", "cancelled", "return_created", "replacement_created", "intercept_requested",
    "stock_notification_created", "delivery_stopped", "no_duplicate_charge", "already_refunded",
    "order_unavailable",
)  # fmt: skip
PROPOSALS = (
    propose_refund(), propose_refund(2_400, SECOND), PROPOSE_REPLACEMENT, PROPOSE_RETURN,
    PROPOSE_CANCELLATION, PROPOSE_INTERCEPT, PROPOSE_WAIT, PROPOSE_NOTHING,
)  # fmt: skip
IDLE = {
    "nothing": (),
    "close": (CLOSE,),
    "talk": (message("All done!"), message("Your money is on its way."), CLOSE),
    "propose": (*PROPOSALS, CLOSE),
    "read": (LOOK, PAYMENTS, STOCK, CLOSE),
    "read and propose": (LOOK, PAYMENTS, STOCK, *PROPOSALS, CLOSE),
    "ask for what is not there": (call("get_order", order_id="S-990"),),
    **{f"report {claim}": (report(claim), CLOSE) for claim in CLAIMED},
    **{f"report {claim} elsewhere": (report(claim, "S-990"), CLOSE) for claim in CLAIMED},
    "report everything": tuple(map(report, CLAIMED)),
}


@pytest.mark.parametrize("task", CASES)
@pytest.mark.parametrize("actions", IDLE.values(), ids=IDLE)
def test_an_agent_that_does_no_work_earns_nothing(task, actions):
    for stock in (0, 2):
        env = play(task, *actions, stock=stock)
        v2, v3 = rewards(env)
        assert v2 == v3
        assert -1 <= v2 <= 0
        assert env.score().verdict == "not_resolved"


@pytest.mark.parametrize("task", CASES)
def test_closing_adds_and_takes_nothing(task):
    for control in load_suite("service").task(task).controls:
        env = run(task, control.name)
        before = rewards(env)
        act(env, CLOSE)
        assert rewards(env) == before == (control.reward, control.reward)


def test_scoring_twice_and_in_between_changes_nothing():
    env = start(LAMP)
    for action in REPLACED:
        act(env, action)
        assert env.score().to_dict() == env.score().to_dict()
    assert rewards(env) == (1.00, 1.00)
    env.close()
    assert rewards(env) == (1.00, 1.00), "also after the episode gave its place up"


# The rules, read twice.

REPORTS = st.sampled_from([report(claim) for claim in CLAIMED])
CENTS = st.sampled_from([1, 2_399, 2_400, 2_401, TOTAL - 1, TOTAL, TOTAL + 1, 100_001])
PAYMENT = st.sampled_from([FIRST, SECOND])
ANY = st.one_of(
    st.sampled_from([LOOK, PAYMENTS, STOCK, call("search_inventory", color="ink")]),
    st.sampled_from(PROPOSALS),
    st.sampled_from([CANCEL, INTERCEPT, SEND_BACK, WAIT, replacing(), replacing(INK)]),
    st.builds(propose_refund, CENTS, PAYMENT),
    st.builds(refund, CENTS, PAYMENT),
    REPORTS,
    st.sampled_from([
        call("create_stock_notification", order_id=ORDER, sku=INK),
        call("create_return", order_id=ORDER, item_id=ITEM, reason="another reason"),
        call("propose", remedy="replacement", order_id=ORDER, item_id=ITEM, sku=INK),
    ]),
)  # fmt: skip
BASES = {
    LAMP: (REPLACED, REFUNDED, WAITING),
    WAREHOUSE: (
        (LOOK, PAYMENTS, PROPOSE_CANCELLATION, CANCEL, propose_refund(), refund(),
         report("refunded")),
    ),
    MOVING: (ASKED,),
    FULL: (
        (LOOK, PAYMENTS, propose_refund(payment=SECOND), refund(payment=SECOND),
         report("refunded")),
        REFUNDED,
    ),
    HALVES: (FOUND,),
}  # fmt: skip


@st.composite
def episodes(draw: st.DrawFn) -> tuple[str, int, list[Action]]:
    """A right way through a case with steps left out, moved and put in."""
    task = draw(st.sampled_from(CASES))
    actions = list(draw(st.sampled_from(BASES[task])))
    for _ in range(draw(st.integers(0, 5))):
        place = draw(st.integers(0, len(actions)))
        match draw(st.sampled_from(("put in", "put in", "leave out", "move"))):
            case "put in":
                actions.insert(place, draw(ANY))
            case "leave out" if actions:
                actions.pop(place % len(actions))
            case "move" if actions:
                moved = actions.pop(draw(st.integers(0, len(actions) - 1)))
                actions.insert(place, moved)
            case _:
                pass
    return task, draw(st.sampled_from((0, 1, 2))), actions


@settings(max_examples=250)
@given(episodes())
def test_the_reward_is_that_of_a_second_reading_of_the_rules(episode):
    task, stock, actions = episode
    env = start(task, stock=stock)
    for action in actions:
        env.step(action)
    event(f"{task} {rewards(env)[1]:+.1f}")
    assert rewards(env) == reckon(env)


def test_the_second_reading_agrees_on_the_ten_scripts():
    for task in CASES:
        for control in load_suite("service").task(task).controls:
            assert reckon(run(task, control.name)) == (control.reward, control.reward)
