"""The six tools that write. They do not police the customer's consent; the rubric does.

No tool takes an owner or an idempotency key: a retry with the same arguments finds its row.
"""

from __future__ import annotations

from typing import Any

import orjson

from deskgym.argument import Cents, Id, Text
from deskgym.desk import Desk, Result
from deskgym.suites.service.own import (
    refuse,
    require_item,
    require_order,
    require_payment,
    require_shipment,
    stock_of,
)
from deskgym.tool import tool


def _key(name: str, **arguments: object) -> str:
    """An idempotency key of a tool and its normalised arguments: a retry finds its row."""
    return f"{name} {orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()}"


def _existing(desk: Desk, table: str, key: str) -> str | None:
    """The id of the row that an exact retry made before."""
    return desk.value(f"SELECT id FROM {table} WHERE idempotency_key = ?", key)


@tool(
    "write",
    codes=("order_cancelled", "cancellation_exists", "order_not_found", "order_already_cancelled",
           "order_not_cancellable"),
    idempotent=True,
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
    idempotent=True,
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
    idempotent=True,
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
    idempotent=True,
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
    idempotent=True,
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
    idempotent=True,
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
