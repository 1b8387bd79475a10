"""Running the app: sockets, workers, and how the server starts and stops."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from deskgym.errors import UsageError
from deskgym.runstore import open_run_store
from deskgym.serve.app import create_app
from deskgym.serve.door import places_of
from deskgym.serve.log import log_config
from deskgym.serve.metrics import SHARED_VARIABLE
from deskgym.serve.settings import Settings
from deskgym.serve.watch import PARENT_CHECKED_S, WORKER_VARIABLE

WORKER_APP: Final = "deskgym.serve.app:from_environment"
"""What a worker process runs."""
BACKLOG: Final = 2_048
KEEP_ALIVE_S: Final = 75
"""How long an idle connection is kept: longer than trainers' models usually think."""
ORPHANS_LEAVE_S: Final = 10 * PARENT_CHECKED_S
HEADER_BYTES_MAX: Final = 64 * 1_024
HEADER_TIMEOUT_S: Final = 20.0


class Protocol(HttpToolsProtocol):
    """HTTP without Nagle's delay, and with bounds on a request's headers.

    asyncio turns the delay off only on sockets that name their protocol, which those that a
    server hands to its workers do not: there each answer in two writes would wait for 40 ms.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._header_bytes = 0
        self._header_timer: asyncio.TimerHandle | None = None
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._have_headers()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._header_bytes = 0
        self._expect_headers()

    def on_url(self, url: bytes) -> None:
        """A part of the request's target has come."""
        self._add_header_bytes(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has come."""
        self._add_header_bytes(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers are whole."""
        self._have_headers()
        super().on_headers_complete()

    def _expect_headers(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_TIMEOUT_S, self.transport.close)

    def _have_headers(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _add_header_bytes(self, count: int) -> None:
        self._header_bytes += count
        if self._header_bytes > HEADER_BYTES_MAX:
            self.transport.close()


class _Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started: Final = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()


def listen(host: str, port: int, *, patience_s: float = 0.0) -> socket.socket:
    """A listening socket.

    Args:
        host: the address.
        port: the port; 0 for any free one.
        patience_s: how long to wait for a port that is taken.

    Raises:
        UsageError: there can be none.
    """
    try:
        found = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise UsageError(f"{host} is no address of this machine: {error.strerror}") from error
    family, _, _, _, address = found[0]
    end_s = time.monotonic() + patience_s
    while True:
        try:
            return _listening(family, address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > end_s:
                raise UsageError(
                    f"the server cannot listen on {host} port {port}: {error.strerror}"
                ) from error
        time.sleep(0.1)


def _listening(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.set_inheritable(True)
    return listener


def url_of(host: str, listener: socket.socket) -> str:
    """Where a listening socket is found."""
    name = host.strip("[]")
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{listener.getsockname()[1]}"


def serve(settings: Settings, *, log_level: str, started: Callable[[str], None]) -> None:
    """Serve until the process is told to stop.

    Args:
        settings: how to serve.
        log_level: the least level that is logged.
        started: called with the URL once the server answers there.

    Raises:
        UsageError: the server cannot start; says why.
    """
    settings.checked()
    places_of(settings.app)
    # Workers whose parent was killed leave the port within that time.
    patience_s = ORPHANS_LEAVE_S if settings.workers > 1 else 0.0
    listener = listen(settings.host, settings.port, patience_s=patience_s)
    url = url_of(settings.host, listener)
    try:
        if settings.workers == 1:
            app = create_app(settings)
            config = _config(app, settings, log_level)
            _Server(config, lambda: started(url)).run([listener])
        else:
            _serve_with_workers(settings, listener, log_level, lambda: started(url))
    finally:
        listener.close()


def _config(app: Any, settings: Settings, log_level: str) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        http=Protocol,
        lifespan="on",
        workers=settings.workers,
        access_log=False,
        log_config=log_config(log_level),
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=round(settings.shutdown_timeout_s),
        ws_max_size=settings.body_bytes_max,
    )


def _serve_with_workers(
    settings: Settings, listener: socket.socket, log_level: str, started: Callable[[], None]
) -> None:
    # Made or migrated once, before several workers would do so at the same time.
    open_run_store(settings.database).close()
    shared = tempfile.mkdtemp(prefix="deskgym-metrics-")
    os.environ[SHARED_VARIABLE] = shared
    os.environ[WORKER_VARIABLE] = settings.to_json()
    try:
        config = _config(WORKER_APP, settings, log_level)
        supervisor = Multiprocess(config, sockets=[listener])
        started()
        supervisor.run()
    finally:
        del os.environ[SHARED_VARIABLE], os.environ[WORKER_VARIABLE]
        shutil.rmtree(shared, ignore_errors=True)
