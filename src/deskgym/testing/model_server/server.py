"""The server itself: a small HTTP/1.1 server on loopback, in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final

from deskgym.errors import UsageError
from deskgym.testing.model_server.player import Player
from deskgym.testing.model_server.reply import Drop, Fail, Half, Reply, Say, Send, Stall
from deskgym.testing.model_server.request import ModelRequest, Provider
from deskgym.testing.model_server.shape import body_of, error_of, events_of

HEAD_BYTES_MAX: Final = 65_536
_PATHS: Final[dict[str, Provider]] = {"/chat/completions": "openai", "/messages": "anthropic"}


class ModelServer:
    """A scripted model server, which runs while its `with` block does.

    Attributes:
        requests: all that came in, in order.
        replies: how many of each kind were given, by the name of the reply's type.
        failures: what the player raised, for which the client got an error 500.
    """

    def __init__(self, player: Player, *, api_key: str | None = None, port: int = 0) -> None:
        """Starts nothing yet.

        Args:
            player: what answers.
            api_key: the key that a request has to bring; any or none if None.
            port: where it listens on 127.0.0.1; a free port if 0.
        """
        self.requests: list[ModelRequest] = []
        self.replies: Counter[str] = Counter()
        self.failures: list[Exception] = []
        self._player: Final = player
        self._api_key: Final = api_key
        self._port = port
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """Where it listens; raises `UsageError` before it runs."""
        if self._thread is None:
            raise UsageError("the model server runs within its `with` block")
        return self._port

    def url(self, provider: Provider) -> str:
        """The base URL for a provider's clients."""
        return f"http://127.0.0.1:{self.port}" + ("/v1" if provider == "openai" else "")

    def __enter__(self) -> ModelServer:
        ready: threading.Event = threading.Event()
        problems: list[OSError] = []
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready, problems)), name="model-server"
        )
        self._thread.start()
        ready.wait()
        if problems:
            self._thread.join()
            self._thread = None
            raise UsageError(f"port {self._port} cannot be listened on: {problems[0].strerror}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._loop is not None, "a server that was started has a loop"
        assert self._stop is not None, "a server that was started can be stopped"
        assert self._thread is not None, "a server that was started has a thread"
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = None

    async def _serve(self, ready: threading.Event, problems: list[OSError]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            server = await asyncio.start_server(
                self._connected, "127.0.0.1", self._port, limit=HEAD_BYTES_MAX, backlog=1_024
            )
        except OSError as error:
            problems.append(error)
            ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served by a task"
        self._open.add(task)
        try:
            while await self._answer_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client has gone
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1].partition("?")[0]
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        provider: Provider | None = next(
            (who for end, who in _PATHS.items() if path.endswith(end)), None
        )
        try:
            body: Any = json.loads(content)
        except ValueError:
            body = None
        if provider is None or not isinstance(body, dict):
            error = {"error": {"message": "there is no such path, or the body is no JSON object"}}
            writer.write(_whole(404, json.dumps(error).encode()))
            await writer.drain()
            return True
        request = ModelRequest(provider, len(self.requests), body, headers)  # pyright: ignore[reportUnknownArgumentType]
        self.requests.append(request)
        reply = self._reply_to(request)
        self.replies[type(reply).__name__] += 1
        return await _write(reply, request, writer)

    def _reply_to(self, request: ModelRequest) -> Reply:
        if self._api_key is not None and request.key != self._api_key:
            return Fail(401, f"wrong API key: {request.key}")
        try:
            return self._player(request)
        except Exception as error:
            self.failures.append(error)
            return Fail(500, f"the player failed: {type(error).__name__}")


async def _write(reply: Reply, request: ModelRequest, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; whether the connection stays open."""
    match reply:
        case Fail(status, message, headers, delay_s):
            await _wait(delay_s)
            body = json.dumps(error_of(status, message, request)).encode()
            writer.write(_whole(status, body, headers=dict(headers or {})))
        case Send(body, status, kind):
            writer.write(_whole(status, body, kind))
        case Say():
            await _wait(reply.delay_s)
            writer.write(_rendered(reply, request))
        case Half(say):
            await _wait(say.delay_s)
            writer.write(_rendered(say, request, half=True))
        case Drop(say) | Stall(say):
            if say is not None:
                await _wait(say.delay_s)
                whole = _rendered(say, request)
                writer.write(whole[: len(whole) // 2])
            await writer.drain()
            if isinstance(reply, Drop):
                return False
            await asyncio.Event().wait()  # until the client goes, or the server stops
    await writer.drain()
    return True


async def _wait(delay_s: float) -> None:
    if delay_s > 0:
        await asyncio.sleep(delay_s)


def _whole(
    status: int,
    body: bytes,
    kind: str = "application/json",
    headers: dict[str, str] | None = None,
) -> bytes:
    phrases = {each.value: each.phrase for each in HTTPStatus}
    fields = {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {phrases.get(status, '')}\r\n{lines}\r\n".encode() + body


def _rendered(say: Say, request: ModelRequest, *, half: bool = False) -> bytes:
    """The bytes of a reply. Half of one is half of its text, or half of its events."""
    if not request.is_streaming:
        body = json.dumps(body_of(say, request)).encode()
        return _whole(200, body[: len(body) // 2] if half else body)
    events = events_of(say, request)
    sent = events[: len(events) // 2] if half else events
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in sent)
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    return f"{head}\r\n".encode() + chunks + b"0\r\n\r\n"
