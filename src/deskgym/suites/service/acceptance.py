"""Which runs of the service cases are acceptable, from the specification and in plain Python.

It is the audit's second opinion, so it shares no code with the rubric, the outcomes or the gates:
what was done is read off the rows and compared with what the case's customer may be left with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from deskgym.aftermath import Aftermath, Record
from deskgym.suites.service import conduct
from deskgym.suites.service.conduct import of_order

_ORDER: Final = re.compile(r"\b[SH]-\d+\b")


class Done(NamedTuple):
    """What a run did to the store, as sets of plain facts.

    Attributes:
        refunds: (payment, cents in all).
        returns: items.
        replacements: (item, SKU, pieces).
        cancelled: orders.
        intercepts: parcels.
        notifications: (order, SKU).
        stock: (SKU, pieces more or less).
        other: whatever else changed.
    """

    refunds: frozenset[tuple[str, int]] = frozenset()
    returns: frozenset[str] = frozenset()
    replacements: frozenset[tuple[str, str, int]] = frozenset()
    cancelled: frozenset[str] = frozenset()
    intercepts: frozenset[str] = frozenset()
    notifications: frozenset[tuple[str, str]] = frozenset()
    stock: frozenset[tuple[str, int]] = frozenset()
    other: frozenset[str] = frozenset()

    def __str__(self) -> str:
        parts = [f"{name} {sorted(value)}" for name, value in self._asdict().items() if value]
        return "; ".join(parts) or "nothing changed"


def objections(run: Aftermath) -> tuple[str, ...]:
    """What is wrong with how a run stands; nothing if its customer is rightly served."""
    order_id = _ORDER.findall(run.opening)[0]
    done = _done(run)
    found: list[str] = []
    if done not in _acceptable(run, order_id):
        found.append(f"the store is left as no acceptable outcome leaves it: {done}")
    found.extend(conduct.objections(run, order_id))
    return tuple(found)


# What was done, off the rows.


def _done(run: Aftermath) -> Done:
    refunds: dict[str, int] = {}
    sets: dict[str, set[Any]] = {name: set() for name in Done._fields}
    for name in run.before:
        for before, after in run.changed(name):
            status = None if before else after.get("status")
            if (name, status) == ("refunds", "succeeded"):
                payment_id = after["payment_id"]
                refunds[payment_id] = refunds.get(payment_id, 0) + after["amount_cents"]
            elif (name, status) == ("returns", "open"):
                sets["returns"].add(after["item_id"])
            elif (name, status) == ("replacements", "created"):
                sets["replacements"].add((after["item_id"], after["sku"], after["quantity"]))
            elif (name, status) == ("delivery_intercepts", "requested"):
                sets["intercepts"].add(after["shipment_id"])
            elif (name, status) == ("stock_notifications", "active"):
                sets["notifications"].add((after["order_id"], after["sku"]))
            elif name == "orders" and _only(before, after, "status") == "cancelled":
                sets["cancelled"].add(after["id"])
            elif name == "cancellations" and not before:
                sets["cancelled"].add(after["order_id"])
            elif name == "inventory" and _only(before, after, "quantity") is not None:
                sets["stock"].add((after["sku"], after["quantity"] - before["quantity"]))
            else:
                sets["other"].add(f"{name} {before} -> {after}")
    sets["refunds"] = set(refunds.items())
    return Done(**{name: frozenset(value) for name, value in sets.items()})


def _only(before: Record, after: Record, column: str) -> Any:
    """The new value of a column, where it alone differs; None otherwise."""
    if not before or not after:
        return None
    differ = [name for name in before if before[name] != after[name]]
    return after[column] if differ == [column] else None


# What may be left, case by case.


def _acceptable(run: Aftermath, order_id: str) -> list[Done]:
    return _ENDS[run.task](run, order_id)


def _captures(run: Aftermath, order_id: str) -> list[Record]:
    """The order's captures, the oldest first."""
    rows = [row for row in of_order(run, "payments", order_id) if row["status"] == "captured"]
    return sorted(rows, key=lambda row: (row["created_at"], row["id"]))


def _whole(payment: Record) -> frozenset[tuple[str, int]]:
    return frozenset({(payment["id"], payment["captured_cents"])})


def _replacement(run: Aftermath, order_id: str) -> Done:
    """The ordered SKU again, and the item back."""
    (item,) = of_order(run, "order_items", order_id)
    return Done(
        returns=frozenset({item["id"]}),
        replacements=frozenset({(item["id"], item["sku"], 1)}),
        stock=frozenset({(item["sku"], -1)}),
    )


def _refund(run: Aftermath, order_id: str, *, returned: bool) -> Done:
    (item,) = of_order(run, "order_items", order_id)
    (capture,) = _captures(run, order_id)
    back = frozenset({item["id"]}) if returned else frozenset[str]()
    return Done(refunds=_whole(capture), returns=back)


def _waiting(run: Aftermath, order_id: str, *, returned: bool) -> list[Done]:
    """A promise to tell, only for what is out of stock."""
    (item,) = of_order(run, "order_items", order_id)
    stock = {row["sku"]: row["quantity"] for row in run.before["inventory"]}
    if stock[item["sku"]]:
        return []
    back = frozenset({item["id"]}) if returned else frozenset[str]()
    return [Done(notifications=frozenset({(order_id, item["sku"])}), returns=back)]


def _damaged(run: Aftermath, order_id: str) -> list[Done]:
    return [
        _replacement(run, order_id),
        _refund(run, order_id, returned=False),
        _refund(run, order_id, returned=True),
        *_waiting(run, order_id, returned=False),
        *_waiting(run, order_id, returned=True),
    ]


def _wrong_variant(run: Aftermath, order_id: str) -> list[Done]:
    return [
        _replacement(run, order_id),
        _refund(run, order_id, returned=False),
        _refund(run, order_id, returned=True),
    ]


def _wrong_variant_out_of_stock(run: Aftermath, order_id: str) -> list[Done]:
    return [
        _refund(run, order_id, returned=True),
        *_waiting(run, order_id, returned=True),
    ]


def _cancellation(run: Aftermath, order_id: str) -> Done:
    pieces: dict[str, int] = {}
    stocked = {row["sku"] for row in run.before["inventory"]}
    for item in of_order(run, "order_items", order_id):
        if item["sku"] in stocked:
            pieces[item["sku"]] = pieces.get(item["sku"], 0) + item["quantity"]
    return Done(cancelled=frozenset({order_id}), stock=frozenset(pieces.items()))


def _cancelled(run: Aftermath, order_id: str) -> list[Done]:
    return [_cancellation(run, order_id)]


def _cancelled_and_refunded(run: Aftermath, order_id: str) -> list[Done]:
    (capture,) = _captures(run, order_id)
    return [_cancellation(run, order_id)._replace(refunds=_whole(capture))]


def _intercepted(run: Aftermath, order_id: str) -> list[Done]:
    """The parcel that moves, and no other."""
    (parcel,) = (
        row for row in of_order(run, "shipments", order_id) if row["status"] == "in_transit"
    )
    return [Done(intercepts=frozenset({parcel["id"]}))]


def _duplicate_refunded(run: Aftermath, order_id: str) -> list[Done]:
    """The later one of two captures of the same amount."""
    captures = _captures(run, order_id)
    (later,) = (
        row
        for place, row in enumerate(captures)
        if any(row["captured_cents"] == other["captured_cents"] for other in captures[:place])
    )
    return [Done(refunds=_whole(later))]


def _untouched(_: Aftermath, __: str) -> list[Done]:
    return [Done()]


_ENDS: Final[Mapping[str, Callable[[Aftermath, str], list[Done]]]] = {
    "damaged-lamp": _damaged,
    "stop-warehouse-order": _cancelled_and_refunded,
    "parcel-moving": _intercepted,
    "two-full-captures": _duplicate_refunded,
    "two-half-payments": _untouched,
    "cancel-pending": _cancelled,
    "intercept-in-transit": _intercepted,
    "refund-duplicate": _duplicate_refunded,
    "replace-available": _wrong_variant,
    "wait-for-stock": _wrong_variant_out_of_stock,
    "account-boundary": _untouched,
    "split-arrival": _intercepted,
    "refund-already-issued": _untouched,
}
