"""The MCP SDK's own client, of either major version."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from deskgym.trajectory import Observation
from tests.serve.doorway import Script, in_process, observation, oracle

SECOND = int(version("mcp").partition(".")[0]) >= 2
COMMAND = str(Path(sys.executable).with_name("deskgym"))

http: Any = import_module("httpx2" if SECOND else "httpx")


@asynccontextmanager
async def over_http(url: str, token: str | None) -> AsyncGenerator[ClientSession]:
    """A session with an episode's door."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        http.AsyncClient(headers=headers, timeout=60) as client,
        streamable_http_client(url, http_client=client) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        yield session


@asynccontextmanager
async def over_stdio(*arguments: str) -> AsyncGenerator[ClientSession]:
    """A session with `deskgym mcp`."""
    parameters = StdioServerParameters(command=COMMAND, args=["mcp", *arguments])
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        yield session


async def call(session: ClientSession, tool: str, arguments: Any) -> Observation:
    """Call a tool; what it answered, in the one form and in the other."""
    answer = as_json(await session.call_tool(tool, arguments))
    seen = observation(answer["structuredContent"])
    assert answer["isError"] is not seen.ok
    (content,) = answer["content"]
    assert content["type"] == "text"
    assert content["text"] == seen.to_json().decode()
    return seen


def as_json(answer: Any) -> dict[str, Any]:
    """An answer of the SDK's as it was on the wire."""
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


async def play_oracle(session: ClientSession, task: str) -> None:
    """Let the oracle act, as an agent does: it is told the briefing, and sees the answers."""
    control = oracle(task)
    reference = in_process(task, control)
    script = Script(control, reference.opening())
    number = 0
    while script.action is not None:
        seen = await call(session, script.action.tool, script.action.arguments)
        # The client reads null where the tool has nothing to say.
        expected = reference.steps[number]
        assert (seen.ok, seen.code) == (expected.result.ok, expected.result.code)
        assert seen.data == dict(expected.result.data)
        number += 1
        script.see(seen)
    assert number == len(reference.steps)
