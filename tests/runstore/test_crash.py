"""Killed workers: no acknowledged action is lost, none is done twice, and rewards are the same."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

import deskgym
from deskgym.runstore import NewEpisode, RunStore
from deskgym.runstore.upkeep import check
from deskgym.trajectory import Action, call
from tests.runstore.store import REFUND, SOLUTION, TASK, emptied

PLAN = [
    call("get_order", order_id="S-410"),
    call("issue_refund", **REFUND, reason="too early"),
    *SOLUTION[1:3],
    call("nothing"),
    SOLUTION[3],
    call("get_order", order_id="S-410"),
    SOLUTION[4],
]
"""Reads, refusals, a write and a report."""

OBSERVED: list[bytes] = []
with deskgym.make(TASK) as _environment:
    _environment.reset(0)
    OBSERVED = [_environment.step(action).to_json() for action in PLAN]
    REWARD = _environment.score().reward
    DIGEST = _environment.world.digest()


class Worker:
    """A process that serves, and can be killed at any moment."""

    def __init__(self, listener: socket.socket, forker: subprocess.Popen[bytes]) -> None:
        assert forker.stdin is not None
        forker.stdin.write(b"\n")
        forker.stdin.flush()
        self._connection, _ = listener.accept()
        self._connection.settimeout(60)
        self._file = self._connection.makefile("rwb")
        self.pid = int(self._file.readline())

    def send(self, steps: list[dict[str, Any]], *, together: bool) -> None:
        self._file.write(orjson.dumps({"steps": steps, "together": together}) + b"\n")
        self._file.flush()

    def answer(self, timeout_s: float) -> list[str] | None:
        """What it answered, or None where it did not in time."""
        self._connection.settimeout(timeout_s)
        try:
            part = self._connection.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return None
        assert part, "the worker ended by itself"
        self._connection.settimeout(60)
        return orjson.loads(self._file.readline())

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self._file.close()
        self._connection.close()


@contextmanager
def forking(folder: Path, url: str) -> Iterator[Any]:
    """Something to call for a new worker."""
    path = str(folder / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        command = [sys.executable, "-m", "tests.runstore.crash_worker", path, url]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as forker:
            assert forker.stdin is not None
            try:
                yield lambda: Worker(listener, forker)
            finally:
                forker.stdin.close()


def drive(new_worker: Any, ids: list[str], kills: int, draw: random.Random) -> int:
    """Take the plan in every episode by two workers that are killed at random; how often."""
    workers = [new_worker(), new_worker()]
    taken = dict.fromkeys(ids, 0)
    killed = 0
    while open_ids := [id for id in ids if taken[id] < len(PLAN)]:
        some = draw.sample(open_ids, k=min(len(open_ids), draw.choice((1, 1, 3, 8))))
        steps = [
            {"id": id, "action": PLAN[taken[id]].to_dict(), "number": taken[id] + 1} for id in some
        ]
        place = draw.randrange(2)
        workers[place].send(steps, together=draw.random() < 0.5)
        # A step takes from a fraction of a millisecond to a few: so this falls anywhere in it.
        hurry = killed < kills and draw.random() < 0.7
        answers = workers[place].answer(draw.uniform(1e-6, 0.004) if hurry else 60)
        if answers is None:
            workers[place].kill()
            workers[place] = new_worker()
            killed += 1
            continue  # the same steps may come again, or others first
        for id, answer in zip(some, answers, strict=True):
            assert answer.encode() == OBSERVED[taken[id]]
            taken[id] += 1
    for worker in workers:
        worker.kill()
    return killed


def assert_whole(store: RunStore, ids: list[str]) -> None:
    """Each episode has each action of the plan once, and earned what it must."""
    with store.episodes() as episodes:
        for id in ids:
            recording = episodes.recording(id)
            assert [Action.from_json(step.action) for step in recording.steps] == [
                Action.from_json(orjson.loads(action.to_json())) for action in PLAN
            ]
            assert recording.footer.digest == DIGEST
            assert episodes.score(id).reward == REWARD


def crash(url: str, folder: Path, *, count: int, kills: int, seed: int) -> int:
    with emptied(url) as store:
        with store.episodes() as episodes:
            ids = [made.id for made in episodes.create_many([NewEpisode(TASK)] * count)]
        with forking(folder, url) as new_worker:
            killed = drive(new_worker, ids, kills, random.Random(seed))
        assert_whole(store, ids)
        assert check(store.database).holds
    return killed


def test_workers_that_are_killed_at_random_lose_and_double_nothing(
    url: str, tmp_path: Path
) -> None:
    killed = crash(url, tmp_path, count=10, kills=10, seed=1)
    assert killed >= 5, "the kills fall into the steps"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_workers_that_are_killed_hundreds_of_times(url: str, seed: int, tmp_path: Path) -> None:
    assert crash(url, tmp_path, count=200, kills=250, seed=seed) >= 100
