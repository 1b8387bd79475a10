"""Worlds in a PostgreSQL server: the same tables, statements, changes and digests as in SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deskgym.errors import MissingExtra

if TYPE_CHECKING:
    from deskgym.store.postgres.engine import PostgresEngine

__all__ = ["open_postgres"]


def open_postgres(url: str) -> PostgresEngine:
    """The engine for a server's URL, or for a private server of this process (`embedded`).

    Raises:
        InvalidDatabase: the URL cannot be read, or the server cannot hold worlds.
        MissingExtra: `deskgym[postgres]` is not installed.
        DatabaseUnavailable: the server does not answer.
    """
    try:
        from deskgym.store.postgres.engine import PostgresEngine
    except ImportError as error:
        raise MissingExtra("PostgreSQL", "postgres") from error
    if url == "embedded":
        from deskgym.store.postgres.server import process_server

        url = process_server()
    return PostgresEngine(url)
