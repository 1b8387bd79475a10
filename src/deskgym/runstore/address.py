"""Where a database is: its URL, checked, and never shown with its password."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from platformdirs import user_data_path
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from deskgym.errors import InvalidDatabase, MissingExtra
from deskgym.store.opening import EMBEDDED
from deskgym.store.postgres.server import embedded_server

VARIABLE: Final = "DESKGYM_DATABASE_URL"
_POSTGRES: Final = ("postgresql", "postgres", "postgresql+psycopg")
_FORMS: Final = (
    "sqlite:///FILE, postgresql://USER:PASSWORD@HOST:PORT/NAME, embedded (a private PostgreSQL), "
    "or default (a SQLite file in your data directory)"
)


def data_directory() -> Path:
    """The directory of the default file and of the private server.

    `DESKGYM_DATA_DIR`, or else the platform's place for a user's data, such as
    `~/.local/share/deskgym` on Linux.
    """
    chosen = os.environ.get("DESKGYM_DATA_DIR")
    return Path(chosen).expanduser() if chosen else user_data_path("deskgym", appauthor=False)


def default_file() -> Path:
    """The SQLite file of the run store where no other is named."""
    return data_directory() / "runs.db"


def chosen_url(given: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The URL given, or else that of `DESKGYM_DATABASE_URL`, or None where neither is set."""
    return given or environment.get(VARIABLE) or None


def parse_url(text: str) -> URL:
    """A database's URL, ready to connect with. `embedded` starts the private server.

    Raises:
        InvalidDatabase: it is no URL, or of a database that deskgym does not know.
        MissingExtra: it is PostgreSQL's, whose driver is not installed.
        DatabaseUnavailable: the private server does not start.
    """
    if text == EMBEDDED:
        return _with_driver(make_url(start_embedded()))
    if text == "default":
        return URL.create("sqlite", database=str(default_file()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # What stands in a text that cannot be read may be a password.
        raise InvalidDatabase(f"that is no database URL; one is {_FORMS}") from None
    if url.drivername in _POSTGRES:
        return _with_driver(url)
    if url.drivername == "sqlite":
        return _sqlite(url)
    raise InvalidDatabase(f"there is no database of the kind {url.drivername!r}; a URL is {_FORMS}")


def _sqlite(url: URL) -> URL:
    if not url.database or url.database == ":memory:" or url.host:
        raise InvalidDatabase(
            "a SQLite database is a file, so that it outlives its process: sqlite:///runs.db, or "
            "with an absolute path sqlite:////var/lib/deskgym/runs.db"
        )
    unknown = set(url.query) - {"synchronous"}
    if unknown or str(url.query.get("synchronous", "normal")).lower() not in ("normal", "full"):
        raise InvalidDatabase(
            "a SQLite URL takes ?synchronous=normal or ?synchronous=full and no other option"
        )
    return url


def _with_driver(url: URL) -> URL:
    try:
        import psycopg  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise MissingExtra("PostgreSQL", "postgres") from None
    return url.set(drivername="postgresql+psycopg")


def plain_url(url: URL) -> str:
    """A URL as other programs take it, password and all: never to be shown."""
    plain = url.set(drivername=url.get_backend_name())
    return plain.render_as_string(hide_password=False)


def shown(url: URL) -> str:
    """A URL for people: no password, and no option that may hold one."""
    plain = url.set(query={})
    return plain.render_as_string(hide_password=True).replace("+psycopg", "")


@cache
def start_embedded(directory: Path | None = None) -> str:
    """Start the private PostgreSQL server, or find it running, and return its URL.

    It keeps its data, listens on a local socket alone, and stops when the last process that uses
    it ends.

    Args:
        directory: where the data are; `postgres` in the data directory if None.

    Raises:
        MissingExtra: `deskgym[postgres]` is not installed.
        DatabaseUnavailable: it does not start; the message says why.
    """
    place = directory or data_directory() / "postgres"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidDatabase(f"{place.parent} cannot be made: {error.strerror}") from error
    serving = embedded_server(place)
    url = serving.__enter__()
    atexit.register(serving.__exit__, None, None, None)
    return url
