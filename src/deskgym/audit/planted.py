"""Planted end states: rows changed beside the tools, for rules that no tool can make bind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from deskgym.environment import Environment
from deskgym.errors import StoreError
from deskgym.store import Template
from deskgym.store.change import Row
from deskgym.store.schema import STORE_TABLES, TABLES, Table
from deskgym.task import Fixture, Task

PLANTED: Final = "planted"
ROWS_MAX: Final = 3
"""How many rows of a table are changed, each in an end state of its own."""

_STATUSES: Final = {
    "shipments": "in_transit", "refunds": "succeeded", "returns": "open",
    "replacements": "created", "delivery_intercepts": "requested",
    "stock_notifications": "active", "threads": "open",
}  # fmt: skip
_FURNISHED: Final = {
    "shipments": "SHP-", "shipment_items": "", "cancellations": "CAN-", "refunds": "REF-",
    "returns": "RET-", "replacements": "REP-", "delivery_intercepts": "INT-",
    "stock_notifications": "NOT-", "threads": "TH-", "messages": "MSG-",
}  # fmt: skip
"""What another account is given a row of, with the ids' first letters there."""
_NUMBER: Final = "000009"


def furnished(task: Task) -> Task:
    """The task in a world where another account has a row in every table that an account can have.

    The rubric's gates look at tables that the task's own worlds leave empty.
    """
    build = task.fixture

    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        found = build(seed, values)
        base = found.template.base
        rows = {name: list(items) for name, items in found.template.rows.items()}
        every = {name: [*base.rows.get(name, ()), *rows.get(name, ())] for name in STORE_TABLES}
        for name, row in _strangers_rows(every, found.account):
            # The store's staff has tools that number rows in their own way; a table that has rows
            # already needs no more of them.
            if found.account is not None or not every[name]:
                rows.setdefault(name, []).append(row)
        return replace(found, template=Template(rows, base))

    return replace(task, fixture=fixture)


def _strangers_rows(
    rows: Mapping[str, list[Row]], account: str | None
) -> Iterator[tuple[str, Row]]:
    def first(name: str, **fields: object) -> dict[str, Any]:
        found = (TABLES[name].as_dict(row) for row in rows.get(name, ()))
        return next(
            row for row in found if all(row[column] == value for column, value in fields.items())
        )

    parcels = [TABLES["shipments"].as_dict(row) for row in rows["shipments"]]
    parcel = f"SHP-{_NUMBER}"
    orders = [TABLES["orders"].as_dict(row) for row in rows["orders"]]
    if not orders:
        return
    order = next(row for row in orders if row["customer_id"] != account)
    if account is None:
        parcel = parcels[0]["id"]
        order = first("orders", id=parcels[0]["order_id"])
    values: dict[str, Any] = {
        "order_id": order["id"],
        "customer_id": order["customer_id"],
        "item_id": first("order_items", order_id=order["id"])["id"],
        "sku": first("order_items", order_id=order["id"])["sku"],
        "payment_id": first("payments", order_id=order["id"])["id"],
        "shipment_id": parcel,
        "thread_id": f"TH-{_NUMBER}",
        "sender": "store",
    }
    for name, prefix in _FURNISHED.items():
        letters = "RPL-" if account is None and name == "replacements" else prefix
        own = {"id": f"{letters}{_NUMBER}", "status": _STATUSES.get(name)}
        yield name, _row(TABLES[name], {**values, **own})


def _row(table: Table, values: Mapping[str, Any]) -> Row:
    def value(column: str) -> object:
        if column in values:
            return values[column]
        if column in table.nullable:
            return None
        return 1 if column.endswith("_cents") or column == "quantity" else PLANTED

    return tuple(map(value, table.columns))


def plant(environment: Environment, statement: str) -> bool:
    """Change a row beside the tools; False where the store does not let it, or nothing differs."""
    before = environment.world.changes()
    try:
        environment.world.atomic(partial(environment.world.rows, statement))
    except StoreError:
        return False
    return environment.world.changes() != before


def statements(environment: Environment, *, apart: bool) -> list[list[str]]:
    """For some rows of each table: the changes to try, of which the first that works will do.

    Args:
        environment: where they are to be made.
        apart: whether a row that is gone is a state of its own, beside a row that is changed.
    """
    return [
        choices
        for table in (TABLES[name] for name in STORE_TABLES)
        for row in _rows(environment, table)
        for choices in _changes(table, dict(zip(table.columns, row, strict=True)), apart)
    ]


def _rows(environment: Environment, table: Table) -> list[Row]:
    keys = ", ".join(table.key)
    return environment.world.rows(
        f"SELECT * FROM before.{table.name} ORDER BY {keys} LIMIT {ROWS_MAX}"
    )


def _changes(table: Table, values: Mapping[str, Any], apart: bool) -> list[list[str]]:
    """A change of some column, and the row gone."""
    where = " AND ".join(f"{name} = '{values[name]}'" for name in table.key)
    others = {
        name: str(value + 1) if isinstance(value, int) else f"'{PLANTED} {value}'"
        for name, value in values.items()
        if name not in table.key
    }
    changes = [
        f"UPDATE {table.name} SET {name} = {to} WHERE {where}" for name, to in others.items()
    ]
    gone = f"DELETE FROM {table.name} WHERE {where}"
    return [changes, [gone]] if apart else [[*changes, gone]]


def refunds(environment: Environment) -> list[str]:
    """A cent of each payment's money gone back, beside the tools."""
    values = ", ".join((f"'REF-{_NUMBER[:-1]}8'", "order_id", "id", "1", "'succeeded'",
                        f"'{PLANTED}'", f"'{PLANTED}'", f"'{PLANTED}'"))  # fmt: skip
    rows = environment.world.rows("SELECT id FROM before.payments ORDER BY id")
    return [
        f"INSERT INTO refunds SELECT {values} FROM payments WHERE id = '{row[0]}'" for row in rows
    ]


def strayed(calls: list[Row]) -> Iterator[tuple[str, Row]]:
    """Each committed write of a log once more, of another order, subject or SKU.

    No tool carries such a write out, because what it is about belongs to one order.
    """
    columns = TABLES["env_call"].columns
    last = max((int(str(row[0])) for row in calls), default=0)
    for row in calls:
        values = dict(zip(columns, row, strict=True))
        if values["kind"] == "write" and values["changed"]:
            for name in ("order_id", "subject", "sku"):
                if values[name]:
                    other = {**values, "step": last + 1, name: f"{PLANTED} {values[name]}"}
                    yield f"{values['tool']} of another {name}", tuple(other.values())
