"""A suite as a class that TRL's trainers make environments of.

TRL takes every method of the class whose name does not begin with an underscore for a tool of the
model, apart from `reset` and `get_reward`. So there are no others here, inherited ones included:
what else a program wants of an environment, the functions of this module give.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, Final, Literal

from deskgym.adapters.rerun import record_again
from deskgym.adapters.rows import parameters_of
from deskgym.adapters.trl.installed import require_trl
from deskgym.adapters.trl.method import method_of
from deskgym.adapters.unjudged import Unjudged
from deskgym.agents.model import opening_text
from deskgym.environment import Environment
from deskgym.errors import InvalidDefinition, UsageError
from deskgym.recording import Recording
from deskgym.store import WorldEngine
from deskgym.suite import Suite, load_suite
from deskgym.tool import Tool
from deskgym.trajectory import Action

OnFailure = Literal["mask", "raise"]
"""What becomes of an episode that cannot be judged: its reward is None, which TRL leaves out of its
group's mean and of the policy's gradient; or `get_reward` raises `Unjudged`: training ends."""

RESERVED: Final = ("reset", "get_reward")
AGENT: Final = "trl"
_log = logging.getLogger(__name__)


class _Episodes:
    """Episodes of one suite, one after another; see `environment_factory`."""

    _suite: Suite
    _rubric: str | None = None
    _engine: WorldEngine | None = None
    _on_failure: OnFailure = "mask"

    def __init__(self) -> None:
        self._environment: Environment | None = None
        self._failures: list[Exception] = []

    def reset(
        self,
        task: str | None = None,
        seed: int = 0,
        parameters: Mapping[str, Any] | str | None = None,
        prompt: Any = None,
        **_others: Any,
    ) -> str | None:
        """Start the episode of a row of the data set.

        Args:
            task: the task's id.
            seed: the episode's seed.
            parameters: what the fixture is built with; a mapping, or its JSON.
            prompt: the row's prompt.

        Returns:
            What the agent is told first, which TRL adds to the prompt; None if it ends with that.

        Raises:
            UnknownName: the suite has no such task or rubric.
            InvalidParameter: a parameter or the seed is unknown or out of its limits.
            UsageError: the row names no task.
        """
        if task is None:
            raise UsageError(
                f"a row of the data set names no task of {self._suite.name}: it needs a column "
                "`task`; deskgym.adapters.trl.dataset makes such rows"
            )
        if self._environment is not None:
            self._environment.close()
        self._failures = []
        self._environment = Environment(
            self._suite,
            self._suite.task(task),
            parameters=parameters_of(parameters),
            rubric=self._rubric,
            engine=self._engine,
        )
        opening = opening_text(self._environment.reset(seed))
        return None if _last_text(prompt).endswith(opening) else opening

    def get_reward(self) -> float | None:
        """What the episode has earned; None if it cannot be judged."""
        environment = environment_of(self)
        failures = [*environment.bugs, *self._failures]
        if not failures:
            try:
                return environment.score().reward
            except Exception as error:
                # Whatever a rubric fails with, the run is not the agent's to answer for.
                _log.exception("%s seed %d: the score failed", environment.id, environment.seed)
                failures = [error]
        if self._on_failure == "raise":
            name = f"{environment.id} seed {environment.seed}"
            raise Unjudged.by(name, failures) from failures[0]
        return None


def environment_factory(
    suite: str,
    *,
    rubric: str | None = None,
    engine: WorldEngine | None = None,
    on_failure: OnFailure = "mask",
) -> type[Any]:
    """The class of a suite's environments, for `GRPOTrainer(environment_factory=…)`.

    Its methods are the suite's tools, `reset` and `get_reward`. Which task an episode is of, and
    its seed and parameters, a row of the data set says: `deskgym.adapters.trl.dataset`. For several
    suites at once, give TRL `{name: environment_factory(name) for name in names}`.

    Args:
        suite: the suite's name.
        rubric: the rubric's version; the suite's default if None.
        engine: where worlds live; the process's own SQLite engine if None.
        on_failure: what becomes of an episode that cannot be judged.

    Raises:
        UnknownName: there is no such suite or rubric.
        InvalidDefinition: a tool of the suite has no form that TRL takes.
        MissingExtra: TRL is not installed.
    """
    require_trl()
    if on_failure not in ("mask", "raise"):
        raise UsageError(f"on_failure is 'mask' or 'raise', not {on_failure!r}")
    found = load_suite(suite)
    found.rubric(rubric)
    methods = {tool.name: _method(found, tool) for tool in found.toolbox.values()}
    settings = {
        "_suite": found,
        "_rubric": rubric,
        "_engine": engine,
        "_on_failure": on_failure,
        "__doc__": f"Episodes of {found.name}: {found.title}",
        "__module__": __name__,
    }
    # TRL logs the reward under the class's name.
    return type(f"deskgym_{found.name.replace('-', '_')}", (_Episodes,), {**settings, **methods})


def _method(suite: Suite, tool: Tool) -> Callable[..., str]:
    """A tool's method, from which transformers reads the description that the tool has."""
    # Its import takes seconds, and only whoever makes an environment needs it.
    from transformers.utils.chat_template_utils import get_json_schema

    if tool.name in RESERVED or tool.name.startswith("_"):
        raise InvalidDefinition(
            f"the tool {tool.name} of {suite.name} cannot be a method of a TRL environment: "
            "reset, get_reward and names that begin with an underscore are no tools there"
        )
    method = method_of(tool, partial(_call, tool.name))
    read = get_json_schema(method)["function"]
    if (read["description"], set(read["parameters"]["properties"])) != (
        tool.description,
        set(tool.schema["properties"]),
    ):
        raise InvalidDefinition(
            f"transformers reads the docstring of the tool {tool.name} of {suite.name} otherwise: "
            "its text must hold no line such as `Args:`, `Returns:` or `Raises:`"
        )
    return method


def _call(tool: str, episodes: _Episodes, arguments: Mapping[str, object]) -> str:
    """Take an action and return what the agent sees, as JSON."""
    environment = environment_of(episodes)
    try:
        observation = environment.step(Action(tool, dict(arguments)))
    except Exception as error:
        # TRL shows the model what a tool raised and goes on, so that it is noted for the reward.
        episodes._failures.append(error)
        _log.exception("%s seed %d: %s failed", environment.id, environment.seed, tool)
        raise
    return json.dumps(observation.to_dict(), ensure_ascii=False)


def environment_of(episodes: Any) -> Environment:
    """The environment of the current episode of what a trainer holds; it knows the score.

    Raises:
        UsageError: it is none of `environment_factory`'s, or there is no episode yet.
    """
    if not isinstance(episodes, _Episodes):
        raise UsageError(f"a {type(episodes).__name__} is no environment of deskgym.adapters.trl")
    if episodes._environment is None:
        raise UsageError(f"{episodes._suite.name}: there is no episode yet; call reset first")
    return episodes._environment


def record(episodes: Any) -> Recording:
    """The current episode as a recording, which replays; raises as `environment_of` does."""
    return record_again(environment_of(episodes), agent=AGENT)


def where_judged(reward: Callable[..., list[float | None]]) -> Callable[..., list[float | None]]:
    """A reward function of your own that gives None, too, to episodes that cannot be judged.

    TRL leaves an episode out only where every function gives None. Where another one gives it a
    number, the reward that could not be had counts as 0. So wrap each other function in this.
    """

    @wraps(reward)
    def judged(*, environments: list[Any], **named: Any) -> list[float | None]:
        given = reward(environments=environments, **named)
        return [
            value if not isinstance(item, _Episodes) or item.get_reward() is not None else None
            for value, item in zip(given, environments, strict=True)
        ]

    return judged


def _last_text(prompt: Any) -> str:
    """The text of a prompt's last message; empty if it has none."""
    if not isinstance(prompt, list) or not prompt:
        return ""
    content = prompt[-1].get("content")
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content)
    return content if isinstance(content, str) else ""
