"""The environment: one agent at a desk, and the customer who wrote to it."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import verifiers.v1 as vf

from deskgym.adapters.rows import SEEDS, rows_of
from deskgym.adapters.verifiers.harness import DeskgymHarnessConfig

PLUGIN: Final = "deskgym-verifiers"
"""By which verifiers finds the taskset, the harness and the environment: `vf-eval PLUGIN`."""


class DeskgymEnvConfig(vf.SingleAgentEnvConfig):
    """The one seat, in this process."""

    # Copied in, because verifiers would look for the harness by its id while this is imported.
    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig()).model_copy(
        update={"harness": DeskgymHarnessConfig(id=PLUGIN)}
    )


class DeskgymEnv(vf.SingleAgentEnv, vf.Env[DeskgymEnvConfig]):
    """One agent at a desk, and the customer who wrote to it.

    The task's own script speaks for the customer, or a model does, by the harness's `customer`.
    Neither is a seat: the customer is part of the world, and its words are in the recording.
    """


def load_environment(
    tasks: str | Sequence[str] = (),
    seeds: str | int | Iterable[int] = SEEDS,
    parameters: Mapping[str, int] | None = None,
    rubric: str | None = None,
    harness: Mapping[str, Any] | None = None,
) -> DeskgymEnv:
    """The environment of some rows, as `vf-eval` makes it.

    Args:
        tasks: ids of tasks or names of suites, one or many; every task if empty.
        seeds: a text such as `0-9` or `0,3,5-7`, a seed, or seeds.
        parameters: what every fixture is built with.
        rubric: the version that scores; each suite's default if None.
        harness: settings of `DeskgymHarnessConfig`, such as `{"protocol": "text"}`.

    Raises:
        UnknownName: there is no such task, suite or rubric.
        InvalidParameter: a parameter or a seed is unknown or out of its limits.
        ValidationError: a setting of the harness is unknown or does not fit.
    """
    rows = rows_of(tasks, seeds, parameters, rubric)
    chosen = {
        "id": PLUGIN,
        "tasks": list(dict.fromkeys(row.task for row in rows)),
        "seeds": ",".join(str(seed) for seed in dict.fromkeys(row.seed for row in rows)),
        "parameters": dict(parameters or {}),
        "rubric": rubric,
    }
    config = vf.resolve_env_config(
        {"taskset": chosen, "agent": {"harness": {"id": PLUGIN, **(harness or {})}}}
    )
    environment = vf.load_environment(config)
    assert isinstance(environment, DeskgymEnv), "the plugin's own environment"
    return environment
