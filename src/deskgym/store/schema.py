"""The schema as data: its tables, its guards, and the DDL that an engine runs.

`schema.sql` is the one description of the tables. A *guard* is a constraint over more than one
row, which neither engine can state in a CHECK: a trigger that refuses and never writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from operator import itemgetter
from typing import Final

from deskgym.errors import UnknownName

LOG_PREFIX: Final = "env_"


@dataclass(frozen=True)
class Table:
    """A table: its columns in order, those of its primary key, and those that may be NULL."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    nullable: tuple[str, ...] = ()

    @property
    def is_log(self) -> bool:
        """Whether the table is the environment's own log and so outside every diff and digest."""
        return self.name.startswith(LOG_PREFIX)

    @cached_property
    def key_of(self) -> Callable[[tuple[object, ...]], tuple[object, ...]]:
        """The primary key of a row given as a tuple in column order.

        Keys stand first in every table, so that this, which runs for each changed row, is a slice.
        """
        assert self.columns[: len(self.key)] == self.key, f"{self.name}: the key stands first"
        return itemgetter(slice(len(self.key)))

    def as_dict(self, row: tuple[object, ...]) -> dict[str, object]:
        """A row by column name."""
        return dict(zip(self.columns, row, strict=True))


@dataclass(frozen=True)
class Guard:
    """A rule over several rows: no statement may leave `table` with a row where `refuses` holds."""

    name: str
    table: str
    refuses: str


GUARDS: Final = (
    Guard(
        "refunds_within_capture",
        "refunds",
        "NEW.status <> 'failed' AND NEW.amount_cents > "
        "(SELECT p.captured_cents FROM payments p WHERE p.id = NEW.payment_id) - "
        "(SELECT COALESCE(SUM(r.amount_cents), 0) FROM refunds r"
        " WHERE r.payment_id = NEW.payment_id AND r.status <> 'failed' AND r.id <> NEW.id)",
    ),
    Guard(
        "capture_covers_refunds",
        "payments",
        "NEW.captured_cents < (SELECT COALESCE(SUM(r.amount_cents), 0) FROM refunds r"
        " WHERE r.payment_id = NEW.id AND r.status <> 'failed')",
    ),
    Guard(
        "replacements_within_order",
        "replacements",
        "NEW.status <> 'cancelled' AND NEW.quantity > "
        "(SELECT i.quantity FROM order_items i WHERE i.id = NEW.item_id) - "
        "(SELECT COALESCE(SUM(r.quantity), 0) FROM replacements r"
        " WHERE r.item_id = NEW.item_id AND r.status <> 'cancelled' AND r.id <> NEW.id)",
    ),
    Guard(
        "item_covers_replacements",
        "order_items",
        "NEW.quantity < (SELECT COALESCE(SUM(r.quantity), 0) FROM replacements r"
        " WHERE r.item_id = NEW.id AND r.status <> 'cancelled')",
    ),
    Guard(
        "purchases_within_budget",
        "purchase_orders",
        "NEW.status <> 'cancelled' AND NEW.cost_cents > "
        "(SELECT b.limit_cents FROM budgets b WHERE b.id = NEW.budget_id) - "
        "(SELECT COALESCE(SUM(p.cost_cents), 0) FROM purchase_orders p"
        " WHERE p.budget_id = NEW.budget_id AND p.status <> 'cancelled' AND p.id <> NEW.id)",
    ),
    Guard(
        "budget_covers_purchases",
        "budgets",
        "NEW.limit_cents < (SELECT COALESCE(SUM(p.cost_cents), 0) FROM purchase_orders p"
        " WHERE p.budget_id = NEW.id AND p.status <> 'cancelled')",
    ),
)


def _statements(text: str) -> tuple[str, ...]:
    bare = re.sub(r"--[^\n]*", "", text)
    return tuple(part.strip() for part in bare.split(";") if part.strip())


STATEMENTS: Final = _statements(
    files("deskgym.store").joinpath("schema.sql").read_text(encoding="utf-8")
)


def _parse_table(statement: str) -> Table | None:
    match = re.match(r"CREATE TABLE (\w+) \(\n(.*)\n\)\Z", statement, re.DOTALL)
    if match is None:
        return None
    name, body = match.groups()
    columns = tuple(re.findall(r"^  ([a-z]\w*) (?:TEXT|INTEGER)\b", body, re.MULTILINE))
    own = re.findall(r"^  (\w+) \w+ NOT NULL PRIMARY KEY", body, re.MULTILINE)
    joint = re.findall(r"^  PRIMARY KEY \(([^)]*)\)", body, re.MULTILINE)
    key = tuple(own) or tuple(part.strip() for part in joint[0].split(","))
    nullable = re.findall(r"^  ([a-z]\w*) (?:TEXT|INTEGER)\b(?! NOT NULL)", body, re.MULTILINE)
    return Table(name, columns, key, tuple(nullable))


TABLES: Final[dict[str, Table]] = {
    parsed.name: parsed for parsed in map(_parse_table, STATEMENTS) if parsed is not None
}
STORE_TABLES: Final = tuple(name for name, item in TABLES.items() if not item.is_log)


def table(name: str) -> Table:
    """The table of that name; raises `UnknownName`."""
    try:
        return TABLES[name]
    except KeyError:
        raise UnknownName("table", name, TABLES) from None


def sqlite_ddl(database: str) -> str:
    """The DDL for one attached SQLite database (`main` or `before`).

    Tables are STRICT, so that a type is a constraint, and WITHOUT ROWID, so that an unordered
    scan reads in key order whatever the history of the file.
    """
    parts: list[str] = []
    for statement in STATEMENTS:
        text = re.sub(r"^CREATE (TABLE|INDEX|UNIQUE INDEX) ", rf"CREATE \1 {database}.", statement)
        is_table = statement.startswith("CREATE TABLE")
        parts.append(text + (" STRICT, WITHOUT ROWID;" if is_table else ";"))
    for guard in GUARDS:
        parts.extend(
            f"CREATE TRIGGER {database}.{guard.name}_{event.lower()} BEFORE {event} "
            f"ON {guard.table} WHEN {guard.refuses} "
            f"BEGIN SELECT RAISE(ABORT, '{guard.name}'); END;"
            for event in ("INSERT", "UPDATE")
        )
    return "\n".join(parts)
