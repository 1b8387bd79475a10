"""What deskgym's worlds take in a database, and how to take it back."""

from __future__ import annotations

from typing import Any, NamedTuple

from psycopg import Connection

from deskgym.store.postgres.connection import connect
from deskgym.store.postgres.ddl import LAYOUT
from deskgym.store.postgres.lease import LOCK_CLASS, SCHEMA, slot_schema


class SlotState(NamedTuple):
    """A slot of a database.

    Attributes:
        number: tells it from the others.
        in_use: whether a connection owns it now.
        current: whether this version of deskgym can use it.
        bytes: what it takes on the disk.
    """

    number: int
    in_use: bool
    current: bool
    bytes: int


def slots_in(url: str) -> list[SlotState]:
    """The slots of a database, by number; none where worlds never lived.

    Raises:
        InvalidDatabase: the URL cannot be read, or the server cannot hold worlds.
        DatabaseUnavailable: the server does not answer.
    """
    with connect(url) as connection:
        return [
            SlotState(number, not _took(connection, number), layout == LAYOUT, size)
            for number, layout, size in _rows(connection)
        ]


def drop_free_slots(url: str) -> int:
    """Drop every slot that no connection owns; how many these were. Those in use stay.

    Raises:
        InvalidDatabase: the URL cannot be read, or the server cannot hold worlds.
        DatabaseUnavailable: the server does not answer.
    """
    dropped = 0
    with connect(url) as connection:
        for number, *_ in _rows(connection):
            if _took(connection, number):
                with connection.transaction():
                    connection.execute(f"DROP SCHEMA {slot_schema(number)} CASCADE".encode())
                    connection.execute(
                        f"DELETE FROM {SCHEMA}.slot WHERE number = %s".encode(), [number]
                    )
                dropped += 1
    return dropped


def _took(connection: Connection[Any], number: int) -> bool:
    """Whether the slot was free; then it is ours until the connection is closed."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK_CLASS, number]).fetchone()
    return row is not None and bool(row[0])


def _rows(connection: Connection[Any]) -> list[tuple[int, str, int]]:
    exists = connection.execute("SELECT to_regclass(%s)", [f"{SCHEMA}.slot"]).fetchone()
    if exists is None or exists[0] is None:
        return []
    return connection.execute(
        "SELECT number, layout, (SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint"
        " FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace ="
        " to_regnamespace('deskgym_slot_' || number))"
        f" FROM {SCHEMA}.slot ORDER BY number".encode()
    ).fetchall()
