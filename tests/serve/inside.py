"""The app in the tests' own process, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import httpx

from deskgym.serve import Service, Settings, create_app
from deskgym.serve.guard import Guard


class Inside:
    """Requests to an app, one after another; its lifespan is not entered."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.app = cast(
            Guard, create_app(Settings(database=f"sqlite:///{folder}/runs.db", **settings))
        )
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        self.get: Callable[..., httpx.Response] = partial(self.request, "GET")
        self.post: Callable[..., httpx.Response] = partial(self.request, "POST")

    @property
    def service(self) -> Service:
        return self.app.service

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **more))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()
        self.service.close()
