"""The one private PostgreSQL server of a test run, shared by its workers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import psycopg

from deskgym.store.postgres.server import PREFIX, embedded_server


@contextmanager
def serving(run: str) -> Iterator[str]:
    """The server of a test run. The first of its workers starts it and the last one stops it.

    Its folder is none of pytest's: as root the server has a user of its own, whom pytest would
    shut out again as soon as another run begins.
    """
    folder = Path(tempfile.gettempdir()) / f"{PREFIX}tests-{run}"
    with embedded_server(folder / "data", keep=False) as url:
        yield url
    with suppress(OSError):  # the last worker removes it
        folder.rmdir()


@contextmanager
def database(server: str) -> Iterator[str]:
    """The URL of an empty database of its own, dropped at the end with whoever is still in it."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield server.replace("/postgres?", f"/{name}?")
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
