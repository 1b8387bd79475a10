"""A world: one episode's private database, as a savepoint over its template.

A world at rest is its log: its net changes and the rows of its own tables. Many worlds share a
few slots; one that was pushed out of its slot is swapped in again when it is next touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from deskgym.store.change import NetChanges, Row, RowChange, net_of
from deskgym.store.digest import after_changes, as_text
from deskgym.store.place import Bindings, LogRow, WorldEngine, WorldSlot
from deskgym.store.schema import STORE_TABLES, TABLES
from deskgym.store.template import Template

T = TypeVar("T")


class Kept(NamedTuple, Generic[T]):
    """What an atomic piece of work returned, and the net row changes that it left."""

    value: T
    changes: tuple[RowChange, ...]


class Mark(NamedTuple):
    """A moment of a world: how many log rows it had, and its net changes."""

    logged: int
    changes: tuple[RowChange, ...]


class World:
    """One episode's store: read it, change it atomically, say what changed, take it back.

    Attributes:
        memo: what a rubric keeps from one scoring to the next; gone when the world is reset.
    """

    __slots__ = ("_changes", "_engine", "_log", "_logged", "_net", "_slot", "_template", "memo")

    def __init__(self, engine: WorldEngine, template: Template) -> None:
        self._engine: Final = engine
        self._template: Final = template
        self._net: Final = NetChanges()
        self._changes: tuple[RowChange, ...] | None = ()
        self._log: list[LogRow] = []
        self._logged = 0
        self._slot: WorldSlot | None = None
        self.memo: Any = None

    @property
    def template(self) -> Template:
        """What the world started from."""
        return self._template

    @property
    def log(self) -> tuple[LogRow, ...]:
        """The rows of the environment's own tables, oldest first."""
        return tuple(self._log)

    @property
    def mark(self) -> Mark:
        """How far the world has come, for `tables_since`."""
        return Mark(len(self._log), self.changes())

    def tables_since(self, mark: Mark) -> frozenset[str]:
        """The tables of which any row may be another than at a mark."""
        names = {name for name, _ in self._log[mark.logged :]}
        changes = self.changes()
        if changes is not mark.changes:
            names |= {change.table for change in set(changes) ^ set(mark.changes)}
        return frozenset(names)

    def changes(self) -> tuple[RowChange, ...]:
        """The net row changes since the start, in canonical order."""
        if self._changes is None:
            self._changes = self._net.changes()
        return self._changes

    def digest(self) -> str:
        """The canonical, order-free digest of the store's rows as they are now."""
        return as_text(after_changes(self._template.digest, self.changes()))

    def snapshot(self) -> dict[str, list[Row]]:
        """Every row of the store's tables as they are now, in key order."""
        with self._engine.lock:
            slot = self.seat()
            return {
                name: slot.rows(
                    f"SELECT * FROM main.{name} ORDER BY {', '.join(TABLES[name].key)}", ()
                )
                for name in STORE_TABLES
            }

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run one statement; rows as tuples. Outside `atomic`, only read with it."""
        slot = self._slot
        if slot is None or slot.world is not self:
            slot = self.seat()
        return slot.rows(sql, bindings)

    def records(self, sql: str, bindings: Bindings = ()) -> list[dict[str, Any]]:
        """Run one statement; rows by column name."""
        slot = self._slot
        if slot is None or slot.world is not self:
            slot = self.seat()
        return slot.records(sql, bindings)

    def atomic(self, work: Callable[[], T]) -> Kept[T]:
        """Run `work` so that it commits whole or leaves every row as it was.

        A statement that the store refused undoes the whole, even where `work` swallowed the
        error: it may have left half of its rows.
        """
        slot = self._slot
        if slot is None or slot.world is not self:
            slot = self.seat()
        slot.begin_call()
        try:
            value = work()
            if slot.failure is not None:
                raise slot.failure
        except BaseException:
            slot.undo_call()
            raise
        raw = slot.keep_call()
        if not raw:
            return Kept(value, ())
        changes = net_of(raw)
        self._net.merge(changes)
        self._changes = None
        return Kept(value, changes)

    def append(self, rows: Iterable[LogRow]) -> None:
        """Add rows to the environment's own tables; they are written when they are first read."""
        self._log.extend(rows)

    def settle(self) -> None:
        """Write what is pending, so that SQL sees the whole log and the net changes as rows."""
        slot = self.seat()
        slot.settle(self._log[self._logged :], self.changes())
        self._logged = len(self._log)

    def reset(self) -> None:
        """Take everything back: the world is its template again."""
        self._net.clear()
        self._changes = ()
        self._log.clear()
        self._logged = 0
        self.memo = None
        slot = self._slot
        if slot is not None and slot.world is self:
            slot.restart()

    def park(self) -> None:
        """Give the slot up; the world is rebuilt from its log when it is next touched."""
        if self._slot is not None and self._slot.world is self:
            self._slot.world = None
        self._slot = None

    def seat(self) -> WorldSlot:
        """The slot that holds the world, swapped in if it has to be."""
        slot = self._slot
        if slot is None or slot.world is not self:
            self._logged = 0
            slot = self._slot = self._engine.seat(self)
        return slot
