"""Many episodes: agents over tasks and seeds, and controls against what they must earn."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from deskgym.agents import find_agent
from deskgym.environment import Environment
from deskgym.recording import Recording, parse
from deskgym.rubric import Score
from deskgym.runner import play, record
from deskgym.store import RowChange
from deskgym.suite import Suite, find_tasks, load_suite
from deskgym.task import Control, SweepCase, Task


@dataclass(frozen=True)
class EpisodeSpec:
    """One episode to run: a small thing that travels between processes.

    Attributes:
        task: the task's id.
        agent: the agent's name.
        seed: the episode's seed.
        rubric: the rubric's version; the suite's default if None.
        parameters: what the fixture is built with, beside what the agent's control asks for.
    """

    task: str
    agent: str
    seed: int
    rubric: str | None = None
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])


def run_episode(spec: EpisodeSpec) -> Recording:
    """Run one episode and record it.

    Raises:
        UnknownName: there is no such task, agent or rubric.
        InvalidParameter: a parameter or the seed is out of its limits.
    """
    suite = load_suite(spec.task.partition("/")[0])
    task = suite.task(spec.task)
    named = [item.parameters for item in task.controls if item.name == spec.agent]
    parameters = {**(named[0] if named else {}), **spec.parameters}
    with Environment(suite, task, parameters=parameters, rubric=spec.rubric) as environment:
        return record(environment, find_agent(suite, task, spec.agent), spec.seed, agent=spec.agent)


def _run_as_json(spec: EpisodeSpec) -> bytes:
    return run_episode(spec).to_json()


def run_episodes(specs: Sequence[EpisodeSpec], *, jobs: int = 1) -> Iterator[Recording]:
    """Run episodes and return their recordings in order, the same with any number of processes.

    Args:
        specs: what to run.
        jobs: how many processes; one runs them here.
    """
    if jobs <= 1 or len(specs) <= 1:
        yield from map(run_episode, specs)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for line in pool.map(_run_as_json, specs, chunksize=max(1, len(specs) // (jobs * 8))):
            yield parse(line)


@dataclass(frozen=True)
class ControlRun:
    """A control's run against what it must earn.

    Attributes:
        number: the control's place among its suite's, from 1.
        score: what it earned, and why.
        changes: the row changes that it left.
        actions: how many actions it took.
        bugs: how often our tools failed by mistake.
    """

    number: int
    suite: Suite
    task: Task
    control: Control
    seed: int
    score: Score
    changes: tuple[RowChange, ...]
    actions: int
    bugs: int

    @property
    def reward(self) -> float:
        """What it earned."""
        return self.score.reward

    @property
    def expected(self) -> float:
        """What it must earn by the version that scored it."""
        return self.control.reward_by(self.score.rubric)

    @property
    def holds(self) -> bool:
        """Whether it earned exactly what it must, by tools that worked."""
        return self.reward == self.expected and not self.bugs


def run_controls(
    names: Sequence[str], *, seeds: Sequence[int] = (0,), rubrics: Sequence[str] = ()
) -> Iterator[ControlRun]:
    """Run every control of tasks or suites, for each seed, scored by each version of the rubric.

    Args:
        names: ids of tasks or names of suites; all suites if empty.
        seeds: which seeds.
        rubrics: which versions; every one of the suite if empty.
    """
    numbers: dict[str, int] = {}
    for suite, task in find_tasks(names):
        versions = rubrics or [rubric.version for rubric in suite.rubrics]
        first = numbers.get(suite.name, 0) + 1
        numbers[suite.name] = first + len(task.controls) - 1
        # Seeds go around the controls, so that a seed's fixture is built once for all of them.
        for seed in seeds:
            for number, control in enumerate(task.controls, start=first):
                with Environment(suite, task, parameters=control.parameters) as environment:
                    play(environment, control.script, seed)
                    for version in versions:
                        yield ControlRun(
                            number,
                            suite,
                            task,
                            control,
                            seed,
                            environment.score(version),
                            environment.changes(),
                            len(environment.steps),
                            len(environment.bugs),
                        )


@dataclass(frozen=True)
class SweepRun:
    """A case of a sweep, run: what it earned by one version of the rubric, and what it must."""

    case: SweepCase
    rubric: str
    expected: float
    reward: float

    @property
    def holds(self) -> bool:
        """Whether it earned exactly what the rules say."""
        return self.reward == self.expected

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON."""
        return {
            "task": self.case.task,
            "control": self.case.control,
            "parameters": dict(self.case.parameters),
            "rubric": self.rubric,
            "expected": self.expected,
            "reward": self.reward,
            "holds": self.holds,
        }

    def __str__(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.case.parameters.items())
        return (
            f"{self.case.task} {self.case.control} ({settings}) by {self.rubric}: "
            f"{self.reward} and not {self.expected}"
        )


def run_sweep(suite: Suite) -> Iterator[SweepRun]:
    """Run every case of a suite's sweep, scored by each version that it names."""
    for case in suite.sweep:
        task = suite.task(case.task)
        with Environment(suite, task, parameters=case.parameters) as environment:
            play(environment, task.control(case.control).script)
            for version, expected in case.rewards.items():
                yield SweepRun(case, version, expected, environment.score(version).reward)
