"""A canonical, order-free digest of rows: equal worlds have equal digests on every engine."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import orjson

from deskgym.store.change import Row, RowChange

_MODULUS = 1 << 256


def row_digest(table: str, row: Row) -> int:
    """The SHA-256 of one row, as a number; types and exact text matter, its place does not."""
    return int.from_bytes(sha256(orjson.dumps([table, *row])).digest(), "big")


def rows_digest(table: str, rows: Iterable[Row]) -> int:
    """The sum of the rows' digests modulo 2**256."""
    return sum(row_digest(table, row) for row in rows) % _MODULUS


def after_changes(digest: int, changes: Iterable[RowChange]) -> int:
    """The digest of a state from an earlier one's and the net changes between them."""
    for change in changes:
        if change.before is not None:
            digest -= row_digest(change.table, change.before)
        if change.after is not None:
            digest += row_digest(change.table, change.after)
    return digest % _MODULUS


def as_text(digest: int) -> str:
    """A digest as 64 hexadecimal digits."""
    return f"{digest:064x}"
