"""Pages of a list: a token says where the next one starts, so that any depth costs the same."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import orjson
from sqlalchemy import Column, Select, Table, and_, or_

from deskgym.errors import UsageError

T = TypeVar("T")

Fields = Mapping[Any, Any]
"""A row by the names of its columns."""

PAGE_MAX: Final = 1_000
"""How many items a page has at most."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """A part of a list.

    Attributes:
        items: in the order that was asked for.
        next: the token of the next page; None on the last one.
    """

    items: tuple[T, ...]
    next: str | None


@dataclass(frozen=True)
class Order:
    """A table's order by a column, then by id, so that no item stands on two pages."""

    table: Table
    column: str
    descending: bool = True

    def after(self, statement: Select[Any], token: str | None) -> Select[Any]:
        """The rows after a token, in order; raises `UsageError` for what is no token of it."""
        key: Column[Any] = self.table.c[self.column]
        id: Column[Any] = self.table.c.id
        if token is not None:
            value, last = self._parsed(token)
            beyond = key < value if self.descending else key > value
            further = id < last if self.descending else id > last
            statement = statement.where(or_(beyond, and_(key == value, further)))
        places = (key.desc(), id.desc()) if self.descending else (key, id)
        return statement.order_by(*places)

    def token(self, row: Fields) -> str:
        """The token of the rows after this one."""
        place = orjson.dumps([self.column, self.descending, row[self.column], row["id"]])
        return base64.urlsafe_b64encode(place).decode().rstrip("=")

    def _parsed(self, token: str) -> tuple[int | float, str]:
        try:
            padded = token.encode("ascii") + b"=" * (-len(token) % 4)
            place = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError):
            place = None
        match place:
            case [self.column, self.descending, int() | float() as value, str(id)] if (
                not isinstance(value, bool) and abs(value) < 2**63
            ):
                return value, id
            case _:
                raise UsageError(
                    "that is no page token of this list; take the one that came with a page of the "
                    "same order, or none for the first page"
                )


def page_of(
    rows: Sequence[Fields],
    limit: int,
    order: Order,
    made: Callable[[Fields], T],
) -> Page[T]:
    """A page from one row more than it may have."""
    shown = rows[:limit]
    return Page(tuple(map(made, shown)), order.token(shown[-1]) if len(rows) > limit else None)


def checked_limit(limit: int) -> int:
    """A page's length, if it is allowed; raises `UsageError`."""
    if not 1 <= limit <= PAGE_MAX:
        raise UsageError(f"a page has 1 to {PAGE_MAX} items, not {limit}")
    return limit
