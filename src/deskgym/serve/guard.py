"""The guard before every door: hosts, bodies too large or too slow, and what is counted."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deskgym.serve.access import header
from deskgym.serve.log import note, note_failure
from deskgym.serve.operation import OPERATION
from deskgym.serve.problem import Problem
from deskgym.serve.service import Service

CLIENT_GONE: Final = 499
"""The status that a request is counted with whose client went away before the end of its body."""


class _TooLarge(Problem):
    """A body is too large; `unfinished` says whether more of it is to come."""

    def __init__(self, limit: int, *, unfinished: bool) -> None:
        super().__init__(
            "too_large", f"a body may have {limit:,} bytes here", headers={"Connection": "close"}
        )
        self.unfinished: Final = unfinished


class Guard:
    """Middleware that lets only whole and bounded requests in, and counts and logs them.

    A body is read to its end before a door sees it, so that a client that is slow, sends too much
    or vanishes half-way leaves everything as it was.

    Attributes:
        app: the doors.
        service: what they work with.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app: Final = app
        self.service: Final = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI has it."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
            return
        if scope["type"] == "websocket" and self.service.hosts.check(scope) is not None:
            # Before it is accepted, a WebSocket that is closed is answered with 403.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        await self.app(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        start_s = time.perf_counter()
        status = CLIENT_GONE

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._admit(scope, receive, noted)
        except Exception as error:
            # The door has answered with an internal error, or its client has gone.
            note_failure("a request failed", error, operation=_operation(scope))
            if status == CLIENT_GONE:
                problem = Problem("internal_error", "the server's log says how")
                await problem.response()(scope, receive, noted)
        finally:
            self._count(scope, status, time.perf_counter() - start_s)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self.service.hosts.check(scope)
        if problem is not None:
            await problem.response()(scope, receive, send)
            return
        try:
            body = await self._body(scope, receive)
        except Problem as problem:
            response = self.service.refusal(scope, problem)
            if response is None:
                await problem.response()(scope, receive, send)
                return
            if isinstance(problem, _TooLarge) and problem.unfinished:
                # A browser shows no answer that comes before it has sent everything.
                await self._discard(receive)
            await response(scope, receive, send)
            return
        if body is None:
            return
        waiting = True

        async def replay() -> Message:
            nonlocal waiting
            if waiting:
                waiting = False
                return {"type": "http.request", "body": body, "more_body": False}
            return await receive()

        await self.app(scope, replay, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None where the client went away before its end."""
        limit = self._limit(scope)
        length = header(scope, b"content-length")
        if length is not None and length.isdecimal() and int(length) > limit:
            raise _TooLarge(limit, unfinished=True)
        timeout_s = self.service.settings.body_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await _read(receive, limit)
        except TimeoutError:
            raise Problem(
                "timeout", f"the body has to arrive within {timeout_s:g} seconds",
                headers={"Connection": "close"},
            ) from None  # fmt: skip

    async def _discard(self, receive: Receive) -> None:
        """Take the rest of a body that is too large, for a while, and keep nothing of it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.service.settings.body_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect" or not message.get("more_body", False):
                        return

    def _limit(self, scope: Scope) -> int:
        settings = self.service.settings
        imports = scope["method"] == "POST" and scope["path"] in self.service.imports
        return settings.import_bytes_max if imports else settings.body_bytes_max

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        operation = _operation(scope)
        self.service.metrics.answered(operation, status, seconds)
        failed = status >= 500
        if failed or self.service.settings.access_log:
            note(
                "request",
                level=logging.ERROR if failed else logging.INFO,
                operation=operation,
                method=scope["method"],
                # A query is left out: it may hold what an agent wrote.
                path=scope["path"][:200],
                status=status,
                ms=round(seconds * 1_000, 3),
            )


def _operation(scope: Scope) -> str:
    """What a request asked for, from a closed set: a stranger's paths are no names of metrics."""
    return scope.get(OPERATION, "other")


async def _read(receive: Receive, limit: int) -> bytes | None:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _TooLarge(limit, unfinished=message.get("more_body", False))
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
