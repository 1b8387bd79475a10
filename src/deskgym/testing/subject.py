"""The subject of a conformance check: a task with seeds, and its episodes, run once for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from deskgym.environment import Environment
from deskgym.errors import UsageError
from deskgym.store import Engine
from deskgym.suite import Suite, find_tasks
from deskgym.task import Control, Script, Task
from deskgym.testing.probe import Probe, probe_all, wander
from deskgym.testing.trace import Trace, repeat, take
from deskgym.trajectory import Action

SEEDS: Final = (0, 1, 2)
"""The seeds that a check looks at unless it is told others."""

What = str | Suite | tuple[Suite, Task]
"""What can be checked: a task's id, a suite's name, a suite, or a task of a suite."""


@dataclass(frozen=True)
class Run:
    """An episode: who acts, and what the fixture is built with.

    Attributes:
        name: the control's, or `wander` for one that tries all tools with whatever it has seen.
        script: the agent.
        seed: the episode's seed.
        parameters: what the fixture is built with.
        control: the control; None for the wanderer.
    """

    name: str
    script: Script
    seed: int
    parameters: Mapping[str, int]
    control: Control | None


class Episode(NamedTuple):
    """A run and its trace."""

    run: Run
    trace: Trace


@dataclass(frozen=True)
class Subject:
    """A task of a suite and the seeds to look at."""

    suite: Suite
    task: Task
    seeds: tuple[int, ...]

    @property
    def id(self) -> str:
        """The task's id."""
        return f"{self.suite.name}/{self.task.name}"

    def environment(
        self, parameters: Mapping[str, int] | None = None, engine: Engine | None = None
    ) -> Environment:
        """An environment of the task, on the subject's own engine unless another is given."""
        return Environment(
            self.suite, self.task, parameters=parameters, engine=engine or self.engine
        )

    @cached_property
    def engine(self) -> Engine:
        """The engine that the subject's episodes share."""
        return Engine(slots_max=2)

    @cached_property
    def played(self) -> tuple[Episode, ...]:
        """Every control with every seed, scored after each step."""
        runs = [
            Run(control.name, control.script, seed, control.parameters, control)
            for control in self.task.controls
            for seed in self.seeds
        ]
        return tuple(Episode(run, self.trace(run)) for run in runs)

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Every control and a wanderer with every seed."""
        known = [action for episode in self.played for action in episode.trace.actions]
        runs = [
            Run("wander", wander(self.suite.toolbox, known, seed), seed, {}, None)
            for seed in self.seeds
        ]
        return (*self.played, *(Episode(run, self.trace(run)) for run in runs))

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        """Every tool with arguments that fit and that do not, at the start and deep in a run."""
        known = [action for episode in self.played for action in episode.trace.actions]
        longest = max(
            (episode for episode in self.played if episode.run.seed == self.seeds[0]),
            key=lambda episode: len(episode.trace.actions),
            default=None,
        )
        made = list(probe_all(self.environment(), self.seeds[0], known, ()))
        if longest is not None:
            environment = self.environment(longest.run.parameters)
            made.extend(probe_all(environment, self.seeds[0], known, longest.trace.actions))
        return tuple(made)

    def trace(
        self,
        run: Run,
        *,
        actions: Sequence[Action] | None = None,
        engine: Engine | None = None,
        score_steps: bool = True,
        between: Callable[[int], None] = lambda _: None,
    ) -> Trace:
        """Run an episode again, by its script or by the actions of an earlier trace."""
        script = run.script if actions is None else repeat(actions)
        environment = self.environment(run.parameters, engine)
        with environment:
            return take(environment, script, run.seed, score_steps=score_steps, between=between)


def subjects(what: What, seeds: Sequence[int] = SEEDS) -> tuple[Subject, ...]:
    """The subjects that a name, a suite or a task of a suite stands for.

    Raises:
        UnknownName: there is no such suite or task.
        UsageError: there is no seed.
    """
    if not seeds:
        raise UsageError("conformance is checked with at least one seed")
    if isinstance(what, str):
        pairs = find_tasks([what])
    elif isinstance(what, Suite):
        pairs = [(what, task) for task in what.tasks]
    else:
        pairs = [what]
    return tuple(Subject(suite, task, tuple(seeds)) for suite, task in pairs)
