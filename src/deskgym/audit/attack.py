"""An attack: what is tried against a task's reward, and on what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from deskgym.audit.finding import Section
from deskgym.suite import Suite
from deskgym.task import Task


@dataclass(frozen=True)
class Target:
    """What an attack is let loose on.

    Attributes:
        suite: the suite.
        tasks: one task, or for an attack on a whole suite all of those that were asked for.
        seeds: the seeds to try, in order; an attack that needs fewer takes the first ones.
    """

    suite: Suite
    tasks: tuple[Task, ...]
    seeds: tuple[int, ...]

    @property
    def task(self) -> Task:
        """The task, of a target of one."""
        (task,) = self.tasks
        return task

    @property
    def id(self) -> str:
        """The task's id, or the suite's name where it is about more than one task."""
        return f"{self.suite.name}/{self.task.name}" if len(self.tasks) == 1 else self.suite.name


Scope = Literal["seeds", "task", "suite"]
"""One piece of work: some seeds of a task, a task with all seeds, or a suite with all seeds."""


@dataclass(frozen=True)
class Attack:
    """One way to try to earn a reward that is not due, or to find one that is not given.

    Attributes:
        name: what the report calls it.
        sentence: what it tries, and what has to hold.
        run: tries it. It fills in everything of the section but how long it took.
        scope: how its work is cut into pieces, each of which may run in a process of its own.
        applies: whether it has anything to try on a target; on all of them by default.
        finish: what to make of the section once that of all targets is joined.
    """

    name: str
    sentence: str
    run: Callable[[Target], Section]
    scope: Scope = "seeds"
    applies: Callable[[Target], bool] = lambda _: True
    finish: Callable[[Section], Section] = lambda section: section
