"""Leases: whose a slot of the database is, and how it comes to hold a base's rows.

A slot is a schema. Whoever holds the session's advisory lock on its number owns it, so the server
itself lets go of the slots of a process that died, whatever it died of, and no two connections
are ever in one. A slot that was given back clean says which base it holds; any other is refilled.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg import Connection
from psycopg.adapt import Dumper, Loader
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper

from deskgym.errors import ConstraintViolation, DatabaseUnavailable, InvalidDatabase
from deskgym.store.digest import as_text, rows_digest
from deskgym.store.postgres.connection import connect, without_password
from deskgym.store.postgres.ddl import BEFORE_PREFIX, LAYOUT, SLOT_DDL, STATE_TABLE
from deskgym.store.schema import TABLES
from deskgym.store.template import Base

SCHEMA: Final = "deskgym_worlds"
"""Where the list of slots is; a slot's own schema is `deskgym_slot_` and its number."""
LOCK_CLASS: Final = 0x6465736B  # "desk": advisory locks are told apart by number alone
SETUP_LOCK: Final = 0
STATEMENTS_PREPARED_MAX: Final = 400

_SETUP: Final = (
    f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}",
    f"CREATE TABLE IF NOT EXISTS {SCHEMA}.slot (number INTEGER PRIMARY KEY, layout TEXT NOT NULL,"
    " base TEXT NOT NULL, made_at TIMESTAMPTZ NOT NULL DEFAULT now())",
)


class _WholeNumber(Loader):
    """A sum is a number of any size to PostgreSQL, and a whole one to the store."""

    def load(self, data: Any) -> int | float:
        text = bytes(data)
        return float(text) if b"." in text else int(text)


class _Bit(Loader):
    """A condition is 0 or 1 to the store."""

    def load(self, data: Any) -> int:
        return 1 if bytes(data) == b"t" else 0


class _Float(Dumper):
    """A float as it is written, for the column to take or refuse: the store holds none."""

    def dump(self, obj: Any) -> bytes:
        return repr(obj).encode()


def slot_schema(number: int) -> str:
    """The schema of a slot."""
    return f"deskgym_slot_{number}"


def base_id(base: Base) -> str:
    """What tells a base from another: the digest of all its rows, those of the log included."""
    return as_text(sum(rows_digest(name, rows) for name, rows in base.rows.items()) % (1 << 256))


class Lease:
    """A connection and the slot that it owns, until it is given back or the connection ends."""

    def __init__(self, url: str, base: Base) -> None:
        """Claim a free slot, or make one, and let it hold the base.

        Raises:
            InvalidDatabase: the server cannot hold worlds.
            DatabaseUnavailable: the server does not answer, or has no connection left.
        """
        self.connection: Final = connect(url)
        try:
            wanted = base_id(base)
            self.number: Final = self._claim(wanted)
            self.connection.execute(f"SET search_path = {slot_schema(self.number)}".encode())
            held = self.connection.execute(
                f"DELETE FROM {STATE_TABLE} RETURNING base".encode()
            ).fetchall()
            if held != [(wanted,)]:
                self.fill(base)
            adapt(self.connection)
        except psycopg.errors.InsufficientPrivilege as error:
            self.connection.close()
            raise InvalidDatabase(
                f"{without_password(url)} does not let this user make or use deskgym's schemas: "
                f"GRANT CREATE ON DATABASE … TO …, and use one user for all of them ({error})"
            ) from error
        except psycopg.OperationalError as error:
            self.connection.close()
            raise DatabaseUnavailable(f"{without_password(url)} hung up: {error}") from error
        except BaseException:
            self.connection.close()
            raise

    def _claim(self, wanted: str) -> int:
        """The number of a slot that is now ours; one that holds the base, if any is free."""
        execute = self.connection.execute
        exists = execute("SELECT to_regclass(%s) IS NOT NULL", [f"{SCHEMA}.slot"]).fetchone()
        if exists is None or not exists[0]:
            self._set_up()
        slots = execute(
            f"SELECT number FROM {SCHEMA}.slot WHERE layout = %s"
            " ORDER BY base = %s DESC, number".encode(),
            [LAYOUT, wanted],
        ).fetchall()
        for (number,) in slots:
            if self._lock(number):
                # It may have been dropped between the two statements.
                found = execute(f"SELECT 1 FROM {SCHEMA}.slot WHERE number = %s".encode(), [number])
                if found.fetchone() is not None:
                    return int(number)
                self._unlock(number)
        return self._make()

    def _lock(self, number: int) -> bool:
        row = self.connection.execute(
            "SELECT pg_try_advisory_lock(%s, %s)", [LOCK_CLASS, number], prepare=True
        ).fetchone()
        return row is not None and bool(row[0])

    def _unlock(self, number: int) -> None:
        self.connection.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK_CLASS, number])

    def _set_up(self) -> None:
        with self.connection.transaction():
            self._alone()
            for statement in _SETUP:
                self.connection.execute(statement.encode())

    def _alone(self) -> None:
        """Let nobody else make or drop slots until the transaction ends."""
        self.connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK_CLASS, SETUP_LOCK])

    def _make(self) -> int:
        """A new slot, with its tables."""
        execute = self.connection.execute
        with self.connection.transaction():
            self._alone()
            highest = execute(f"SELECT MAX(number) FROM {SCHEMA}.slot".encode()).fetchone()
            number = int(highest[0]) + 1 if highest and highest[0] else 1
            self._lock(number)
            execute(f"CREATE SCHEMA {slot_schema(number)}".encode())
            execute(f"SET LOCAL search_path = {slot_schema(number)}".encode())
            execute(";\n".join(SLOT_DDL).encode())
            execute(f"INSERT INTO {SCHEMA}.slot VALUES (%s, %s, '')".encode(), [number, LAYOUT])
        return number

    def fill(self, base: Base) -> None:
        """Empty the slot and put the base's rows into both sets of its tables.

        Raises:
            ConstraintViolation: a row that the schema does not allow.
        """
        connection = self.connection
        tables = [f"{prefix}{name}" for name in TABLES for prefix in ("", BEFORE_PREFIX)]
        with connection.transaction():
            connection.execute(f"TRUNCATE {', '.join([*tables, STATE_TABLE])}".encode())
            for name, rows in base.rows.items():
                try:
                    with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
                        for row in rows:
                            copy.write_row(row)
                except (psycopg.DataError, psycopg.IntegrityError) as error:
                    message = f"a fixture's rows do not fit {name}: {error}"
                    raise ConstraintViolation(message) from error
                connection.execute(f"INSERT INTO {BEFORE_PREFIX}{name} TABLE {name}".encode())
            connection.execute(
                f"UPDATE {SCHEMA}.slot SET base = %s WHERE number = %s".encode(),
                [base_id(base), self.number],
            )
        if base.rows:
            filled = [f"{prefix}{name}" for name in base.rows for prefix in ("", BEFORE_PREFIX)]
            connection.execute(f"ANALYZE {', '.join(filled)}".encode())

    def give_back(self, base: Base) -> None:
        """Let go of the slot, which holds the base and nothing else."""
        try:
            self.connection.execute(
                f"INSERT INTO {STATE_TABLE} VALUES (%s)".encode(), [base_id(base)]
            )
        except psycopg.OperationalError:
            pass  # The server is gone, and the lease with it; whoever claims the slot refills it.
        finally:
            self.connection.close()


def adapt(connection: Connection[Any]) -> None:
    """Send and get values as SQLite does: 64-bit integers and texts, and nothing else."""
    connection.prepared_max = STATEMENTS_PREPARED_MAX
    adapters = connection.adapters
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(str, StrDumper)
    adapters.register_dumper(float, _Float)
    adapters.register_loader("numeric", _WholeNumber)
    adapters.register_loader("bool", _Bit)
