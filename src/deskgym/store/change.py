"""Row changes: what a step, or an episode so far, did to the store, net of what was undone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from deskgym.store.schema import TABLES, table

Row = tuple[object, ...]
RowKey = tuple[str, tuple[object, ...]]
Operation = Literal["add", "change", "remove"]


class RowChange(NamedTuple):
    """One row before and after: `before` is None for an added row, `after` for a removed one."""

    table: str
    key: tuple[object, ...]
    before: Row | None
    after: Row | None

    @property
    def operation(self) -> Operation:
        """Whether the row was added, changed or removed."""
        if self.before is None:
            return "add"
        return "remove" if self.after is None else "change"

    def to_dict(self) -> dict[str, object]:
        """The change as JSON: whole rows by column name."""
        columns = table(self.table)
        return {
            "table": self.table,
            "key": list(self.key),
            "before": None if self.before is None else columns.as_dict(self.before),
            "after": None if self.after is None else columns.as_dict(self.after),
        }

    def __str__(self) -> str:
        return f"{self.operation} {self.table} {'/'.join(map(str, self.key))}"

    def summary(self) -> str:
        """The change in a line: what differs, or what an added row is about."""
        columns = TABLES[self.table].columns
        if self.before is not None and self.after is not None:
            shown = [
                f"{name} {old} -> {new}"
                for name, old, new in zip(columns, self.before, self.after, strict=True)
                if old != new
            ]
        else:
            row = dict(zip(columns, self.after or self.before or (), strict=True))
            shown = [f"{name} {row[name]}" for name in _TELLING if row.get(name) is not None]
        return f"{self} ({', '.join(shown)})" if shown else str(self)


_TELLING: Final = ("payment_id", "item_id", "shipment_id", "sku", "amount_cents", "quantity")
"""The columns that tell what an added row is about, where its table has them."""


class NetChanges:
    """Changes folded to their net: first image against last, with no-ops left out."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        self._changes: dict[RowKey, RowChange] = {}

    def __len__(self) -> int:
        return len(self._changes)

    def add(self, name: str, before: Row | None, after: Row | None) -> None:
        """Fold one raw change in: an insert, an update (key changes included) or a delete."""
        key_of = TABLES[name].key_of
        key = key_of(before or after or ())
        if before is not None and after is not None and key_of(after) != key:
            self._fold(RowChange(name, key, before, None))
            self._fold(RowChange(name, key_of(after), None, after))
        else:
            self._fold(RowChange(name, key, before, after))

    def _fold(self, change: RowChange) -> None:
        changes = self._changes
        row = change[:2]
        if row in changes:
            change = RowChange(*row, changes.pop(row).before, change.after)
        if change.before != change.after:
            changes[row] = change

    def merge(self, changes: Iterable[RowChange]) -> None:
        """Fold a later step's net changes in."""
        for change in changes:
            self._fold(change)

    def clear(self) -> None:
        """Forget everything: the world is its template again."""
        self._changes.clear()

    def changes(self) -> tuple[RowChange, ...]:
        """The net changes in canonical order: by table as in the schema's text, then by key."""
        changes = self._changes.values()
        return tuple(sorted(changes, key=_canonical_place) if len(changes) > 1 else changes)


_PLACE: Final = {name: place for place, name in enumerate(TABLES)}


def _canonical_place(change: RowChange) -> tuple[int, tuple[object, ...]]:
    return _PLACE[change.table], change.key


def net_of(raw: Iterable[tuple[str, Row | None, Row | None]]) -> tuple[RowChange, ...]:
    """The net changes of a call from the raw ones, oldest first."""
    net = NetChanges()
    for name, before, after in raw:
        net.add(name, before, after)
    return net.changes()
