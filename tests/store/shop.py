"""A tiny shop with a row in every table that something else refers to, for the store's tests."""

from __future__ import annotations

from collections.abc import Sequence

from deskgym.store import Engine, RowChange, Rows, Template, World
from deskgym.store.change import Row

TIME = "2026-03-01T09:30:00Z"

SHOP: Rows = {
    "settings": [("currency", "USD")],
    "policies": [("return_days", 30, "days")],
    "customers": [
        ("C1", "Ada", "ada@shop.example", "1 Elm", "", TIME),
        ("C2", "Ben", "ben@shop.example", "2 Elm", "", TIME),
    ],
    "products": [("P1", "Lamp", "lamp", "")],
    "variants": [
        ("V1", "P1", "Moss", "one", "moss", 2400),
        ("V2", "P1", "Ink", "one", "ink", 2600),
    ],
    "inventory": [("V1", 5, 2, 6, 1, 900)],
    "orders": [
        ("O1", "C1", "shipped", 0, 0, 4800, "USD", "1 Elm", TIME),
        ("O2", "C2", "delivered", 0, 0, 2600, "USD", "2 Elm", TIME),
    ],
    "order_items": [("I1", "O1", "V1", 2, 2400, 4800), ("I2", "O2", "V2", 1, 2600, 2600)],
    "payments": [
        ("PAY1", "O1", "captured", 5000, 4800, "ref-1", TIME),
        ("PAY2", "O2", "captured", 2600, 2600, "ref-2", TIME),
    ],
    "shipments": [
        ("S1", "O1", "in_transit", "Northline", "NL1", TIME, None, None),
        ("S2", "O2", "delivered", "Northline", "NL2", TIME, TIME, TIME),
    ],
    "returns": [
        ("RET1", "O1", "I1", "closed", "broken", "ret-1", TIME),
        ("RET2", "O2", "I2", "closed", "broken", "ret-2", TIME),
    ],
    "threads": [("T1", "C1", "Hello", "open", TIME)],
    "budgets": [("B1", 10_000, 4_000), ("B2", 10_000, 0)],
}


def refund(refund_id: str, amount: int, payment: str = "PAY1", status: str = "succeeded") -> Row:
    """A refund of order O1, with a key of its own."""
    return (refund_id, "O1", payment, amount, status, "why", f"key-{refund_id}", TIME)


def open_world(rows: Rows = SHOP, engine: Engine | None = None) -> World:
    return (engine or Engine(1)).open(Template(rows))


def write(world: World, sql: str, *bindings: object) -> tuple[RowChange, ...]:
    """Run one statement as a call of its own; what it changed."""
    return world.atomic(lambda: world.rows(sql, bindings)).changes


def insert(world: World, table: str, row: Sequence[object]) -> tuple[RowChange, ...]:
    return write(world, f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", *row)
