"""Templates: the rows that a world starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from deskgym.errors import InvalidDefinition
from deskgym.store.change import Row, RowKey
from deskgym.store.digest import as_text, row_digest, rows_digest
from deskgym.store.schema import TABLES, Table, table

Rows = Mapping[str, Sequence[Row]]
AnyRow = Row | Mapping[str, object]
"""A row as a tuple in column order, or by column name, where what may be NULL can be left out."""
AnyRows = Mapping[str, Sequence[AnyRow]]


def _as_tuple(known: Table, row: AnyRow) -> Row:
    """A row in column order; raises `InvalidDefinition` for one that does not fit its table."""
    if isinstance(row, Mapping):
        unknown = [name for name in row if name not in known.columns]
        missing = [name for name in known.columns if name not in row and name not in known.nullable]
        if unknown or missing:
            parts = {"has no column": unknown, "needs": missing}
            problem = " and ".join(f"{k} {', '.join(v)}" for k, v in parts.items() if v)
            raise InvalidDefinition(f"{known.name} {problem} (a row of it: {dict(row)!r})")
        return tuple(row.get(name) for name in known.columns)
    if len(row) != len(known.columns):
        raise InvalidDefinition(
            f"{known.name}: a row has {len(row)} values where the table has "
            f"{len(known.columns)} ({', '.join(known.columns)}): {row!r}"
        )
    return row


def _in_schema_order(rows: AnyRows) -> dict[str, tuple[Row, ...]]:
    """Rows with parents before children, each of the right width and with a key of its own."""
    made: dict[str, tuple[Row, ...]] = {}
    for name, items in rows.items():
        known = table(name)
        made[name] = tuple(_as_tuple(known, row) for row in items)
        keys = [known.key_of(row) for row in made[name]]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InvalidDefinition(f"{name}: two rows share the key {twice!r}")
    return {name: made[name] for name in TABLES if made.get(name)}


class Base:
    """The rows that many templates share, such as a seeded shop; loaded once a pooled world.

    Attributes:
        name: for people; two bases are the same only if they are the same object.
        rows: by table, parents before children.
    """

    def __init__(self, name: str, rows: AnyRows) -> None:
        self.name = name
        self.rows: Final = _in_schema_order(rows)

    @cached_property
    def by_key(self) -> Mapping[RowKey, Row]:
        """Every row by table and key."""
        return {
            (name, TABLES[name].key_of(row)): row
            for name, rows in self.rows.items()
            for row in rows
        }

    @cached_property
    def digest(self) -> int:
        """The order-free digest of the store's rows."""
        return sum(
            rows_digest(name, rows) for name, rows in self.rows.items() if not TABLES[name].is_log
        )


EMPTY: Final = Base("empty", {})


class Template:
    """A fixture's database: a base and the fixture's own rows on top.

    A row is a tuple in column order, or a mapping by column name. A row of the fixture whose key
    the base has too stands in place of the base's row.
    """

    def __init__(self, rows: AnyRows, base: Base = EMPTY) -> None:
        self.base: Final = base
        self.rows: Final = _in_schema_order(rows)

    @cached_property
    def digest(self) -> int:
        """The order-free digest of the store's rows, as a number."""
        total = self.base.digest
        for name, rows in self.rows.items():
            known = TABLES[name]
            if known.is_log:
                continue
            for row in rows:
                replaced = self.base.by_key.get((name, known.key_of(row)))
                if replaced is not None:
                    total -= row_digest(name, replaced)
                total += row_digest(name, row)
        return total % (1 << 256)

    @property
    def id(self) -> str:
        """The digest as text: what identifies the template in a recording."""
        return as_text(self.digest)
