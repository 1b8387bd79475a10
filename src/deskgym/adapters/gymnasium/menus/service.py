"""The menu of the service suite: nine tools, proposals, reports and a few sentences.

Amounts are those of the records: what a payment captured, half of it, what of it is still
refundable, the order's total. A SKU is the ordered one of an item, or another one of the same
product that the stock showed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from deskgym.adapters.gymnasium.memory import Memory, Record
from deskgym.adapters.gymnasium.menu import (
    Arguments,
    Family,
    Fill,
    MenuDefinition,
    always,
    crossed,
    padded,
)
from deskgym.adapters.gymnasium.menus.records import orders, parts, unread_orders
from deskgym.tool import Toolbox

ORDERS: Final = ("first order", "second order")
ITEMS: Final = ("first item", "second item", "third item")
PAYMENTS: Final = ("first payment", "second payment", "third payment")
PARCELS: Final = ("first parcel", "second parcel", "third parcel")
AMOUNTS: Final = ("captured", "half of it", "refundable", "the order's total")
SKUS: Final = ("the ordered SKU", "another of the product", "a third of the product")
REASON: Final = "as agreed with the customer"

PATTERNS: Final = {"order_id": re.compile(r"\b[A-Z]-\d+\b")}


def _slots(memory: Memory) -> Iterator[tuple[str | None, Record]]:
    for order_id in padded(orders(memory), len(ORDERS)):
        yield order_id, memory.record("order_id", order_id) if order_id else {}


def _by_order(memory: Memory, **more: object) -> list[Arguments | None]:
    """The orders, whether they were read or only named."""
    return [{"order_id": one, **more} if one else None for one, _ in _slots(memory)]


def _get_order(memory: Memory) -> list[Arguments | None]:
    found = [*padded(unread_orders(memory), 2), *padded(orders(memory), 1)]
    return [{"order_id": one} if one else None for one in found]


def _known_orders(memory: Memory, **more: object) -> list[Arguments | None]:
    """The orders that were read."""
    return [{"order_id": one, **more} if one and order else None for one, order in _slots(memory)]


def _refunds(memory: Memory) -> list[Arguments | None]:
    """Order, payment and amount."""
    found: list[Arguments | None] = []
    for order_id, order in _slots(memory):
        for payment in padded(parts(order, "payments"), len(PAYMENTS)):
            if payment is None:
                found += [None] * len(AMOUNTS)
                continue
            captured = payment["captured_cents"]
            cents = (captured, captured // 2, payment["refundable_cents"], order["total_cents"])
            binds = {"order_id": order_id, "payment_id": payment["payment_id"]}
            found += [{**binds, "amount_cents": one} if captured and one else None for one in cents]
    return found


def _items(memory: Memory) -> Iterator[tuple[str | None, Record | None]]:
    for order_id, order in _slots(memory):
        for item in padded(parts(order, "items"), len(ITEMS)):
            yield order_id, item


def _returns(memory: Memory) -> list[Arguments | None]:
    """Order and item."""
    return [
        {"order_id": order_id, "item_id": item["item_id"]} if item else None
        for order_id, item in _items(memory)
    ]


def _skus(memory: Memory) -> Iterator[tuple[str | None, Record | None, str | None]]:
    """Order, item and SKU; SKUs of other variants only where the stock showed them."""
    rows = memory.records.get("sku", {})
    for order_id, item in _items(memory):
        if item is None:
            yield from [(order_id, None, None)] * len(SKUS)
            continue
        others = [
            sku
            for sku, row in rows.items()
            if row.get("product") == item["product"] and sku != item["sku"]
        ]
        for sku in [item["sku"], *padded(others, len(SKUS) - 1)]:
            yield order_id, item, sku


def _replacement_proposals(memory: Memory) -> list[Arguments | None]:
    return [
        {"order_id": order_id, "item_id": item["item_id"], "sku": sku} if item and sku else None
        for order_id, item, sku in _skus(memory)
    ]


def _replacements(memory: Memory) -> list[Arguments | None]:
    """With the item's return, once one was opened."""
    return [_replacement(memory, *one) for one in _skus(memory)]


def _replacement(
    memory: Memory, order_id: str | None, item: Record | None, sku: str | None
) -> Arguments | None:
    if item is None or sku is None:
        return None
    opened = memory.done("create_return", item_id=item["item_id"])
    if not opened:
        return None
    return {
        "order_id": order_id,
        "item_id": item["item_id"],
        "replacement_sku": sku,
        "return_id": opened[-1].data["return_id"],
    }


def _notifications(memory: Memory) -> list[Arguments | None]:
    return [
        {"order_id": order_id, "sku": sku} if item and sku else None
        for order_id, item, sku in _skus(memory)
    ]


def _parcels(memory: Memory) -> list[Arguments | None]:
    found: list[Arguments | None] = []
    for order_id, order in _slots(memory):
        for parcel in padded(parts(order, "shipments"), len(PARCELS)):
            binds = {"order_id": order_id, "shipment_id": parcel["shipment_id"]} if parcel else None
            found.append(binds)
    return found


REMEDIES: Final = (
    ("refund", crossed(ORDERS, PAYMENTS, AMOUNTS), _refunds),
    ("replacement", crossed(ORDERS, ITEMS, SKUS), _replacement_proposals),
    ("return", crossed(ORDERS, ITEMS), _returns),
    ("cancellation", ORDERS, _known_orders),
    ("intercept", crossed(ORDERS, PARCELS), _parcels),
    ("stock_notification", crossed(ORDERS, ITEMS, SKUS), _notifications),
    ("nothing", ORDERS, _known_orders),
)
"""What can be proposed, and what each remedy binds; `propose` has one family for all of them."""


def _with(filled: Sequence[Arguments | None], **more: object) -> list[Arguments | None]:
    return [None if one is None else {**one, **more} for one in filled]


def _proposals(memory: Memory) -> list[Arguments | None]:
    found: list[Arguments | None] = []
    for remedy, _, fill in REMEDIES:
        found += _with(fill(memory), remedy=remedy)
    return found


def _reasoned(fill: Fill) -> Fill:
    """The same calls with a reason, which the tools that write ask for."""
    return lambda memory: _with(fill(memory), reason=REASON)


def _messages(memory: Memory) -> list[Arguments | None]:
    named = padded(orders(memory), 1)[0]
    sentences = (
        f"I cannot find order {named} in your account." if named else None,
        f"I have looked at order {named}, and it is settled." if named else None,
        "How would you like me to solve this?",
    )
    return [{"text": sentence} if sentence else None for sentence in sentences]


def families(toolbox: Toolbox) -> Sequence[Family]:
    """The families of the service suite."""
    claims: Sequence[Any] = toolbox["report"].schema["properties"]["claim"]["enum"]
    proposals = [f"{remedy}, {place}" for remedy, places, _ in REMEDIES for place in places]

    def reports(memory: Memory) -> list[Arguments | None]:
        return [one for claim in claims for one in _by_order(memory, claim=claim)]

    def cancellations(memory: Memory) -> list[Arguments | None]:
        return _known_orders(memory, reason=REASON)

    return (
        Family("get_order", ("next unread", "the one after it", "first order again"), _get_order),
        Family("list_order_payments", ORDERS, _by_order),
        Family("search_inventory", ("the whole stock",), always({})),
        Family("propose", tuple(proposals), _proposals),
        Family("cancel_order", ORDERS, cancellations),
        Family("request_delivery_intercept", crossed(ORDERS, PARCELS), _parcels),
        Family(
            "create_return",
            crossed(ORDERS, ITEMS),
            _reasoned(_returns),
        ),
        Family(
            "issue_refund",
            crossed(ORDERS, PAYMENTS, AMOUNTS),
            _reasoned(_refunds),
        ),
        Family("create_replacement", crossed(ORDERS, ITEMS, SKUS), _replacements),
        Family("create_stock_notification", crossed(ORDERS, ITEMS, SKUS), _notifications),
        Family("report", crossed(claims, ORDERS), reports),
        Family("message", ("not in the account", "settled", "asks what is wanted"), _messages),
        Family("close", ("the case",), always({})),
    )


MENU: Final = MenuDefinition(families, PATTERNS)
