"""One step through each door, beside an empty handler of the same server in the same run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx

from benchmarks.measure import Figure, median_s

CALLS = 140
TASK = "service/damaged-lamp"
MESSAGE = {"text": "One moment, please."}
"""A step that ends no episode, however often; an episode takes 48, so each has a new one."""
STEPS = 40

Rpc = Callable[..., dict[str, Any]]


@contextmanager
def served(folder: str) -> Generator[str]:
    """`deskgym serve` in a process of its own; its address."""
    program = str(Path(sys.executable).with_name("deskgym"))
    command = [program, "serve", "--json", "--port", "0", "--log-level", "warning",
               "--database", f"sqlite:///{folder}/runs.db"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            text += process.stdout.readline()
        yield json.loads(text)["url"]
    finally:
        process.terminate()
        process.wait()


class Steps:
    """Steps of episodes that are made as they are used up."""

    def __init__(self, start: Callable[[], Callable[[int], None]]) -> None:
        self._start = start
        self._take: Callable[[int], None] | None = None
        self._number = STEPS

    def __call__(self) -> None:
        if self._number == STEPS or self._take is None:
            self._take, self._number = self._start(), 0
        self._number += 1
        self._take(self._number)


def figures() -> Iterator[Figure]:
    """Milliseconds of a step: HTTP, MCP over HTTP and stdio, and OpenEnv's WebSocket if there."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = stack.enter_context(served(folder))
        client = stack.enter_context(httpx.Client(base_url=url, timeout=60))
        empty_s = _median(lambda: client.get("/health").raise_for_status())
        yield Figure("an empty handler, over HTTP", f"{empty_s * 1e3:.2f} ms")
        doors: list[tuple[str, Callable[[], None]]] = [
            ("the trainer's /api", Steps(lambda: _api(client))),
            ("the agent's door, MCP over HTTP", Steps(lambda: _mcp(client))),
            ("the agent's door, MCP over stdio", Steps(lambda: _stdio(stack, folder))),
        ]
        if find_spec("openenv") is not None:
            doors.append(("OpenEnv, over WebSocket", Steps(lambda: _websocket(stack, url))))
        for name, step in doors:
            seconds = _median(step)
            ratio = seconds / empty_s
            yield Figure(f"a step through {name}", f"{seconds * 1e3:.2f} ms ({ratio:.1f} x)")


def _median(work: Callable[[], object]) -> float:
    for _ in range(20):
        work()
    return median_s(work, calls=CALLS)


def _api(client: httpx.Client) -> Callable[[int], None]:
    made = client.post("/api/episodes", json={"task": TASK}).raise_for_status().json()

    def take(number: int) -> None:
        action = {"tool": "message", "arguments": {"text": f"{number} {MESSAGE['text']}"}}
        body = {"action": action, "number": number}
        client.post(f"/api/episodes/{made['id']}/steps", json=body).raise_for_status()

    return take


def _mcp(client: httpx.Client) -> Callable[[int], None]:
    body = {"task": TASK, "with_token": True}
    made = client.post("/api/episodes", json=body).raise_for_status().json()
    headers = {
        "Authorization": f"Bearer {made['token']}",
        "Accept": "application/json, text/event-stream",
    }

    def take(number: int) -> None:
        path = f"/episodes/{made['id']}/mcp"
        client.post(path, json=_call(number), headers=headers).raise_for_status()

    return take


def _stdio(stack: ExitStack, folder: str) -> Callable[[int], None]:
    program = str(Path(sys.executable).with_name("deskgym"))
    command = [program, "mcp", TASK, "--database", f"sqlite:///{folder}/stdio.db"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.stdin.close)  # type: ignore[union-attr]

    def exchange(message: dict[str, Any], *, answered: bool = True) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        if answered:
            assert b'"result"' in process.stdout.readline()

    hello = {"protocolVersion": "2025-06-18", "capabilities": {},
             "clientInfo": {"name": "bench", "version": "1"}}  # fmt: skip
    exchange({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    exchange({"jsonrpc": "2.0", "method": "notifications/initialized"}, answered=False)
    return lambda number: exchange(_call(number))


def _call(number: int) -> dict[str, Any]:
    params = {"name": "message", "arguments": {"text": f"{number} {MESSAGE['text']}"}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _websocket(stack: ExitStack, url: str) -> Callable[[int], None]:
    from websockets.sync.client import connect  # pyright: ignore[reportMissingImports]

    address = url.replace("http", "ws", 1) + "/openenv/service/ws"
    socket = stack.enter_context(connect(address, open_timeout=60))

    def exchange(kind: str, data: dict[str, Any]) -> None:
        socket.send(json.dumps({"type": kind, "data": data}))
        assert '"observation"' in socket.recv()

    exchange("reset", {"task": TASK, "seed": 0})

    def take(number: int) -> None:
        arguments = {"text": f"{number} {MESSAGE['text']}"}
        exchange("step", {"type": "call_tool", "tool_name": "message", "arguments": arguments})

    return take
