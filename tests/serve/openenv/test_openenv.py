"""OpenEnv, by its own client and its own validator; run by `make test-adapters`."""
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from deskgym.rubric import Score
from deskgym.suite import load_suite
from tests.serve.doorway import (
    KEY,
    TASKS,
    Running,
    Script,
    in_process,
    observation,
    oracle,
    running,
)

pytest.importorskip("openenv", reason="make test-adapters installs OpenEnv and runs this")

from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.generic_client import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient

TASK = "service/damaged-lamp"
READ = {"type": "call_tool", "tool_name": "get_order", "arguments": {"order_id": "S-410"}}
CLOSE = {"type": "call_tool", "tool_name": "close", "arguments": {}}
DOCS = Path(__file__).parents[3] / "docs/openenv.md"
VALIDATE = [str(Path(sys.executable).with_name("openenv")), "validate"]
SPACES = Path(__file__).parents[3] / "spaces"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running(tmp_path_factory.mktemp("openenv")) as up:
        assert httpx.get(f"{up.url}/openenv/service/health", timeout=120).status_code == 200
        yield up


def base(server: Running, suite: str = "service") -> str:
    return f"{server.url}/openenv/{suite}"


def connect(url: str, **more: Any) -> GenericEnvClient:
    return GenericEnvClient(base_url=url, mode="simulation", connect_timeout_s=60, **more)


def seen_in(result: Any) -> Any:
    """The observation in a step's result."""
    shown = result.observation
    fields = {key: shown[key] for key in ("steps_max", "ended")}
    return observation(
        {**shown["result"], **fields, "step": shown["step_count"], "done": result.done}
    )


async def play(client: GenericEnvClient, task: str, seed: int = 0) -> list[float]:
    """Let the oracle act; the reward of each step. A reply that is not the end is 0."""
    control = oracle(task)
    reset = await client.reset(task=task, seed=seed, **control.parameters)
    script = Script(control, seen_in(reset))
    rewards: list[float] = []
    while script.action is not None:
        tool, arguments = script.action
        result = await client.step({"type": "call_tool", "tool_name": tool, "arguments": arguments})
        rewards.append(result.reward)
        script.see(seen_in(result))
    if not result.done:
        rewards.append((await client.step(CLOSE)).reward)
    return rewards


def expected(task: str, seed: int = 0) -> Score:
    """What the same run earns without a server."""
    return in_process(task, oracle(task), seed).score()


@pytest.mark.parametrize("task", TASKS)
def test_rewards_are_0_until_the_end_and_sum_to_the_score(server: Running, task: str) -> None:
    async def run() -> list[float]:
        async with connect(base(server, task.partition("/")[0])) as client:
            return await play(client, task)

    rewards = asyncio.run(run())
    assert all(type(reward) is float for reward in rewards)
    assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    assert sum(rewards) == expected(task).reward


def test_sessions_at_once_do_not_mix(server: Running) -> None:
    tasks = [task for task in TASKS if task.startswith("service/")]

    async def one(number: int) -> None:
        task, seed = tasks[number % len(tasks)], number // len(tasks)
        await asyncio.sleep(random.Random(number).random() / 5)
        async with connect(base(server)) as client:
            assert sum(await play(client, task, seed)) == expected(task, seed).reward

    async def run() -> None:
        await asyncio.gather(*(one(number) for number in range(26)))

    asyncio.run(run())


def test_a_reset_tells_the_task_and_the_policy_and_the_state_no_answer(server: Running) -> None:
    async def run() -> None:
        async with connect(base(server)) as client:
            reset = await client.reset(task="damaged-lamp", seed=0)
            assert reset.reward is None
            opening = in_process(TASK, oracle(TASK)).opening()
            assert seen_in(reset) == opening
            metadata = reset.observation["metadata"]
            assert metadata["instructions"] == load_suite("service").instructions
            await client.step(READ)
            state = await client.state()
            assert state == {
                "episode_id": metadata["episode_id"],
                "step_count": 1,
                "suite": "service",
                "task": TASK,
                "seed": 0,
                "rubric": "service-reward.v3",
                "steps_max": 48,
                "done": False,
                "ended": None,
            }

    asyncio.run(run())


def test_a_step_after_the_end_changes_nothing_and_earns_nothing(server: Running) -> None:
    async def run() -> None:
        async with connect(base(server)) as client:
            await client.reset(task=TASK)
            ended = await client.step(CLOSE)
            assert (ended.done, ended.observation["ended"]) == (True, "closed")
            after = await client.step(READ)
            assert (after.done, after.reward) == (True, 0.0)
            assert after.observation["result"]["code"] == "episode_over"
            assert (await client.state())["step_count"] == 1

    asyncio.run(run())


def test_an_agents_call_over_mcp_is_a_step_and_shows_no_reward(server: Running) -> None:
    """The agent takes every step over MCP; the trainer's next step pays what they earned."""
    control = oracle(TASK)

    async def run() -> None:
        async with MCPToolClient(base_url=base(server), connect_timeout_s=60) as client:
            reset = await client.reset(task=TASK)
            tools = await client.list_tools()
            assert [tool.name for tool in tools] == list(load_suite("service").toolbox)
            listed = await client.step(ListToolsAction())
            assert [tool.name for tool in listed.observation.tools] == [t.name for t in tools]
            opening = in_process(TASK, control).opening()
            assert reset.observation.result["message"] == opening.message
            script = Script(control, opening)
            while script.action is not None:
                tool, arguments = script.action
                answer = await client.call_tool(tool, **cast(dict[str, Any], arguments))
                assert "reward" not in json.dumps(answer)
                script.see(observation(answer))
            paid = await client.step(CallToolAction(tool_name="close"))
            assert paid.reward == expected(TASK).reward
            assert (await client.step(CallToolAction(tool_name="close"))).reward == 0.0

    asyncio.run(run())


def test_an_episode_with_an_id_goes_on_over_a_new_connection(server: Running) -> None:
    again = {**READ, "metadata": {"step": 1}}

    async def run() -> None:
        async with connect(base(server)) as client:
            await client.reset(task=TASK, episode_id="mine")
            first = await client.step(again)
        async with connect(base(server)) as client:
            reset = await client.reset(task=TASK, episode_id="mine")
            assert reset.observation["step_count"] == 1
            assert (await client.step(again)).observation == first.observation
            with pytest.raises(RuntimeError, match="another action"):
                await client.step({**CLOSE, "metadata": {"step": 1}})
            closing = {**CLOSE, "metadata": {"step": 2}}
            reward = (await client.step(closing)).reward
            assert (await client.step(closing)).reward == reward
            assert (await client.state())["step_count"] == 2
        async with connect(base(server)) as client:
            unnamed = (await client.reset(task=TASK)).observation["metadata"]["episode_id"]
            await client.step(READ)
        with server.service.episodes.environment("mine") as environment:
            assert environment.ended == "closed"
        for _ in range(100):  # the server sees the connection go in its own time
            if not server.service.episodes.state(unnamed).live:
                break
            await asyncio.sleep(0.1)
        assert server.service.episodes.state(unnamed).status == "closed"

    asyncio.run(run())


@pytest.mark.parametrize(
    "reset",
    [
        {"task": "damaged-lam"},
        {"task": TASK, "seed": -1},
        {"task": TASK, "stock": 99},
        {"task": TASK, "sotck": 1},
        {"task": TASK, "split": "train"},
        {"split": "train", "index": -1},
        {"split": "nope", "index": 0},
        {"split": "train", "index": "0"},
        {"episode_id": "a b"},
    ],
)
def test_a_wrong_reset_is_told_and_leaves_the_session(
    server: Running, reset: dict[str, Any]
) -> None:
    async def run() -> None:
        async with connect(base(server)) as client:
            await client.reset(task=TASK)
            await client.step(READ)
            with pytest.raises(RuntimeError):
                await client.reset(**reset)
            assert (await client.reset(task=TASK)).observation["step_count"] == 0

    asyncio.run(run())


@pytest.mark.parametrize(
    "frame", ["", "{", "[]", "null", "7", '"x"', b"\x00", '{"type": "step"}', '{"type": "fly"}',
              '{"type": "step", "data": {"type": "call_tool"}}', '{"type": "mcp", "data": {}}']
)  # fmt: skip
def test_a_frame_that_is_no_message_leaves_the_episode(server: Running, frame: str | bytes) -> None:
    from websockets.asyncio.client import connect as websocket

    async def run() -> None:
        url = base(server).replace("http", "ws") + "/ws"
        async with websocket(url, open_timeout=60) as socket:
            await socket.send(json.dumps({"type": "reset", "data": {"task": TASK}}))
            assert json.loads(await socket.recv())["type"] == "observation"
            await socket.send(frame)
            answer = json.loads(await socket.recv())
            assert answer["type"] == "error" or "error" in answer["data"]
            await socket.send(json.dumps({"type": "step", "data": READ}))
            assert json.loads(await socket.recv())["data"]["observation"]["step_count"] == 1

    asyncio.run(run())


def test_the_task_api_lists_what_reset_takes(server: Running) -> None:
    url = base(server, "tickets")

    def ask(path: str, **body: Any) -> Any:
        return httpx.post(f"{url}/tickets/{path}", json=body)

    assert httpx.get(f"{url}/list_environments").json() == ["tickets"]
    splits = httpx.get(f"{url}/tickets/splits").json()
    assert splits == [{"name": "train", "type": "train"}, {"name": "test", "type": "test"}]
    for split, seeds in (("train", 60), ("test", 30)):
        assert ask("num_tasks", split=split).json() == {"num_tasks": 3 * seeds}
        tasks = ask("tasks", split=split).json()["tasks"]
        assert len({task["id"] for task in tasks}) == 3 * seeds
        assert ask("task", split=split, index=4).json()["task"] == tasks[4]
        some = ask("task_range", split=split, start=3, stop=6).json()["tasks"]
        assert some == tasks[3:6]
    assert ask("task", split="train", index=180).status_code == 400
    assert ask("task", split="train", index=-1).status_code == 400
    assert ask("tasks", split="none").status_code == 404

    async def run() -> None:
        async with connect(url) as client:
            by_place = await client.reset(split="test", index=4)
            task = ask("task", split="test", index=4).json()["task"]
            by_name = await client.reset(task=task["task"], seed=task["seed"])
            assert by_place.observation["result"] == by_name.observation["result"]

    asyncio.run(run())


def test_requests_without_a_connection_name_their_episode(server: Running) -> None:
    url = base(server)
    reset = httpx.post(f"{url}/reset", json={"task": TASK, "seed": 5, "episode_id": "by-http"})
    assert reset.status_code == 200
    step = httpx.post(f"{url}/step", json={"action": READ, "episode_id": "by-http"})
    assert step.json()["observation"]["step_count"] == 1
    assert (step.json()["reward"], step.json()["done"]) == (0.0, False)
    assert httpx.post(f"{url}/step", json={"action": READ}).status_code == 422
    unknown = httpx.post(f"{url}/step", json={"action": READ, "episode_id": "none"})
    assert unknown.status_code == 404
    assert httpx.post(f"{url}/step", json={"action": {"tool": "x"}}).status_code == 422
    elsewhere = {"action": READ, "episode_id": "by-http"}
    assert httpx.post(f"{base(server, 'tickets')}/step", json=elsewhere).status_code == 404


@pytest.mark.parametrize("suite", ["service", "backoffice", "tickets"])
def test_openenv_validates_the_running_server(server: Running, suite: str) -> None:
    done = subprocess.run([*VALIDATE, "--url", base(server, suite)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verdict: PASS" in done.stdout


@pytest.mark.parametrize("space", ["openenv-service", "openenv-backoffice", "openenv-tickets"])
def test_openenv_validates_the_packages(space: str) -> None:
    command = [*VALIDATE, str(SPACES / space), "--level", "static"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verdict: PASS" in done.stdout


def test_the_documented_episode_prints_what_the_page_says(
    server: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    page = DOCS.read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    exec(code, {"URL": base(server)})
    assert capsys.readouterr().out == shown


def test_a_key_opens_the_door_and_an_agents_token_does_not(tmp_path: Path) -> None:
    bearer = {"Authorization": f"Bearer {KEY}"}
    with running(tmp_path, app="openenv-service", keys={"trainer": KEY}) as up:
        made = up.service.episodes.create(TASK, with_token=True)
        agent = {"Authorization": f"Bearer {made.token}"}
        assert httpx.get(f"{up.url}/health").json() == {"status": "healthy"}
        assert httpx.get(f"{up.url}/ready").status_code == 200
        for path in ("/state", "/metadata", "/openapi.json", "/docs", "/service/splits"):
            assert httpx.get(up.url + path).status_code == 401
            assert httpx.get(up.url + path, headers=agent).status_code == 403
            assert httpx.get(up.url + path, headers=bearer).status_code == 200
        for path in ("/reset", "/step", "/mcp", "/service/tasks"):
            assert httpx.post(up.url + path, json={}).status_code == 401
            assert httpx.post(up.url + path, json={}, headers=agent).status_code == 403

        async def run() -> None:
            async with connect(up.url, headers=bearer) as client:
                await client.reset(task=TASK)
            for headers in ({}, agent):
                with pytest.raises(Exception, match="403"):
                    async with connect(up.url, headers=headers):
                        pass

        asyncio.run(run())
