"""Checks: one SQL condition each, which says why it fails by the rows that break it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

_READ: Final = re.compile(r"\b(?:FROM|JOIN)\s+([a-z_]+)\b(?!\.)")


class Reader(Protocol):
    """What a check reads: the final world, and the initial one as `before`."""

    def rows(
        self, sql: str, bindings: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[object, ...]]:
        """Run one query; rows as tuples."""
        ...

    def records(
        self, sql: str, bindings: Sequence[object] | Mapping[str, object] = ()
    ) -> list[dict[str, Any]]:
        """Run one query; rows by column name."""
        ...


@dataclass(frozen=True)
class Check:
    """A condition on (before, after): it holds when its query returns no rows.

    Attributes:
        name: what the breakdown calls it.
        sentence: what must be so, as a person would say it.
        sql: the query for the rows that break it, with `:name` for the values it is bound to.
        every_change: whether it looks at changes of any table; one that looks at those of some
            tables joins these, so that it is known which.
    """

    name: str
    sentence: str
    sql: str
    every_change: bool = False

    @cached_property
    def reads(self) -> frozenset[str]:
        """The tables whose rows it reads as they are now."""
        return frozenset(_READ.findall(self.sql))

    def bind(self, **values: object) -> BoundCheck:
        """The check for one case's keys."""
        return BoundCheck(self, values)


@dataclass(frozen=True)
class BoundCheck:
    """A check and the keys of the case that it is asked about."""

    check: Check
    values: Mapping[str, object]

    def is_stale(self, tables: frozenset[str]) -> bool:
        """Whether it may come out otherwise once rows of these tables are others."""
        check = self.check
        if check.every_change:
            return any(not name.startswith("env_") for name in tables)
        return not check.reads.isdisjoint(tables)

    def breaches(self, world: Reader) -> list[dict[str, Any]]:
        """The rows that break it; none when it holds."""
        return world.records(self.check.sql, self.values)

    def holds(self, world: Reader) -> bool:
        """Whether no row breaks it."""
        return not world.rows(self.check.sql, self.values)
