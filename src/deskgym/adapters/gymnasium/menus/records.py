"""Readings of a memory that several menus share: orders in order, and what belongs to them."""

from __future__ import annotations

import re
from typing import Any, Final

from deskgym.adapters.gymnasium.memory import Memory, Record

NUMBERS: Final = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_SOME_OF: Final = re.compile(r"\b(one|two|three|four|five|six|\d) of the\b", re.IGNORECASE)


def account(memory: Memory) -> str | None:
    """Whose thread is worked on: the customer of the thread that was read last; None if none."""
    return memory.once(_account)


def _account(memory: Memory) -> str | None:
    for deed in reversed(memory.deeds.get("read_thread", ())):
        return str(deed.data.get("customer_id"))
    return None


def is_read(order: Record) -> bool:
    """Whether an order was looked up, and not only named or listed."""
    return "items" in order


def is_own(memory: Memory, order: Record) -> bool:
    """Whether a looked-up order is known to be of the account that is worked for.

    Where a tool shows the signed-in customer's orders alone, every order that it shows is.
    """
    whose = account(memory)
    return is_read(order) and (whose is None or order.get("customer_id") == whose)


def orders(memory: Memory) -> list[str]:
    """Orders: the account's own first, then others that were read, then those only named."""
    return memory.once(_orders)


def _orders(memory: Memory) -> list[str]:
    found = memory.ids("order_id")

    def rank(order_id: str) -> int:
        order = memory.record("order_id", order_id)
        return 0 if is_own(memory, order) else 1 if is_read(order) else 2

    read_or_named = [
        order_id
        for order_id in found
        if order_id in memory.named.get("order_id", ())
        or is_read(memory.record("order_id", order_id))
    ]
    return sorted(read_or_named, key=rank)


def unread_orders(memory: Memory) -> list[str]:
    """Orders that texts name and that were not asked for, in order of appearance."""
    return memory.once(_unread_orders)


def _unread_orders(memory: Memory) -> list[str]:
    asked = {
        deed.arguments.get("order_id") for deed in memory.deeds.get("get_order", ())
    } | memory.refused.get("get_order", set())
    return [order_id for order_id in memory.named.get("order_id", ()) if order_id not in asked]


def parts(order: Record, name: str) -> list[Record]:
    """The items, payments or shipments of an order."""
    found: Any = order.get(name) or []
    return list(found)


def pieces_named(memory: Memory) -> int | None:
    """The number of the first "two of the …" in what people wrote; None if there is none."""
    return memory.once(_pieces_named)


def _pieces_named(memory: Memory) -> int | None:
    for text in memory.texts:
        found = _SOME_OF.search(text)
        if found is not None:
            word = found[1].lower()
            return NUMBERS.get(word) or int(word)
    return None


def captured(order: Record) -> int:
    """What the payments of an order captured in all, in cents."""
    return sum(payment.get("captured_cents", 0) for payment in parts(order, "payments"))


def ordered(item: Record) -> int:
    """How many pieces of an item were ordered; one where that is not said."""
    return item.get("quantity", 1)


def refunded(memory: Memory, order_id: str) -> int:
    """What was refunded of an order in this episode, in cents."""
    deeds = memory.done("issue_refund", order_id=order_id)
    return sum(deed.data.get("amount_cents", 0) for deed in deeds)


def dollars(cents: int) -> str:
    """`$54.00` for 5400."""
    return f"${cents // 100:,}.{cents % 100:02d}"
