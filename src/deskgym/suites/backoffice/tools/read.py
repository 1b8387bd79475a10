"""The eight tools that read."""

from __future__ import annotations

import re
from typing import Final

from deskgym.argument import Id, Text
from deskgym.desk import Desk, Result
from deskgym.suites.backoffice.policy import policy_text
from deskgym.suites.backoffice.tools.find import (
    OrderStatus,
    Page,
    PurchaseStatus,
    ThreadStatus,
    find_order,
    find_thread,
    page_bounds,
    page_result,
    payments_of,
    refuse,
)
from deskgym.tool import tool

_TIME: Final = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ)?"
)


@tool("read", codes=("policy_found",))
def read_policy(desk: Desk) -> Result:
    """Read the store's policy, its numbers, what time it is now, and the store's time zone."""
    numbers = {
        str(name): int(str(value))
        for name, value in desk.rows("SELECT name, value FROM policies ORDER BY name")
    }
    settings = {
        str(name): str(value)
        for name, value in desk.rows("SELECT name, value FROM settings ORDER BY name")
    }
    zone = settings["time_zone"]
    data = {
        "policy": policy_text(numbers, zone),
        "numbers": numbers,
        "now": desk.now,
        "time_zone": zone,
    }
    return Result(True, "policy_found", "The policy in force.", data)


@tool("read", codes=("inbox_found",))
def list_inbox(desk: Desk, status: ThreadStatus | None = None, page: Page = 1) -> Result:
    """List the threads of the inbox, the latest first, 20 on a page.

    Args:
        status: only threads of this status; all if left out.
        page: which page, from 1.
    """
    where = "" if status is None else "WHERE t.status = :status "
    limit, offset = page_bounds(page)
    rows = desk.records(
        "SELECT t.id AS thread_id, t.customer_id, c.name AS customer, t.subject, t.status,"
        " t.opened_at FROM threads t JOIN customers c ON c.id = t.customer_id "
        f"{where}ORDER BY t.opened_at DESC, t.id DESC LIMIT :limit OFFSET :offset",
        status=status,
        limit=limit,
        offset=offset,
    )
    return page_result("inbox_found", "threads", rows, page)


@tool("read", codes=("thread_found", "thread_not_found"))
def read_thread(desk: Desk, thread_id: Id) -> Result:
    """Read a thread: who it is from, and its messages from the oldest to the latest.

    Args:
        thread_id: the thread.
    """
    thread = find_thread(desk, thread_id)
    thread["messages"] = desk.records(
        "SELECT id AS message_id, sender, body, sent_at FROM messages WHERE thread_id = ?"
        " ORDER BY id",
        thread_id,
    )
    return Result(True, "thread_found", "The thread and its messages.", thread)


@tool("read", codes=("order_found", "order_not_found"))
def get_order(desk: Desk, order_id: Id) -> Result:
    """Look up an order: whose it is, its items, payments, parcels, refunds and replacements.

    An item's `paid_cents` is what the customer paid for it, discount and tax included. A payment
    that is only authorized is a hold: no money moved.

    Args:
        order_id: the order's number.
    """
    order = find_order(desk, order_id)
    order["items"] = desk.records(
        "SELECT i.id AS item_id, i.sku, p.name AS product, v.name AS variant, p.note, i.quantity,"
        " i.unit_price_cents, i.paid_cents FROM order_items i JOIN variants v ON v.sku = i.sku"
        " JOIN products p ON p.id = v.product_id WHERE i.order_id = ? ORDER BY i.id",
        order_id,
    )
    order["payments"] = payments_of(desk, order_id)
    order["shipments"] = desk.records(
        "SELECT id AS shipment_id, status, carrier, tracking_number, shipped_at, expected_at,"
        " delivered_at FROM shipments WHERE order_id = ? ORDER BY id",
        order_id,
    )
    order["refunds"] = desk.records(
        "SELECT id AS refund_id, payment_id, amount_cents, status, created_at FROM refunds"
        " WHERE order_id = ? ORDER BY id",
        order_id,
    )
    order["replacements"] = desk.records(
        "SELECT id AS replacement_id, sku, quantity, status, created_at FROM replacements"
        " WHERE order_id = ? ORDER BY id",
        order_id,
    )
    return Result(True, "order_found", "The order and all that belongs to it.", order)


@tool("read", codes=("orders_found", "invalid_time"))
def search_orders(
    desk: Desk,
    customer_id: Id | None = None,
    status: OrderStatus | None = None,
    placed_after: Text | None = None,
    placed_before: Text | None = None,
    page: Page = 1,
) -> Result:
    """Search orders, the latest first, 20 on a page. Everything asked has to fit.

    Args:
        customer_id: only orders of this customer.
        status: only orders of this status.
        placed_after: only orders placed at this time or later; a UTC date or time, ISO 8601.
        placed_before: only orders placed before this time; a UTC date or time, ISO 8601.
        page: which page, from 1.
    """
    for time in (placed_after, placed_before):
        if time is not None and _TIME.fullmatch(time) is None:
            refuse("invalid_time")
    asked = {
        "customer_id = :customer_id": customer_id,
        "status = :status": status,
        "placed_at >= :placed_after": placed_after,
        "placed_at < :placed_before": placed_before,
    }
    conditions = " AND ".join(text for text, value in asked.items() if value is not None)
    limit, offset = page_bounds(page)
    rows = desk.records(
        "SELECT id AS order_id, customer_id, status, total_cents, currency, placed_at FROM orders "
        f"{f'WHERE {conditions} ' if conditions else ''}"
        "ORDER BY placed_at DESC, id DESC LIMIT :limit OFFSET :offset",
        customer_id=customer_id,
        status=status,
        placed_after=placed_after,
        placed_before=placed_before,
        limit=limit,
        offset=offset,
    )
    return page_result("orders_found", "orders", rows, page)


@tool("read", codes=("customer_found", "customer_not_found", "customer_not_named"))
def get_customer(desk: Desk, customer_id: Id | None = None, email: Text | None = None) -> Result:
    """Look up a customer by id or by e-mail address, one of the two.

    Args:
        customer_id: the customer's id.
        email: the customer's e-mail address, in any case.
    """
    if (customer_id is None) == (email is None):
        refuse("customer_not_named")
    column, key = ("id", customer_id) if email is None else ("email", email.lower())
    customer = desk.record(
        "SELECT id AS customer_id, name, email, address, note, created_at FROM customers"
        f" WHERE {column} = ?",
        key,
    )
    if customer is None:
        refuse("customer_not_found")
    return Result(True, "customer_found", "The customer.", customer)


@tool("read", codes=("inventory_found", "sku_not_found"))
def check_inventory(
    desk: Desk, sku: Id | None = None, below_threshold: bool = False, page: Page = 1
) -> Result:
    """Look at the stock: pieces, threshold, target, priority and what a piece costs to buy.

    Rows come in order of priority, 20 on a page. Open purchase orders are not counted here;
    list_purchase_orders shows them.

    Args:
        sku: only this SKU.
        below_threshold: true lists only SKUs of which the stock alone is below the threshold.
        page: which page, from 1.
    """
    conditions = [
        text
        for text, wanted in (("s.sku = :sku", sku), ("s.quantity < s.threshold", below_threshold))
        if wanted
    ]
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    limit, offset = page_bounds(page)
    rows = desk.records(
        "SELECT s.sku, p.name AS product, v.name AS variant, p.note, v.price_cents, s.quantity,"
        " s.threshold, s.target, s.priority, s.unit_cost_cents FROM inventory s"
        " JOIN variants v ON v.sku = s.sku JOIN products p ON p.id = v.product_id "
        f"{where}ORDER BY s.priority, s.sku LIMIT :limit OFFSET :offset",
        sku=sku,
        limit=limit,
        offset=offset,
    )
    if sku is not None and not rows and not below_threshold and page == 1:
        refuse("sku_not_found")
    return page_result("inventory_found", "stock rows", rows, page)


@tool("read", codes=("purchase_orders_found",))
def list_purchase_orders(
    desk: Desk, status: PurchaseStatus | None = None, page: Page = 1
) -> Result:
    """List purchase orders, the latest first, 20 on a page, and the budget that is left.

    Args:
        status: only purchase orders of this status; all if left out.
        page: which page, from 1.
    """
    where = "" if status is None else "WHERE status = :status "
    limit, offset = page_bounds(page)
    rows = desk.records(
        "SELECT id AS purchase_order_id, sku, quantity, unit_cost_cents, cost_cents, status,"
        f" created_at FROM purchase_orders {where}"
        "ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset",
        status=status,
        limit=limit,
        offset=offset,
    )
    budget = desk.record(
        "SELECT limit_cents, spent_cents, limit_cents - spent_cents AS left_cents FROM budgets"
        " WHERE id = 'main'"
    )
    return page_result("purchase_orders_found", "purchase orders", rows, page, budget=budget)
