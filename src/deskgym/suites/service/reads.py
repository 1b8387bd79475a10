"""The three tools that read: orders, payments, stock."""

from __future__ import annotations

from typing import Any

from deskgym.argument import Id, Text
from deskgym.desk import Desk, Result
from deskgym.suites.service.own import payments_of, refuse
from deskgym.tool import tool


def _own_order(desk: Desk, order_id: str) -> dict[str, Any]:
    """An order of the signed-in account, to show; anything else is refused as not found."""
    order = desk.record(
        "SELECT id AS order_id, status, total_cents, currency, placed_at, shipping_address"
        " FROM orders WHERE id = ? AND customer_id = ?",
        order_id,
        desk.account,
    )
    return order if order is not None else refuse("order_not_found")


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
    payments = payments_of(desk, order_id)
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
    found = _marked(rows, wanted)
    desk.log_each("env_listed", [row["sku"] for row in found])
    return Result(True, "inventory_found", f"{len(found)} stock rows.", {"rows": found})


def _marked(rows: list[dict[str, Any]], wanted: dict[str, str]) -> list[dict[str, Any]]:
    """The stock rows that fit something of what was asked, marked as exact or similar."""
    found: list[dict[str, Any]] = []
    for row in rows:
        fitting = 0
        for name, value in wanted.items():
            fitting += row[name].casefold() == value
        row["match"] = "exact" if fitting == len(wanted) else "similar"
        if fitting or not wanted:
            found.append(row)
    return found
