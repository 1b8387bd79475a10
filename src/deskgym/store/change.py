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

    __slots__ = ("_images",)

    def __init__(self) -> None:
        self._images: dict[RowKey, tuple[Row | None, Row | None]] = {}

    def __len__(self) -> int:
        return len(self._images)

    def add(self, name: str, before: Row | None, after: Row | None) -> None:
        """Fold one raw change in: an insert, an update (key changes included) or a delete."""
        key_of = TABLES[name].key_of
        old = None if before is None else key_of(before)
        new = None if after is None else key_of(after)
        if old is not None and new is not None and old != new:
            self._fold((name, old), before, None)
            self._fold((name, new), None, after)
        else:
            key = old if old is not None else new
            assert key is not None, "a change has at least one image"
            self._fold((name, key), before, after)

    def _fold(self, row: RowKey, before: Row | None, after: Row | None) -> None:
        known = self._images.get(row)
        first = before if known is None else known[0]
        if first == after:
            self._images.pop(row, None)
        else:
            self._images[row] = (first, after)

    def merge(self, changes: Iterable[RowChange]) -> None:
        """Fold a later step's net changes in."""
        for change in changes:
            self._fold((change.table, change.key), change.before, change.after)

    def clear(self) -> None:
        """Forget everything: the world is its template again."""
        self._images.clear()

    def changes(self) -> tuple[RowChange, ...]:
        """The net changes in canonical order: by table as in the schema's text, then by key."""
        images = self._images
        if len(images) > 1:
            images = dict(sorted(images.items(), key=_canonical_place))
        return tuple(RowChange(*row, *pair) for row, pair in images.items())


_PLACE: Final = {name: place for place, name in enumerate(TABLES)}


def _canonical_place(item: tuple[RowKey, object]) -> tuple[int, tuple[object, ...]]:
    (name, key), _ = item
    return _PLACE[name], key


def net_of(raw: Iterable[tuple[str, Row | None, Row | None]]) -> tuple[RowChange, ...]:
    """The net changes of a call from the raw ones, oldest first."""
    net = NetChanges()
    for name, before, after in raw:
        net.add(name, before, after)
    return net.changes()
