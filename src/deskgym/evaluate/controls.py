"""Controls and sweeps: scripted runs against what they must earn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deskgym.environment import Environment
from deskgym.rubric import Score
from deskgym.runner import play
from deskgym.store import RowChange, WorldEngine
from deskgym.suite import Suite, find_tasks
from deskgym.task import Control, SweepCase, Task
from deskgym.trajectory import Step


@dataclass(frozen=True)
class ControlRun:
    """A control's run against what it must earn.

    Attributes:
        number: the control's place among its suite's, from 1.
        score: what it earned, and why.
        changes: the row changes that it left.
        steps: what it did.
        bugs: how often our tools failed by mistake.
    """

    number: int
    suite: Suite
    task: Task
    control: Control
    seed: int
    score: Score
    changes: tuple[RowChange, ...]
    steps: tuple[Step, ...]
    bugs: int

    @property
    def actions(self) -> int:
        """How many actions it took."""
        return len(self.steps)

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
    names: Sequence[str],
    *,
    seeds: Sequence[int] = (0,),
    rubrics: Sequence[str] = (),
    engine: WorldEngine | None = None,
) -> Iterator[ControlRun]:
    """Run every control of tasks or suites, for each seed, scored by each version of the rubric.

    Args:
        names: ids of tasks or names of suites; all suites if empty.
        seeds: which seeds.
        rubrics: which versions; every one of the suite if empty.
        engine: where worlds live; this process's SQLite engine if None.
    """
    numbers: dict[str, int] = {}
    for suite, task in find_tasks(names):
        versions = rubrics or [rubric.version for rubric in suite.rubrics]
        first = numbers.get(suite.name, 0) + 1
        numbers[suite.name] = first + len(task.controls) - 1
        # Seeds go around the controls, so that a seed's fixture is built once for all of them.
        for seed in seeds:
            for number, control in enumerate(task.controls, start=first):
                with Environment(
                    suite, task, parameters=control.parameters, engine=engine
                ) as environment:
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
                            environment.steps,
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


def run_sweep(suite: Suite, *, engine: WorldEngine | None = None) -> Iterator[SweepRun]:
    """Run every case of a suite's sweep, scored by each version that it names.

    Args:
        suite: whose sweep.
        engine: where worlds live; this process's SQLite engine if None.
    """
    for case in suite.sweep:
        task = suite.task(case.task)
        with Environment(suite, task, parameters=case.parameters, engine=engine) as environment:
            play(environment, task.control(case.control).script)
            for version, expected in case.rewards.items():
                yield SweepRun(case, version, expected, environment.score(version).reward)
