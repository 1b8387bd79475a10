"""What a driver raises, as an error that says what to do."""

from __future__ import annotations

import sqlite3
from typing import Final, NamedTuple

from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from deskgym.errors import DatabaseDamaged, DatabaseUnavailable, InvalidDatabase

# By the SQLSTATE, or the start of one; the first that fits.
_POSTGRES: Final = (
    ("25006", InvalidDatabase, "is read-only; use a server or a user that may write"),
    ("42501", InvalidDatabase, "does not let this user do that; grant it the schema deskgym"),
    ("28", InvalidDatabase, "does not accept this user or password"),
    ("3D000", InvalidDatabase, "does not exist; create it with CREATE DATABASE"),
    ("53300", DatabaseUnavailable, "has no connection free; raise max_connections or use fewer"),
    ("53100", DatabaseUnavailable, "has no space left"),
    ("40", DatabaseUnavailable, "had two transactions in each other's way; try again"),
    ("57P03", DatabaseUnavailable, "is starting or stopping; try again"),
    ("57014", DatabaseUnavailable, "took too long; try again"),
    ("XX001", DatabaseDamaged, "is damaged; restore it from a copy"),
    ("XX002", DatabaseDamaged, "is damaged; restore it from a copy"),
)
_SQLITE: Final = (
    ("SQLITE_READONLY", InvalidDatabase, "is read-only; make the file and its folder writable"),
    ("SQLITE_CANTOPEN", InvalidDatabase, "cannot be opened; is its folder there, and writable?"),
    ("SQLITE_NOTADB", DatabaseDamaged, "is no SQLite database; name another file"),
    ("SQLITE_CORRUPT", DatabaseDamaged, "is damaged; restore it from a copy"),
    ("SQLITE_FULL", DatabaseUnavailable, "has no space left"),
    ("SQLITE_IOERR", DatabaseUnavailable, "cannot be read or written; is the disk well?"),
    ("SQLITE_BUSY", DatabaseUnavailable, "is locked by another process; try again"),
    ("SQLITE_LOCKED", DatabaseUnavailable, "is locked; try again"),
)


Problem = InvalidDatabase | DatabaseUnavailable | DatabaseDamaged


class Failure(NamedTuple):
    """A driver's error as one of ours, and whether the connection was lost with it."""

    error: Problem
    lost: bool


def driver_errors() -> tuple[type[Exception], ...]:
    """What the drivers that are installed raise, directly or through SQLAlchemy.

    Of a damaged file even the message of the error may be no text.
    """
    try:
        import psycopg
    except ImportError:
        return (sqlite3.Error, UnicodeDecodeError, DBAPIError, PoolTimeout)
    return (sqlite3.Error, UnicodeDecodeError, psycopg.Error, DBAPIError, PoolTimeout)


def failure_of(error: Exception, where: str) -> Failure | None:
    """What a driver's error means for the database `where`; None for a bug of ours."""
    if isinstance(error, PoolTimeout):
        full = f"{where}: every connection of the pool is in use; try again, or allow more"
        return Failure(DatabaseUnavailable(full), False)
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, UnicodeDecodeError):
        return Failure(DatabaseDamaged(f"{where} is damaged; restore it from a copy"), False)
    if isinstance(cause, sqlite3.Error):
        return _of_sqlite(cause, where)
    return None if cause is None else _of_postgres(cause, where, isinstance(error, InterfaceError))


def _of_sqlite(cause: BaseException, where: str) -> Failure | None:
    name = getattr(cause, "sqlite_errorname", "")
    for start, kind, problem in _SQLITE:
        if name.startswith(start):
            return Failure(kind(f"{where} {problem}"), False)
    if "Could not decode to UTF-8" in str(cause):
        return Failure(DatabaseDamaged(f"{where} is damaged; restore it from a copy"), False)
    if "file is not a database" in str(cause):
        return Failure(DatabaseDamaged(f"{where} is no SQLite database; name another file"), False)
    return None


def _of_postgres(cause: BaseException, where: str, lost: bool) -> Failure | None:
    state = getattr(cause, "sqlstate", None) or ""
    for start, kind, problem in _POSTGRES:
        if state.startswith(start):
            return Failure(kind(f"{where} {problem}"), False)
    # A class of its own: the administrator ended the connection, or the server went away.
    if state.startswith(("08", "57P")):
        return Failure(DatabaseUnavailable(f"{where} closed the connection; try again"), True)
    if not state and (lost or type(cause).__name__ in ("OperationalError", "InterfaceError")):
        return Failure(_unreachable(cause, where), True)
    if type(cause).__name__ in ("ConnectionTimeout", "PoolTimeout"):
        return Failure(_unreachable(cause, where), True)
    return None


def _unreachable(cause: BaseException, where: str) -> Problem:
    """Servers say most of it without a state: at connecting, there is none yet."""
    said = str(cause)
    for sign, kind, problem in (
        (
            "password authentication failed",
            InvalidDatabase,
            "does not accept this user or password",
        ),
        ("no password supplied", InvalidDatabase, "asks for a password"),
        ("does not exist", InvalidDatabase, "has no such user or database; create it first"),
        ("too many clients", DatabaseUnavailable, "has no connection free; allow more, or use few"),
        ("remaining connection slots", DatabaseUnavailable, "has no connection free"),
        ("starting up", DatabaseUnavailable, "is starting; try again"),
        ("failed to resolve", DatabaseUnavailable, "has a host name that is not known"),
        ("could not translate host name", DatabaseUnavailable, "has a host name that is not known"),
    ):
        if sign in said:
            return kind(f"{where} {problem}")
    return DatabaseUnavailable(f"{where} cannot be reached; does it run, and may you connect?")
