"""What was observed, as numbers: a vector of fixed length for small policies.

Every number is in [-1, 1] and comes from a memory: what was called, what it was answered, which
words people used, and how the orders and stock rows that were read stand, by the rules of
whatever policy was read. `Features.names` says what stands where.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from deskgym.adapters.gymnasium.memory import Memory, Record
from deskgym.adapters.gymnasium.menus import backoffice
from deskgym.adapters.gymnasium.menus.records import (
    captured,
    is_own,
    is_read,
    ordered,
    orders,
    parts,
    pieces_named,
    refunded,
    unread_orders,
)
from deskgym.tool import Toolbox

Vector = npt.NDArray[np.float32]

WORD_BINS: Final = 128
"""Words are counted by their checksum: two words may share a bin."""
TRIES_MAX: Final = 3
ORDER_SLOTS: Final = 2
ITEM_SLOTS: Final = 3
PAYMENT_SLOTS: Final = 3
STATUSES: Final = ("pending", "confirmed", "processing", "shipped", "delivered", "cancelled")
PARCELS: Final = ("label_created", "in_transit", "delivered")
_WORD: Final = re.compile(r"[a-z]{3,}")
_DAY_MINUTES: Final = 1_440
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Features:
    """The vector of a suite.

    Attributes:
        names: what each number is, in order.
    """

    def __init__(self, toolbox: Toolbox, places: Sequence[str]) -> None:
        """Lay the vector out.

        Args:
            toolbox: the suite's tools.
            places: the labels of the menu's places.
        """
        self._tools: Final = toolbox.names
        codes = sorted({code for tool in toolbox.values() for code in tool.codes})
        self._codes: Final = {code: at for at, code in enumerate(codes)}
        calls = [f"tried: {tool}" for tool in self._tools] + [
            f"last tool: {tool}" for tool in self._tools
        ]
        self.names: Final = (
            "share of the actions that are used",
            "the last call did its work",
            *calls,
            *(f"last code: {code}" for code in codes),
            *(f"chosen before: {place}" for place in places),
            *(f"words of bin {number}" for number in range(WORD_BINS)),
            *record_names(),
        )
        self._places: Final = len(places)

    def __len__(self) -> int:
        return len(self.names)

    def write(self, memory: Memory, chosen: npt.NDArray[np.bool_], row: Vector) -> None:
        """Write the vector into a row.

        Args:
            memory: what was observed.
            chosen: the places of the menu whose call did its work before.
            row: as many numbers as there are names.
        """
        row[:] = 0
        last = memory.last
        if last is not None:
            row[0] = last.step / last.steps_max
            row[1] = last.ok
        at, size = 2, len(self._tools)
        for place, tool in enumerate(self._tools):
            row[at + place] = min(memory.tried.get(tool, 0), TRIES_MAX) / TRIES_MAX
            row[at + size + place] = tool == memory.last_tool
        at += 2 * size
        if last is not None and last.code in self._codes:
            row[at + self._codes[last.code]] = 1
        at += len(self._codes)
        row[at : at + self._places] = chosen
        at += self._places
        row[at:] = memory.once(_told)


def _told(memory: Memory) -> Vector:
    return np.array([*word_counts(tuple(memory.texts)), *record_numbers(memory)], np.float32)


@lru_cache(maxsize=1_024)
def word_counts(texts: tuple[str, ...]) -> tuple[float, ...]:
    """Which words people used, hashed into bins."""
    bins = [0.0] * WORD_BINS
    for text in texts:
        for word in _WORD.findall(text.lower()):
            bins[crc32(word.encode()) % WORD_BINS] = 1.0
    return tuple(bins)


ITEM_NAMES: Final = (
    "is there", "is named in a text", "pieces / 5", "stock was seen", "stock covers all pieces",
    "stock covers the pieces named", "was replaced",
)  # fmt: skip
PAYMENT_NAMES: Final = ("is there", "is captured", "captures the total", "was refunded")
ORDER_NAMES: Final = (
    "is known", "was read", "is the account's own", "is another account's",
    *(f"is {status}" for status in STATUSES), *(f"parcel {status}" for status in PARCELS),
    "within the days for returns", "within the days for damage", "days since delivery / 60",
    "overdue beyond the wait for parcels", "days overdue / 60",
    "payments / 3", "full captures / 3", "all stock was seen", "something is short", "was refunded",
    "all captures were refunded", "was replaced", "was cancelled",
)  # fmt: skip
ROW_NAMES: Final = ("is there", "is covered by what is on order", "fits the budget", "was bought")
TASK_NAMES: Final = (
    "a thread was read", "a policy was read", "orders named and not read / 3", "pieces named / 5",
    "the stock was listed to its end", "purchase orders were listed", "a reply was sent",
)  # fmt: skip


def record_names() -> list[str]:
    """What `record_numbers` returns."""
    names: list[str] = [*TASK_NAMES]
    for slot in range(1, ORDER_SLOTS + 1):
        order = f"order {slot}"
        names += [f"{order} {name}" for name in ORDER_NAMES]
        for item in range(1, ITEM_SLOTS + 1):
            names += [f"{order} item {item} {name}" for name in ITEM_NAMES]
        for payment in range(1, PAYMENT_SLOTS + 1):
            names += [f"{order} payment {payment} {name}" for name in PAYMENT_NAMES]
    for row in range(1, backoffice.LOW_MAX + 1):
        names += [f"low SKU {row} {name}" for name in ROW_NAMES]
    return names


def record_numbers(memory: Memory) -> list[float]:
    """How what was read stands."""
    found = _task_numbers(memory)
    slots = orders(memory)
    for slot in range(ORDER_SLOTS):
        order = memory.record("order_id", slots[slot]) if slot < len(slots) else None
        found += _order_numbers(memory, order)
    found += _low_numbers(memory)
    return found


def _task_numbers(memory: Memory) -> list[float]:
    listed = [deed.data.get("next_page", 0) for deed in memory.deeds.get("check_inventory", ())]
    whole = [
        deed
        for deed in memory.deeds.get("check_inventory", ())
        if deed.data.get("next_page", 0) is None and "sku" not in deed.arguments
    ]
    return [
        float("read_thread" in memory.deeds),
        float("read_policy" in memory.deeds),
        min(len(unread_orders(memory)), 3) / 3,
        min(pieces_named(memory) or 0, 5) / 5,
        float(bool(listed) and bool(whole)),
        float("list_purchase_orders" in memory.deeds),
        float("reply_to_thread" in memory.deeds or "message" in memory.deeds),
    ]


def _order_numbers(memory: Memory, order: Record | None) -> list[float]:
    size = len(ORDER_NAMES) + ITEM_SLOTS * len(ITEM_NAMES) + PAYMENT_SLOTS * len(PAYMENT_NAMES)
    if order is None:
        return [0.0] * size
    if not is_read(order):
        return [1.0, *[0.0] * (size - 1)]
    items, payments = parts(order, "items"), parts(order, "payments")
    own = is_own(memory, order)
    stocks = [_stock(memory, item) for item in items]
    total = order.get("total_cents", 0)
    order_id = order["order_id"]
    back = refunded(memory, order_id)
    full = sum(payment.get("captured_cents") == total for payment in payments)
    found = [1.0, 1.0, float(own), float(not own)]
    found += [float(order.get("status") == status) for status in STATUSES]
    states = [parcel.get("status") for parcel in parts(order, "shipments")]
    found += [float(status in states) for status in PARCELS]
    found += _days(memory, order)
    found += [
        min(len(payments), 3) / 3,
        min(full, 3) / 3,
        float(bool(stocks) and None not in stocks),
        float(any(have is not None and have < ordered(item)
                  for item, have in zip(items, stocks, strict=True))),
        float(back > 0),
        float(back > 0 and back == captured(order)),
        float(bool(memory.done("create_replacement", order_id=order_id))),
        float(bool(memory.done("cancel_order", order_id=order_id))),
    ]  # fmt: skip
    for slot in range(ITEM_SLOTS):
        known = slot < len(items)
        found += _item_numbers(memory, items[slot], stocks[slot]) if known else [0.0] * 7
    for slot in range(PAYMENT_SLOTS):
        known = slot < len(payments)
        found += _payment_numbers(payments[slot], total) if known else [0.0] * 4
    return found


def _stock(memory: Memory, item: Record) -> int | None:
    """Pieces of an item's SKU in stock, as they were seen; None if they were not."""
    return memory.record("sku", item.get("sku", "")).get("quantity")


def _item_numbers(memory: Memory, item: Record, stock: int | None) -> list[float]:
    named = pieces_named(memory)
    noun = str(item.get("product", "")).lower().split()[-1:]
    told = " ".join(memory.texts).lower()
    replaced = [
        deed
        for key in ("sku", "item_id")
        if key in item
        for deed in memory.done("create_replacement", **{key: item[key]})
    ]
    pieces = ordered(item)
    return [
        1.0,
        float(bool(noun) and noun[0] in told),
        min(pieces, 5) / 5,
        float(stock is not None),
        float(stock is not None and stock >= pieces),
        float(stock is not None and stock >= (named or pieces)),
        float(bool(replaced)),
    ]


def _payment_numbers(payment: Record, total: int) -> list[float]:
    cents, back = payment.get("captured_cents", 0), payment.get("refunded_cents", 0)
    return [1.0, float(cents > 0), float(cents == total), float(back > 0)]


def _days(memory: Memory, order: Record) -> list[float]:
    """Days since delivery and beyond the expected day, by the policy that was read."""
    policy: Mapping[str, Any] = next(
        (deed.data for deed in memory.deeds.get("read_policy", ())), NOTHING
    )
    parcels = parts(order, "shipments")
    if not parcels or not {"numbers", "time_zone", "now"} <= policy.keys():
        return [0.0] * 5
    numbers: Mapping[str, int] = policy["numbers"]
    offset = _offset_minutes(policy["time_zone"])
    today = _day(policy["now"], offset)
    found = [0.0] * 5
    delivered, expected = parcels[0].get("delivered_at"), parcels[0].get("expected_at")
    if delivered:
        days = today - _day(delivered, offset)
        found[0] = float(days <= numbers.get("return_window_days", 0))
        found[1] = float(days <= numbers.get("damage_window_days", 0))
        found[2] = min(days, 60) / 60
    elif expected:
        days = today - _day(expected, offset)
        found[3] = float(days > numbers.get("parcel_wait_days", 0))
        found[4] = max(min(days, 60), -60) / 60
    return found


def _offset_minutes(zone: str) -> int:
    """-300 for `UTC-05:00`."""
    hours, minutes = zone[4:].split(":")
    return (int(hours) * 60 + int(minutes)) * (-1 if zone[3] == "-" else 1)


def _day(time: str, offset_minutes: int) -> int:
    minutes = int(datetime.fromisoformat(time).timestamp()) // 60 + offset_minutes
    return minutes // _DAY_MINUTES


def _low_numbers(memory: Memory) -> list[float]:
    lists = memory.deeds.get("list_purchase_orders", ())
    left = lists[-1].data.get("budget", {}).get("left_cents") if lists else None
    for deed in memory.deeds.get("create_purchase_order", ()):
        left = deed.data.get("budget_left_cents", left)
    found: list[float] = []
    rows = backoffice.low_rows(memory)
    for slot in range(backoffice.LOW_MAX):
        found += _row_numbers(memory, rows[slot], left) if slot < len(rows) else [0.0] * 4
    return found


def _row_numbers(memory: Memory, row: dict[str, Any], left: int | None) -> list[float]:
    coming = backoffice.on_order(memory, row["sku"])
    have = row["quantity"] + coming
    cost = (row["target"] - have) * row["unit_cost_cents"]
    return [
        1.0,
        float(have >= row["threshold"]),
        float(left is not None and cost <= left),
        float(bool(memory.done("create_purchase_order", sku=row["sku"]))),
    ]
