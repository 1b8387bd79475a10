"""The data set of a training run: a row for each task and seed."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from deskgym.adapters.rows import rows_of
from deskgym.errors import MissingExtra

if TYPE_CHECKING:
    from datasets import Dataset


def dataset(
    tasks: str | Sequence[str],
    seeds: Iterable[int],
    *,
    parameters: Mapping[str, int] | None = None,
) -> Dataset:
    """A row for each task and seed: its prompt, and what `reset` starts the episode with.

    Columns: `prompt` (the suite's instructions, and what the agent is told first), `task`, `seed`,
    `parameters` (JSON), and `environment`, the suite's name, by which TRL finds the environment
    where several suites are trained on at once.

    Args:
        tasks: ids of tasks, and names of suites for all of theirs; one, or several.
        seeds: the seeds of each task.
        parameters: what every task's fixture is built with.

    Raises:
        UnknownName: there is no such suite or task.
        InvalidParameter: a parameter or a seed is unknown or out of its limits.
        UsageError: there is no seed.
        MissingExtra: TRL's extra is not installed.
    """
    try:
        from datasets import Dataset
    except ImportError as error:
        raise MissingExtra("deskgym.adapters.trl", "trl") from error

    return Dataset.from_list(
        [
            {
                "prompt": row.told(),
                "task": row.task,
                "seed": row.seed,
                "parameters": json.dumps(dict(row.parameters)),
                "environment": row.task.partition("/")[0],
            }
            for row in rows_of(tasks, seeds, parameters)
        ]
    )
