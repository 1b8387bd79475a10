"""Templates: the rows that a world starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from deskgym.errors import InvalidDefinition
from deskgym.store.change import Row, RowKey
from deskgym.store.digest import as_text, row_digest, rows_digest
from deskgym.store.schema import TABLES, table

Rows = Mapping[str, Sequence[Row]]


def _in_schema_order(rows: Rows) -> dict[str, tuple[Row, ...]]:
    """Rows with parents before children, each of the right width and with a key of its own."""
    for name, items in rows.items():
        known = table(name)
        width = len(known.columns)
        for row in items:
            if len(row) != width:
                raise InvalidDefinition(
                    f"{name}: a row has {len(row)} values where the table has {width}: {row!r}"
                )
        keys = [known.key_of(row) for row in items]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InvalidDefinition(f"{name}: two rows share the key {twice!r}")
    return {name: tuple(rows[name]) for name in TABLES if rows.get(name)}


class Base:
    """The rows that many templates share, such as a seeded shop; loaded once a pooled world.

    Attributes:
        name: for people; two bases are the same only if they are the same object.
        rows: by table, parents before children.
    """

    def __init__(self, name: str, rows: Rows) -> None:
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

    A row of the fixture whose key the base has too stands in place of the base's row.
    """

    def __init__(self, rows: Rows, base: Base = EMPTY) -> None:
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
