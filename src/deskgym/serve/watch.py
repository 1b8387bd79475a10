"""What watches the server: health, readiness, metrics, and the reaper of idle episodes."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deskgym.errors import DatabaseUnavailable, DeskgymError
from deskgym.serve.access import require_trainer
from deskgym.serve.door import Door
from deskgym.serve.log import note, note_failure
from deskgym.serve.metrics import CONTENT_TYPE
from deskgym.serve.operation import OPERATION
from deskgym.serve.problem import Problem
from deskgym.serve.service import Service

WORKER_VARIABLE: Final = "DESKGYM_SERVE_SETTINGS"
"""How the command hands its settings to its worker processes; set in them alone."""

PARENT_CHECKED_S: Final = 0.5
"""How often a worker looks whether the process that started it is still there."""

REAPED_AT_ONCE: Final = 20
"""How many idle episodes are closed before others have their turn: each takes milliseconds."""


def door(service: Service, prefix: str, *, health: bool = True) -> Door:
    """`/health`, `/ready` and `/metrics`; the last one is a trainer's where there are keys.

    Args:
        service: what to watch.
        prefix: what the paths start with.
        health: whether `/health` is answered here, and not by a door.
    """

    async def alive(request: Request) -> Response:
        request.scope[OPERATION] = "health"
        return _json({"status": "ok", "version": service.store.version})

    async def ready(request: Request) -> Response:
        request.scope[OPERATION] = "ready"
        try:
            await service.run(service.store.ping)
        except DeskgymError as error:
            raise Problem("database_unavailable", str(error)) from error
        return _json({"status": "ready", "version": service.store.version})

    async def metrics(request: Request) -> Response:
        request.scope[OPERATION] = "metrics"
        require_trainer(request.scope, service)
        text = await service.run(service.metrics.exposition)
        return Response(text, media_type=CONTENT_TYPE)

    routes = [Route(f"{prefix}/ready", ready), Route(f"{prefix}/metrics", metrics)]
    if health:
        routes.append(Route(f"{prefix}/health", alive))
    return Door(routes, lambda: _watched(service))


def _json(value: Any) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")


@asynccontextmanager
async def _watched(service: Service) -> AsyncGenerator[None]:
    """Close idle episodes while the server runs, and stop a worker that has lost its parent."""
    tasks = [asyncio.create_task(_stop_with(os.getppid()))] if WORKER_VARIABLE in os.environ else []
    if service.settings.idle_timeout_s is not None:
        tasks.append(asyncio.create_task(_reap(service, service.settings.idle_timeout_s)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _stop_with(parent: int) -> None:
    """Stop this process once its parent has gone: nobody would restart or stop it any more."""
    while os.getppid() == parent:
        await asyncio.sleep(PARENT_CHECKED_S)
    note("the process that started this worker has gone; it stops too", level=logging.WARNING)
    signal.raise_signal(signal.SIGTERM)


async def _reap(service: Service, idle_s: float) -> None:
    while True:
        await asyncio.sleep(min(30.0, idle_s / 4))
        expired = [""]
        while expired:
            try:
                expired = await service.run(service.episodes.expire, idle_s, limit=REAPED_AT_ONCE)
            except DatabaseUnavailable as error:
                note_failure("the database is away; idle episodes wait", error)
                break
            except DeskgymError as error:
                # One that does not come out again as it was stored must not stop the others.
                note_failure("an idle episode could not be closed", error)
                break
            if expired:
                service.metrics.expired.inc(len(expired))
                note("episodes expired", count=len(expired))
            await asyncio.sleep(0)
