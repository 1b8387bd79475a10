"""What every adapter is held to: each task's oracle and its do-nothing run, in this process."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

import deskgym
from deskgym import Action, Control, Observation
from deskgym.agents import null
from deskgym.environment import Environment
from deskgym.recording import Recording
from deskgym.runner import record
from deskgym.task import Script

SUITES = ("service", "backoffice", "tickets")
ORACLES: list[tuple[str, Control]] = [
    (f"{suite.name}/{task.name}", task.control("oracle"))
    for suite, task in deskgym.find_tasks(SUITES)
]


DOES_NOTHING = Control("null", "null", "does nothing", null, 0.0)


def doing(*actions: Action) -> Script:
    """A script of these actions, whatever comes of them."""

    def moves(_: Observation) -> Generator[Action, Observation, None]:
        for action in actions:  # noqa: UP028 - what is sent in goes nowhere
            yield action

    return moves


def in_process(task: str, control: Control, seed: int = 0) -> Recording:
    """A control's episode, played here."""
    ((suite, chosen),) = deskgym.find_tasks([task])
    with Environment(suite, chosen, parameters=control.parameters) as environment:
        return record(environment, control.script, seed, agent=control.name)


class ToolFault(Exception):
    """What a broken tool raises."""


@contextmanager
def broken_tool(monkeypatch: pytest.MonkeyPatch, suite: str, name: str) -> Iterator[None]:
    """A tool of ours that fails by mistake, for as long as the block lasts."""

    def fail(*_: object, **__: object) -> Any:
        raise ToolFault("the tool is broken")

    toolbox = deskgym.load_suite(suite).toolbox
    with monkeypatch.context() as patch:
        tools = {**dict(toolbox), name: replace(toolbox[name], function=fail)}
        patch.setattr(toolbox, "_tools", tools)
        yield
