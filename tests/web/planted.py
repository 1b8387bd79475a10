"""Recordings that a test makes, each with a page of its own on a site of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx
import orjson
from starlette.applications import Starlette
from starlette.responses import Response

from deskgym.recording import Recording, parse
from deskgym.serve import Service, Settings
from deskgym.web import viewer
from deskgym.web.run import Run
from deskgym.web.site import Page, Site, Visit
from tests.recordings import reseal


class Planted:
    """A site whose pages are recordings: `/planted/NAME`, with what a run's page can do."""

    def __init__(self, folder: Path) -> None:
        self._recordings: dict[str, Recording] = {}
        self.service = Service(Settings(database=f"sqlite:///{folder}/runs.db"))
        self.site = Site(self.service, "")
        pages = [
            Page("planted", "/planted/{name}", self._show),
            Page("planted_again", "/planted/{name}", self._act, method="POST"),
        ]
        app = Starlette(routes=self.site.routes(pages))
        app.state.service = self.service
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        self.get: Callable[..., httpx.Response] = partial(self._request, "GET")
        self.post: Callable[..., httpx.Response] = partial(self._request, "POST")

    def add(self, recording: Recording, name: str = "it") -> str:
        """Show a recording; the path of its page."""
        self._recordings[name] = recording
        return f"/planted/{name}"

    def _request(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **more))

    def _run(self, visit: Visit) -> Run:
        name = visit.path["name"]
        recording = self._recordings[name]
        return Run(recording, "Planted", f"/planted/{name}", "a test", ("/", "The test"))

    async def _show(self, visit: Visit) -> Response:
        return await viewer.show(visit, self._run(visit))

    async def _act(self, visit: Visit) -> Response:
        return await viewer.act(visit, self._run(visit))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()
        self.service.close()


def resealed(document: dict[str, Any]) -> Recording:
    """A document as a recording whose seals fit, whatever was changed in it."""
    reseal(document)
    return parse(orjson.dumps(document))


def document_of(recording: Recording) -> dict[str, Any]:
    """A recording as a document that a test may change."""
    return orjson.loads(recording.to_json())


def hostile_document(recording: Recording, text: str) -> dict[str, Any]:
    """A recording that holds a text wherever a stranger can put one; it has a step at least."""
    document = document_of(recording)
    document["header"]["format"] = 2
    document["header"]["agent"] = text
    document["header"]["rubric"] = text
    document["header"]["task"] = text
    document["header"]["parameters"] = {text: 1, f"{text}_cents": 2}
    document["header"]["opening"]["message"] = text
    document["header"]["opening"]["data"] = {text: text}
    document["header"]["initial"] = {text: [{text: text}]}
    step = document["steps"][0]
    step["action"] = {"tool": text, "arguments": {text: [{text: text}, {text: None}]}}
    step["result"] = {"ok": False, "code": text, "message": text, "data": {"customer": text}}
    step["changes"] = [
        {"table": text, "key": [text, {text: text}], "before": {text: text}, "after": {"a": text}},
        {"table": text, "key": [], "before": None, "after": None},
        {"table": text, "key": [None], "before": {}, "after": {}},
    ]
    step["score"] = {"reward": 12.5, "verdict": text, text: text}
    step["ended"] = text
    document["footer"] |= {
        "ended": text,
        "score": {"reward": -1e300, "verdict": text, "reasons": [text, {text: text}]},
        "digest": text,
        "changes": step["changes"],
        "run": {
            "termination": text,
            "invalid": None,
            "detail": text,
            "customer": [text],
            "turns": {text: text},
            "malformed_calls": [text],
            "transcript": [text, {"role": text, "text": text, "step": text, "reason": text}, 5],
        },
    }
    return document
