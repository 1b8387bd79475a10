"""Moving: from the rows that a slot holds to those that it should hold, table by table.

What a slot holds is known to its client, row by row, so an undo is the difference between two
sets of rows, sent in one batch: no log is kept in the database, and none is cleared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import orjson

from deskgym.store.change import Row, RowKey
from deskgym.store.postgres.ddl import BEFORE_PREFIX
from deskgym.store.schema import STATEMENTS, TABLES, Table

COMBINATIONS_KEPT: Final = 1_000

Held = Mapping[RowKey, Row | None]
"""What differs from the base: the row at a key, or None where the base's row is gone."""


Kind = Literal["remove", "change", "add"]
Part = tuple[Kind, str, str]
"""What is done to which table: the kind, the prefix of its name, the name."""


class Batch(NamedTuple):
    """One statement over any number of tables, with the rows of each as JSON."""

    text: bytes
    rows_json: list[str]


class Difference:
    """What has to be removed, changed and added, table by table.

    Attributes:
        rows_count: how many rows that is.
    """

    def __init__(self) -> None:
        self.rows_count = 0
        self._parts: Final[dict[Part, list[Row]]] = {}

    def add(self, prefix: str, base: Held, held: Held, wanted: Held) -> None:
        """What leads from the rows held to those wanted; `base` has the row of any other key."""
        for row_key in held.keys() | wanted.keys():
            own = base.get(row_key)
            before, after = held.get(row_key, own), wanted.get(row_key, own)
            if before == after:
                continue
            name = row_key[0]
            if before is not None and after is not None and not _trades(name, before, after):
                self._add("change", prefix, name, after)
                continue
            if before is not None:
                self._add("remove", prefix, name, before)
            if after is not None:
                self._add("add", prefix, name, after)

    def _add(self, kind: Kind, prefix: str, name: str, row: Row) -> None:
        self._parts.setdefault((kind, prefix, name), []).append(row)
        self.rows_count += 1

    def batches(self) -> list[Batch]:
        """The statements: one, unless a row has to go before another can come.

        Foreign keys are looked at when a statement ends, so one needs no order of tables. Between
        two they have to be deferred.
        """
        parts = sorted(self._parts)
        adding = {(prefix, name) for kind, prefix, name in parts if kind == "add"}
        first = [part for part in parts if part[0] == "remove"]
        if any((prefix, name) in adding for _, prefix, name in first):
            stages = [first, [part for part in parts if part[0] != "remove"]]
        else:
            stages = [parts]
        return [
            Batch(_combined(tuple(stage)), [self._as_json(part) for part in stage])
            for stage in stages
            if stage
        ]

    def _as_json(self, part: Part) -> str:
        columns = TABLES[part[2]].columns
        rows = [dict(zip(columns, row, strict=True)) for row in self._parts[part]]
        return orjson.dumps(rows).decode()


@lru_cache(maxsize=COMBINATIONS_KEPT)
def _combined(parts: tuple[Part, ...]) -> bytes:
    """One statement that does all the parts."""
    made = [
        f"part_{place} AS ({_TEXTS[part].replace('$1', f'${place}')})"
        for place, part in enumerate(parts, 1)
    ]
    return f"WITH {', '.join(made)} SELECT 1".encode()


def _trades(name: str, before: Row, after: Row) -> bool:
    """Whether a row gives up a unique value, which another may be about to take."""
    return any(before[place] != after[place] for place in _UNIQUE_PLACES[name])


def _unique_places(known: Table) -> tuple[int, ...]:
    """Where, beside the key, stands what a constraint or index of a table says is unique.

    An index over some of the rows counts with its condition: a row leaves it by any of its parts.
    """
    named: set[str] = set()
    for statement in STATEMENTS:
        if re.match(rf"CREATE TABLE {known.name} \(", statement):
            named.update(re.findall(r"^  (\w+) \w+ NOT NULL UNIQUE", statement, re.MULTILINE))
            for listed in re.findall(r"^  UNIQUE \(([^)]*)\)", statement, re.MULTILINE):
                named.update(listed.split(", "))
        elif re.match(rf"CREATE UNIQUE INDEX \w+\s+ON {known.name} ", statement):
            named.update(re.findall(r"\w+", statement.partition("(")[2]))
    return tuple(place for place, column in enumerate(known.columns) if column in named)


_UNIQUE_PLACES: Final = {name: _unique_places(item) for name, item in TABLES.items()}


def _texts(prefix: str, known: Table) -> Iterator[tuple[Kind, str]]:
    table = f"{prefix}{known.name}"
    # The rows' types are those of the table as it is now; its copy has the same.
    rows = f"json_populate_recordset(NULL::{known.name}, $1::json) given"
    same = " AND ".join(f"kept.{column} = given.{column}" for column in known.key)
    values = [column for column in known.columns if column not in known.key]
    yield "add", f"INSERT INTO {table} SELECT * FROM {rows}"
    yield "remove", f"DELETE FROM {table} kept USING {rows} WHERE {same}"
    if values:
        assigned = ", ".join(f"{column} = given.{column}" for column in values)
        yield "change", f"UPDATE {table} kept SET {assigned} FROM {rows} WHERE {same}"


_TEXTS: Final[dict[Part, str]] = {
    (kind, prefix, name): text
    for prefix in ("", BEFORE_PREFIX)
    for name, known in TABLES.items()
    for kind, text in _texts(prefix, known)
}
