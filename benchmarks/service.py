"""The service suite: a scripted episode against the bare driver, resets, and scoring."""

from __future__ import annotations

from collections.abc import Iterator

import deskgym
from benchmarks.episode import episode, resets
from benchmarks.measure import Figure
from deskgym.environment import Environment
from deskgym.runner import play as play_script
from deskgym.trajectory import Action


def actions_of(environment: Environment, control: str) -> list[Action]:
    """The actions of a control's script."""
    play_script(environment, environment.task.control(control).script)
    return [step.action for step in environment.steps]


def figures() -> Iterator[Figure]:
    """Measure the suite: a script of the five small cases, and one of a richer dialogue case."""
    for task, control in (
        ("service/damaged-lamp", "replace-and-refund"),
        ("service/wait-for-stock", "oracle_refund"),
    ):
        environment = deskgym.make(task)
        yield from episode(f"{task} {control}", environment, actions_of(environment, control))
    yield from resets("service/damaged-lamp")
