"""The tasks that a trainer can list and pick: every task of a suite with every seed of a split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from deskgym.errors import UnknownName
from deskgym.suite import Suite

SEEDS: Final = 90
"""How many seeds the splits share. Any other seed can be asked for by `reset(task=…, seed=…)`."""

PERIOD: Final = 45
TRAIN_OF_PERIOD: Final = 30
"""The tickets' texts come again after 45 seeds, and the last 15 are a wording of each scenario that
the first 30 do not have. With this cut, no text of the test split is in the other one."""

SPLITS: Final = ("train", "test")


class Chosen(NamedTuple):
    """A task and a seed."""

    task: str
    seed: int


class TaskList:
    """A suite's splits. The first of a split are every task with its first seed, and so on."""

    def __init__(self, suite: Suite) -> None:
        self._tasks: Final = [f"{suite.name}/{task.name}" for task in suite.tasks]
        train = [seed for seed in range(SEEDS) if seed % PERIOD < TRAIN_OF_PERIOD]
        test = [seed for seed in range(SEEDS) if seed % PERIOD >= TRAIN_OF_PERIOD]
        self._seeds: Final[dict[str, Sequence[int]]] = {"train": train, "test": test}

    def count(self, split: str) -> int:
        """How many tasks a split has; raises `UnknownName`."""
        return len(self._of(split)) * len(self._tasks)

    def pick(self, split: str, index: int) -> Chosen:
        """One of a split; raises `IndexError` where there is none, `UnknownName` for the split."""
        if not 0 <= index < self.count(split):
            raise IndexError(f"the split {split} has the tasks 0 to {self.count(split) - 1}")
        turn, place = divmod(index, len(self._tasks))
        return Chosen(self._tasks[place], self._of(split)[turn])

    def describe(self, split: str, index: int) -> dict[str, Any]:
        """One of a split as JSON: `reset(**…)` takes its `task` and `seed`, or its place."""
        task, seed = self.pick(split, index)
        return {"id": f"{task}@{seed}", "index": index, "split": split, "task": task, "seed": seed}

    def describe_range(
        self, split: str, start: int | None, stop: int | None
    ) -> list[dict[str, Any]]:
        """Some of a split, by the bounds of a slice."""
        return [self.describe(split, index) for index in range(self.count(split))[start:stop]]

    def _of(self, split: str) -> Sequence[int]:
        if split not in self._seeds:
            raise UnknownName("split", split, SPLITS)
        return self._seeds[split]
