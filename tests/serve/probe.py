"""An app that says of its own process's connections whether they wait before they send."""

from __future__ import annotations

import gc
import os
import socket
import sys
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from deskgym.serve import run
from deskgym.serve.settings import Settings


def no_delay(request: Request) -> JSONResponse:
    found = [item for item in gc.get_objects() if isinstance(item, run.Protocol)]
    options = [
        item.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        for item in found
        if item.transport is not None and not item.transport.is_closing()
    ]
    return JSONResponse({"process": os.getpid(), "no_delay": options})


def app(*_: Any) -> Starlette:
    return Starlette(routes=[Route("/", no_delay)])


if __name__ == "__main__":
    run.WORKER_APP = "tests.serve.probe:app"  # type: ignore[misc]
    run.create_app = app
    run.serve(
        Settings(database=sys.argv[1], port=0, workers=int(sys.argv[2])),
        log_level="info",
        started=lambda url: print(url, flush=True),
    )
