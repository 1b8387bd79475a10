"""Agents that come with deskgym, found by name for a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from deskgym.agents.null import null
from deskgym.errors import UnknownName
from deskgym.task import Script, Task

BUILT_IN: Final[Mapping[str, Script]] = {"null": null}
"""Agents that work from observations alone, on any task of their suite."""


def find_agent(task: Task, name: str) -> Script:
    """An agent by name: one of the task's controls (`oracle` is the first of its kind) or ours.

    Raises:
        UnknownName: the task has no such control and there is no such agent.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    try:
        return task.control(name).script
    except UnknownName:
        names = {control.name for control in task.controls}
        kinds = {control.kind for control in task.controls}
        raise UnknownName(f"agent for {task.name}", name, {*BUILT_IN, *names, *kinds}) from None
