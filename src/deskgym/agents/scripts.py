"""Scripted agents by name: those that come with deskgym, and a task's controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from deskgym.agents.backoffice import careful, eager
from deskgym.agents.null import null
from deskgym.errors import UnknownName
from deskgym.suite import Suite
from deskgym.task import Script, Task

EVERYWHERE: Final[Mapping[str, Script]] = {"null": null}
"""Agents that act on any task."""

OF_SUITE: Final[Mapping[str, Mapping[str, Script]]] = {
    "backoffice": {"careful": careful, "eager": eager},
}
"""Agents that act on the tasks of one suite. They work from observations alone."""


def agents_of(suite: Suite) -> dict[str, Script]:
    """The built-in agents that can act on a suite's tasks, by name."""
    return {**EVERYWHERE, **OF_SUITE.get(suite.name, {})}


def find_agent(suite: Suite, task: Task, name: str) -> Script:
    """An agent by name: one of ours, or a control of the task (`oracle` is the first of its kind).

    Raises:
        UnknownName: there is no such agent, and the task has no such control.
    """
    ours = agents_of(suite)
    if name in ours:
        return ours[name]
    try:
        return task.control(name).script
    except UnknownName:
        names = {control.name for control in task.controls}
        kinds = {control.kind for control in task.controls}
        what = f"agent for {suite.name}/{task.name}"
        raise UnknownName(what, name, {*ours, *names, *kinds}) from None
