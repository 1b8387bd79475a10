"""Which episode is played next: a task, a seed and parameters, as `make` and `reset` say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, Final, NamedTuple, cast

import numpy as np

from deskgym.errors import InvalidParameter, UsageError, did_you_mean
from deskgym.suite import Suite, find_tasks
from deskgym.task import SEED_MAX, Task, checked_seed

SEEDS: Final = (0, SEED_MAX + 1)
"""All of them: the first, and the one after the last."""
OPTIONS: Final = ("task", "parameters", "seeds")
"""What `reset(options=…)` takes."""


class Chosen(NamedTuple):
    """An episode to play."""

    task: Task
    parameters: Mapping[str, object]
    seed: int


class Choice:
    """The tasks that an environment draws from, all of one suite, with their seeds.

    Attributes:
        suite: the suite.
        tasks: the tasks.
    """

    def __init__(
        self,
        task: str | Sequence[str],
        parameters: Mapping[str, object] | None,
        seeds: Sequence[int],
    ) -> None:
        """Check all of it at once, so that a wrong name is told before anything is trained.

        Raises:
            UnknownName: there is no such suite or task.
            InvalidParameter: a parameter or a seed is out of its limits.
            UsageError: the tasks are of several suites, or there are none.
        """
        names = (task,) if isinstance(task, str) else tuple(task)
        if not names:
            raise UsageError("an environment needs a task or a suite, such as service/damaged-lamp")
        found = find_tasks(names)
        suites = {suite.name: suite for suite, _ in found}
        if len(suites) > 1:
            raise UsageError(
                f"one environment plays tasks of one suite, not of {' and '.join(suites)}"
            )
        (self.suite,) = cast(tuple[Suite], tuple(suites.values()))
        self.tasks: Final = tuple(each for _, each in found)
        self._parameters: Final = dict(parameters or {})
        for each in self.tasks:
            each.values(self._parameters)
        self._seeds: Final = checked_range(seeds)

    def draw(
        self, random: np.random.Generator, seed: int | None, options: Mapping[str, Any] | None
    ) -> Chosen:
        """The next episode.

        Args:
            random: what is left open is drawn from it.
            seed: the episode's seed; drawn if None.
            options: `task`, `parameters` and `seeds`, each instead of what `make` said.

        Raises:
            InvalidParameter: an option, a parameter or the seed is none.
            UnknownName: the suite has no such task.
        """
        given = options or {}
        for name in given:
            if name not in OPTIONS:
                raise InvalidParameter(
                    f"reset has no option {name!r}{did_you_mean(name, OPTIONS)} "
                    f"(its options: {', '.join(OPTIONS)})"
                )
        task = self._task(random, given.get("task"))
        more: Mapping[str, object] = given.get("parameters") or {}
        parameters = {**self._parameters, **more}
        first, stop = checked_range(given["seeds"]) if "seeds" in given else self._seeds
        drawn = int(random.integers(first, stop)) if seed is None else checked_seed(int(seed))
        return Chosen(task, parameters, drawn)

    def _task(self, random: np.random.Generator, name: str | None) -> Task:
        if name is not None:
            return self.suite.task(name)
        if len(self.tasks) == 1:
            return self.tasks[0]
        return self.tasks[int(random.integers(len(self.tasks)))]


def checked_range(seeds: Sequence[int]) -> tuple[int, int]:
    """A range of seeds, if it is one: the first, and the one after the last.

    Raises:
        InvalidParameter: it is none, or empty.
    """
    if isinstance(seeds, range) and seeds.step == 1:
        seeds = (seeds.start, seeds.stop)
    try:
        first, stop = (index(bound) for bound in seeds)
    except (TypeError, ValueError):
        raise InvalidParameter(f"seeds are given as (first, stop), not as {seeds!r}") from None
    if not 0 <= first < stop <= SEED_MAX + 1:
        raise InvalidParameter(
            f"seeds (first, stop) lie within 0 and {SEED_MAX + 1} and hold at least one, "
            f"not ({first}, {stop})"
        )
    return first, stop
