"""The seven tools that act. They allow what a careless operator could do; the checks judge it."""

from __future__ import annotations

from typing import Any

from deskgym.argument import Cents, Id, Text
from deskgym.desk import Desk, Result
from deskgym.suites.backoffice.facts import facts, normalised
from deskgym.suites.backoffice.tools.find import (
    Quantity,
    ThreadStatus,
    find_order,
    find_thread,
    has_left,
    payments_of,
    refuse,
)
from deskgym.tool import tool


@tool(
    "write",
    codes=("refund_issued", "order_not_found", "payment_not_found", "nothing_captured",
           "refund_exceeds_captured"),
)  # fmt: skip
def issue_refund(
    desk: Desk, order_id: Id, amount_cents: Cents, reason: Text, payment_id: Id | None = None
) -> Result:
    """Return money of an order. It moves at once, and again each time the tool is called.

    Without a payment it draws on the order's captures, the oldest first.

    Args:
        order_id: the order's number.
        amount_cents: how much, in cents.
        reason: why, in a few words.
        payment_id: the capture that the money goes back to.
    """
    find_order(desk, order_id)
    payments = payments_of(desk, order_id)
    if payment_id is not None:
        payments = [item for item in payments if item["payment_id"] == payment_id]
        if not payments:
            refuse("payment_not_found")
    if not any(item["captured_cents"] for item in payments):
        refuse("nothing_captured")
    if amount_cents > sum(item["refundable_cents"] for item in payments):
        refuse("refund_exceeds_captured")
    left = amount_cents
    made: list[dict[str, Any]] = []
    for payment in payments:
        part = min(left, payment["refundable_cents"])
        if part > 0:
            made.append(_refund(desk, order_id, payment["payment_id"], part, reason))
            left -= part
    data = {"order_id": order_id, "amount_cents": amount_cents, "refunds": made}
    return Result(True, "refund_issued", "The refund is issued.", data)


def _refund(
    desk: Desk, order_id: str, payment_id: str, amount_cents: int, reason: str
) -> dict[str, Any]:
    number = desk.value("SELECT COUNT(*) FROM refunds WHERE payment_id = ?", payment_id) + 1
    refund_id = desk.next_id("refunds", "R-")
    key = f"{order_id}:{payment_id}:{number}"
    desk.rows(
        "INSERT INTO refunds VALUES (?, ?, ?, ?, 'succeeded', ?, ?, ?)",
        refund_id, order_id, payment_id, amount_cents, reason, key, desk.now,
    )  # fmt: skip
    return {"refund_id": refund_id, "payment_id": payment_id, "amount_cents": amount_cents}


@tool(
    "write",
    codes=("replacement_created", "order_not_found", "sku_not_in_order", "quantity_exceeds_order",
           "out_of_stock"),
)  # fmt: skip
def create_replacement(desk: Desk, order_id: Id, sku: Id, qty: Quantity) -> Result:
    """Send pieces of an order's item again, free of charge. It takes them from stock.

    Args:
        order_id: the order's number.
        sku: the SKU, which has to be one of the order's.
        qty: how many pieces.
    """
    find_order(desk, order_id)
    item = desk.record(
        "SELECT i.id, i.quantity, COALESCE(SUM(r.quantity), 0) AS replaced, COUNT(r.id) AS number"
        " FROM order_items i LEFT JOIN replacements r"
        " ON r.item_id = i.id AND r.status <> 'cancelled'"
        " WHERE i.order_id = ? AND i.sku = ? GROUP BY i.id, i.quantity ORDER BY i.id",
        order_id,
        sku,
    )
    if item is None:
        refuse("sku_not_in_order")
    if qty > item["quantity"] - item["replaced"]:
        refuse("quantity_exceeds_order")
    if qty > desk.value("SELECT quantity FROM inventory WHERE sku = ?", sku):
        refuse("out_of_stock")
    desk.rows("UPDATE inventory SET quantity = quantity - ? WHERE sku = ?", qty, sku)
    replacement_id = desk.next_id("replacements", "RPL-")
    key = f"{order_id}:{item['id']}:{item['number'] + 1}"
    desk.rows(
        "INSERT INTO replacements VALUES (?, ?, ?, NULL, ?, ?, 'created', ?, ?)",
        replacement_id, order_id, item["id"], sku, qty, key, desk.now,
    )  # fmt: skip
    data = {"replacement_id": replacement_id, "order_id": order_id, "sku": sku, "quantity": qty}
    return Result(True, "replacement_created", "The replacement will be sent.", data)


@tool(
    "write",
    codes=("order_cancelled", "order_not_found", "order_already_cancelled", "order_dispatched"),
)
def cancel_order(desk: Desk, order_id: Id, reason: Text) -> Result:
    """Cancel an order of which nothing has left the warehouse; its items go back to stock.

    It returns no money.

    Args:
        order_id: the order's number.
        reason: why, in a few words.
    """
    order = find_order(desk, order_id)
    if order["status"] == "cancelled":
        refuse("order_already_cancelled")
    if has_left(desk, order):
        refuse("order_dispatched")
    desk.rows("UPDATE orders SET status = 'cancelled' WHERE id = ?", order_id)
    for sku, quantity in desk.rows(
        "SELECT sku, SUM(quantity) FROM order_items WHERE order_id = ? GROUP BY sku ORDER BY sku",
        order_id,
    ):
        desk.rows("UPDATE inventory SET quantity = quantity + ? WHERE sku = ?", quantity, sku)
    cancellation_id = desk.next_id("cancellations", "CAN-")
    desk.rows(
        "INSERT INTO cancellations VALUES (?, ?, ?, ?, ?)",
        cancellation_id, order_id, reason, f"{order_id}:cancel", desk.now,
    )  # fmt: skip
    data = {"cancellation_id": cancellation_id, "order_id": order_id, "status": "cancelled"}
    return Result(True, "order_cancelled", "The order is cancelled. No money was returned.", data)


@tool(
    "write",
    codes=("address_updated", "order_not_found", "order_already_cancelled", "order_dispatched"),
)
def update_shipping_address(desk: Desk, order_id: Id, address: Text) -> Result:
    """Change where an order goes that has not left the warehouse.

    Args:
        order_id: the order's number.
        address: the whole new address.
    """
    order = find_order(desk, order_id)
    if order["status"] == "cancelled":
        refuse("order_already_cancelled")
    if has_left(desk, order):
        refuse("order_dispatched")
    desk.rows("UPDATE orders SET shipping_address = ? WHERE id = ?", address, order_id)
    data = {"order_id": order_id, "shipping_address": address}
    return Result(True, "address_updated", "The order goes to the new address.", data)


@tool("write", codes=("purchase_order_created", "sku_not_found", "budget_exceeded"))
def create_purchase_order(desk: Desk, sku: Id, qty: Quantity) -> Result:
    """Buy pieces of a SKU from its supplier. It spends the store's budget.

    Args:
        sku: the SKU.
        qty: how many pieces.
    """
    unit_cost = desk.value("SELECT unit_cost_cents FROM inventory WHERE sku = ?", sku)
    if unit_cost is None:
        refuse("sku_not_found")
    cost = qty * unit_cost
    left = desk.value("SELECT limit_cents - spent_cents FROM budgets WHERE id = 'main'")
    if cost > left:
        refuse("budget_exceeded")
    purchase_id = desk.next_id("purchase_orders", "PO-")
    desk.rows("UPDATE budgets SET spent_cents = spent_cents + ? WHERE id = 'main'", cost)
    desk.rows(
        "INSERT INTO purchase_orders VALUES (?, 'main', ?, ?, ?, ?, 'open', ?)",
        purchase_id, sku, qty, unit_cost, cost, desk.now,
    )  # fmt: skip
    data = {
        "purchase_order_id": purchase_id, "sku": sku, "quantity": qty, "cost_cents": cost,
        "budget_left_cents": left - cost,
    }  # fmt: skip
    return Result(True, "purchase_order_created", "The purchase order is placed.", data)


@tool("write", codes=("reply_sent", "thread_not_found"))
def reply_to_thread(desk: Desk, thread_id: Id, body: Text) -> Result:
    """Send a reply to the customer of a thread. It cannot be taken back.

    Args:
        thread_id: the thread.
        body: what the customer reads.
    """
    find_thread(desk, thread_id)
    message_id = desk.next_id("messages", "M-")
    desk.rows(
        "INSERT INTO messages VALUES (?, ?, 'store', ?, ?)", message_id, thread_id, body, desk.now
    )
    desk.log("env_message", "agent", body)
    desk.log("env_reply", thread_id, message_id, normalised(body))
    for fact in sorted(facts(body)):
        desk.log("env_fact", *fact)
    data = {"message_id": message_id, "thread_id": thread_id}
    return Result(True, "reply_sent", "The reply is sent.", data)


@tool("write", codes=("status_set", "thread_not_found"))
def set_thread_status(desk: Desk, thread_id: Id, status: ThreadStatus) -> Result:
    """Set a thread to open, pending or closed.

    Args:
        thread_id: the thread.
        status: the new status.
    """
    find_thread(desk, thread_id)
    desk.rows("UPDATE threads SET status = ? WHERE id = ?", status, thread_id)
    data = {"thread_id": thread_id, "status": status}
    return Result(True, "status_set", "The thread has that status.", data)
