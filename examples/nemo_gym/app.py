"""deskgym as a resources server of NeMo Gym.

This is the only module that imports NeMo Gym; `deskgym.adapters.nemo_gym` does what it is asked.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseSeedSessionRequest,
    BaseSeedSessionResponse,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import ConfigDict, PrivateAttr

from deskgym import AsyncClient
from deskgym.adapters.nemo_gym import SessionError, Sessions


class DeskgymConfig(BaseResourcesServerConfig):
    """Where `deskgym serve` is, and the trainer's key if it wants one."""

    url: str = "http://127.0.0.1:8000"
    key: str | None = None


class SeedRequest(BaseSeedSessionRequest):
    """A row of the data set, as far as it says which episode it is."""

    task: str
    seed: int = 0
    parameters: dict[str, Any] | str | None = None
    rubric: str | None = None


class VerifyRequest(BaseVerifyRequest):
    """A row with the model's response, of which the records say all that counts."""

    model_config = ConfigDict(extra="allow")


class VerifyResponse(BaseVerifyResponse):
    """The row again, with the reward and why."""

    model_config = ConfigDict(extra="allow")


class DeskgymResourcesServer(SimpleResourcesServer):
    """A session is an episode of the server; each tool is an endpoint."""

    config: DeskgymConfig
    _sessions: Sessions = PrivateAttr()

    def model_post_init(self, _: Any, /) -> None:
        """Make the client; it sends nothing yet."""
        self._sessions = Sessions(AsyncClient(self.config.url, key=self.config.key))

    def setup_webserver(self) -> FastAPI:
        """NeMo Gym's own endpoints, and the tools beside them."""
        app = super().setup_webserver()
        app.post("/{tool}")(self.call_tool)
        app.add_exception_handler(SessionError, _told)
        opened = app.router.lifespan_context

        @asynccontextmanager
        async def closing(app: FastAPI) -> AsyncGenerator[Any]:
            async with opened(app) as state:
                yield state
            await self._sessions.close()

        app.router.lifespan_context = closing
        return app

    async def seed_session(self, request: Request, body: SeedRequest) -> BaseSeedSessionResponse:
        """Start the episode of a row."""
        await self._sessions.seed(request.session[SESSION_ID_KEY], **body.model_dump())
        return BaseSeedSessionResponse()

    async def call_tool(self, request: Request, tool: str) -> dict[str, Any]:
        """Make a call of the model; what it sees of it."""
        try:
            arguments = json.loads(await request.body() or b"{}")
        except ValueError as error:
            raise SessionError(400, f"the arguments are no JSON: {error}") from error
        return await self._sessions.call(request.session[SESSION_ID_KEY], tool, arguments)

    async def verify(self, request: Request, body: VerifyRequest) -> VerifyResponse:
        """End the episode; what it has earned."""
        found = await self._sessions.verify(request.session[SESSION_ID_KEY])
        return VerifyResponse(**{**body.model_dump(), **found._asdict()})


async def _told(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SessionError), "it is registered for these alone"
    return JSONResponse({"error": str(error)}, status_code=error.status)


if __name__ == "__main__":
    DeskgymResourcesServer.run_webserver()
