"""What the tools share: looking a record up, or refusing; and pages of long lists."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NoReturn

from pydantic import Field

from deskgym.desk import Desk, Result
from deskgym.errors import Refusal

PAGE_ROWS: Final = 20

Page = Annotated[int, Field(ge=1, le=10_000)]
"""A page of a long list, from 1."""
Quantity = Annotated[int, Field(ge=1, le=10_000)]
"""A number of pieces, and no other type of value."""
ThreadStatus = Literal["open", "pending", "closed"]
OrderStatus = Literal["pending", "confirmed", "processing", "shipped", "delivered", "cancelled"]
PurchaseStatus = Literal["open", "received", "cancelled"]

REFUSALS: Final = {
    "thread_not_found": "There is no such thread; list_inbox lists them.",
    "order_not_found": "There is no such order; search_orders finds orders.",
    "customer_not_found": "There is no such customer.",
    "customer_not_named": "Give customer_id or email, one of the two.",
    "sku_not_found": "There is no such SKU; check_inventory lists them.",
    "invalid_time": "A time is 2028-03-01 or 2028-03-01T09:30:00Z.",
    "payment_not_found": "The order has no such payment; get_order lists its payments.",
    "nothing_captured": "Nothing is captured there; there is no money to return.",
    "refund_exceeds_captured": "The amount is more than what is captured and not yet refunded.",
    "sku_not_in_order": "The order has no item of that SKU.",
    "quantity_exceeds_order": "That is more than was ordered and not yet replaced.",
    "out_of_stock": "There are not so many pieces in stock.",
    "order_already_cancelled": "The order is already cancelled.",
    "order_dispatched": "Part of the order has left the warehouse.",
    "budget_exceeded": "The budget left does not cover it; list_purchase_orders shows the budget.",
}


def refuse(code: str) -> NoReturn:
    """Refuse the call with a code of the table above and its sentence, which names no value."""
    raise Refusal(code, REFUSALS[code])


def find_order(desk: Desk, order_id: str) -> dict[str, Any]:
    """An order, or a refusal."""
    order = desk.record(
        "SELECT id AS order_id, customer_id, status, discount_cents, tax_cents, total_cents,"
        " currency, shipping_address, placed_at FROM orders WHERE id = ?",
        order_id,
    )
    return order if order is not None else refuse("order_not_found")


def find_thread(desk: Desk, thread_id: str) -> dict[str, Any]:
    """A thread with its customer, or a refusal."""
    thread = desk.record(
        "SELECT t.id AS thread_id, t.customer_id, c.name AS customer, c.email, t.subject, t.status,"
        " t.opened_at FROM threads t JOIN customers c ON c.id = t.customer_id WHERE t.id = ?",
        thread_id,
    )
    return thread if thread is not None else refuse("thread_not_found")


def payments_of(desk: Desk, order_id: str) -> list[dict[str, Any]]:
    """An order's payments, oldest first, with what was refunded and what still can be."""
    return desk.records(
        "SELECT p.id AS payment_id, p.status, p.amount_cents, p.captured_cents,"
        " COALESCE(SUM(r.amount_cents), 0) AS refunded_cents,"
        " p.captured_cents - COALESCE(SUM(r.amount_cents), 0) AS refundable_cents,"
        " p.processor_reference, p.created_at"
        " FROM payments p LEFT JOIN refunds r ON r.payment_id = p.id AND r.status <> 'failed'"
        " WHERE p.order_id = ? GROUP BY p.id, p.status, p.amount_cents, p.captured_cents,"
        " p.processor_reference, p.created_at ORDER BY p.created_at, p.id",
        order_id,
    )


def has_left(desk: Desk, order: dict[str, Any]) -> bool:
    """Whether any part of an order has left the warehouse."""
    if order["status"] in ("shipped", "delivered"):
        return True
    sent = desk.value(
        "SELECT COUNT(*) FROM shipments WHERE order_id = ? AND status <> 'label_created'",
        order["order_id"],
    )
    return bool(sent)


def page_result(
    code: str, what: str, rows: list[dict[str, Any]], page: int, **more: object
) -> Result:
    """A page of a list that was read with one row too many, so that it says whether more follow."""
    following = page + 1 if len(rows) > PAGE_ROWS else None
    shown = rows[:PAGE_ROWS]
    message = f"{len(shown)} {what} on page {page}; "
    message += f"more on page {following}." if following else "there are no more."
    return Result(True, code, message, {"rows": shown, "next_page": following, **more})


def page_bounds(page: int) -> tuple[int, int]:
    """LIMIT and OFFSET of a page, with one row too many."""
    return PAGE_ROWS + 1, (page - 1) * PAGE_ROWS
