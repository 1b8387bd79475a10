"""The app: its doors, what is asked of every request, and how it starts and stops."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from deskgym.errors import DeskgymError
from deskgym.runstore import RunStore
from deskgym.serve.door import places_of
from deskgym.serve.guard import Guard
from deskgym.serve.problem import Problem, problem_of
from deskgym.serve.service import Service
from deskgym.serve.settings import Settings
from deskgym.serve.watch import WORKER_VARIABLE


def create_app(settings: Settings | None = None, *, store: RunStore | None = None) -> ASGIApp:
    """The ASGI app; `app.state.service` of its Starlette part is the `Service`.

    Args:
        settings: how to serve; the defaults if None.
        store: an open run store; the one that the settings name if None. It is closed with the
            app either way.

    Raises:
        UsageError: the settings cannot be served with.
    """
    chosen = (settings or Settings()).checked()
    places = places_of(chosen.app)
    service = Service(chosen, store)
    doors = [place.open(service) for place in places]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(service.close)
            for door in doors:
                if door.lifespan is not None:
                    await stack.enter_async_context(door.lifespan())
            yield

    app = Starlette(
        routes=[route for door in doors for route in door.routes],
        lifespan=lifespan,
        exception_handlers={
            Problem: _answer_problem,
            DeskgymError: _answer_error,
            HTTPException: _answer_http,
            Exception: _answer_failure,
        },
    )
    app.state.service = service
    return Guard(app, service)


def from_environment() -> ASGIApp:
    """The app of a worker process, with the settings that the command handed to it."""
    return create_app(Settings.from_json(os.environ[WORKER_VARIABLE]))


def _answer_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem), "the handler of problems"
    return error.response()


def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, DeskgymError), "the handler of deskgym's errors"
    return problem_of(error).response()


def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "the handler of the framework's errors"
    codes = {404: "not_found", 405: "method_not_allowed"}
    problem = Problem(
        codes.get(error.status_code, "bad_request"), error.detail, headers=error.headers
    )
    return problem.response()


def _answer_failure(request: Request, error: Exception) -> Response:
    return Problem("internal_error", "the server's log says how").response()
