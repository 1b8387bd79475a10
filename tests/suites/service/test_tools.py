"""The nine tools and the four talk actions: every code, what each writes, and what it must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym import Action, Environment, Toolbox, call, load_suite
from deskgym.argument import AMOUNT_CENTS_MAX
from deskgym.dispatch import COMMON_CODES
from deskgym.errors import ConstraintViolation
from tests.suites.service.play import (
    CANCEL,
    CLOSE,
    FIRST,
    INK,
    INTERCEPT,
    ITEM,
    LOOK,
    MISSING,
    MOSS,
    ORDER,
    PARCEL,
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
    act,
    breakdown,
    codes,
    message,
    play,
    propose_refund,
    refund,
    replacing,
    report,
    start,
)

LATER = "2026-03-12T08:00:00Z"
SEND_BACK_SHADE = call("create_return", order_id=ORDER, item_id="S-410-2", reason="cracked")


class Way(NamedTuple):
    """A way to a code: the last of the actions is answered with it."""

    code: str
    task: str
    actions: tuple[Action, ...]
    rows: Rows | None = None
    parameters: dict[str, Any] = {}  # noqa: RUF012, read only

    def play(self) -> Environment:
        return play(self.task, *self.actions, rows=self.rows, **self.parameters)


def missing(tool: str, **arguments: object) -> Action:
    return call(tool, order_id=MISSING, **arguments)


LAMP, WAREHOUSE, MOVING = "damaged-lamp", "stop-warehouse-order", "parcel-moving"
LIVE_INTERCEPT: Rows = {
    "delivery_intercepts": [("INT-000001", ORDER, PARCEL, "requested", "by telephone", LATER)]
}
HALF_SHIPPED: Rows = {
    "shipments": [("SHP-1", ORDER, "in_transit", "Northline", "NL-1", LATER, None, None)]
}
WAYS = {
    "get_order": [
        Way("order_found", LAMP, (LOOK,)),
        Way("order_not_found", LAMP, (missing("get_order"),)),
    ],
    "list_order_payments": [
        Way("payments_found", LAMP, (PAYMENTS,)),
        Way("order_not_found", LAMP, (missing("list_order_payments"),)),
    ],
    "search_inventory": [Way("inventory_found", LAMP, (STOCK,))],
    "cancel_order": [
        Way("order_cancelled", WAREHOUSE, (CANCEL,)),
        Way("cancellation_exists", WAREHOUSE, (CANCEL, CANCEL)),
        Way("order_not_found", WAREHOUSE, (missing("cancel_order", reason="unwanted"),)),
        Way("order_already_cancelled", WAREHOUSE,
            (CANCEL, call("cancel_order", order_id=ORDER, reason="another reason"))),
        Way("order_not_cancellable", MOVING, (CANCEL,)),
        Way("order_not_cancellable", LAMP, (CANCEL,)),
        Way("order_not_cancellable", WAREHOUSE, (CANCEL,), HALF_SHIPPED),
    ],
    "request_delivery_intercept": [
        Way("intercept_requested", MOVING, (INTERCEPT,)),
        Way("intercept_exists", MOVING, (INTERCEPT, INTERCEPT)),
        Way("order_not_found", MOVING,
            (missing("request_delivery_intercept", shipment_id=PARCEL),)),
        Way("shipment_not_found", MOVING,
            (call("request_delivery_intercept", order_id=ORDER, shipment_id="SHP-0"),)),
        Way("shipment_not_moving", LAMP, (INTERCEPT,)),
        Way("conflict", MOVING, (INTERCEPT,), LIVE_INTERCEPT),
    ],
    "create_return": [
        Way("return_created", LAMP, (SEND_BACK,)),
        Way("return_exists", LAMP, (SEND_BACK, SEND_BACK)),
        Way("order_not_found", LAMP, (missing("create_return", item_id=ITEM, reason="cracked"),)),
        Way("item_not_found", LAMP,
            (call("create_return", order_id=ORDER, item_id="S-410-9", reason="cracked"),)),
        Way("return_already_open", LAMP,
            (SEND_BACK, call("create_return", order_id=ORDER, item_id=ITEM, reason="ugly"))),
    ],
    "issue_refund": [
        Way("refund_issued", LAMP, (refund(),)),
        Way("refund_exists", LAMP, (refund(), refund())),
        Way("order_not_found", LAMP,
            (missing("issue_refund", payment_id=FIRST, amount_cents=1, reason="x"),)),
        Way("payment_not_found", LAMP, (refund(payment=SECOND),)),
        Way("payment_not_captured", LAMP, (refund(1, "PAY-H"),), RICH),
        Way("refund_exceeds_captured", LAMP, (refund(4_801),)),
    ],
    "create_replacement": [
        Way("replacement_created", LAMP, (SEND_BACK, replacing())),
        Way("replacement_exists", LAMP, (SEND_BACK, replacing(), replacing())),
        Way("order_not_found", LAMP,
            (missing("create_replacement", item_id=ITEM, replacement_sku=MOSS, return_id="R"),)),
        Way("item_not_found", LAMP,
            (call("create_replacement", order_id=ORDER, item_id="S-410-9", replacement_sku=MOSS,
                  return_id="RET-000001"),)),
        Way("return_not_found", LAMP, (replacing(),)),
        # The return of another item of the same order does not do either.
        Way("return_not_found", LAMP, (SEND_BACK_SHADE, replacing(return_id="RET-000002")), RICH),
        Way("item_already_replaced", LAMP, (SEND_BACK, replacing(), replacing(INK))),
        Way("sku_not_found", LAMP, (SEND_BACK, replacing("LAMP-RED"))),
        Way("out_of_stock", LAMP, (SEND_BACK, replacing()), None, {"stock": 0}),
    ],
    "create_stock_notification": [
        Way("notification_created", LAMP, (WAIT,)),
        Way("notification_exists", LAMP, (WAIT, WAIT)),
        Way("order_not_found", LAMP, (missing("create_stock_notification", sku=MOSS),)),
        Way("sku_not_found", LAMP,
            (call("create_stock_notification", order_id=ORDER, sku="LAMP-RED"),)),
        Way("notification_already_active", LAMP,
            (call("create_stock_notification", order_id="S-411", sku=MOSS), WAIT), RICH),
    ],
    "propose": [
        Way("proposal_accepted", LAMP, (PROPOSE_RETURN,)),
        Way("proposal_declined", LAMP, (PROPOSE_CANCELLATION,)),
        Way("invalid_proposal", LAMP, (call("propose", remedy="refund", order_id=ORDER),)),
        Way("order_not_found", LAMP, (missing("propose", remedy="nothing"),)),
        Way("item_not_found", LAMP,
            (call("propose", remedy="return", order_id=ORDER, item_id="S-410-9"),)),
        Way("payment_not_found", LAMP, (propose_refund(payment=SECOND),)),
        Way("shipment_not_found", LAMP,
            (call("propose", remedy="intercept", order_id=ORDER, shipment_id="SHP-0"),)),
        Way("sku_not_found", LAMP,
            (call("propose", remedy="stock_notification", order_id=ORDER, sku="LAMP-RED"),)),
    ],
    "report": [
        Way("report_recorded", LAMP, (report("no_duplicate_charge"),)),
        Way("report_contradicted", LAMP, (report("refunded"),)),
    ],
    "message": [Way("message_sent", LAMP, (message("One moment, please."),))],
    "close": [Way("episode_closed", LAMP, (CLOSE,))],
}  # fmt: skip
ALL_WAYS = [(tool, way) for tool, ways in WAYS.items() for way in ways]
NAMES = [f"{tool}-{way.code}" for tool, way in ALL_WAYS]
TOOLBOX = load_suite("service").toolbox


def test_the_ways_lead_to_every_code_of_every_tool():
    for tool, ways in WAYS.items():
        assert {way.code for way in ways} - set(COMMON_CODES) == set(TOOLBOX[tool].codes), tool
    assert set(WAYS) == set(TOOLBOX)


def test_the_suite_has_nine_tools_of_which_six_write():
    kinds = [TOOLBOX[name].kind for name in WAYS]
    assert kinds == ["read"] * 3 + ["write"] * 6 + ["talk"] * 3 + ["end"]


@pytest.mark.parametrize(("tool", "way"), ALL_WAYS, ids=NAMES)
def test_a_code_is_reached_and_only_a_first_write_changes_rows(tool, way):
    before = play(way.task, *way.actions[:-1], rows=way.rows, **way.parameters)
    env = way.play()
    seen, last = env.observe(), env.steps[-1]
    assert last.action.tool == tool
    assert seen.code == way.code
    assert seen.message.strip()
    wrote = way.code.endswith(("_created", "_requested", "_issued", "_cancelled")) and seen.ok
    assert bool(last.changes) == wrote
    assert (env.world.digest() == before.world.digest()) == (not wrote)
    assert env.world.snapshot() == before.world.snapshot() or wrote
    failed = seen.code not in (
        "order_found", "payments_found", "inventory_found", "message_sent", "episode_closed",
        "report_recorded", "proposal_accepted", "proposal_declined",
    ) and not seen.code.endswith("_exists")  # fmt: skip
    assert seen.ok == (wrote or not failed)
    # A refused write costs 0.08, a refused read or proposal nothing.
    refused = {item["name"]: item["count"] for item in breakdown(env)["deductions"]}
    assert refused["refused write"] == (TOOLBOX[tool].kind == "write" and not seen.ok)


@pytest.mark.parametrize(
    ("task", "rows", "before", "write", "other"),
    [
        (LAMP, None, (), SEND_BACK,
         call("create_return", order_id=ORDER, item_id=ITEM, reason="another reason")),
        (LAMP, None, (), refund(4_000), refund(4_001)),
        (LAMP, None, (SEND_BACK,), replacing(), replacing(INK)),
        (LAMP, RICH, (), WAIT, call("create_stock_notification", order_id="S-411", sku=MOSS)),
        (WAREHOUSE, None, (), CANCEL,
         call("cancel_order", order_id=ORDER, reason="another reason")),
    ],
    ids=["return", "refund", "replacement", "notification", "cancellation"],
)  # fmt: skip
def test_an_exact_retry_finds_the_row_and_anything_else_is_refused(
    task, rows, before, write, other
):
    env = play(task, *before, write, rows=rows)
    made, digest = env.observe().data, env.world.digest()
    padded = {
        name: f"  {value}\n" if isinstance(value, str) else value
        for name, value in dict(write.arguments).items()
    }
    for retry in (write, Action(write.tool, padded)):
        again = act(env, retry)
        assert again.ok
        assert again.code.endswith("_exists")
        assert "before" in again.message
        row_id = next(name for name in again.data if name.endswith("_id"))
        assert again.data[row_id] == made[row_id], "it names the row that is there"
    refused = act(env, other)
    assert not refused.ok
    assert env.world.digest() == digest
    committed = [step.number for step in env.steps if step.changes]
    assert committed == list(range(1, len(before) + 2))
    assert [item["count"] for item in breakdown(env)["deductions"]] == [0, 1]


def test_a_retry_of_a_refund_for_another_reason_still_moves_no_money():
    env = play(LAMP, refund(reason="cracked"), refund(reason="a better reason"))
    assert codes(env) == ["refund_issued", "refund_exists"], "identity: order, payment and amount"
    assert env.world.rows("SELECT amount_cents, reason, idempotency_key FROM refunds") == [
        (4_800, "cracked", "S-410:PAY-A:4800")
    ]


def test_a_retry_of_an_intercept_finds_the_request_and_tells_no_outcome():
    env = play(MOVING, INTERCEPT, INTERCEPT)
    assert env.observe().data["status"] == "requested"
    assert len(env.world.rows("SELECT id FROM delivery_intercepts")) == 1
    assert not [step for step in env.steps if "stopped" in step.result_json.decode()]


def test_a_retry_after_everything_changed_around_it_still_finds_its_row():
    env = play(LAMP, SEND_BACK, refund(4_800), SEND_BACK, refund(4_800), refund(1), stock=0)
    assert codes(env) == [
        "return_created", "refund_issued", "return_exists", "refund_exists",
        "refund_exceeds_captured",
    ]  # fmt: skip


# Refunds and money.


@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=8))
def test_refunds_stop_at_what_was_captured(amounts):
    env = start(LAMP)
    refunded: set[int] = set()
    for cents in amounts:
        if env.done:
            break
        left = 4_800 - sum(refunded)
        expected = (
            "refund_exists"
            if cents in refunded
            else "refund_exceeds_captured"
            if cents > left
            else "refund_issued"
        )
        assert env.step(refund(cents)).code == expected
        if expected == "refund_issued":
            refunded.add(cents)
    written = [int(str(cents)) for (cents,) in env.world.rows("SELECT amount_cents FROM refunds")]
    assert sorted(written) == sorted(refunded)


def test_a_pending_refund_counts_against_the_capture_and_a_failed_one_does_not():
    env = play(LAMP, PAYMENTS, rows=RICH)
    paid = {item["payment_id"]: item for item in env.observe().data["payments"]}
    # Of 1,000 captured, 300 are pending; 400 failed.
    assert (paid["PAY-P"]["refunded_cents"], paid["PAY-P"]["refundable_cents"]) == (300, 700)
    assert (paid["PAY-H"]["captured_cents"], paid["PAY-H"]["refundable_cents"]) == (0, 0)
    act(env, refund(701, "PAY-P"), refund(700, "PAY-P"))
    assert codes(env)[1:] == ["refund_exceeds_captured", "refund_issued"]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO refunds VALUES ('R', 'S-410', 'PAY-A', 4801, 'succeeded', 'x', 'k', 't')",
        "INSERT INTO refunds VALUES ('R', 'S-410', 'PAY-A', 4801, 'pending', 'x', 'k', 't')",
        "INSERT INTO refunds VALUES ('R', 'S-410', 'PAY-A', 1, 'succeeded', 'x', 'k', 't'),"
        " ('S', 'S-410', 'PAY-A', 4800, 'succeeded', 'x', 'l', 't')",
        "INSERT OR IGNORE INTO refunds"
        " VALUES ('R', 'S-410', 'PAY-A', 4801, 'succeeded', 'x', 'k', 't')",
        "INSERT OR REPLACE INTO refunds"
        " VALUES ('REF-000001', 'S-410', 'PAY-A', 4801, 'succeeded', 'x', 'k', 't')",
        "UPDATE refunds SET amount_cents = amount_cents + 1",
        "UPDATE payments SET captured_cents = captured_cents - 1 WHERE id = 'PAY-A'",
        "INSERT OR REPLACE INTO payments"
        " VALUES ('PAY-A', 'S-410', 'captured', 4800, 4799, 'capture-first', 't')",
        "DELETE FROM payments WHERE id = 'PAY-A'",
    ],
)
def test_a_refund_past_the_captured_amount_cannot_be_written_even_by_sql(statement):
    env = play(LAMP, refund())
    digest = env.world.digest()
    with pytest.raises(ConstraintViolation):
        env.world.atomic(lambda: env.world.rows(statement))
    assert env.world.digest() == digest


@pytest.mark.parametrize(
    "cents",
    [0, -1, AMOUNT_CENTS_MAX + 1, 2**53, 2**80, 1.0, 4_800.0, 1e3, float("nan"), float("inf"), True,
     False, "4800", "1e3", "", None, [4_800], {"cents": 4_800}],
    ids=repr,
)  # fmt: skip
def test_only_a_whole_number_of_cents_is_an_amount(cents):
    for action in (
        call("issue_refund", order_id=ORDER, payment_id=FIRST, amount_cents=cents, reason="x"),
        call("propose", remedy="refund", order_id=ORDER, payment_id=FIRST, amount_cents=cents),
    ):
        env = play(LAMP, action)
        seen = env.observe()
        if action.tool == "propose" and cents is None:  # an amount that is left out
            assert seen.code == "invalid_proposal"
            continue
        assert seen.code == "invalid_arguments"
        assert dict(seen.data["problems"]) == {
            "amount_cents": "must be a whole number from 1 to 100000, as a JSON integer"
        }
        assert not env.changes()


def test_the_smallest_and_the_largest_amount_are_accepted():
    assert play(LAMP, refund(1)).observe().code == "refund_issued"
    env = play(LAMP, refund(100_000), total_cents=100_000)
    assert env.observe().code == "refund_issued"


# What each write leaves.


def test_cancelling_puts_the_items_back_and_returns_no_money():
    env = play(WAREHOUSE, CANCEL, stock=3)
    changed = {(change.table, change.operation) for change in env.changes()}
    assert changed == {("orders", "change"), ("inventory", "change"), ("cancellations", "add")}
    assert env.world.rows("SELECT sku, quantity FROM inventory ORDER BY sku") == [
        (INK, 1), (MOSS, 4),
    ]  # fmt: skip
    assert env.world.rows("SELECT id FROM refunds") == []


@pytest.mark.parametrize("status", ["pending", "confirmed", "processing"])
def test_an_order_can_be_cancelled_while_nothing_has_left_the_warehouse(status):
    row = ("S-411", "account-demo", status, 0, 0, 900, "USD", "9 Elsewhere", LATER)
    cancelled = call("cancel_order", order_id="S-411", reason="unwanted")
    # The parcel of S-411 has a label and is not on its way.
    env = play(LAMP, cancelled, rows={**RICH, "orders": [row]})
    assert env.observe().code == "order_cancelled"


@pytest.mark.parametrize("status", ["shipped", "delivered"])
def test_an_order_that_left_the_warehouse_is_not_cancelled(status):
    row = ("S-411", "account-demo", status, 0, 0, 900, "USD", "9 Elsewhere", LATER)
    env = play(
        LAMP,
        call("cancel_order", order_id="S-411", reason="unwanted"),
        rows={**RICH, "orders": [row]},
    )
    assert env.observe().code == "order_not_cancellable"


def test_a_labelled_parcel_can_be_intercepted():
    env = play(
        LAMP, call("request_delivery_intercept", order_id="S-411", shipment_id="SHP-411"), rows=RICH
    )
    assert env.observe().code == "intercept_requested"


def test_a_parcel_of_another_own_order_is_not_found():
    env = play(
        LAMP, call("request_delivery_intercept", order_id=ORDER, shipment_id="SHP-411"), rows=RICH
    )
    assert env.observe().code == "shipment_not_found"


def test_a_replacement_takes_exactly_one_from_stock():
    env = play(LAMP, SEND_BACK, replacing(), stock=2)
    assert env.world.rows("SELECT quantity FROM inventory WHERE sku = ?", (MOSS,)) == [(1,)]
    assert {change.table for change in env.changes()} == {"inventory", "returns", "replacements"}


def test_one_customer_waits_for_each_sku_once_whichever_order_it_is_about():
    other = call("create_stock_notification", order_id=ORDER, sku=INK)
    env = play(LAMP, WAIT, other, WAIT, rows=RICH)
    assert codes(env) == ["notification_created", "notification_created", "notification_exists"]
    # The other account waits for INK too, which is its own affair.
    assert len(env.world.rows("SELECT id FROM stock_notifications WHERE sku = ?", (INK,))) == 2


@pytest.mark.parametrize("status", ["sent", "cancelled"])
def test_a_notification_that_is_over_does_not_stand_in_the_way_of_a_new_one(status):
    over = ("NOT-000001", "account-demo", ORDER, MOSS, status, "an old wish", LATER)
    env = play(LAMP, WAIT, rows={"stock_notifications": [over]})
    assert env.observe().code == "notification_created"


# Searching.


def marks(**asked: str) -> dict[str, str]:
    rows = play(LAMP, call("search_inventory", **asked)).observe().data["rows"]
    return {row["sku"]: row["match"] for row in rows}


def test_a_search_marks_what_fits_everything_exact_and_what_fits_in_part_similar():
    assert marks() == {INK: "exact", MOSS: "exact"}
    assert marks(product_type="lamp") == {INK: "exact", MOSS: "exact"}
    assert marks(product_type="lamp", color="moss") == {INK: "similar", MOSS: "exact"}
    assert marks(color="ink") == {INK: "exact"}
    assert marks(product_type="shade", color="MOSS") == {MOSS: "similar"}
    assert marks(product_type="shade", size="huge", color="red") == {}
    assert marks(product_type=" LAMP ", size="Standard", color="Moss") == {
        INK: "similar", MOSS: "exact",
    }  # fmt: skip
    assert marks(color="mos") == {}, "a part of a word does not fit"


def test_a_search_lists_what_is_out_of_stock_with_its_quantity():
    rows = play(LAMP, STOCK, stock=0).observe().data["rows"]
    assert [(row["sku"], row["quantity"]) for row in rows] == [(INK, 1), (MOSS, 0)]


def test_reads_show_the_records_as_they_are_now():
    env = play(LAMP, LOOK, PAYMENTS)
    order, payments = (step.result.data for step in env.steps)
    assert order["order_id"] == ORDER
    assert order["status"] == "delivered"
    assert order["total_cents"] == payments["total_cents"] == 4_800
    assert [item["sku"] for item in order["items"]] == [MOSS]
    assert [parcel["item_ids"] for parcel in order["shipments"]] == [[ITEM]]
    assert set(payments["payments"][0]) == {
        "payment_id", "status", "amount_cents", "captured_cents", "refunded_cents",
        "refundable_cents", "processor_reference", "created_at",
    }  # fmt: skip
    act(env, refund(800))
    (paid,) = act(env, PAYMENTS).data["payments"]
    assert (paid["refunded_cents"], paid["refundable_cents"]) == (800, 4_000)


# Atomic.


def broken(tool: str, message_of_bug: str = "a bug") -> Toolbox:
    """The suite's tools, one of which writes everything and then fails."""
    suite = load_suite("service")

    def fail(*desk: object, **arguments: object):
        TOOLBOX[tool].function(*desk, **arguments)
        raise RuntimeError(message_of_bug)

    parts = [
        replace(item, function=fail) if name == tool else item
        for name, item in suite.toolbox.items()
    ]
    return Toolbox(*parts)


@pytest.mark.parametrize(
    ("tool", "way"),
    [(tool, ways[0]) for tool, ways in WAYS.items()],
    ids=list(WAYS),
)
def test_a_bug_in_a_tool_is_an_observation_an_unchanged_world_and_no_deduction(tool, way, caplog):
    suite = replace(load_suite("service"), toolbox=broken(tool))
    env = Environment(suite, suite.task(way.task), parameters=way.parameters)
    env.reset()
    act(env, *way.actions[:-1])
    digest, score = env.world.digest(), env.score().reward
    log = env.world.log
    seen = act(env, way.actions[-1])
    assert (seen.ok, seen.code) == (False, "internal_error")
    assert "a bug" not in seen.to_json().decode()
    assert env.world.digest() == digest
    assert not env.done
    assert [name for name, _ in env.world.log[len(log) :]] == ["env_call"]
    assert env.score().reward == score
    assert [str(bug) for bug in env.bugs] == ["a bug"]
    assert [step.changes for step in env.steps][-1] == ()


def test_a_read_that_failed_through_our_bug_is_no_read_before_a_write():
    suite = replace(load_suite("service"), toolbox=broken("get_order"))
    env = Environment(suite, suite.task(LAMP))
    env.reset()
    act(env, LOOK, PAYMENTS, propose_refund(), refund())
    assert codes(env)[0] == "internal_error"
    missing = [row["missing"] for row in breakdown(env)["writes_without_reads"]]
    assert missing == ["get_order"]


def test_after_the_end_every_action_is_refused_and_changes_nothing():
    for _, way in ALL_WAYS:
        env = play(way.task, LOOK, CLOSE, rows=way.rows, **way.parameters)
        digest, score = env.world.digest(), env.score().to_dict()
        for action in way.actions:
            seen = env.step(action)
            assert (seen.ok, seen.code, seen.done) == (False, "episode_over", True)
        assert env.world.digest() == digest
        assert env.score().to_dict() == score, "nor does a refused write after the end cost"
        assert len(env.steps) == 2


# Identifiers and arguments.


@pytest.mark.parametrize(
    ("order_id", "code"),
    [
        ("S-410", "order_found"),
        ("  S-410\t\n", "order_found"),
        ("\u00a0S-410\u2003", "order_found"),
        ("s-410", "order_not_found"),
        ("S-41", "order_not_found"),
        ("S-4100", "order_not_found"),
        ("S -410", "order_not_found"),
        ("S-410%", "order_not_found"),
        ("S_410", "order_not_found"),
        ("\uff33-410", "order_not_found"),
        ("S\u2010410", "order_not_found"),
        ("\u200bS-410", "order_not_found"),
        ("' OR '1'='1", "order_not_found"),
        (410, "order_not_found"),
        ("", "invalid_arguments"),
        ("   ", "invalid_arguments"),
        ("S-410\x00", "invalid_arguments"),
        ("S-\x1b410", "invalid_arguments"),
        ("S" * 65, "invalid_arguments"),
        (True, "invalid_arguments"),
        (None, "invalid_arguments"),
        (4.1, "invalid_arguments"),
        (["S-410"], "invalid_arguments"),
        ({"id": "S-410"}, "invalid_arguments"),
    ],
    ids=repr,
)
def test_an_id_is_trimmed_and_then_matched_exactly(order_id, code):
    assert play(LAMP, call("get_order", order_id=order_id)).observe().code == code


def test_a_trimmed_id_counts_as_the_read_and_as_the_choice():
    env = play(
        LAMP,
        call("get_order", order_id=" S-410 "),
        call("list_order_payments", order_id="S-410\n"),
        call("propose", remedy="refund", order_id=" S-410", payment_id=" PAY-A ",
             amount_cents=4_800),
        refund(),
        call("report", claim="refunded", order_id=" S-410 "),
    )  # fmt: skip
    assert env.score().reward == 1.00


@pytest.mark.parametrize("name", list(WAYS))
def test_an_unknown_argument_is_refused_by_name(name):
    way = WAYS[name][0]
    for extra in ("account", "customer_id", "owner", "idempotency_key", "force"):
        arguments = {**dict(way.actions[-1].arguments), extra: "account-other"}  # pyright: ignore
        env = play(way.task, *way.actions[:-1], Action(name, arguments))
        seen = env.observe()
        assert seen.code == "invalid_arguments"
        assert list(seen.data["problems"]) == [extra]
        assert f"`{extra}` is not an argument; {name} takes" in seen.message
        assert not env.steps[-1].changes


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
GARBAGE = st.builds(
    Action,
    st.sampled_from([*WAYS, "get_orders", "", "GET_ORDER"]) | JSON,  # pyright: ignore
    JSON
    | st.dictionaries(
        st.sampled_from(["order_id", "reason", "amount_cents", "remedy", "claim", "text"]),
        JSON | st.just(ORDER),
    ),
)


@given(st.lists(GARBAGE, max_size=12))
def test_whatever_an_agent_sends_is_answered_with_a_code_and_a_sentence(actions):
    env = start(LAMP)
    digest = env.world.digest()
    for action in actions:
        seen = env.step(action)
        declared = TOOLBOX[action.tool].codes if action.tool in list(WAYS) else ()
        assert seen.code in {*declared, *COMMON_CODES}
        assert seen.code != "internal_error", env.bugs
        assert seen.message.endswith(".") or seen.code == "message_sent"
        assert seen.to_json() == env.observe().to_json() or seen.code == "episode_over"
    assert env.world.digest() == digest
    assert -1 <= env.score().reward <= 0


def test_an_unknown_tool_is_no_refused_write():
    env = play(LAMP, call("refund_everything", order_id=ORDER))
    assert env.observe().code == "unknown_tool"
    assert "issue_refund" in env.observe().message
    assert env.score().reward == 0


def test_a_missing_argument_is_named_with_what_it_must_be():
    seen = play(LAMP, call("create_return", order_id=ORDER, item_id=ITEM)).observe()
    assert seen.data["problems"] == {
        "reason": "is missing; it must be text of 1 to 2000 characters without control characters"
    }


# The limits of an episode.


def test_the_episode_ends_at_48_actions():
    env = start(LAMP)
    for number in range(48):
        assert not env.done
        env.step(message(f"One moment, please ({number})."))
    assert (env.ended, len(env.steps)) == ("action_limit", 48)


def test_three_identical_observations_without_a_change_end_it():
    assert play(LAMP, LOOK, LOOK).ended is None
    assert play(LAMP, LOOK, LOOK, LOOK).ended == "no_progress"
    assert play(LAMP, LOOK, LOOK, PAYMENTS, LOOK, LOOK).ended is None
    # The third look shows the same as the first two, though a row changed in between.
    assert play(LAMP, LOOK, LOOK, refund(1), LOOK, LOOK).ended is None


def test_the_customer_is_not_done_before_the_agent_closes():
    env = play(LAMP, PROPOSE_RETURN, PROPOSE_WAIT, CLOSE)
    assert env.ended == "closed"
