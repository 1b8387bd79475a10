"""The server: a step over HTTP against an empty handler of the same server, and many at once.

Both are asked in turns by one client on one kept connection, so that other load disturbs both
alike. The bound is on what a training loop sees, which uses `deskgym.Client`. Bare sockets show
what the server alone adds: the step itself and storing it, which an empty handler has none of.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks.measure import Figure
from deskgym.client import Client
from deskgym.client.calls import Call
from deskgym.trajectory import Action

TASK = "service/two-full-captures"
READS: list[dict[str, Any]] = [
    {"tool": "get_order", "arguments": {"order_id": "S-410"}},
    {"tool": "list_order_payments", "arguments": {"order_id": "S-410"}},
]
"""Reads in turns: the same observation three times in a row would end an episode."""
ROUNDS = 600
CONNECTIONS = (1, 16, 64)
STEPS_EACH = 1_920
"""How many steps are taken at each number of connections."""
STEPS_AN_EPISODE = 40
EMPTY = "benchmarks.serve:empty"


def empty() -> Any:
    """What the server runs besides: its own app, with a handler that does nothing."""
    from starlette.responses import Response
    from starlette.routing import Route

    from deskgym.serve.app import from_environment

    app: Any = from_environment()

    async def handler(request: Any) -> Response:
        await request.body()
        return Response(b"{}", media_type="application/json")

    app.app.router.routes.insert(0, Route("/api/empty", handler, methods=["POST"]))
    return app


def main(database: str) -> None:
    """Serve the app with the empty handler: what the measured process runs."""
    import os

    from deskgym.serve import run
    from deskgym.serve.settings import Settings
    from deskgym.serve.watch import WORKER_VARIABLE

    settings = Settings(database=database, port=0)
    os.environ[WORKER_VARIABLE] = settings.to_json()
    run.create_app = lambda settings: empty()
    run.serve(settings, log_level="warning", started=lambda url: print(url, flush=True))


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The measured server; its URL."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.serve", f"sqlite:///{Path(folder)}/runs.db"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.communicate(timeout=60)


def request_bytes(path: str, body: bytes) -> bytes:
    """A request as it is sent."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def step_bytes(episode: str, number: int) -> bytes:
    """A numbered step as it is sent."""
    body = {"action": READS[number % 2], "number": number}
    return request_bytes(f"/api/episodes/{episode}/steps", json.dumps(body).encode())


class Connection:
    """One kept connection."""

    def __init__(self, url: str) -> None:
        port = int(url.rpartition(":")[2])
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> float:
        """Send a request and read its answer; the seconds that it took."""
        start = time.perf_counter()
        self._socket.sendall(request)
        received = b""
        while (answer := _whole(received)) is None:
            part = self._socket.recv(65_536)
            assert part, "the server keeps the connection"
            received += part
        seconds = time.perf_counter() - start
        assert answer.startswith(b"HTTP/1.1 200"), answer[:500]
        return seconds

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def _whole(received: bytes) -> bytes | None:
    head, end, body = received.partition(b"\r\n\r\n")
    if not end:
        return None
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return received if len(body) >= length else None


def figures() -> Iterator[Figure]:
    """Measure the server."""
    with serving() as url, Client(url) as client:
        yield from _with_client(client)
        yield from _against_empty(url, client)
        for connections in CONNECTIONS:
            seconds = asyncio.run(_at_once(url, client, connections))
            name = f"steps over HTTP at {connections} connections, one worker"
            yield Figure(name, f"{STEPS_EACH / seconds:,.0f} a second")
    yield Figure("the server starts and answers", f"{_start_s():.2f} s")


def _against_empty(url: str, client: Client) -> Iterator[Figure]:
    connection = Connection(url)
    nothing: list[float] = []
    steps: list[float] = []
    for number in range(ROUNDS):
        step = number % STEPS_AN_EPISODE
        if step == 0:
            environment = client.make(TASK)
            environment.reset(number)
        request = step_bytes(environment.episode, step + 1)
        body = request.partition(b"\r\n\r\n")[2]
        nothing.append(connection.ask(request_bytes("/api/empty", body)))
        steps.append(connection.ask(request))
    connection.close()
    empty_s, step_s = statistics.median(nothing), statistics.median(steps)
    yield Figure("an empty handler, by a bare socket", f"{empty_s * 1e6:,.0f} µs")
    yield Figure("a stored step, by a bare socket", f"{step_s * 1e6:,.0f} µs")
    yield Figure("  ratio to the empty handler", f"{step_s / empty_s:.2f}")


def _with_client(client: Client) -> Iterator[Figure]:
    """The same by the client, whose own work is in both."""
    environment = client.make(TASK)
    nothing: list[float] = []
    steps: list[float] = []
    for number in range(ROUNDS):
        step = number % STEPS_AN_EPISODE
        if step == 0:
            environment.reset(number)
        read = READS[number % 2]
        body = orjson.dumps({"action": read, "number": step + 1})
        start = time.perf_counter()
        client.call(Call("POST", "/empty", dict, body))
        middle = time.perf_counter()
        environment.step(Action(read["tool"], read["arguments"]))
        nothing.append(middle - start)
        steps.append(time.perf_counter() - middle)
    empty_s, step_s = statistics.median(nothing), statistics.median(steps)
    yield Figure("an empty handler, by deskgym.Client", f"{empty_s * 1e6:,.0f} µs")
    yield Figure("a stored step, by deskgym.Client", f"{step_s * 1e6:,.0f} µs")
    yield Figure("  ratio to the empty handler", f"{step_s / empty_s:.2f}", "1.5")


async def _at_once(url: str, client: Client, connections: int) -> float:
    """Seconds for all the steps, each connection with episodes of its own."""
    each = STEPS_EACH // connections
    environments = [client.make(TASK) for _ in range(connections * -(-each // STEPS_AN_EPISODE))]
    client.reset_all(environments)
    own = [environments[place::connections] for place in range(connections)]
    requests = [
        [
            step_bytes(episodes[n // STEPS_AN_EPISODE].episode, n % STEPS_AN_EPISODE + 1)
            for n in range(each)
        ]
        for episodes in own
    ]
    port = int(url.rpartition(":")[2])

    async def one(mine: list[bytes]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in mine:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*map(one, requests))
    seconds = time.perf_counter() - start
    client.close_all(environments)
    return seconds


def _start_s() -> float:
    """Seconds from the command to the first answer, the fastest of three."""
    fastest = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        with serving() as url, Client(url) as client:
            client.version()
            fastest = min(fastest, time.perf_counter() - start)
    return fastest


if __name__ == "__main__":
    main(sys.argv[1])
