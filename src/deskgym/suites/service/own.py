"""What belongs to the signed-in account, and how everything else is refused.

An order of somebody else's and one that does not exist are answered alike: with the same code and
a sentence that names no value.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from deskgym.desk import Desk
from deskgym.errors import Refusal

REFUSALS: Final = {
    "order_not_found": "This account has no such order.",
    "item_not_found": "The order has no such item.",
    "payment_not_found": "The order has no such payment.",
    "shipment_not_found": "The order has no such shipment.",
    "return_not_found": "The item has no such open return; create_return makes one.",
    "sku_not_found": "There is no such SKU in stock keeping; search_inventory lists them.",
    "order_already_cancelled": "The order is already cancelled.",
    "order_not_cancellable": "Part of the order has left the warehouse; it cannot be cancelled.",
    "shipment_not_moving": "Only a labelled parcel or one in transit can be intercepted.",
    "return_already_open": "The item already has an open return.",
    "payment_not_captured": "The payment is not captured; there is no money to return.",
    "refund_exceeds_captured": "The amount is more than the payment's refundable cents.",
    "item_already_replaced": "The item already has a replacement.",
    "out_of_stock": "The SKU is out of stock.",
    "notification_already_active": "This account already waits for that SKU.",
}


def refuse(code: str) -> NoReturn:
    """Refuse the call with a code of the table above and its sentence, which names no value."""
    raise Refusal(code, REFUSALS[code])


def require_order(desk: Desk, order_id: str) -> str:
    """The status of an order of the signed-in account; anything else is refused as not found."""
    status = desk.value(
        "SELECT status FROM orders WHERE id = ? AND customer_id = ?", order_id, desk.account
    )
    return status or refuse("order_not_found")


def require_item(desk: Desk, order_id: str, item_id: str) -> None:
    """Refuse an item that the order does not have."""
    if not desk.rows("SELECT 1 FROM order_items WHERE order_id = ? AND id = ?", order_id, item_id):
        refuse("item_not_found")


def require_payment(desk: Desk, order_id: str, payment_id: str) -> dict[str, Any]:
    """A payment of an order, with what can still be refunded."""
    for payment in payments_of(desk, order_id):
        if payment["payment_id"] == payment_id:
            return payment
    return refuse("payment_not_found")


def require_shipment(desk: Desk, order_id: str, shipment_id: str) -> str:
    """The status of a shipment of the order; refused if there is none."""
    status = desk.value(
        "SELECT status FROM shipments WHERE order_id = ? AND id = ?", order_id, shipment_id
    )
    return status or refuse("shipment_not_found")


def stock_of(desk: Desk, sku: str) -> int:
    """How many pieces of a SKU there are."""
    quantity = desk.value("SELECT quantity FROM inventory WHERE sku = ?", sku)
    return int(quantity) if quantity is not None else refuse("sku_not_found")


def payments_of(desk: Desk, order_id: str) -> list[dict[str, Any]]:
    """An order's payments, oldest first. A refund that is still pending counts as refunded."""
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
