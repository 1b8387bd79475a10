"""The taskset: tasks by seeds with parameters, each with the reward of its recording."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import verifiers.v1 as vf
from pydantic import Field, model_validator

from deskgym.adapters.judgement import rescored
from deskgym.adapters.rows import SEEDS, Row, rows_of
from deskgym.adapters.verifiers.saved import INFO
from deskgym.agents import null
from deskgym.agents.model import opening_text
from deskgym.errors import UsageError
from deskgym.runner import record


class DeskgymData(vf.TaskData):
    """A row: which episode it is, and what its agent is told first."""

    task: str
    """The task's id, such as `service/damaged-lamp`."""
    seed: int
    """The episode's seed."""
    parameters: dict[str, int] = Field(default_factory=dict)
    """What the fixture is built with; what is left out has its default."""
    rubric: str | None = None
    """The version that scores; the suite's default if None."""

    @property
    def row(self) -> Row:
        """The episode."""
        return Row(self.task, self.seed, self.parameters, self.rubric)


class DeskgymTask(vf.Task[DeskgymData]):
    """An episode: its reward is worked out from the recording that its trace holds.

    The recording is replayed each time, so that `vf-replay` scores a saved run by the same rules,
    and a trace that was changed has an error and no reward.
    """

    @property
    def key(self) -> str:
        """The row's name: the same whichever other rows there are."""
        return self.data.row.name

    @vf.reward
    async def deskgym_reward(self, trace: vf.Trace) -> float:
        """What the records say in the end, from -1 to 1."""
        return rescored(_recording_in(trace), self.data.row).reward

    @vf.metric
    async def outcome(self, trace: vf.Trace) -> dict[str, float]:
        """Whether the case is resolved, and how many actions that took."""
        score = rescored(_recording_in(trace), self.data.row)
        return {
            "resolved": float(score.verdict == "resolved"),
            "actions": float(0 if score.actions is None else score.actions[0]),
        }

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Where no rollout was run, as in a check by `vf-validate`, the untouched world is scored.

        A rollout that was run and left no recording has no reward.
        """
        del runtime
        if not trace.timing.boot.start:
            with self.data.row.environment() as environment:
                recording = record(environment, null, self.data.seed, agent="null")
            trace.info[INFO] = {"recording": orjson.loads(recording.to_json())}

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Whether the task's oracle earns what it must, without a model."""
        del runtime
        with self.data.row.environment() as environment:
            oracle = environment.task.control("oracle")
        row = Row(self.data.task, self.data.seed, oracle.parameters, self.data.rubric)
        with row.environment() as environment:
            recording = record(environment, oracle.script, row.seed, agent="oracle")
            return recording.reward == oracle.reward_by(environment.rubric.version)


def _recording_in(trace: vf.Trace) -> dict[str, Any] | None:
    kept = trace.info.get(INFO)
    return kept.get("recording") if isinstance(kept, dict) else None


class DeskgymTasksetConfig(vf.TasksetConfig):
    """Which rows there are, under `--env.taskset.*`."""

    tasks: list[str] = Field(default_factory=list)
    """Ids of tasks (`service/damaged-lamp`) and names of suites; every task if empty."""
    seeds: str = SEEDS
    """The seeds of each task, such as `0-9` or `0,3,5-7`."""
    parameters: dict[str, int] = Field(default_factory=dict)
    """What every fixture is built with, such as `{"stock": 0}`."""
    rubric: str | None = None
    """The version that scores; each suite's default if None."""

    @model_validator(mode="after")
    def _check(self) -> DeskgymTasksetConfig:
        try:
            self.rows()
        except UsageError as error:
            raise ValueError(str(error)) from error
        return self

    def rows(self) -> list[Row]:
        """The rows; raises `UsageError` for what does not exist."""
        return rows_of(self.tasks, self.seeds, self.parameters, self.rubric)


class DeskgymTaskset(vf.Taskset[DeskgymTask, DeskgymTasksetConfig]):
    """Tasks by seeds with parameters, as rows."""

    def load(self) -> Iterator[DeskgymTask]:
        """The rows, each built when it is come to."""
        for row in self.config.rows():
            yield DeskgymTask(data_of(row), self.config.task)


def data_of(row: Row) -> DeskgymData:
    """A row as verifiers keeps it."""
    with row.environment() as environment:
        told = opening_text(environment.reset(row.seed))
        return DeskgymData(
            name=row.name,
            description=environment.task.title,
            prompt=told,
            system_prompt=environment.suite.instructions,
            task=row.task,
            seed=row.seed,
            parameters=dict(row.parameters),
            rubric=row.rubric,
        )
