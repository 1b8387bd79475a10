"""NeMo Gym's sessions on a real deskgym server; and its own server, where it is installed."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import importlib.util
import json
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

import deskgym
from deskgym import AsyncClient
from deskgym.adapters.nemo_gym import ENDPOINTS, SessionError, Sessions, rows
from deskgym.errors import InvalidDefinition, UnknownName
from deskgym.runner import play
from deskgym.suite import Suite, find_tasks, load_suite
from deskgym.task import Task
from deskgym.tool import Toolbox
from tests.serve.server import Server, serving

pytest.importorskip("prometheus_client", reason="the server's extra is not here: make test")
pytest.importorskip("httptools", reason="the server's extra is not here: make test")

EXAMPLE = Path(__file__).parents[2] / "examples/nemo_gym"
TASK = "service/two-full-captures"
TASKS = [pytest.param(suite, task, id=f"{suite.name}/{task.name}") for suite, task in find_tasks()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("nemo")) as made:
        yield made


def with_sessions(url: str, work: Callable[[Sessions], Awaitable[Any]], **options: Any) -> Any:
    """Do something with sessions of a server."""

    async def run() -> Any:
        sessions = Sessions(AsyncClient(url, **options))
        try:
            return await work(sessions)
        finally:
            await sessions.close()

    return asyncio.run(run())


def row_of(suite: Suite, task: Task) -> dict[str, Any]:
    parameters = dict(task.control("oracle").parameters)
    (row,) = rows(f"{suite.name}/{task.name}", [3], parameters=parameters)
    return {name: row[name] for name in ("task", "seed", "parameters")}


def in_process(suite: Suite, task: Task, *, acting: bool) -> float:
    oracle = task.control("oracle")
    with deskgym.Environment(suite, task, parameters=oracle.parameters) as environment:
        if acting:
            play(environment, oracle.script, 3)
        else:
            environment.reset(3)
        return environment.score().reward


def moves_of(suite: Suite, task: Task) -> list[Any]:
    """The oracle's actions, as they are in process."""
    oracle = task.control("oracle")
    with deskgym.Environment(suite, task, parameters=oracle.parameters) as environment:
        play(environment, oracle.script, 3)
        return [step.action for step in environment.steps]


@pytest.mark.parametrize(("suite", "task"), TASKS)
def test_an_oracle_and_doing_nothing_earn_what_they_earn_in_process(
    server: Server, suite: Suite, task: Task
) -> None:
    async def work(sessions: Sessions) -> tuple[float, float]:
        for name in ("oracle", "null"):
            await sessions.seed(name, **row_of(suite, task))
        for action in moves_of(suite, task):
            seen = await sessions.call("oracle", action.tool, action.arguments)
            assert "reward" not in seen
        return (await sessions.verify("oracle")).reward, (await sessions.verify("null")).reward

    earned = with_sessions(server.url, work)
    assert earned == (
        in_process(suite, task, acting=True),
        in_process(suite, task, acting=False),
    )


async def refused(work: Awaitable[Any]) -> tuple[int, str]:
    """The status and the words of a request that has no answer."""
    with pytest.raises(SessionError) as told:
        await work
    return told.value.status, str(told.value)


def test_requests_that_cannot_be_are_told_what_would_be_right(server: Server) -> None:
    async def work(sessions: Sessions) -> None:
        assert await refused(sessions.call("a", "get_order", {})) == (
            400, "this session has no episode; post to /seed_session first",
        )  # fmt: skip
        status, words = await refused(sessions.seed("a", task="service/damaged-lmp"))
        assert (status, "damaged-lamp" in words) == (422, True)
        status, words = await refused(sessions.seed("a", task=TASK, parameters={"stok": 1}))
        assert (status, "no parameter 'stok'" in words) == (422, True)
        status, words = await refused(sessions.seed("a", task=TASK, seed=-1))
        assert (status, "a seed is" in words) == (422, True)
        await sessions.seed("a", task=TASK)
        status, words = await refused(sessions.call("a", "get_ordr", {}))
        assert (status, "get_order" in words) == (404, True)
        wrong = await sessions.call("a", "get_order", ["S-410"])
        assert (wrong["ok"], wrong["code"], wrong["step"]) == (False, "invalid_arguments", 1)

    with_sessions(server.url, work)


def test_a_model_can_neither_start_over_nor_go_on_after_it_asked_for_its_score(
    server: Server,
) -> None:
    async def work(sessions: Sessions) -> None:
        await sessions.seed("a", task=TASK)
        assert (await refused(sessions.seed("a", task=TASK)))[0] == 409
        first = await sessions.verify("a")
        assert (await refused(sessions.call("a", "get_order", {"order_id": "S-410"})))[0] == 410
        assert (await refused(sessions.seed("a", task=TASK)))[0] == 409
        assert await sessions.verify("a") == first

    with_sessions(server.url, work)


def test_a_bug_in_a_tool_is_no_reward(tmp_path: Path) -> None:
    plant = (
        "from dataclasses import replace\n"
        "from deskgym.suite import load_suite\n"
        "from deskgym.cli import main\n"
        "def fail(*_, **__):\n"
        "    raise ZeroDivisionError('a planted bug')\n"
        "tools = load_suite('service').toolbox._tools\n"
        "tools['get_order'] = replace(tools['get_order'], function=fail)\n"
        f"import sys; sys.argv = ['deskgym', 'serve', '--json', '--port', '0', '--database',"
        f" 'sqlite:///{tmp_path}/runs.db']\n"
        "main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", plant], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, "the server did not start"
            text += line

        async def work(sessions: Sessions) -> None:
            await sessions.seed("a", task=TASK)
            seen = await sessions.call("a", "get_order", {"order_id": "S-410"})
            assert seen["code"] == "internal_error"
            status, words = await refused(sessions.verify("a"))
            assert (status, "cannot be judged" in words) == (500, True)

        with_sessions(json.loads(text)["url"], work)
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


def test_a_server_that_is_gone_is_no_reward(tmp_path: Path) -> None:
    with serving(tmp_path) as going:

        async def work(sessions: Sessions) -> None:
            await sessions.seed("a", task=TASK)
            await sessions.seed("b", task=TASK)
            going.kill()
            assert (await refused(sessions.call("a", "get_order", {"order_id": "1"})))[0] == 503
            assert (await refused(sessions.verify("a")))[0] == 503
            assert (await refused(sessions.verify("b")))[0] == 503
            assert (await refused(sessions.seed("c", task=TASK)))[0] == 503

        with_sessions(going.url, work, retry_s=0)


def test_the_example_rows_are_what_the_program_writes() -> None:
    made = subprocess.run(
        [sys.executable, str(EXAMPLE / "make_rows.py"), "service/damaged-lamp",
         "backoffice/late-return", "tickets/easy"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert made.stdout == (EXAMPLE / "data/example.jsonl").read_text()
    first = json.loads(made.stdout.splitlines()[0])
    names = [tool["name"] for tool in first["responses_create_params"]["tools"]]
    assert names == list(load_suite("service").toolbox)
    assert not set(names) & set(ENDPOINTS)


def test_a_suite_with_a_tool_named_like_an_endpoint_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suite = load_suite("service")
    odd = Toolbox(*suite.toolbox.values(), replace(suite.toolbox["get_order"], name="verify"))
    changed = replace(suite, toolbox=odd)
    monkeypatch.setattr("deskgym.adapters.nemo_gym.load_suite", lambda _: changed)
    with pytest.raises(InvalidDefinition, match="a tool verify, which is an endpoint"):
        list(rows("service", [0]))
    monkeypatch.undo()
    with pytest.raises(UnknownName):
        list(rows("servise", [0]))


def response_of(row: dict[str, Any]) -> dict[str, Any]:
    """What NeMo Gym's agent posts to /verify: the row, and the model's last response."""
    response = {
        "id": "resp", "created_at": 0.0, "model": "m", "object": "response", "output": [],
        "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    return {**row, "response": response}


@contextmanager
def nemo_server(url: str) -> Iterator[str]:
    """The example's server, as NeMo Gym runs it: its own classes, under uvicorn."""
    import uvicorn
    from nemo_gym.server_utils import ServerClient

    made = importlib.util.spec_from_file_location("nemo_app", EXAMPLE / "app.py")
    assert made is not None
    assert made.loader is not None
    module = sys.modules["nemo_app"] = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    config = module.DeskgymConfig(
        host="127.0.0.1", port=0, entrypoint="app.py", name="deskgym", url=url
    )
    app = module.DeskgymResourcesServer(
        config=config, server_client=ServerClient.model_construct()
    ).setup_webserver()
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = Thread(target=running.run, kwargs={"sockets": [door]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            running.should_exit = True
            thread.join()


def test_nemo_gyms_own_server_serves_sessions(server: Server) -> None:
    pytest.importorskip("nemo_gym", reason="NeMo Gym needs Python 3.12 and much else")
    ((suite, task),) = find_tasks([TASK])
    (row,) = rows(TASK, [3])
    with nemo_server(server.url) as url, httpx.Client(base_url=url, timeout=30) as http:
        assert http.post("/verify", json=response_of(row)).status_code == 400
        wrong = http.post("/seed_session", json={**row, "task": "service/none"})
        assert wrong.status_code == 422
        assert http.post("/seed_session", json=row).status_code == 200
        for action in moves_of(suite, task):
            answer = http.post(f"/{action.tool}", json=action.arguments)
            assert answer.status_code == 200
            assert "reward" not in answer.text
        assert http.post("/seed_session", json=row).status_code == 409
        assert http.post("/no_tool", json={}).json()["error"].startswith("there is no tool")
        assert http.post("/get_order", content=b"{").status_code == 400
        verified = http.post("/verify", json=response_of(row))
        assert verified.status_code == 200, verified.text
        assert verified.json()["reward"] == in_process(suite, task, acting=True)
        assert verified.json()["task"] == TASK
        assert http.post("/get_order", json={}).status_code == 410
        again = http.post("/verify", json=response_of(row)).json()
        assert again == verified.json()


def test_nemo_gyms_own_server_answers_5xx_where_an_episode_cannot_be_judged(
    tmp_path: Path,
) -> None:
    pytest.importorskip("nemo_gym", reason="NeMo Gym needs Python 3.12 and much else")
    (row,) = rows(TASK, [3])
    with (
        serving(tmp_path) as going,
        nemo_server(going.url) as url,
        httpx.Client(base_url=url, timeout=120) as http,
    ):
        assert http.post("/seed_session", json=row).status_code == 200
        going.kill()
        verified = http.post("/verify", json=response_of(row))
    assert verified.status_code == 503
    assert "reward" not in verified.json()
