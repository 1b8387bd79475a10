"""A server in a thread of the test, and what every door's tests compare with."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from deskgym.environment import Environment, make
from deskgym.runner import play
from deskgym.serve import Settings, create_app
from deskgym.serve.run import Protocol
from deskgym.serve.service import Service
from deskgym.suite import find_tasks
from deskgym.task import Control, Task
from deskgym.trajectory import Action, Observation

KEY = "a-trainers-key-of-the-tests"
TASKS = [f"{suite.name}/{task.name}" for suite, task in find_tasks(["service"])]
TASKS += [f"{suite.name}/{task.name}" for suite, task in find_tasks(["backoffice", "tickets"])]


@dataclass(frozen=True)
class Running:
    """A server that is up."""

    url: str
    service: Service


@contextmanager
def running(folder: Path, **settings: Any) -> Generator[Running]:
    """Serve with these settings, on a run store in a folder."""
    app = create_app(Settings(database=f"sqlite:///{folder}/runs.db", **settings))
    service: Service = app.service  # type: ignore[attr-defined]
    config = uvicorn.Config(app, log_config=None, http=Protocol, lifespan="on")
    server = uvicorn.Server(config)
    up = threading.Event()
    startup = server.startup

    async def tell(sockets: Any = None) -> None:
        await startup(sockets)
        up.set()

    server.startup = tell  # type: ignore[method-assign]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert up.wait(60), "the server did not start"
            yield Running(f"http://127.0.0.1:{listening.getsockname()[1]}", service)
        finally:
            server.should_exit = True
            thread.join()


def oracle(task_id: str) -> Control:
    """The control of a task that does the right thing."""
    ((_, task),) = find_tasks([task_id])
    return task.control("oracle")


def in_process(task_id: str, control: Control, seed: int = 0) -> Environment:
    """The same run without a server."""
    parameters: dict[str, Any] = dict(control.parameters)
    environment = make(task_id, **parameters)
    play(environment, control.script, seed)
    return environment


def observation(answer: dict[str, Any]) -> Observation:
    """An observation as a door shows it."""
    return Observation(**answer)


def task_of(task_id: str) -> Task:
    """A task."""
    ((_, task),) = find_tasks([task_id])
    return task


class Script:
    """A control's moves, one at a time."""

    def __init__(self, control: Control, opening: Observation) -> None:
        self._moves = control.script(opening)
        self.action: Action | None = next(self._moves, None)

    def see(self, seen: Observation) -> None:
        """What the last move was answered; the next is in `action`."""
        try:
            self.action = None if seen.done else self._moves.send(seen)
        except StopIteration:
            self.action = None
