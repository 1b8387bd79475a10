"""Real servers: many episodes at once, strange clients, sudden ends, starts and stops."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskgym import Client, Control, call, find_tasks
from deskgym.client import ServedEnvironment
from deskgym.trajectory import Action, Observation
from tests.serve.server import Server, serving

CONTROLS = [
    (f"{suite.name}/{task.name}", control)
    for suite, task in find_tasks()
    for control in task.controls
]
TASK = "service/two-full-captures"
READ = call("get_order", order_id="S-410")


class Rollout:
    """A control's episode on a server, a step at a time."""

    def __init__(self, client: Client, task: str, control: Control, seed: int) -> None:
        self.control = control
        self.seed = seed
        self.environment: ServedEnvironment = client.make(
            task, **dict[str, Any](control.parameters)
        )
        self._moves: Generator[Action, Observation, None] | None = None
        self._action: Action | None = None

    def begin(self, observation: Observation) -> None:
        self._moves = self.control.script(observation)
        self._action = next(self._moves, None)

    def advance(self) -> bool:
        """Take the next step; whether there may be another."""
        assert self._moves is not None, "the rollout was begun"
        if self._action is None or self.environment.done:
            return False
        observation = self.environment.step(self._action)
        try:
            self._action = self._moves.send(observation)
        except StopIteration:
            self._action = None
        return True

    def finish(self) -> None:
        while self.advance():
            pass
        score = self.environment.score()
        assert score.reward == self.control.reward_by(score.rubric), self.control.name
        assert self.environment.seed == self.seed


def test_256_episodes_of_several_clients_do_not_disturb_each_other(server: Server) -> None:
    draw = random.Random(0)
    clients = [Client(server.url) for _ in range(4)]

    def rollout(number: int) -> Rollout:
        task, control = CONTROLS[number % len(CONTROLS)]
        return Rollout(clients[number % len(clients)], task, control, number)

    rollouts = [rollout(number) for number in range(256)]

    def drive(client: Client) -> None:
        own = [item for item in rollouts if item.environment._client is client]
        seeds = [item.seed for item in own]
        firsts = client.reset_all([item.environment for item in own], seeds)
        for item, observation in zip(own, firsts, strict=True):
            item.begin(observation)
        order = random.Random(seeds[0])
        waiting = list(own)
        while waiting:
            item = order.choice(waiting)
            if not item.advance():
                waiting.remove(item)
        for item in own:
            item.finish()

    draw.shuffle(rollouts)
    with ThreadPoolExecutor(len(clients)) as threads:
        list(threads.map(drive, clients))
    ids = {item.environment.episode for item in rollouts}
    assert len(ids) == 256
    for client in clients:
        client.close_all(
            [item.environment for item in rollouts if item.environment._client is client]
        )
        client.close()


class Load:
    """Threads that play oracles until each has its rewards, and a count of the steps taken."""

    def __init__(self, url: str, *, threads: int, episodes: int) -> None:
        self._threads, self._episodes, self._url = threads, episodes, url
        self._taken = 0
        self._changed = threading.Condition()

    def _play(self, number: int) -> int:
        tasks = [(task, control) for task, control in CONTROLS if control.kind == "oracle"]
        with Client(self._url, retry_s=120) as client:
            for turn in range(self._episodes):
                task, control = tasks[(number * self._episodes + turn) % len(tasks)]
                rollout = Rollout(client, task, control, number * 100 + turn)
                rollout.begin(rollout.environment.reset(rollout.seed))
                while rollout.advance():
                    with self._changed:
                        self._taken += 1
                        self._changed.notify_all()
                rollout.finish()
                rollout.environment.close()
                assert rollout.environment.state()["reward"] == rollout.control.reward
        return self._episodes

    def wait_for(self, more: int) -> None:
        """Wait until so many further steps were taken."""
        with self._changed:
            wanted = self._taken + more
            assert self._changed.wait_for(lambda: self._taken >= wanted, timeout=120)

    def __enter__(self) -> Load:
        self._pool = ThreadPoolExecutor(self._threads)
        self._futures = [self._pool.submit(self._play, number) for number in range(self._threads)]
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        assert [future.result() for future in self._futures] == [self._episodes] * self._threads


def test_after_kill_9_clients_go_on_where_they_were(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/runs.db"
    server = Server(database)
    with Load(server.url, threads=3, episodes=6) as load:
        for _ in range(2):
            load.wait_for(12)
            server.kill()
            server = Server(database, "--port", str(server.port))
        load.wait_for(1)
    assert server.stop() == ""


def test_two_workers_serve_the_same_episodes_and_one_may_die(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as server:
        with Load(server.url, threads=3, episodes=4) as load:
            load.wait_for(5)
            found = subprocess.run(
                ["pgrep", "-P", str(server.process.pid), "-f", "spawn_main"],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            worker = int(found.stdout.split()[0])
            subprocess.run(["kill", "-9", str(worker)], check=True)
            load.wait_for(5)
        metrics = httpx.get(f"{server.url}/metrics", timeout=60).text
        assert "deskgym_steps_total" in metrics


@pytest.mark.parametrize("workers", [1, 2])
def test_connections_do_not_wait_before_they_send(tmp_path: Path, workers: int) -> None:
    database = f"sqlite:///{tmp_path}/runs.db"
    command = [sys.executable, "-m", "tests.serve.probe", database, str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        answers = [httpx.get(url, timeout=120).json() for _ in range(4)]
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert all(answer["no_delay"] and all(answer["no_delay"]) for answer in answers)
    if workers > 1:
        assert process.pid not in {answer["process"] for answer in answers}


def raw_request(server: Server, text: bytes, *, end: bool = False) -> bytes:
    """Send bytes as they stand, and read until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(text)
        if end:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65_536):
            received += part
        return received


def test_strange_connections_leave_the_server_and_its_episodes_as_they_were(
    server: Server, client: Client
) -> None:
    environment = client.make(TASK)
    environment.reset(0)
    environment.step(READ)
    path = f"/api/episodes/{environment.episode}/steps"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    ).encode()
    body = json.dumps({"action": {"tool": "get_order", "arguments": {}}}).encode()
    length = b"Content-Length: %d\r\n\r\n"
    raw_request(server, head + length % len(body) + body[:-5], end=True)
    assert b" 400 " in raw_request(server, b"nonsense\r\n\r\n")
    huge = raw_request(server, head + length % 2**40 + b"Connection: close\r\n\r\n" + body)
    assert b" 413 " in huge
    raw_request(server, head + b"X: " + b"x" * 200_000 + b"\r\n\r\n", end=True)
    chunk = b"%x\r\n%s\r\n" % (len(body), body)
    raw_request(server, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk, end=True)
    assert environment.observe().step == 1
    assert environment.step(READ).step == 2


def test_the_server_stops_when_told_to_and_the_episode_is_there_afterwards(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as server, Client(server.url) as client:
        environment = client.make(TASK)
        environment.reset(0)
        environment.step(READ)
        episode = environment.episode
        assert server.stop() == ""
        assert server.process.returncode in (0, -signal.SIGTERM)
    with serving(tmp_path) as server, Client(server.url) as client:
        assert client.resume(episode).step(READ).step == 2


@pytest.mark.parametrize(
    ("options", "env", "words"),
    [
        (("--host", "0.0.0.0"), {}, "a key is needed: set DESKGYM_API_KEY"),
        (("--host", "0.0.0.0"), {"DESKGYM_API_KEY": "short"}, "a key has 16 or more"),
        (("--app", "nonsense"), {}, "there is no app 'nonsense'"),
        (("--host", "host.invalid"), {"DESKGYM_API_KEY": "k" * 16}, "no address of this machine"),
        (("--without-key",), {}, "served alone"),
    ],
)  # fmt: skip
def test_a_server_that_may_not_start_says_why(
    tmp_path: Path, options: tuple[str, ...], env: dict[str, str], words: str
) -> None:
    with pytest.raises(RuntimeError) as refused:
        Server(f"sqlite:///{tmp_path}/runs.db", *options, env=env)
    assert words in " ".join(str(refused.value).split())


def test_a_port_that_is_taken_is_named(server: Server, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot listen"):
        Server(f"sqlite:///{tmp_path}/runs.db", "--port", str(server.port))


def test_with_a_key_any_address_is_served_to_those_who_show_it(tmp_path: Path) -> None:
    key = "a-key-of-some-length"
    env = {"DESKGYM_API_KEY": key}
    with serving(tmp_path, "--host", "0.0.0.0", env=env) as server:
        url = f"http://127.0.0.1:{server.port}"
        assert httpx.get(f"{url}/api/version").status_code == 401
        with Client(url, key=key) as client:
            assert client.make(TASK).reset(0).step == 0
        assert key not in server.stop()
