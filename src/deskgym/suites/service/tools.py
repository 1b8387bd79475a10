"""The nine tools of the service suite: three reads and six writes, bound to the signed-in account.

No tool takes an owner or an idempotency key. An order of somebody else's and one that does not
exist are answered alike. Tools do not police the customer's consent; the rubric does.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import orjson

from deskgym.argument import Cents, Id, Text
from deskgym.desk import Desk, Result
from deskgym.errors import Refusal
from deskgym.tool import tool

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


def _own_order(desk: Desk, order_id: str) -> dict[str, Any]:
    """An order of the signed-in account, to show; anything else is refused as not found."""
    order = desk.record(
        "SELECT id AS order_id, status, total_cents, currency, placed_at, shipping_address"
        " FROM orders WHERE id = ? AND customer_id = ?",
        order_id,
        desk.account,
    )
    return order if order is not None else refuse("order_not_found")


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
    for payment in _payments(desk, order_id):
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


def _payments(desk: Desk, order_id: str) -> list[dict[str, Any]]:
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


def _key(name: str, **arguments: object) -> str:
    """An idempotency key of a tool and its normalised arguments: a retry finds its row."""
    return f"{name} {orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()}"


def _existing(desk: Desk, table: str, key: str) -> str | None:
    """The id of the row that an exact retry made before."""
    return desk.value(f"SELECT id FROM {table} WHERE idempotency_key = ?", key)


@tool("read", codes=("order_found", "order_not_found"))
def get_order(desk: Desk, order_id: Id) -> Result:
    """Look up one of the customer's orders: its status, items and shipments.

    Args:
        order_id: the order.
    """
    order = _own_order(desk, order_id)
    order["items"] = desk.records(
        "SELECT i.id AS item_id, i.sku, p.name AS product, v.name AS variant, i.quantity,"
        " i.paid_cents FROM order_items i JOIN variants v ON v.sku = i.sku"
        " JOIN products p ON p.id = v.product_id WHERE i.order_id = ? ORDER BY i.id",
        order_id,
    )
    shipments = desk.records(
        "SELECT id AS shipment_id, status, carrier, tracking_number, shipped_at, delivered_at"
        " FROM shipments WHERE order_id = ? ORDER BY id",
        order_id,
    )
    packed = desk.rows(
        "SELECT c.shipment_id, c.item_id FROM shipment_items c"
        " JOIN shipments s ON s.id = c.shipment_id WHERE s.order_id = ?"
        " ORDER BY c.shipment_id, c.item_id",
        order_id,
    )
    for shipment in shipments:
        shipment["item_ids"] = [
            item for parcel, item in packed if parcel == shipment["shipment_id"]
        ]
    order["shipments"] = shipments
    return Result(True, "order_found", "The order, with its items and shipments.", order)


@tool("read", codes=("payments_found", "order_not_found"))
def list_order_payments(desk: Desk, order_id: Id) -> Result:
    """List an order's payments: what each captured, what was refunded and what still can be.

    A capture is a completed charge. A payment that is only authorized is a hold: no money moved,
    and none can be returned.

    Args:
        order_id: the order.
    """
    order = _own_order(desk, order_id)
    payments = _payments(desk, order_id)
    data = {"order_id": order_id, "total_cents": order["total_cents"], "payments": payments}
    return Result(True, "payments_found", "The order's payments, oldest first.", data)


@tool("read", codes=("inventory_found",))
def search_inventory(
    desk: Desk, product_type: Text | None = None, size: Text | None = None,
    color: Text | None = None,
) -> Result:  # fmt: skip
    """Search the stock. Rows that fit everything asked are exact, those that fit in part similar.

    Without arguments it lists the whole stock. A quantity of 0 means out of stock.

    Args:
        product_type: the kind of product, such as lamp.
        size: the size.
        color: the color.
    """
    asked = {"product_type": product_type, "size": size, "color": color}
    wanted = {name: value.casefold() for name, value in asked.items() if value is not None}
    rows = desk.records(
        "SELECT i.sku, p.name AS product, p.product_type, v.name AS variant, v.size, v.color,"
        " v.price_cents, i.quantity FROM inventory i JOIN variants v ON v.sku = i.sku"
        " JOIN products p ON p.id = v.product_id ORDER BY i.sku",
    )
    found: list[dict[str, Any]] = []
    for row in rows:
        fits = sum(row[name].casefold() == value for name, value in wanted.items())
        if fits or not wanted:
            found.append({**row, "match": "exact" if fits == len(wanted) else "similar"})
            desk.log("env_listed", row["sku"])
    return Result(True, "inventory_found", f"{len(found)} stock rows.", {"rows": found})


@tool(
    "write",
    codes=("order_cancelled", "cancellation_exists", "order_not_found", "order_already_cancelled",
           "order_not_cancellable"),
)  # fmt: skip
def cancel_order(desk: Desk, order_id: Id, reason: Text) -> Result:
    """Cancel an order of which nothing has left the warehouse; its items go back to stock.

    It returns no money: a captured payment has to be refunded on its own.

    Args:
        order_id: the order.
        reason: why, in a few words.
    """
    status = require_order(desk, order_id)
    key = _key("cancel_order", order_id=order_id, reason=reason)
    existing = _existing(desk, "cancellations", key)
    if existing is not None:
        data = {"cancellation_id": existing, "order_id": order_id}
        return Result(True, "cancellation_exists", "This cancellation was made before.", data)
    if status == "cancelled":
        refuse("order_already_cancelled")
    left = desk.value(
        "SELECT COUNT(*) FROM shipments WHERE order_id = ? AND status <> 'label_created'", order_id
    )
    if status not in ("pending", "confirmed", "processing") or left:
        refuse("order_not_cancellable")
    desk.rows("UPDATE orders SET status = 'cancelled' WHERE id = ?", order_id)
    desk.rows(
        "UPDATE inventory SET quantity = quantity +"
        " (SELECT SUM(i.quantity) FROM order_items i"
        "  WHERE i.order_id = ? AND i.sku = inventory.sku)"
        " WHERE sku IN (SELECT i.sku FROM order_items i WHERE i.order_id = ?)",
        order_id,
        order_id,
    )
    cancellation_id = desk.next_id("cancellations", "CAN-")
    desk.rows(
        "INSERT INTO cancellations VALUES (?, ?, ?, ?, ?)",
        cancellation_id, order_id, reason, key, desk.now,
    )  # fmt: skip
    data = {"cancellation_id": cancellation_id, "order_id": order_id, "status": "cancelled"}
    return Result(True, "order_cancelled", "The order is cancelled. No money was returned.", data)


@tool(
    "write",
    codes=("intercept_requested", "intercept_exists", "order_not_found", "shipment_not_found",
           "shipment_not_moving"),
)  # fmt: skip
def request_delivery_intercept(desk: Desk, order_id: Id, shipment_id: Id) -> Result:
    """Ask the carrier to stop a parcel that is on its way.

    It is a request. The carrier decides, and its answer is not known here: the parcel still moves.

    Args:
        order_id: the order.
        shipment_id: the parcel.
    """
    require_order(desk, order_id)
    status = require_shipment(desk, order_id, shipment_id)
    key = _key("request_delivery_intercept", order_id=order_id, shipment_id=shipment_id)
    existing = _existing(desk, "delivery_intercepts", key)
    if existing is not None:
        data = {"intercept_id": existing, "shipment_id": shipment_id, "status": "requested"}
        return Result(True, "intercept_exists", "This request was made before.", data)
    if status not in ("label_created", "in_transit"):
        refuse("shipment_not_moving")
    intercept_id = desk.next_id("delivery_intercepts", "INT-")
    desk.rows(
        "INSERT INTO delivery_intercepts VALUES (?, ?, ?, 'requested', ?, ?)",
        intercept_id, order_id, shipment_id, key, desk.now,
    )  # fmt: skip
    data = {"intercept_id": intercept_id, "shipment_id": shipment_id, "status": "requested"}
    message = "The carrier was asked to stop the parcel. Whether it will is not known."
    return Result(True, "intercept_requested", message, data)


@tool(
    "write",
    codes=("return_created", "return_exists", "order_not_found", "item_not_found",
           "return_already_open"),
)  # fmt: skip
def create_return(desk: Desk, order_id: Id, item_id: Id, reason: Text) -> Result:
    """Open a return for an item, which the customer will send back. It returns no money.

    Args:
        order_id: the order.
        item_id: the item.
        reason: why, in a few words.
    """
    require_order(desk, order_id)
    require_item(desk, order_id, item_id)
    key = _key("create_return", order_id=order_id, item_id=item_id, reason=reason)
    existing = _existing(desk, "returns", key)
    if existing is not None:
        data = {"return_id": existing, "item_id": item_id}
        return Result(True, "return_exists", "This return was opened before.", data)
    if desk.value("SELECT id FROM returns WHERE item_id = ? AND status = 'open'", item_id):
        refuse("return_already_open")
    return_id = desk.next_id("returns", "RET-")
    desk.rows(
        "INSERT INTO returns VALUES (?, ?, ?, 'open', ?, ?, ?)",
        return_id, order_id, item_id, reason, key, desk.now,
    )  # fmt: skip
    data = {"return_id": return_id, "item_id": item_id, "status": "open"}
    return Result(True, "return_created", "The return is open.", data)


@tool(
    "write",
    codes=("refund_issued", "refund_exists", "order_not_found", "payment_not_found",
           "payment_not_captured", "refund_exceeds_captured"),
)  # fmt: skip
def issue_refund(
    desk: Desk, order_id: Id, payment_id: Id, amount_cents: Cents, reason: Text
) -> Result:
    """Return money of one captured payment, up to what it captured less what was refunded before.

    The same order, payment and amount again find the refund that exists; no money moves twice.

    Args:
        order_id: the order.
        payment_id: the captured payment that the money goes back to.
        amount_cents: how much, in cents.
        reason: why, in a few words.
    """
    require_order(desk, order_id)
    payment = require_payment(desk, order_id, payment_id)
    key = f"{order_id}:{payment_id}:{amount_cents}"
    data: dict[str, Any] = {"payment_id": payment_id, "amount_cents": amount_cents}
    existing = _existing(desk, "refunds", key)
    if existing is not None:
        message = "This refund was issued before. No money moved."
        return Result(True, "refund_exists", message, {"refund_id": existing, **data})
    if not payment["captured_cents"]:
        refuse("payment_not_captured")
    if amount_cents > payment["refundable_cents"]:
        refuse("refund_exceeds_captured")
    refund_id = desk.next_id("refunds", "REF-")
    desk.rows(
        "INSERT INTO refunds VALUES (?, ?, ?, ?, 'succeeded', ?, ?, ?)",
        refund_id, order_id, payment_id, amount_cents, reason, key, desk.now,
    )  # fmt: skip
    return Result(True, "refund_issued", "The refund is issued.", {"refund_id": refund_id, **data})


@tool(
    "write",
    codes=("replacement_created", "replacement_exists", "order_not_found", "item_not_found",
           "return_not_found", "item_already_replaced", "sku_not_found", "out_of_stock"),
)  # fmt: skip
def create_replacement(
    desk: Desk, order_id: Id, item_id: Id, replacement_sku: Id, return_id: Id
) -> Result:
    """Send a new piece in place of an item that has an open return. It takes one from stock.

    Args:
        order_id: the order.
        item_id: the item that is replaced.
        replacement_sku: the SKU to send.
        return_id: the item's open return.
    """
    require_order(desk, order_id)
    require_item(desk, order_id, item_id)
    key = _key(
        "create_replacement", order_id=order_id, item_id=item_id, replacement_sku=replacement_sku,
        return_id=return_id,
    )  # fmt: skip
    existing = _existing(desk, "replacements", key)
    data: dict[str, Any] = {"item_id": item_id, "sku": replacement_sku}
    if existing is not None:
        message = "This replacement was made before."
        return Result(True, "replacement_exists", message, {"replacement_id": existing, **data})
    if not desk.value(
        "SELECT id FROM returns WHERE id = ? AND item_id = ? AND status = 'open'",
        return_id,
        item_id,
    ):
        refuse("return_not_found")
    if desk.value(
        "SELECT id FROM replacements WHERE item_id = ? AND status <> 'cancelled'", item_id
    ):
        refuse("item_already_replaced")
    if stock_of(desk, replacement_sku) < 1:
        refuse("out_of_stock")
    desk.rows("UPDATE inventory SET quantity = quantity - 1 WHERE sku = ?", replacement_sku)
    replacement_id = desk.next_id("replacements", "REP-")
    desk.rows(
        "INSERT INTO replacements VALUES (?, ?, ?, ?, ?, 1, 'created', ?, ?)",
        replacement_id, order_id, item_id, return_id, replacement_sku, key, desk.now,
    )  # fmt: skip
    data = {"replacement_id": replacement_id, **data}
    return Result(True, "replacement_created", "The replacement will be sent.", data)


@tool(
    "write",
    codes=("notification_created", "notification_exists", "order_not_found", "sku_not_found",
           "notification_already_active"),
)  # fmt: skip
def create_stock_notification(desk: Desk, order_id: Id, sku: Id) -> Result:
    """Let the customer know when a SKU is back in stock. It promises and delivers nothing else.

    Args:
        order_id: the order that it is about.
        sku: the SKU that the customer waits for.
    """
    require_order(desk, order_id)
    stock_of(desk, sku)
    key = _key("create_stock_notification", order_id=order_id, sku=sku)
    existing = _existing(desk, "stock_notifications", key)
    if existing is not None:
        data = {"notification_id": existing, "sku": sku, "status": "active"}
        return Result(True, "notification_exists", "This notification was made before.", data)
    if desk.value(
        "SELECT id FROM stock_notifications"
        " WHERE customer_id = ? AND sku = ? AND status = 'active'",
        desk.account,
        sku,
    ):
        refuse("notification_already_active")
    notification_id = desk.next_id("stock_notifications", "NOT-")
    desk.rows(
        "INSERT INTO stock_notifications VALUES (?, ?, ?, ?, 'active', ?, ?)",
        notification_id, desk.account, order_id, sku, key, desk.now,
    )  # fmt: skip
    data = {"notification_id": notification_id, "sku": sku, "status": "active"}
    return Result(True, "notification_created", "The customer will be told.", data)
