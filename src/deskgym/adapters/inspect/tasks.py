"""The tasks that Inspect finds: one for each of deskgym's suites, and a call for any other."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset

from deskgym.adapters.inspect.sample import sample_of
from deskgym.adapters.inspect.scoring import deskgym_scorer
from deskgym.adapters.inspect.solver import desk_agent
from deskgym.adapters.rows import SEEDS, rows_of
from deskgym.customers import traits_of
from deskgym.dialogue.limits import TURNS_MAX
from deskgym.errors import UsageError
from deskgym.suite import load_suite

Names = str | list[str] | None
Seeds = str | int | list[str | int]

MESSAGES_PER_ACTION = 3


def desk_task(
    names: str | Sequence[str],
    *,
    seeds: Seeds = SEEDS,
    parameters: Mapping[str, int] | None = None,
    rubric: str | None = None,
    epochs: int = 1,
    customer: str | None = None,
    turns_max: int = TURNS_MAX,
    **react_options: Any,
) -> Task:
    """An Inspect task over tasks of deskgym's, those of your own suites too.

    Args:
        names: ids of tasks or names of suites.
        seeds: such as `0-9` or `0,3,5-7`.
        parameters: what every fixture is built with, such as `{"stock": 0}`.
        rubric: the version that scores; each suite's default if None.
        epochs: how often each sample is played; with more than one, pass^k is shown beside the
            mean, for k of 2, 4, 8 and so on and for all of them.
        customer: the manner of a model that speaks for the customer (the model role `customer`),
            such as `curt`; the task's own script if None.
        turns_max: how often the agent may speak to the customer.
        react_options: further options of Inspect's `react`.

    Raises:
        UsageError: a task, suite, rubric, parameter, seed or manner does not exist or fit.
    """
    rows = rows_of(names, _seeds_text(seeds), _parameters(parameters), rubric)
    suites = [
        load_suite(name) for name in dict.fromkeys(row.task.partition("/")[0] for row in rows)
    ]
    if customer is not None:
        traits_of(customer)
        silent = [suite.name for suite in suites if suite.speech is None]
        if silent:
            raise UsageError(f"the suite {silent[0]} has no customer for a model to speak for")
    steps_max = max(suite.steps_max for suite in suites)
    return Task(
        dataset=MemoryDataset([sample_of(row) for row in rows], name="deskgym"),
        solver=desk_agent(customer, turns_max, **react_options),
        scorer=deskgym_scorer(),
        epochs=_epochs(epochs),
        # A model that writes and never acts is stopped by the dialogue; this is the last resort.
        message_limit=MESSAGES_PER_ACTION * steps_max,
    )


def _epochs(epochs: int) -> Epochs | None:
    """How samples of several epochs are put together: the mean, and pass^k."""
    if epochs < 2:
        return None
    powers = {2**power for power in range(1, epochs.bit_length())}
    return Epochs(epochs, ["mean", *(f"pass_k_{k}" for k in sorted(powers | {epochs}))])


def _seeds_text(seeds: Seeds | Iterable[str | int]) -> str:
    """Seeds as one text: a command line splits what has commas."""
    parts = [seeds] if isinstance(seeds, str | int) else list(seeds)
    return ",".join(str(part) for part in parts)


def _parameters(parameters: object) -> dict[str, int]:
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise UsageError(f"parameters are such as {{stock: 0}}, not {parameters!r}")
    return {str(name): value for name, value in parameters.items()}


def _in_suite(suite: str, names: Names, **settings: Any) -> Task:
    chosen = [names] if isinstance(names, str) else list(names or ())
    ids = [name if name.startswith(f"{suite}/") else f"{suite}/{name}" for name in chosen]
    return desk_task(ids or suite, **settings)


@task
def service(
    task: Names = None,
    seeds: Seeds = SEEDS,
    parameters: dict[str, int] | None = None,
    rubric: str | None = None,
    epochs: int = 1,
    customer: str | None = None,
    turns_max: int = TURNS_MAX,
) -> Task:
    """Customer service: nine identity-bound tools, and a customer to talk to.

    Args:
        task: a task's name, such as `damaged-lamp`, or several; all if not given.
        seeds: such as `0-9` or `0,3,5-7`.
        parameters: what every fixture is built with, such as `{stock: 0}`.
        rubric: the version that scores.
        epochs: how often each sample is played; shows pass^k.
        customer: the manner of a model that speaks for the customer, by the model role `customer`.
        turns_max: how often the agent may speak to the customer.
    """
    return _in_suite(
        "service",
        task,
        seeds=seeds,
        parameters=parameters,
        rubric=rubric,
        epochs=epochs,
        customer=customer,
        turns_max=turns_max,
    )


@task
def backoffice(
    task: Names = None,
    seeds: Seeds = SEEDS,
    parameters: dict[str, int] | None = None,
    rubric: str | None = None,
    epochs: int = 1,
) -> Task:
    """Back-office work: sixteen tools over a seeded store; some of the tasks are traps.

    Args:
        task: a task's name, such as `late-return`, or several; all if not given.
        seeds: such as `0-9` or `0,3,5-7`.
        parameters: what every fixture is built with, such as `{large: 1}`.
        rubric: the version that scores.
        epochs: how often each sample is played; shows pass^k.
    """
    return _in_suite(
        "backoffice", task, seeds=seeds, parameters=parameters, rubric=rubric, epochs=epochs
    )


@task
def tickets(
    task: Names = None,
    seeds: Seeds = SEEDS,
    parameters: dict[str, int] | None = None,
    rubric: str | None = None,
    epochs: int = 1,
    customer: str | None = None,
    turns_max: int = TURNS_MAX,
) -> Task:
    """Support tickets: one tool, language only, in three tiers.

    Args:
        task: a tier, such as `hard`, or several; all if not given.
        seeds: such as `0-9` or `0,3,5-7`.
        parameters: what every fixture is built with.
        rubric: the version that scores.
        epochs: how often each sample is played; shows pass^k.
        customer: the manner of a model that speaks for the customer, by the model role `customer`.
        turns_max: how often the agent may speak to the customer.
    """
    return _in_suite(
        "tickets",
        task,
        seeds=seeds,
        parameters=parameters,
        rubric=rubric,
        epochs=epochs,
        customer=customer,
        turns_max=turns_max,
    )
