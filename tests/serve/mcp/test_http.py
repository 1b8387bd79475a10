"""The agent's door over HTTP: what an agent can do there, what it is told, and what it is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskgym.suite import load_suite
from deskgym.trajectory import call as action
from tests.serve.doorway import KEY, TASKS, Running, in_process, oracle, running
from tests.serve.mcp.client import as_json, call, over_http, play_oracle

TASK = "service/damaged-lamp"
READ = ("get_order", {"order_id": "S-410"})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running(tmp_path_factory.mktemp("mcp"), keys={"trainer": KEY}) as up:
        yield up


class Episode:
    """An episode with an agent's token."""

    def __init__(self, server: Running, task: str = TASK, **more: Any) -> None:
        made = server.service.episodes.create(task, 0, with_token=True, **more)
        assert made.token is not None
        self.id, self.token = made.id, made.token
        self.url = f"{server.url}/episodes/{made.id}/mcp"

    def post(self, body: Any, **headers: str) -> httpx.Response:
        """Send a request without the SDK."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.token}",
            **headers,
        }
        return httpx.post(self.url, content=content, headers=given)

    def rpc(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return what the protocol has in it."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.post(body)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        return answer.json()


@pytest.fixture
def episode(server: Running) -> Episode:
    return Episode(server)


@pytest.mark.parametrize("task", TASKS)
def test_an_oracle_over_http_earns_what_it_earns_in_process(server: Running, task: str) -> None:
    control = oracle(task)
    episode = Episode(server, task, parameters=control.parameters)

    async def run() -> None:
        async with over_http(episode.url, episode.token) as session:
            await session.initialize()
            await play_oracle(session, task)

    asyncio.run(run())
    reference = in_process(task, control)
    with server.service.episodes.environment(episode.id) as environment:
        assert environment.score() == reference.score()
        assert environment.world.digest() == reference.world.digest()


def test_an_agent_is_told_the_policy_the_task_and_the_tools(server: Running) -> None:
    episode, suite = Episode(server), load_suite("service")
    opening = in_process(TASK, oracle(TASK)).opening()

    async def run() -> None:
        async with over_http(episode.url, episode.token) as session:
            hello = as_json(await session.initialize())
            tools = as_json(await session.list_tools())["tools"]
            prompts = as_json(await session.list_prompts())["prompts"]
            prompt = as_json(await session.get_prompt("task"))
        assert hello["serverInfo"]["name"] == "deskgym-service"
        assert hello["instructions"] == f"{suite.instructions.rstrip()}\n\n{opening.message}"
        assert [tool["name"] for tool in tools] == list(suite.toolbox)
        for tool in tools:
            ours = suite.toolbox[tool["name"]]
            assert tool["inputSchema"] == ours.schema
            assert tool["description"] == ours.description
            hints = tool["annotations"]
            assert hints["readOnlyHint"] is (ours.kind == "read")
            assert hints["destructiveHint"] is (ours.kind == "write")
            assert hints["openWorldHint"] is False
            assert set(tool["outputSchema"]["required"]) == set(opening.to_dict())
        assert [item["name"] for item in prompts] == ["task"]
        assert prompt["messages"][0]["content"]["text"] == hello["instructions"]

    asyncio.run(run())


def test_a_refused_call_is_an_error_for_the_agent_and_a_step(server: Running) -> None:
    episode = Episode(server)

    async def run() -> None:
        async with over_http(episode.url, episode.token) as session:
            await session.initialize()
            assert (await call(session, "get_order", {"order_id": "S-1"})).code == "order_not_found"
            assert (await call(session, "get_order", {})).code == "invalid_arguments"
            assert (await call(session, "fly", {"far": True})).code == "unknown_tool"
            assert (await call(session, "close", {})).done
            assert (await call(session, *READ)).code == "episode_over"

    asyncio.run(run())
    assert server.service.episodes.state(episode.id).steps == 4


def test_a_call_that_is_sent_again_with_its_number_is_one_step(episode: Episode) -> None:
    params: dict[str, Any] = {"name": READ[0], "arguments": READ[1], "_meta": {"deskgym/step": 1}}
    first, again = episode.rpc("tools/call", **params), episode.rpc("tools/call", **params)
    assert again["result"] == first["result"]
    assert first["result"]["structuredContent"]["step"] == 1
    params["arguments"] = {"order_id": "S-411"}
    conflict = episode.rpc("tools/call", **params)["error"]
    assert conflict["data"] == {"code": "step_conflict", "expected": 2}
    params["_meta"] = {"deskgym/step": "one"}
    assert episode.rpc("tools/call", **params)["error"]["data"]["code"] == "invalid_parameter"


def test_an_agent_sees_no_reward_no_check_and_nothing_else_of_the_trainers(
    server: Running,
) -> None:
    control = oracle(TASK)
    episode = Episode(server)
    shown: list[str] = []
    fields: set[str] = set()
    with server.service.episodes.environment(episode.id) as environment:
        private = environment.fixture.private
        opening = environment.opening()
    script = control.script(opening)
    move = next(script)
    for method in ("initialize", "tools/list", "prompts/list", "prompts/get", "ping"):
        start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}
        params = {"initialize": start, "prompts/get": {"name": "task"}}.get(method, {})
        shown.append(json.dumps(episode.rpc(method, **params)))
    while True:
        answer = episode.rpc("tools/call", name=move.tool, arguments=move.arguments)
        shown.append(json.dumps(answer))
        fields |= set(answer["result"]["structuredContent"])
        seen = answer["result"]["structuredContent"]
        if seen["done"]:
            break
        try:
            move = script.send(type(opening)(**seen))
        except StopIteration:
            break
    assert fields == {"ok", "code", "message", "data", "step", "steps_max", "done", "ended"}
    whole = "\n".join(shown).casefold()
    for word in ("reward", "rubric", "verdict", "breakdown", "oracle", *private):
        assert word.casefold() not in whole, word


_CLIENT = {"name": "test", "version": "1"}


def test_a_token_opens_its_own_episode_and_nothing_else(server: Running) -> None:
    mine, other = Episode(server), Episode(server)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert mine.post(hello).status_code == 200
    assert mine.post(hello, Authorization=f"Bearer {KEY}").status_code == 200
    for wrong, status in (("", 403), (f"Bearer {other.token}", 403), ("Basic abc", 403)):
        assert mine.post(hello, Authorization=wrong).status_code == status
    headers = {"Authorization": f"Bearer {mine.token}"}
    assert httpx.post(mine.url, json=hello).status_code == 401
    missing = httpx.post(f"{server.url}/episodes/none/mcp", json=hello, headers=headers)
    assert missing.status_code == 403
    for path in ("/api/episodes", f"/api/episodes/{mine.id}", f"/api/episodes/{mine.id}/score",
                 "/api/recordings", "/tickets/tasks", "/tickets/state", "/metrics",
                 "/openenv/service/state"):  # fmt: skip
        assert httpx.get(server.url + path, headers=headers).status_code == 403, path
    assert server.service.episodes.state(mine.id).steps == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'{"jsonrpc": "2.0", "id": 1}', 400),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "tools/call"}', 400),
        (b"\xff\xfe", 400),
        (b" " * (2**20 + 1), 413),
    ],
)
def test_what_is_no_request_is_refused_and_takes_no_step(
    server: Running, episode: Episode, body: bytes, status: int
) -> None:
    assert episode.post(body).status_code == status
    assert server.service.episodes.state(episode.id).steps == 0


@pytest.mark.parametrize(
    "params", [{}, {"name": 1}, {"name": "close", "arguments": []}, {"arguments": {}}]
)
def test_a_call_of_the_wrong_form_is_an_error_of_the_protocol(
    server: Running, episode: Episode, params: dict[str, Any]
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = episode.post(body)
    assert answer.status_code in (200, 400)
    assert answer.json()["error"]["code"] in (-32602, -32600)
    assert server.service.episodes.state(episode.id).steps == 0


def test_there_is_no_stream_to_listen_to(episode: Episode) -> None:
    headers = {"Authorization": f"Bearer {episode.token}", "Accept": "text/event-stream"}
    for method in ("GET", "DELETE"):
        answer = httpx.request(method, episode.url, headers=headers)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"


def test_a_closed_episode_takes_no_more_calls(server: Running, episode: Episode) -> None:
    server.service.episodes.close(episode.id)
    error = episode.rpc("tools/call", name=READ[0], arguments=READ[1])["error"]
    assert error["data"] == {"code": "episode_closed"}


def test_a_bug_tells_the_agent_nothing(
    server: Running, episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr(server.service, "step", broken)
    answer = episode.rpc("tools/call", name=READ[0], arguments=READ[1])
    assert answer["error"]["code"] == -32603
    assert "42" not in json.dumps(answer)


def test_an_episode_goes_on_at_another_server_with_the_same_token(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        episode = Episode(first)
        first.service.episodes.step(episode.id, action(READ[0], **READ[1]))
        with running(tmp_path) as second:
            episode.url = f"{second.url}/episodes/{episode.id}/mcp"
            answer = episode.rpc("tools/call", name="list_order_payments", arguments=READ[1])
            assert answer["result"]["structuredContent"]["step"] == 2
