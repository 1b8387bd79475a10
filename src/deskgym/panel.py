"""Panels: the records of a case that stand beside it, for a person who acts or watches.

A panel is one query. What it shows is the store's, not the agent's: looking at one is no action,
and no agent's door shows any.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from deskgym.store.schema import STORE_TABLES, TABLES

GIVEN: Final = ("account", "now")
"""What every panel may bind: the signed-in customer's id, and the store's time."""

ROWS_MAX: Final = 20
"""How many rows a panel shows that no suite has declared."""


@dataclass(frozen=True)
class Panel:
    """Records, by one query over the world as it is now.

    A column whose name ends in `_cents` is money, in the row's `currency` if it has one. A column
    that is named like what another panel needs leads there: `thread_id` in a list of threads opens
    the panel whose query binds `:thread_id`.

    Attributes:
        title: what they are, in a few words.
        query: may bind `:account`, `:now`, and names of its own. A panel with names of its own is
            shown once a person has chosen what they stand for.
        answer: a tool that a person can use right there, such as one that replies to a thread; it
            takes what the query binds as arguments of the same names.
    """

    title: str
    query: str
    answer: str | None = None

    @cached_property
    def bound(self) -> tuple[str, ...]:
        """The names that the query binds, each once."""
        return tuple(dict.fromkeys(re.findall(r":([a-z_]+)", self.query)))

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Those of them that somebody has to choose."""
        return tuple(name for name in self.bound if name not in GIVEN)

    @property
    def uses_account(self) -> bool:
        """Whether it is about the signed-in customer."""
        return "account" in self.bound


_OWN_ORDERS: Final = "SELECT o.id FROM orders o WHERE o.customer_id = :account"
_OWN: Final = {
    "customers": "t.id = :account",
    "shipment_items": f"t.shipment_id IN (SELECT s.id FROM shipments s"
    f" WHERE s.order_id IN ({_OWN_ORDERS}))",
    "messages": "t.thread_id IN (SELECT h.id FROM threads h WHERE h.customer_id = :account)",
    "variants": f"t.sku IN (SELECT i.sku FROM order_items i WHERE i.order_id IN ({_OWN_ORDERS}))",
    "inventory": f"t.sku IN (SELECT i.sku FROM order_items i WHERE i.order_id IN ({_OWN_ORDERS}))",
}


def _own(name: str) -> str | None:
    """Which rows of a table are the signed-in customer's; None for what is nobody's own."""
    columns = TABLES[name].columns
    if name in _OWN:
        return _OWN[name]
    if "customer_id" in columns:
        return "t.customer_id = :account"
    return f"t.order_id IN ({_OWN_ORDERS})" if "order_id" in columns else None


def _plain(name: str, condition: str | None) -> Panel:
    where = "" if condition is None else f" WHERE {condition}"
    order = ", ".join(f"t.{column}" for column in TABLES[name].key)
    query = f"SELECT t.* FROM {name} t{where} ORDER BY {order} LIMIT {ROWS_MAX}"
    return Panel(name.replace("_", " ").capitalize(), query)


def plain_panels(*, account: bool) -> tuple[Panel, ...]:
    """The panels of a suite that declares none: a table each, its first rows.

    Args:
        account: whether a customer is signed in; then only that customer's rows are shown.
    """
    if not account:
        return tuple(_plain(name, None) for name in STORE_TABLES)
    return tuple(
        _plain(name, own) for name in STORE_TABLES for own in [_own(name)] if own is not None
    )
