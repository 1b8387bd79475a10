"""`/episodes/{id}/mcp`: one episode's tools over MCP's streamable HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from deskgym.errors import MissingExtra
from deskgym.serve.access import require_agent
from deskgym.serve.door import Door
from deskgym.serve.mcp.seat import Briefing, Seat, briefing_of
from deskgym.serve.operation import OPERATION
from deskgym.serve.problem import Problem
from deskgym.serve.service import Service
from deskgym.trajectory import Action, Observation


def door(service: Service, prefix: str) -> Door:
    """The agent's door; the SDK is imported while the server already answers others."""
    sdk = Sdk()
    endpoint = EpisodeEndpoint(service, sdk)

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        loading = asyncio.create_task(sdk.load()) if sdk.installed else None
        try:
            yield
        finally:
            if loading is not None:
                await asyncio.wait([loading])

    return Door([Route(f"{prefix}/{{id}}/mcp", endpoint)], lifespan)


class Sdk:
    """The module that knows the SDK, imported once, in a thread: it takes two seconds."""

    def __init__(self) -> None:
        self._module: Any = None
        self._lock: Final = asyncio.Lock()

    @property
    def installed(self) -> bool:
        """Whether the SDK is there."""
        return find_spec("mcp") is not None

    async def load(self) -> Any:
        """The module; raises `MissingExtra` where the SDK is not installed."""
        if self._module is None:
            async with self._lock:
                if not self.installed:
                    raise MissingExtra("the agent's door", "mcp")
                self._module = await asyncio.to_thread(import_module, "deskgym.serve.mcp.sdk")
        return self._module


class EpisodeEndpoint:
    """Answers requests at an episode's address, each by itself."""

    def __init__(self, service: Service, sdk: Sdk) -> None:
        self._service: Final = service
        self._sdk: Final = sdk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        scope[OPERATION] = "mcp"
        id = scope["path_params"]["id"]
        await require_agent(scope, self._service, id)
        if scope["method"] != "POST":
            # There is no stream to listen to and no session to end.
            raise Problem("method_not_allowed", "send MCP requests here with POST", headers=_ALLOW)
        sdk = await self._sdk.load()
        seat = Seat(await self._service.run(self._briefing, id), self._step(id))
        await sdk.serve_request(seat, self._service.store.version, scope, receive, send)

    def _briefing(self, id: str) -> Briefing:
        with self._service.episodes.environment(id) as environment:
            return briefing_of(environment)

    def _step(self, id: str) -> Any:
        async def step(action: Action, number: int | None) -> Observation:
            return await self._service.step(id, action, number)

        return step


_ALLOW: Final = {"Allow": "POST"}
