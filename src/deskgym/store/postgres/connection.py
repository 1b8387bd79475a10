"""Connections: how they are opened, and what is asked of the server at the other end."""

from __future__ import annotations

import re
from typing import Any, Final

import psycopg
from psycopg import Connection, conninfo
from psycopg.rows import tuple_row

from deskgym.errors import DatabaseUnavailable, InvalidDatabase

VERSION_MIN: Final = 14
CONNECT_TIMEOUT_S: Final = 10
# The driver prepares what it is asked to. (None would let it prepare nothing at all.)
PREPARE_BY_ITSELF_NEVER: Final = 1_000_000

# Each prepared statement is planned once: what it is asked with says little about its plan.
_SESSION: Final = (
    "SET client_min_messages = notice; SET synchronous_commit = off; SET jit = off;"
    " SET plan_cache_mode = force_generic_plan; SET standard_conforming_strings = on;"
    " SET default_transaction_isolation = 'read committed'"
)
_FULL: Final = frozenset({"53300", "53400"})
_NAMES_NOTHING: Final = frozenset({"3D000", "28000", "28P01", "42501"})


def connect(url: str) -> Connection[Any]:
    """A connection in autocommit to a server that worlds can live in.

    Raises:
        InvalidDatabase: the URL cannot be read, names no database or user, or the server is too
            old, read-only, or of another encoding than UTF-8.
        DatabaseUnavailable: the server does not answer, or has no connection left.
    """
    plain = re.sub(r"^postgres(ql)?(\+psycopg)?://", "postgresql://", url)
    shown = without_password(plain)
    try:
        connection = psycopg.connect(
            plain,
            autocommit=True,
            row_factory=tuple_row,
            prepare_threshold=PREPARE_BY_ITSELF_NEVER,
            **_timeouts(plain),
        )
    except psycopg.ProgrammingError as error:
        raise InvalidDatabase(f"{shown} is no database URL: {error}") from error
    except psycopg.OperationalError as error:
        raise _unreachable(shown, error) from error
    try:
        _require(connection, shown)
        connection.execute(_SESSION)
    except psycopg.OperationalError as error:
        connection.close()
        raise DatabaseUnavailable(f"{shown} hung up: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", url)


def _timeouts(url: str) -> dict[str, Any]:
    """A limit on connecting, and probes that notice a dead line, unless the URL sets its own."""
    given = conninfo.conninfo_to_dict(url)
    ours = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "keepalives_idle": 30,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "application_name": "deskgym",
    }
    return {name: value for name, value in ours.items() if name not in given}


def _unreachable(shown: str, error: psycopg.OperationalError) -> Exception:
    reason = " ".join(str(error).split())
    if error.sqlstate in _FULL or re.search("too many (clients|conn)|connection slots", reason):
        return DatabaseUnavailable(
            f"{shown} has no connection left: raise its max_connections, or use fewer processes "
            f"or slots ({reason})"
        )
    if error.sqlstate in _NAMES_NOTHING or re.search(
        r"does not exist|authentication failed|could not translate|not known|no password", reason
    ):
        return InvalidDatabase(f"{shown} cannot be opened: {reason}")
    return DatabaseUnavailable(f"{shown} cannot be reached: {reason}")


def _require(connection: Connection[Any], shown: str) -> None:
    version = connection.info.server_version
    if version < VERSION_MIN * 10_000:
        raise InvalidDatabase(
            f"{shown} is PostgreSQL {version // 10_000}; worlds need {VERSION_MIN} or newer"
        )
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise InvalidDatabase(f"{shown} is not encoded in UTF-8: CREATE DATABASE … ENCODING 'UTF8'")
    found = connection.execute("SHOW transaction_read_only").fetchone()
    if found is None or found[0] != "off":
        raise InvalidDatabase(f"{shown} is read-only; worlds need a server that takes writes")
