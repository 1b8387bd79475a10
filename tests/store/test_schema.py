"""Every constraint of `schema.sql`, in both directions, with SQL on the bare schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from deskgym.errors import UnknownName
from deskgym.store.schema import STATEMENTS, STORE_TABLES, TABLES, sqlite_ddl, table
from tests.store.shop import SHOP, TIME, refund

GOOD: dict[str, dict[str, Any]] = {
    "settings": {"name": "language", "value": "en"},
    "policies": {"name": "refund_days", "value": 30, "unit": "days"},
    "customers": {"id": "C9", "name": "Eve", "email": "eve@shop.example", "address": "9 Elm",
                  "note": "", "created_at": TIME},
    "products": {"id": "P9", "name": "Desk", "product_type": "desk", "note": ""},
    "variants": {"sku": "V9", "product_id": "P1", "name": "Oak", "size": "one", "color": "oak",
                 "price_cents": 0},
    "inventory": {"sku": "V2", "quantity": 0, "threshold": 2, "target": 2, "priority": -1,
                  "unit_cost_cents": 0},
    "orders": {"id": "O9", "customer_id": "C1", "status": "pending", "discount_cents": 0,
               "tax_cents": 0, "total_cents": 0, "currency": "EUR", "shipping_address": "1 Elm",
               "placed_at": TIME},
    "order_items": {"id": "I9", "order_id": "O1", "sku": "V1", "quantity": 1,
                    "unit_price_cents": 0, "paid_cents": 0},
    "payments": {"id": "PAY9", "order_id": "O1", "status": "authorized", "amount_cents": 1,
                 "captured_cents": 0, "processor_reference": "ref-9", "created_at": TIME},
    "shipments": {"id": "S9", "order_id": "O1", "status": "in_transit", "carrier": "Northline",
                  "tracking_number": "NL9", "shipped_at": None, "expected_at": None,
                  "delivered_at": None},
    "shipment_items": {"shipment_id": "S1", "item_id": "I1", "quantity": 1},
    "cancellations": {"id": "CAN9", "order_id": "O1", "reason": "why", "idempotency_key": "k",
                      "created_at": TIME},
    "refunds": {"id": "REF9", "order_id": "O1", "payment_id": "PAY1", "amount_cents": 1,
                "status": "pending", "reason": "why", "idempotency_key": "k", "created_at": TIME},
    "returns": {"id": "RET9", "order_id": "O1", "item_id": "I1", "status": "open",
                "reason": "why", "idempotency_key": "k", "created_at": TIME},
    "replacements": {"id": "REP9", "order_id": "O1", "item_id": "I1", "return_id": "RET1",
                     "sku": "V1", "quantity": 1, "status": "created", "idempotency_key": "k",
                     "created_at": TIME},
    "delivery_intercepts": {"id": "INT9", "order_id": "O1", "shipment_id": "S1",
                            "status": "requested", "idempotency_key": "k", "created_at": TIME},
    "stock_notifications": {"id": "NOT9", "customer_id": "C1", "order_id": "O1", "sku": "V1",
                            "status": "active", "idempotency_key": "k", "created_at": TIME},
    "threads": {"id": "T9", "customer_id": "C1", "subject": "Hi", "status": "open",
                "opened_at": TIME},
    "messages": {"id": "M9", "thread_id": "T1", "sender": "customer", "body": "Hi",
                 "sent_at": TIME},
    "budgets": {"id": "B9", "limit_cents": 0, "spent_cents": 0},
    "purchase_orders": {"id": "PO9", "budget_id": "B1", "sku": "V1", "quantity": 3,
                        "unit_cost_cents": 900, "cost_cents": 2700, "status": "open",
                        "created_at": TIME},
    "env_need": {"tool": "issue_refund", "reads": "get_order", "scope": "order"},
    "env_call": {"step": 1, "tool": "get_order", "kind": "read", "code": "order_found", "ok": 1,
                 "changed": 0, "order_id": "", "subject": "", "sku": "", "amount_cents": 0},
    "env_listed": {"step": 1, "sku": "V1"},
    "env_choice": {"step": 1, "remedy": "refund", "order_id": "O1", "accepted": 1},
    "env_grant": {"step": 1, "tool": "issue_refund", "order_id": "O1", "subject": "", "sku": "",
                  "amount_cents": 1},
    "env_report": {"step": 1, "claim": "refunded", "order_id": "O1", "supported": 1},
    "env_ticket": {"tier": "hard", "scenario": "lost-parcel", "wording": 2},
    "env_turn": {"step": 1, "intent": "respond"},
    "env_message": {"step": 1, "role": "agent", "body": "Hi"},
    "env_claim": {"thread_id": "T1", "kind": "damaged", "order_id": "O1", "item_id": "I1",
                  "quantity": 1},
    "env_secret": {"subject": "email", "words": " ada example "},
    "env_reply": {"step": 1, "thread_id": "T1", "message_id": "M1", "words": " hi "},
    "env_fact": {"step": 1, "kind": "number", "value": "1013"},
    "env_submission": {"step": 1, "summary": "Done.", "words": " done "},
    "env_change": {"table_name": "orders", "row_key": "O1", "operation": "change"},
}  # fmt: skip

NULLABLE = {
    ("shipments", "shipped_at"),
    ("shipments", "expected_at"),
    ("shipments", "delivered_at"),
    ("replacements", "return_id"),
}
INTEGERS = re.compile(
    r".*_cents|quantity|threshold|target|priority|step|ok|changed|accepted|supported"
)


def alone(*members: str) -> dict[str, dict[str, Any]]:
    return {member: {} for member in members}


# What each closed set holds; a second column where the status asks for one.
CLOSED_SETS: dict[tuple[str, str], dict[str, dict[str, Any]]] = {
    ("orders", "status"): alone(
        "pending", "confirmed", "processing", "shipped", "delivered", "cancelled"
    ),
    ("payments", "status"): {
        "authorized": {}, "captured": {"captured_cents": 1}, "voided": {}, "failed": {}
    },
    ("shipments", "status"): {
        "label_created": {}, "in_transit": {}, "delivered": {"delivered_at": TIME}, "lost": {},
        "returned": {},
    },
    ("refunds", "status"): alone("pending", "succeeded", "failed"),
    ("returns", "status"): alone("open", "received", "closed", "cancelled"),
    ("replacements", "status"): alone("created", "shipped", "delivered", "cancelled"),
    ("delivery_intercepts", "status"): alone("requested", "stopped", "missed"),
    ("stock_notifications", "status"): alone("active", "sent", "cancelled"),
    ("threads", "status"): alone("open", "pending", "closed"),
    ("messages", "sender"): alone("customer", "store"),
    ("purchase_orders", "status"): alone("open", "received", "cancelled"),
    ("env_need", "scope"): alone("order", "sku"),
    ("env_message", "role"): alone("agent", "customer"),
    ("env_change", "operation"): alone("add", "change", "remove"),
}  # fmt: skip

LOWEST = {
    ("variants", "price_cents"): 0,
    ("inventory", "quantity"): 0,
    ("inventory", "unit_cost_cents"): 0,
    ("orders", "discount_cents"): 0,
    ("orders", "tax_cents"): 0,
    ("orders", "total_cents"): 0,
    ("order_items", "quantity"): 1,
    ("order_items", "unit_price_cents"): 0,
    ("order_items", "paid_cents"): 0,
    ("payments", "amount_cents"): 1,
    ("payments", "captured_cents"): 0,
    ("shipment_items", "quantity"): 1,
    ("refunds", "amount_cents"): 1,
    ("replacements", "quantity"): 1,
    ("budgets", "spent_cents"): 0,
    ("budgets", "limit_cents"): 0,
}

# Rows that differ from a good one in what is named, and that the schema refuses.
BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "a negative threshold": ("inventory", {"threshold": -1}),
    "a target below the threshold": ("inventory", {"target": 1}),
    "a currency of two letters": ("orders", {"currency": "US"}),
    "a capture above the amount": ("payments", {"status": "captured", "captured_cents": 2}),
    "captured, but nothing was": ("payments", {"status": "captured"}),
    "only authorized, but money was captured": ("payments", {"captured_cents": 1}),
    "delivered without a time": ("shipments", {"status": "delivered"}),
    "a time of delivery in transit": ("shipments", {"delivered_at": TIME}),
    "spent above the limit": ("budgets", {"spent_cents": 1}),
    "a cost that is no product": ("purchase_orders", {"cost_cents": 2699}),
    "no pieces bought": ("purchase_orders", {"quantity": 0, "cost_cents": 0}),
    "a negative unit cost": ("purchase_orders", {"unit_cost_cents": -1, "cost_cents": -3}),
    "no order of that customer's": ("orders", {"customer_id": "C8"}),
    "no such product": ("variants", {"product_id": "P8"}),
    "stock of no variant": ("inventory", {"sku": "V8"}),
    "an item of no order": ("order_items", {"order_id": "O8"}),
    "an item of no variant": ("order_items", {"sku": "V8"}),
    "a payment of no order": ("payments", {"order_id": "O8"}),
    "a shipment of no order": ("shipments", {"order_id": "O8"}),
    "a packed item in no shipment": ("shipment_items", {"shipment_id": "S8"}),
    "a packed item of no order": ("shipment_items", {"item_id": "I8"}),
    "a cancellation of no order": ("cancellations", {"order_id": "O8"}),
    "a refund of no payment": ("refunds", {"payment_id": "PAY8"}),
    "a refund on another order's payment": ("refunds", {"payment_id": "PAY2"}),
    "a return of no item": ("returns", {"item_id": "I8"}),
    "a return of another order's item": ("returns", {"item_id": "I2"}),
    "a replacement of another order's item": (
        "replacements", {"item_id": "I2", "return_id": "RET2"},
    ),
    "a replacement by another item's return": ("replacements", {"return_id": "RET2"}),
    "a replacement by no return": ("replacements", {"return_id": "RET8"}),
    "a replacement of no variant": ("replacements", {"sku": "V8"}),
    "an intercept of no shipment": ("delivery_intercepts", {"shipment_id": "S8"}),
    "an intercept of another order's parcel": ("delivery_intercepts", {"shipment_id": "S2"}),
    "a notification of nobody": ("stock_notifications", {"customer_id": "C8"}),
    "a notification about no order": ("stock_notifications", {"order_id": "O8"}),
    "a notification of no variant": ("stock_notifications", {"sku": "V8"}),
    "a thread of nobody": ("threads", {"customer_id": "C8"}),
    "a message in no thread": ("messages", {"thread_id": "T8"}),
    "a purchase on no budget": ("purchase_orders", {"budget_id": "B8"}),
    "a purchase of no variant": ("purchase_orders", {"sku": "V8"}),
    "an email that is taken": ("customers", {"email": "ada@shop.example"}),
    "a processor's reference that is taken": ("payments", {"processor_reference": "ref-1"}),
    "a tracking number that is taken": ("shipments", {"tracking_number": "NL1"}),
    "a truth that is neither": ("env_call", {"ok": 2}),
    "a change that is neither": ("env_call", {"changed": -1}),
    "a choice that is neither": ("env_choice", {"accepted": 2}),
    "a support that is neither": ("env_report", {"supported": 2}),
    "a claim of no known kind": ("env_claim", {"kind": "stolen"}),
    "a claim of less than nothing": ("env_claim", {"quantity": -1}),
}  # fmt: skip

# A good row, then a second one that differs in what is named only: refused; and what frees it.
TAKEN: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "two cancellations of an order": (
        "cancellations", {"id": "CAN8", "idempotency_key": "other"}, {"order_id": "O2"},
    ),
    "two open returns of an item": (
        "returns", {"id": "RET8", "idempotency_key": "other"}, {"status": "received"},
    ),
    "two live intercepts of a parcel": (
        "delivery_intercepts", {"id": "INT8", "idempotency_key": "other"}, {"status": "missed"},
    ),
    "two live notifications of a customer for a SKU": (
        "stock_notifications", {"id": "NOT8", "idempotency_key": "other"}, {"status": "sent"},
    ),
    "a second live notification about another order": (
        "stock_notifications",
        {"id": "NOT8", "idempotency_key": "other", "order_id": "O2"},
        {"customer_id": "C2"},
    ),
    "a cancellation's key": (
        "cancellations", {"id": "CAN8", "order_id": "O2"}, {"idempotency_key": "other"},
    ),
    "a refund's key": ("refunds", {"id": "REF8"}, {"idempotency_key": "other"}),
    "a return's key": (
        "returns", {"id": "RET8", "status": "closed"}, {"idempotency_key": "other"},
    ),
    "a replacement's key": ("replacements", {"id": "REP8"}, {"idempotency_key": "other"}),
    "an intercept's key": (
        "delivery_intercepts", {"id": "INT8", "status": "missed"}, {"idempotency_key": "other"},
    ),
    "a notification's key": (
        "stock_notifications", {"id": "NOT8", "status": "sent"}, {"idempotency_key": "other"},
    ),
}  # fmt: skip


@pytest.fixture
def shop() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(sqlite_ddl("main"))
    connection.execute("PRAGMA foreign_keys = ON")
    for name in TABLES:
        for row in SHOP.get(name, ()):
            add(connection, name, row)
    yield connection
    connection.close()


def add(connection: apsw.Connection, name: str, row: Any) -> None:
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {name} VALUES ({marks})", tuple(row))


def add_good(connection: apsw.Connection, name: str, /, **different: Any) -> None:
    add(connection, name, tuple({**GOOD[name], **different}.values()))


def refused(connection: apsw.Connection, sql: str, *bindings: Any) -> str:
    """The message that refuses the statement; the rows of every table stay as they were."""
    before = contents(connection)
    with pytest.raises(apsw.ConstraintError) as caught:
        connection.execute(sql, bindings)
    assert contents(connection) == before
    return str(caught.value)


def refused_row(connection: apsw.Connection, name: str, /, **different: Any) -> str:
    row = tuple({**GOOD[name], **different}.values())
    return refused(connection, f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", *row)


def contents(connection: apsw.Connection) -> dict[str, list[Any]]:
    return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}


def columns(*, integers: bool) -> list[tuple[str, str]]:
    return [
        (name, column)
        for name, row in GOOD.items()
        for column in row
        if integers == bool(INTEGERS.fullmatch(column) or (name, column) == ("policies", "value"))
    ]


def test_a_table_without_a_good_row_here_is_noticed():
    assert {name: tuple(row) for name, row in GOOD.items()} == {
        name: item.columns for name, item in TABLES.items()
    }


@pytest.mark.parametrize("name", GOOD)
def test_a_good_row_is_accepted_and_the_same_key_again_is_not(shop: apsw.Connection, name: str):
    add_good(shop, name)
    stored = shop.execute(f"SELECT * FROM {name}").fetchall()
    assert tuple(GOOD[name].values()) in stored
    assert "UNIQUE" in refused_row(shop, name)


def test_null_is_refused_in_every_column_but_four(shop: apsw.Connection):
    for name, row in GOOD.items():
        for column in row:
            if (name, column) not in NULLABLE:
                assert "NOT NULL" in refused_row(shop, name, **{column: None}), (name, column)


@pytest.mark.parametrize(("name", "column"), sorted(NULLABLE))
def test_null_is_accepted_where_a_value_may_be_missing(
    shop: apsw.Connection, name: str, column: str
):
    add_good(shop, name, **{column: None})
    assert shop.execute(f"SELECT 1 FROM {name} WHERE {column} IS NULL").fetchall()


@pytest.mark.parametrize("value", ["many", 1.5, b"1"])
def test_an_integer_column_takes_integers_only(shop: apsw.Connection, value: object):
    for name, column in columns(integers=True):
        message = refused_row(shop, name, **{column: value})
        assert re.search("cannot store|datatype|CHECK", message), (name, column, message)


def test_a_text_column_takes_no_bytes(shop: apsw.Connection):
    for name, column in columns(integers=False):
        message = refused_row(shop, name, **{column: b"text"})
        assert re.search("cannot store|datatype|CHECK", message), (name, column, message)


@pytest.mark.parametrize(("name", "column"), CLOSED_SETS)
def test_a_closed_set_takes_its_members(shop: apsw.Connection, name: str, column: str):
    for member, also in CLOSED_SETS[name, column].items():
        shop.execute("SAVEPOINT one")
        add_good(shop, name, **{column: member}, **also)
        shop.execute("ROLLBACK TO one")


@pytest.mark.parametrize(("name", "column"), CLOSED_SETS)
def test_a_closed_set_takes_nothing_else(shop: apsw.Connection, name: str, column: str):
    for member in CLOSED_SETS[name, column]:
        for stranger in (member.upper(), f"{member} ", member[:-1], ""):
            assert "CHECK" in refused_row(shop, name, **{column: stranger})


@pytest.mark.parametrize(("name", "column"), LOWEST)
def test_a_number_stops_at_its_lowest(shop: apsw.Connection, name: str, column: str):
    lowest = LOWEST[name, column]
    assert re.search("CHECK|covers", refused_row(shop, name, **{column: lowest - 1}))
    add_good(shop, name, **{column: lowest})


@pytest.mark.parametrize("what", BAD)
def test_the_schema_refuses(shop: apsw.Connection, what: str):
    name, different = BAD[what]
    assert refused_row(shop, name, **different)
    add_good(shop, name)


@pytest.mark.parametrize("what", TAKEN)
def test_a_second_live_row_is_refused_until_it_differs(shop: apsw.Connection, what: str):
    name, second, freed = TAKEN[what]
    add_good(shop, name)
    assert "UNIQUE" in refused_row(shop, name, **second)
    add_good(shop, name, **{**second, **freed})


def test_stock_cannot_be_taken_below_zero(shop: apsw.Connection):
    shop.execute("UPDATE inventory SET quantity = quantity - 5 WHERE sku = 'V1'")
    assert "CHECK" in refused(shop, "UPDATE inventory SET quantity = quantity - 1")


def test_a_parent_in_use_can_neither_be_removed_nor_renamed(shop: apsw.Connection):
    add(shop, "refunds", refund("R1", 1))
    for sql in (
        "DELETE FROM payments WHERE id = 'PAY1'",
        "UPDATE payments SET id = 'PAY7' WHERE id = 'PAY1'",
        "UPDATE payments SET order_id = 'O2' WHERE id = 'PAY1'",
        "DELETE FROM order_items WHERE id = 'I1'",
        "UPDATE orders SET id = 'O7' WHERE id = 'O1'",
        "DELETE FROM customers WHERE id = 'C1'",
    ):
        assert "FOREIGN KEY" in refused(shop, sql)
    shop.execute("DELETE FROM refunds")
    shop.execute("UPDATE payments SET id = 'PAY7' WHERE id = 'PAY1'")


class TestRefundsWithinCapture:
    """PAY1 captured 4,800 of the 5,000 that were authorized."""

    def test_a_refund_of_the_whole_capture_is_accepted_and_a_cent_more_is_not(
        self, shop: apsw.Connection
    ):
        assert "refunds_within_capture" in refused_row(shop, "refunds", amount_cents=4801)
        add_good(shop, "refunds", amount_cents=4800)

    def test_two_refunds_share_one_capture(self, shop: apsw.Connection):
        add(shop, "refunds", refund("R1", 4000))
        assert "refunds_within_capture" in refused_row(shop, "refunds", amount_cents=801)
        add_good(shop, "refunds", amount_cents=800)

    def test_a_pending_refund_counts_and_a_failed_one_does_not(self, shop: apsw.Connection):
        add(shop, "refunds", refund("R1", 4800, status="failed"))
        add(shop, "refunds", refund("R2", 4800, status="pending"))
        assert "refunds_within_capture" in refused_row(shop, "refunds", amount_cents=1)
        add_good(shop, "refunds", amount_cents=9999, status="failed")

    @pytest.mark.parametrize("status", ["pending", "succeeded"])
    def test_a_failed_refund_cannot_come_back_into_a_spent_capture(
        self, shop: apsw.Connection, status: str
    ):
        add(shop, "refunds", refund("R1", 4800))
        add(shop, "refunds", refund("R2", 1, status="failed"))
        revive = f"UPDATE refunds SET status = '{status}' WHERE id = 'R2'"
        assert "refunds_within_capture" in refused(shop, revive)
        shop.execute("UPDATE refunds SET status = 'failed' WHERE id = 'R1'")
        shop.execute(revive)

    def test_an_amount_cannot_be_raised_past_the_capture(self, shop: apsw.Connection):
        add(shop, "refunds", refund("R1", 4000))
        add(shop, "refunds", refund("R2", 700))
        raised = "UPDATE refunds SET amount_cents = ? WHERE id = 'R2'"
        assert "refunds_within_capture" in refused(shop, raised, 801)
        shop.execute(raised, (800,))

    def test_all_amounts_raised_at_once_cannot_pass_the_capture(self, shop: apsw.Connection):
        add(shop, "refunds", refund("R1", 2000))
        add(shop, "refunds", refund("R2", 2000))
        raised = "UPDATE refunds SET amount_cents = amount_cents + ?"
        assert "refunds_within_capture" in refused(shop, raised, 401)
        shop.execute(raised, (400,))

    def test_a_refund_cannot_be_moved_to_a_smaller_payment(self, shop: apsw.Connection):
        add_good(shop, "payments", status="captured", amount_cents=100, captured_cents=100)
        add(shop, "refunds", refund("R1", 101))
        moved = "UPDATE refunds SET payment_id = 'PAY9'"
        assert "refunds_within_capture" in refused(shop, moved)
        shop.execute("UPDATE refunds SET amount_cents = 100")
        shop.execute(moved)

    def test_an_authorized_payment_has_nothing_to_refund(self, shop: apsw.Connection):
        add_good(shop, "payments")
        assert "refunds_within_capture" in refused_row(shop, "refunds", payment_id="PAY9")

    def test_a_capture_cannot_be_lowered_below_its_refunds(self, shop: apsw.Connection):
        add(shop, "refunds", refund("R1", 1000))
        add(shop, "refunds", refund("R2", 500, status="pending"))
        add(shop, "refunds", refund("R3", 3000, status="failed"))
        lowered = "UPDATE payments SET captured_cents = ? WHERE id = 'PAY1'"
        assert "capture_covers_refunds" in refused(shop, lowered, 1499)
        shop.execute(lowered, (1500,))

    def test_a_capture_cannot_be_replaced_by_a_smaller_one(self, shop: apsw.Connection):
        add(shop, "refunds", refund("R1", 1000))
        replaced = "INSERT OR REPLACE INTO payments VALUES ('PAY1','O1','captured',?,?,'ref-1','')"
        assert "capture_covers_refunds" in refused(shop, replaced, 999, 999)
        shop.execute(replaced, (1000, 1000))


class TestReplacementsWithinOrder:
    """Item I1 is two pieces."""

    def test_no_more_pieces_are_replaced_than_were_ordered(self, shop: apsw.Connection):
        assert "replacements_within_order" in refused_row(shop, "replacements", quantity=3)
        add_good(shop, "replacements", quantity=2)

    def test_replacements_count_together_and_cancelled_ones_do_not(self, shop: apsw.Connection):
        add_good(shop, "replacements")
        second = {"id": "REP8", "idempotency_key": "other"}
        assert "replacements_within_order" in refused_row(
            shop, "replacements", **second, quantity=2
        )
        add_good(shop, "replacements", **second, quantity=2, status="cancelled")
        revive = "UPDATE replacements SET status = 'created' WHERE id = 'REP8'"
        assert "replacements_within_order" in refused(shop, revive)
        shop.execute("UPDATE replacements SET quantity = 1 WHERE id = 'REP8'")
        shop.execute(revive)

    def test_a_replacement_cannot_be_raised_past_the_order(self, shop: apsw.Connection):
        add_good(shop, "replacements")
        raised = "UPDATE replacements SET quantity = ?"
        assert "replacements_within_order" in refused(shop, raised, 3)
        shop.execute(raised, (2,))

    def test_an_item_cannot_be_lowered_below_its_replacements(self, shop: apsw.Connection):
        add_good(shop, "replacements", quantity=2)
        lowered = "UPDATE order_items SET quantity = 1 WHERE id = 'I1'"
        assert "item_covers_replacements" in refused(shop, lowered)
        shop.execute("UPDATE replacements SET quantity = 1")
        shop.execute(lowered)


class TestPurchasesWithinBudget:
    """Budget B1 is 10,000 cents; a good purchase costs 2,700."""

    def test_purchases_share_one_budget(self, shop: apsw.Connection):
        for number in range(3):
            add_good(shop, "purchase_orders", id=f"PO{number}")
        # 8,100 of 10,000 are spent, so 1,900 are left.
        last = {"quantity": 1, "unit_cost_cents": 1901, "cost_cents": 1901}
        assert "purchases_within_budget" in refused_row(shop, "purchase_orders", **last)
        add_good(shop, "purchase_orders", **{**last, "unit_cost_cents": 1900, "cost_cents": 1900})

    def test_a_cancelled_purchase_frees_its_cost(self, shop: apsw.Connection):
        whole = {"quantity": 1, "unit_cost_cents": 10_000, "cost_cents": 10_000}
        add_good(shop, "purchase_orders", id="PO1", **whole)
        assert "purchases_within_budget" in refused_row(shop, "purchase_orders", **whole)
        shop.execute("UPDATE purchase_orders SET status = 'cancelled'")
        add_good(shop, "purchase_orders", **whole)
        revive = "UPDATE purchase_orders SET status = 'open' WHERE id = 'PO1'"
        assert "purchases_within_budget" in refused(shop, revive)

    def test_a_purchase_cannot_be_moved_to_a_spent_budget(self, shop: apsw.Connection):
        whole = {"quantity": 1, "unit_cost_cents": 10_000, "cost_cents": 10_000}
        add_good(shop, "purchase_orders", id="PO1", **whole)
        add_good(shop, "purchase_orders", budget_id="B2")
        moved = "UPDATE purchase_orders SET budget_id = 'B1' WHERE id = 'PO9'"
        assert "purchases_within_budget" in refused(shop, moved)
        shop.execute("UPDATE purchase_orders SET status = 'cancelled' WHERE id = 'PO1'")
        shop.execute(moved)

    def test_a_budget_cannot_be_lowered_below_its_purchases(self, shop: apsw.Connection):
        add_good(shop, "purchase_orders", budget_id="B2")
        add_good(shop, "purchase_orders", id="PO1", budget_id="B2", status="cancelled")
        lowered = "UPDATE budgets SET limit_cents = ? WHERE id = 'B2'"
        assert "budget_covers_purchases" in refused(shop, lowered, 2699)
        shop.execute(lowered, (2700,))


class TestTables:
    def test_a_key_stands_first_in_every_table(self):
        assert all(item.columns[: len(item.key)] == item.key for item in TABLES.values())

    def test_the_log_is_not_among_the_stores_tables(self):
        assert [name for name in TABLES if name not in STORE_TABLES] == [
            "env_need", "env_call", "env_listed", "env_choice", "env_grant", "env_report",
            "env_ticket", "env_turn", "env_message", "env_claim", "env_secret", "env_reply",
            "env_fact", "env_submission", "env_change",
        ]  # fmt: skip

    def test_parents_stand_before_children(self):
        for place, statement in enumerate(STATEMENTS):
            for parent in re.findall(r"REFERENCES (\w+)", statement):
                earlier = [text for text in STATEMENTS[:place] if f"TABLE {parent} (" in text]
                assert earlier, (parent, statement)

    def test_a_row_is_read_by_its_columns(self):
        assert table("env_listed").as_dict((3, "V1")) == {"step": 3, "sku": "V1"}
        assert table("shipment_items").key_of(("S1", "I1", 2)) == ("S1", "I1")

    def test_an_unknown_table_is_named_with_the_nearest(self):
        with pytest.raises(UnknownName, match=r"no table 'refund'; did you mean 'refunds'\?"):
            table("refund")

    def test_every_table_is_strict_and_reads_in_key_order(self, shop: apsw.Connection):
        kinds = shop.execute("SELECT name, wr, strict FROM pragma_table_list WHERE schema = 'main'")
        listed = {name: (wr, strict) for name, wr, strict in kinds if name in TABLES}
        assert listed == dict.fromkeys(TABLES, (1, 1))
