"""From what a user writes as a database to the engine behind it."""

from __future__ import annotations

import re
from typing import Final

from deskgym.errors import InvalidDatabase
from deskgym.store.engine import default_engine
from deskgym.store.place import WorldEngine

EMBEDDED: Final = "embedded"
"""Stands for a private PostgreSQL server that is there as long as this process is."""

_POSTGRES: Final = re.compile(r"(postgresql|postgres)(\+psycopg)?://")


def is_postgres(url: str | None) -> bool:
    """Whether worlds of this database live in PostgreSQL; `embedded` means a private server."""
    return url == EMBEDDED or (url is not None and _POSTGRES.match(url) is not None)


def open_engine(url: str | None = None) -> WorldEngine:
    """The engine for a database.

    Args:
        url: `postgresql://…` for a server; `embedded` for a private one, started here and stopped
            when the process ends; None or `sqlite:…` for SQLite in this process's memory, where
            worlds live whatever file the URL names.

    Raises:
        InvalidDatabase: the URL names no such database.
        MissingExtra: `deskgym[postgres]` is not installed.
        DatabaseUnavailable: the server cannot be reached or used.
    """
    if url is None or url.partition(":")[0] == "sqlite":
        return default_engine()
    if not is_postgres(url):
        scheme = url.partition(":")[0]
        raise InvalidDatabase(
            f"there is no database {scheme!r}: use postgresql://user@host/name, "
            f"sqlite:///path, or {EMBEDDED}"
        )
    from deskgym.store.postgres import open_postgres

    return open_postgres(url)
