"""`/api`: the trainer's door."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

import orjson
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from deskgym.serve.api import batch, catalogue, episodes, recordings
from deskgym.serve.door import Door
from deskgym.serve.openapi import DOCS_POLICY, docs_page, openapi_of
from deskgym.serve.operation import routes_of
from deskgym.serve.service import Service

OPERATIONS = (
    *episodes.OPERATIONS, *batch.OPERATIONS, *catalogue.OPERATIONS, *recordings.OPERATIONS
)  # fmt: skip
"""Everything that the trainer's door does; the first is looked for first."""

ABOUT = """
Reinforcement-learning environments for customer-service and back-office agents, over HTTP.

Start an episode, take its steps with their numbers, ask for the score, close it. Whatever is
acknowledged is stored. This is the trainer's door: it shows rewards and what they are for. An agent
gets the door of its own episode, over MCP at `/episodes/{id}/mcp`, with a token.
"""


def door(service: Service, prefix: str) -> Door:
    """The trainer's door, its description in OpenAPI, and a page to try it on."""
    title = "deskgym"
    page = docs_page(title, f"{prefix}/openapi.json")

    @cache
    def described() -> bytes:
        document = openapi_of(title, version("deskgym"), ABOUT, prefix, OPERATIONS)
        return orjson.dumps(document)

    def openapi(request: Request) -> Response:
        return Response(described(), media_type="application/json")

    def docs(request: Request) -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": DOCS_POLICY})

    return Door(
        [
            *routes_of(service, prefix, OPERATIONS),
            Route(f"{prefix}/openapi.json", openapi),
            Route(f"{prefix}/docs", docs),
        ]
    )
