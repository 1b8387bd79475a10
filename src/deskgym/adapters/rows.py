"""Rows: which episodes a trainer or a benchmark is given, tasks by seeds with parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from deskgym.agents.model import opening_text
from deskgym.environment import Environment
from deskgym.errors import UsageError
from deskgym.suite import find_tasks, load_suite
from deskgym.task import checked_seed, parse_seeds

SEEDS: Final = "0-9"
"""The seeds where nothing is said."""

ACTS: Final = (
    "Act by calling tools. Nobody reads what you write outside of calls, and a turn without a call "
    "is your last."
)
"""How such agents take a model's turns: calls are made, and the first turn without ends it."""


@dataclass(frozen=True)
class Row:
    """One episode to play.

    Attributes:
        task: the task's id, such as `service/damaged-lamp`.
        seed: the episode's seed.
        parameters: what the fixture is built with; what is left out has its default.
        rubric: the version that scores it; the suite's default if None.
    """

    task: str
    seed: int
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    rubric: str | None = None

    def told(self) -> list[dict[str, str]]:
        """The messages before a model's first turn, where a trainer's own agent asks it."""
        with self.environment() as environment:
            opening = opening_text(environment.reset(self.seed))
            system = f"{environment.instructions.strip()}\n\n{ACTS}"
        return [{"role": "system", "content": system}, {"role": "user", "content": opening}]

    def environment(self) -> Environment:
        """The environment that it is played in.

        Raises:
            UnknownName: there is no such task or rubric.
            InvalidParameter: a parameter is unknown or out of its limits.
        """
        suite = load_suite(self.task.partition("/")[0])
        return Environment(
            suite, suite.task(self.task), parameters=self.parameters, rubric=self.rubric
        )

    @property
    def name(self) -> str:
        """The task, the seed and the parameters, in one text."""
        settings = "".join(f" {name}={self.parameters[name]}" for name in sorted(self.parameters))
        return f"{self.task} seed {self.seed}{settings}"


def rows_of(
    tasks: str | Sequence[str] = (),
    seeds: str | int | Iterable[int] = SEEDS,
    parameters: Mapping[str, int] | None = None,
    rubric: str | None = None,
) -> list[Row]:
    """The rows of some tasks, all seeds of a task together; checked, so that a run can start.

    Args:
        tasks: ids of tasks or names of suites, one or many; every task if empty.
        seeds: a text such as `0-9` or `0,3,5-7`, a seed, or seeds.
        parameters: what every fixture is built with.
        rubric: the version that scores; each suite's default if None.

    Raises:
        UnknownName: there is no such task, suite or rubric.
        InvalidParameter: a parameter or a seed is unknown or out of its limits.
        UsageError: the seeds are none.
    """
    names = [tasks] if isinstance(tasks, str) else list(tasks)
    if isinstance(seeds, str):
        chosen = parse_seeds(seeds)
    else:
        chosen = [seeds] if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    if not chosen:
        raise UsageError("there is no seed: name some, such as 0-9")
    for seed in chosen:
        checked_seed(seed)
    given = dict(parameters or {})
    found: list[Row] = []
    for suite, task in find_tasks([name for name in names if name]):
        task.values(given)
        suite.rubric(rubric)
        found.extend(Row(f"{suite.name}/{task.name}", seed, given, rubric) for seed in chosen)
    return found


def parameters_of(given: object) -> dict[str, Any]:
    """The parameters of a row: a mapping, its JSON, or None.

    A table of Arrow fills up with None what a row does not name, so that those are left out.

    Raises:
        UsageError: they are something else.
    """
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError as error:
            raise UsageError(f"a row's parameters are no JSON: {error}") from error
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"a row's parameters are one JSON object, not a {type(given).__name__}")
    fields = cast(Mapping[str, Any], given or {})
    return {name: value for name, value in fields.items() if value is not None}
