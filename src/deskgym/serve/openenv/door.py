"""The door to OpenEnv: who may come in, and when its packages are imported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deskgym.errors import MissingExtra
from deskgym.serve.access import require_trainer
from deskgym.serve.door import Door
from deskgym.serve.operation import OPERATION
from deskgym.serve.problem import Problem
from deskgym.serve.service import Service
from deskgym.suite import load_suite, suite_names

ENVIRONMENT: Final = "deskgym.serve.openenv.environment"
"""The module that imports OpenEnv."""

OPEN_PATHS: Final = ("/health",)
"""What is answered without a key: a probe has none."""

NOT_A_MESSAGE: Final = "{"
"""What stands for a frame that is no JSON object, so that it is answered and ends no session."""


@dataclass(frozen=True)
class Caller:
    """Who speaks, and how.

    Attributes:
        holder: the name of the trainer's key, or None.
        connected: whether a connection stays open between the steps.
    """

    holder: str | None
    connected: bool


CALLER: Final[ContextVar[Caller]] = ContextVar("caller")
"""Who speaks now. OpenEnv makes environments without arguments, so they ask here."""


def door(service: Service, prefix: str, suite: str | None = None) -> Door:
    """The OpenEnv environments of all suites, or of one of them alone at the prefix.

    Raises:
        MissingExtra: one is to be served alone, and OpenEnv is not installed.
    """
    if suite is not None:
        if find_spec("openenv") is None:
            raise _missing()
        alone = SuiteApp(service, suite)
        return Door([Mount(prefix, alone)], lambda: _lifespan([alone], eager=True))
    apps = {name: SuiteApp(service, name) for name in suite_names()}
    routes = [Mount(f"{prefix}/{name}", app) for name, app in apps.items()]
    return Door(routes, lambda: _lifespan(list(apps.values()), eager=False))


class SuiteApp:
    """A suite's OpenEnv app, made when it is first asked for anything."""

    def __init__(self, service: Service, suite: str) -> None:
        self._service: Final = service
        self._suite: Final = suite
        self._app: ASGIApp | None = None
        self._running: AbstractAsyncContextManager[Any] | None = None
        self._lock: Final = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI has it."""
        scope[OPERATION] = "openenv"
        websocket = scope["type"] == "websocket"
        try:
            if _local_path(scope) in OPEN_PATHS:
                holder = None
            else:
                holder = require_trainer(scope, self._service).holder
            app = await self.load()
        except Problem as problem:
            if not websocket:
                raise
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": problem.detail[:100]})
            return
        token = CALLER.set(Caller(holder, websocket))
        try:
            await app(scope, self._bounded(receive) if websocket else receive, send)
        finally:
            CALLER.reset(token)

    async def load(self) -> ASGIApp:
        """The app; raises `Problem` where OpenEnv is not installed."""
        if self._app is None:
            async with self._lock:
                if self._app is None:
                    await self._start()
        assert self._app is not None, "it was made"
        return self._app

    async def _start(self) -> None:
        if find_spec("openenv") is None:
            raise Problem("missing_extra", str(_missing()))
        module = await asyncio.to_thread(import_module, ENVIRONMENT)
        app = module.make_app(self._service, load_suite(self._suite))
        running: AbstractAsyncContextManager[Any] = app.router.lifespan_context(app)
        await running.__aenter__()
        self._running, self._app = running, app

    async def stop(self) -> None:
        """End what the app runs beside its requests."""
        if self._running is not None:
            await self._running.__aexit__(None, None, None)

    def _bounded(self, receive: Receive) -> Receive:
        """Frames; one that is too large or no JSON object becomes one that is refused."""
        limit = self._service.settings.body_bytes_max

        async def bounded() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                text = message.get("text")
                if text is None or len(text) > limit or not text.lstrip().startswith("{"):
                    return {"type": "websocket.receive", "text": NOT_A_MESSAGE}
            return message

        return bounded


@asynccontextmanager
async def _lifespan(apps: list[SuiteApp], *, eager: bool) -> AsyncGenerator[None]:
    importing: asyncio.Future[Any] | None = None
    if eager:
        for app in apps:
            await app.load()
    elif find_spec("openenv") is not None:
        # The server answers meanwhile, and the first client does not wait for all of it.
        importing = asyncio.ensure_future(asyncio.to_thread(import_module, ENVIRONMENT))
    try:
        yield
    finally:
        if importing is not None:
            await asyncio.wait([importing])
        for app in apps:
            await app.stop()


def _local_path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _missing() -> MissingExtra:
    return MissingExtra("the OpenEnv door", "openenv")
