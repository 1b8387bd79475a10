"""The data set of a training run: a row for each task and seed."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deskgym.adapters.briefing import system_prompt
from deskgym.agents.model import opening_text
from deskgym.environment import Environment
from deskgym.errors import MissingExtra, UsageError
from deskgym.suite import Suite, find_tasks
from deskgym.task import Task

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

    found = find_tasks([tasks] if isinstance(tasks, str) else tasks)
    rows = [
        row
        for chosen in (list(seeds),)
        for suite, task in found
        for row in _rows(suite, task, chosen, parameters or {})
    ]
    if not rows:
        raise UsageError("a data set needs at least one seed")
    return Dataset.from_list(rows)


def _rows(
    suite: Suite, task: Task, seeds: Sequence[int], parameters: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    with Environment(suite, task, parameters=parameters) as environment:
        for seed in seeds:
            opening = environment.reset(seed)
            yield {
                "prompt": [
                    {"role": "system", "content": system_prompt(suite)},
                    {"role": "user", "content": opening_text(opening)},
                ],
                "task": environment.id,
                "seed": seed,
                "parameters": json.dumps(dict(parameters)),
                "environment": suite.name,
            }
