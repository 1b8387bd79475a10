"""A process that forks workers, so that a test can kill many of them: they need no import again.

`python -m tests.runstore.crash_worker SOCKET DATABASE`: each line of standard input forks a
worker, which connects to the socket, says its process id, and then carries out what it is sent.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import Any

import orjson

from deskgym.runstore import Episodes, NextStep, open_run_store
from deskgym.store import default_engine
from deskgym.suite import load_suite
from deskgym.trajectory import Action, Observation
from tests.runstore.store import TASK


def carry_out(episodes: Episodes, request: dict[str, Any]) -> list[str]:
    """Take the steps that are asked for; the observations, as JSON."""
    steps = [
        NextStep(item["id"], Action.from_json(item["action"]), item["number"])
        for item in request["steps"]
    ]
    if not request["together"]:
        return [
            episodes.step(step.id, step.action, step.number).to_json().decode() for step in steps
        ]
    answers = episodes.step_many(steps)
    for answer in answers:
        if not isinstance(answer, Observation):
            raise answer
    return [answer.to_json().decode() for answer in answers if isinstance(answer, Observation)]


def work(path: str, url: str) -> None:
    """Serve one connection until it ends."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    with open_run_store(url, engine=default_engine()) as store, connection.makefile("rwb") as file:
        episodes = store.episodes(environments_max=4)
        file.write(b"%d\n" % os.getpid())
        file.flush()
        for line in file:
            file.write(orjson.dumps(carry_out(episodes, orjson.loads(line))) + b"\n")
            file.flush()


def main(path: str, url: str) -> None:
    """Fork a worker for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # What the workers would each load and build again: their first step should come soon.
    open_run_store(url, engine=default_engine()).close()
    task = load_suite(TASK.partition("/")[0]).task(TASK.partition("/")[2])
    task.build(0, task.values({}))
    for _ in sys.stdin:
        if os.fork() == 0:
            try:
                work(path, url)
            finally:
                os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
