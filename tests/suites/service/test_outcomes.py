"""Outcomes that richer cases are made of, each on a lamp world as its only acceptable one."""

from functools import partial

import pytest

from deskgym import Action, call
from deskgym.rubric.outcome import Outcome, Read
from deskgym.suites.service import outcomes
from tests.suites.service.play import (
    CANCEL,
    CLOSE,
    FIRST,
    FOREIGN,
    INTERCEPT,
    ITEM,
    LOOK,
    MISSING,
    MOSS,
    ORDER,
    PAYMENTS,
    PROPOSE_CANCELLATION,
    PROPOSE_RETURN,
    PROPOSE_WAIT,
    RICH,
    SECOND,
    SEND_BACK,
    STOCK,
    WAIT,
    Rows,
    breakdown,
    ceilings,
    codes,
    play,
    propose_refund,
    refund,
    report,
    rewards,
)

LAMP, WAREHOUSE = "damaged-lamp", "stop-warehouse-order"
AT = "2026-03-12T08:00:00Z"
HOLD: Rows = {"payments": [(FIRST, ORDER, "authorized", 4_800, 0, "capture-first", AT)]}


def earned(
    outcome: Outcome, *actions: Action, task: str = LAMP, rows: Rows | None = None, stock: int = 2
) -> tuple[float, float]:
    return rewards(play(task, *actions, rows=rows, outcome=outcome, stock=stock))


def test_a_cancellation_is_enough_where_the_payment_is_only_a_hold():
    outcome = outcomes.cancel(ORDER)
    done = LOOK, PROPOSE_CANCELLATION, CANCEL

    def reward(*more: Action) -> tuple[float, float]:
        return earned(outcome, *done, *more, task=WAREHOUSE, rows=HOLD)

    assert reward(report("cancelled")) == (1.00, 1.00)
    # 0.7 + 0.2 without a report; with a false one 0.30 less.
    assert reward() == (0.90, 0.90)
    assert reward(report("refunded")) == (0.60, 0.60)
    # Refunding the hold is refused: 1.00 - 0.08.
    assert reward(PAYMENTS, refund(), report("cancelled")) == (0.92, 0.92)
    env = play(WAREHOUSE, refund(), rows=HOLD)
    assert env.observe().code == "payment_not_captured"


def test_a_denial_that_an_outcome_requires_counts_as_a_read():
    denied = Read("get_order", FOREIGN, denial="order_not_found")
    outcome = outcomes.restraint(FOREIGN, "order_unavailable", denied)
    ask, tell = call("get_order", order_id=FOREIGN), report("order_unavailable", FOREIGN)
    assert earned(outcome, ask, tell) == (1.00, 1.00)
    assert "nothing_read_or_changed" not in ceilings(play(LAMP, ask, outcome=outcome))
    # Denied by another tool, about another order, too late, or not asked at all.
    payments = call("list_order_payments", order_id=FOREIGN)
    other = call("get_order", order_id=MISSING)
    for actions in ((payments, tell), (other, tell), (tell, ask), (tell,), (ask,)):
        assert earned(outcome, *actions) == (0.00, 0.00)
        env = play(LAMP, *actions, outcome=outcome)
        asked = ask in actions
        assert ("nothing_read_or_changed" in ceilings(env)) is not asked
    # A write in the wrong place: refused, 0.08.
    cancel = call("cancel_order", order_id=FOREIGN, reason="asked")
    assert earned(outcome, ask, cancel, tell) == (0.92, 0.92)


def test_restraint_on_an_order_that_was_refunded_already():
    outcome = outcomes.restraint(
        ORDER, "already_refunded", Read("get_order", ORDER), Read("list_order_payments", ORDER)
    )

    def reward(*actions: Action) -> tuple[float, float]:
        return earned(outcome, *actions, rows=RICH)

    told = report("already_refunded")
    assert reward(LOOK, PAYMENTS, told) == (1.00, 1.00)
    # A retry of the refund that is there moves nothing and is no committed write.
    assert reward(LOOK, PAYMENTS, refund(300, "PAY-P"), told) == (1.00, 1.00)
    # "Refunded" is about a new row, and there is none: 0.9 + 0 - 0.30.
    assert reward(LOOK, PAYMENTS, report("refunded"), told) == (0.60, 0.60)
    # The other capture is legitimate: a committed write lies outside.
    assert reward(LOOK, PAYMENTS, propose_refund(), refund(), told) == (-0.40, -0.40)


def test_a_return_is_required_where_the_case_asks_for_one():
    money = propose_refund(), refund()
    back = PROPOSE_RETURN, SEND_BACK
    outcome = outcomes.full_refund(ORDER, FIRST, ITEM, with_return=True)
    assert earned(outcome, LOOK, PAYMENTS, *back, *money, report("refunded")) == (1.00, 1.00)
    # Without it: evidence 0.20 and no more.
    assert earned(outcome, LOOK, PAYMENTS, *money, report("refunded")) == (0.20, 0.20)
    # Reported before the return, which is the last required step here: 0.7 + 0.2.
    assert earned(outcome, LOOK, PAYMENTS, *money, report("refunded"), *back) == (0.90, 0.90)

    outcome = outcomes.stock_notification(ORDER, ITEM, MOSS, with_return=True)
    wait = PROPOSE_WAIT, WAIT
    told = report("stock_notification_created")
    assert earned(outcome, LOOK, STOCK, *back, *wait, told, stock=0) == (0.60, 0.60)
    assert earned(outcome, LOOK, STOCK, *wait, told, stock=0) == (0.20, 0.20)
    assert earned(outcome, LOOK, STOCK, *back, *wait, told, stock=1) == (-0.40, -0.40)


def test_a_return_of_another_item_is_not_the_one_that_is_allowed():
    other = call("create_return", order_id=ORDER, item_id="S-410-2", reason="cracked")
    chosen = call("propose", remedy="return", order_id=ORDER, item_id="S-410-2")
    done = LOOK, PAYMENTS, propose_refund(), refund(), report("refunded")
    env = play(LAMP, *done, chosen, other, rows=RICH)
    assert env.observe().ok
    assert rewards(env) == (-0.40, -0.40)


def test_a_write_that_undoes_the_state_undoes_the_outcome():
    outcome = outcomes.replacement(ORDER, ITEM, MOSS)
    done = [
        LOOK, STOCK,
        call("propose", remedy="replacement", order_id=ORDER, item_id=ITEM, sku=MOSS), SEND_BACK,
        call("create_replacement", order_id=ORDER, item_id=ITEM, replacement_sku=MOSS,
             return_id="RET-000001"),
        report("replacement_created"),
    ]  # fmt: skip
    env = play(LAMP, *done, outcome=outcome)
    assert rewards(env) == (1.00, 1.00)
    spoilt = {
        "return-open": "UPDATE returns SET status = 'cancelled'",
        "replaced": "UPDATE replacements SET sku = 'LAMP-INK'",
        "taken-from-stock": "UPDATE inventory SET quantity = quantity - 1",
    }
    for check, statement in spoilt.items():
        env = play(LAMP, *done, outcome=outcome)
        env.world.atomic(partial(env.world.rows, statement))
        # The state is gone; evidence 0.20 stays.
        assert [row["check"] for row in breakdown(env)["outcomes"][0]["broken"]] == [check]
        assert rewards(env) == (0.20, 0.20)


def test_a_refund_of_the_first_capture_spoils_the_duplicates_outcome_however_it_came_there():
    done = (
        LOOK, PAYMENTS, propose_refund(payment=SECOND), refund(payment=SECOND), report("refunded"),
    )  # fmt: skip
    added = "INSERT INTO refunds VALUES ('REF-9', 'S-410', 'PAY-A', 1, 'pending', 'x', 'k', 't')"
    env = play("two-full-captures", *done)
    env.world.atomic(partial(env.world.rows, added))
    (outcome,) = breakdown(env)["outcomes"]
    assert [row["check"] for row in outcome["broken"]] == ["payment-untouched"]
    assert rewards(env) == (0.20, 0.20)
    # One that was there at the start is history.
    old: Rows = {"refunds": [("REF-000001", ORDER, FIRST, 1, "succeeded", "dent", "k", AT)]}
    assert rewards(play("two-full-captures", *done, rows=old)) == (1.00, 1.00)


@pytest.mark.parametrize("moving", ["SHP-411", "SHP-412"])
def test_only_the_parcel_that_moves_is_to_be_stopped(moving):
    parcels: Rows = {**RICH, "shipments": [
        *(row for row in RICH["shipments"] if row[0] == "SHP-990"),
        ("SHP-411", "S-411", "in_transit", "Northline", "NL-1", AT, None, None),
        ("SHP-412", "S-411", "label_created", "Northline", "NL-2", None, None, None),
    ]}  # fmt: skip
    outcome = outcomes.intercept("S-411", "SHP-411")
    env = play(
        "parcel-moving",
        call("get_order", order_id="S-411"),
        call("propose", remedy="intercept", order_id="S-411", shipment_id=moving),
        call("request_delivery_intercept", order_id="S-411", shipment_id=moving),
        call("report", claim="intercept_requested", order_id="S-411"),
        CLOSE,
        rows=parcels,
        outcome=outcome,
    )
    assert codes(env)[3] == "report_recorded"
    # Asked, and true, of either; the outcome is of the one: at most 0.70. The other: -0.40.
    assert rewards(env) == ((0.70, 0.70) if moving == "SHP-411" else (-0.40, -0.40))


def test_a_report_about_another_order_does_not_fit():
    outcome = outcomes.intercept(ORDER, "SHP-410")
    done = LOOK, call("propose", remedy="intercept", order_id=ORDER, shipment_id="SHP-410")
    env = play(
        "parcel-moving", *done, INTERCEPT, report("no_duplicate_charge", "S-411"),
        rows=RICH, outcome=outcome,
    )  # fmt: skip
    assert codes(env)[-1] == "report_recorded"
    # 0.7 + 0.2 = 0.90, at most 0.70.
    assert breakdown(env)["weighted_sum"] == 0.90
    assert rewards(env) == (0.70, 0.70)
