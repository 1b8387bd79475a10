"""Reports: each claim true and false, on own orders and on those that are not the account's."""

import pytest

from deskgym import Action, call
from deskgym.suites.service.claims import CLAIMS
from tests.suites.service.play import (
    CANCEL,
    FOREIGN,
    INTERCEPT,
    ITEM,
    LOOK,
    MISSING,
    ORDER,
    PARCEL,
    RICH,
    SECOND,
    SEND_BACK,
    WAIT,
    breakdown,
    codes,
    play,
    refund,
    replacing,
    report,
    rewards,
)

AT = "2026-03-12T08:00:00Z"
# Rows that were there when the episode began, one for each claim that is about new rows.
OLD = {
    "refunds": [("REF-000001", ORDER, "PAY-A", 100, "succeeded", "dent", "S-410:PAY-A:100", AT)],
    "returns": [("RET-000001", ORDER, ITEM, "cancelled", "dent", "an old return", AT)],
    "replacements": [
        ("REP-000001", ORDER, ITEM, None, "LAMP-MOSS", 1, "cancelled", "an old one", AT),
    ],
    "delivery_intercepts": [("INT-000001", ORDER, PARCEL, "missed", "an old request", AT)],
    "stock_notifications": [
        ("NOT-000001", "account-demo", ORDER, "LAMP-MOSS", "sent", "an old wish", AT),
    ],
}  # fmt: skip
NEW = {
    "refunded": ("damaged-lamp", (refund(),)),
    "cancelled": ("stop-warehouse-order", (CANCEL,)),
    "return_created": ("damaged-lamp", (SEND_BACK,)),
    "replacement_created": ("damaged-lamp", (SEND_BACK, replacing())),
    "intercept_requested": ("parcel-moving", (INTERCEPT,)),
    "stock_notification_created": ("damaged-lamp", (WAIT,)),
}


@pytest.mark.parametrize(("claim", "task", "writes"), [(c, *way) for c, way in NEW.items()])
def test_a_claim_of_a_new_row_is_false_before_it_is_there_and_true_after(claim, task, writes):
    env = play(task, report(claim), *writes, report(claim))
    assert codes(env)[0] == "report_contradicted"
    assert codes(env)[-1] == "report_recorded"


@pytest.mark.parametrize("claim", [claim for claim in NEW if claim != "cancelled"])
def test_a_row_that_was_there_at_the_start_makes_no_claim_of_a_new_one_true(claim):
    env = play("damaged-lamp", report(claim), rows=OLD)
    assert env.observe().code == "report_contradicted"


def test_an_order_that_was_cancelled_at_the_start_was_not_cancelled_now():
    row = ("S-411", "account-demo", "cancelled", 0, 0, 900, "USD", "9 Elsewhere", AT)
    env = play("damaged-lamp", report("cancelled", "S-411"), rows={**RICH, "orders": [row]})
    assert env.observe().code == "report_contradicted"


def test_a_new_row_on_another_own_order_makes_nothing_true_here():
    made = call("create_stock_notification", order_id="S-411", sku="LAMP-MOSS")
    told = report("stock_notification_created"), report("stock_notification_created", "S-411")
    env = play("damaged-lamp", made, *told, rows=RICH)
    assert codes(env)[1:] == ["report_contradicted", "report_recorded"]


def test_already_refunded_is_about_the_start_and_not_about_a_refund_of_now():
    assert play("damaged-lamp", report("already_refunded"), rows=OLD).observe().ok
    env = play("damaged-lamp", refund(), report("already_refunded"))
    assert env.observe().code == "report_contradicted"


@pytest.mark.parametrize(
    ("task", "parameters", "true"),
    [
        ("damaged-lamp", {}, True),  # 4,800 of 4,800
        ("two-half-payments", {}, True),  # 2,400 + 2,400 of 4,800
        ("two-half-payments", {"total_cents": 2}, True),
        ("two-full-captures", {}, False),  # 9,600 of 4,800
        ("two-full-captures", {"total_cents": 1}, False),
    ],
)
def test_no_duplicate_charge_compares_what_was_captured_with_the_total(task, parameters, true):
    assert play(task, report("no_duplicate_charge"), **parameters).observe().ok is true


def test_no_duplicate_charge_ignores_refunds_and_holds():
    duplicate = play("two-full-captures", refund(payment=SECOND), report("no_duplicate_charge"))
    assert duplicate.observe().code == "report_contradicted"
    hold = {"payments": [("PAY-H", ORDER, "authorized", 700, 0, "hold-first", AT)]}
    assert play("damaged-lamp", report("no_duplicate_charge"), rows=hold).observe().ok


def test_a_request_stops_no_delivery():
    env = play("parcel-moving", INTERCEPT, report("delivery_stopped"))
    assert env.observe().code == "report_contradicted"


def test_delivery_stopped_is_true_where_the_carrier_recorded_it():
    stopped = {"delivery_intercepts": [("INT-000001", ORDER, PARCEL, "stopped", "k", AT)]}
    assert play("parcel-moving", report("delivery_stopped"), rows=stopped).observe().ok
    missed = {"delivery_intercepts": [("INT-000001", ORDER, PARCEL, "missed", "k", AT)]}
    assert not play("parcel-moving", report("delivery_stopped"), rows=missed).observe().ok


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("order", [FOREIGN, MISSING])
def test_the_one_true_claim_of_an_order_the_account_does_not_have_is_that_it_is_unavailable(
    claim, order
):
    # RICH holds a refund, a return, an intercept and a notification on the foreign order.
    seen = play("damaged-lamp", report(claim, order), rows=RICH).observe()
    true = claim == "order_unavailable"
    assert (seen.ok, seen.code) == (
        true, "report_recorded" if true else "report_contradicted",
    )  # fmt: skip


def test_an_own_order_is_not_unavailable():
    assert play("damaged-lamp", report("order_unavailable")).observe().code == "report_contradicted"


@pytest.mark.parametrize("claim", ["", "Refunded", "resolved", None, 1, ["refunded"]])
def test_a_claim_that_is_not_on_the_list_is_no_report(claim):
    env = play("damaged-lamp", call("report", claim=claim, order_id=ORDER))
    assert env.observe().code == "invalid_arguments"
    assert breakdown(env)["reports"] == []
    assert env.score().reward == 0, "and costs nothing"


def test_every_contradicted_report_costs_the_same():
    lies = report("refunded"), report("cancelled"), report("delivery_stopped")
    # 0.00 less 0.30 for each.
    assert rewards(play("damaged-lamp", LOOK, *lies[:1])) == (-0.30, -0.30)
    assert rewards(play("damaged-lamp", LOOK, *lies[:2])) == (-0.60, -0.60)
    assert rewards(play("damaged-lamp", LOOK, *lies)) == (-0.90, -0.90)


def test_a_report_stands_as_it_was_judged_when_it_was_made():
    told: list[Action] = [report("refunded"), refund(), report("refunded")]
    env = play("damaged-lamp", LOOK, *told)
    assert [item["supported"] for item in breakdown(env)["reports"]] == [False, True]
    late = play("parcel-moving", report("no_duplicate_charge"))
    late.world.atomic(
        lambda: late.world.rows("UPDATE orders SET total_cents = 1 WHERE id = ?", (ORDER,))
    )
    assert [item["supported"] for item in breakdown(late)["reports"]] == [True]
