"""SkyRL-gym: a suite's episodes as a text environment, by the text protocol.

```python
import skyrl_gym
import deskgym.adapters.skyrl  # registers "deskgym"

env = skyrl_gym.make("deskgym", extras={"task": "service/damaged-lamp", "seed": 0})
messages, _ = env.init([])
```
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from deskgym.adapters.handed import HandedDialogue
from deskgym.adapters.rerun import record_again
from deskgym.adapters.rows import parameters_of, rows_of
from deskgym.adapters.unjudged import Unjudged
from deskgym.dialogue import PlayedEpisode
from deskgym.environment import Environment, make
from deskgym.errors import MissingExtra, UsageError
from deskgym.models.chat import ChatRequest, UserTurn
from deskgym.recording import Recording

try:
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import (
        BaseTextEnv,
        BaseTextEnvStepOutput,
        ConversationType,
    )
except ImportError as missing:
    raise MissingExtra("deskgym.adapters.skyrl", "skyrl") from missing

ID: Final = "deskgym"
"""The environment's id in SkyRL-gym's registry, and the `env_class` of a row."""

TURNS_MAX: Final = 64
"""How many texts a model may write in an episode, where a row does not say."""

_NAMES: Final = ("task", "seed", "parameters", "rubric", "max_turns")


class DeskEnv(BaseTextEnv):
    """One episode: a text of the model in, what it reads next out; the reward comes with the end.

    The extras of a row: `task` (its id), `seed` (0 if left out), `parameters` (a mapping, or its
    JSON), `rubric` (its version), and SkyRL's own `max_turns`. Others are passed by.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        """SkyRL-gym's `make("deskgym", extras=…)` calls it.

        Args:
            env_config: SkyRL's configuration of the environment; there is nothing to configure.
            extras: the row, apart from its prompt.

        Raises:
            UsageError: the row names no task.
            UnknownName: there is no such task or rubric.
            InvalidParameter: a parameter is unknown or out of its limits.
        """
        super().__init__()
        del env_config
        given = {name: (extras or {}).get(name) for name in _NAMES}
        if not isinstance(given["task"], str):
            raise UsageError(
                "a row names no task: it needs a field `task`; deskgym.adapters.skyrl.rows makes "
                "such rows"
            )
        self.max_turns = given["max_turns"] or TURNS_MAX
        self._environment: Final = make(
            given["task"], rubric=given["rubric"], **parameters_of(given["parameters"])
        )
        self._dialogue: Final = HandedDialogue(
            self._environment, agent="skyrl", seed=given["seed"] or 0
        )
        self._played: PlayedEpisode | None = None
        self._reward: float | None = None

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:
        """Start the episode; the system prompt with the tools, and what the agent is told first.

        Args:
            prompt: the row's prompt, in whose place they are.

        Raises:
            InvalidParameter: the seed is out of its limits.
        """
        del prompt
        self._dialogue.close()
        self.turns = 0
        self._played = self._reward = None
        return messages_of(self._dialogue.start()), {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take what the model wrote: calls, or words to the customer.

        Returns:
            What the model reads next, and a reward of 0; at the end nothing, and the reward.

        Raises:
            Unjudged: the episode cannot be judged, by a failure that is not the model's.
            UsageError: there is no episode that goes on.
        """
        came = self._dialogue.answer(action)
        self.turns += 1
        if isinstance(came, ChatRequest) and self.turns < self.max_turns:
            seen = messages_of(came)[1:]
            return BaseTextEnvStepOutput(observations=seen, reward=0.0, done=False, metadata={})
        self._reward = self._end(came)
        termination = "turn_limit" if self._played is None else self._played.termination
        return BaseTextEnvStepOutput(
            observations=[], reward=self._reward, done=True, metadata={"termination": termination}
        )

    def _end(self, came: ChatRequest | PlayedEpisode) -> float:
        """What the episode has earned, be it over or out of turns."""
        name = f"{self._environment.id} seed {self._environment.seed}"
        bugs = self._environment.bugs
        if isinstance(came, ChatRequest):
            self._dialogue.close()
            if bugs:
                raise Unjudged.by(name, bugs) from bugs[0]
            return self._environment.score().reward
        self._played = came
        if came.reward is None:
            raise Unjudged(f"{name} cannot be judged: {came.detail or came.termination}") from (
                bugs[0] if bugs else None
            )
        return came.reward

    def get_metrics(self) -> dict[str, Any]:
        """Figures of the episode, of which SkyRL logs the averages."""
        played = self._played
        return {
            "turns": self.turns,
            "actions": len(self._environment.steps),
            "malformed_calls": 0 if played is None else played.malformed_calls,
            "success": self._reward == 1,
        }

    def close(self) -> None:
        """Give the episode's place in memory back."""
        self._dialogue.close()
        self._environment.close()

    @property
    def environment(self) -> Environment:
        """The episode's environment; it knows the score."""
        return self._environment

    def record(self) -> Recording:
        """The episode as a recording, which replays."""
        if self._played is not None and self._played.recording is not None:
            return self._played.recording
        return record_again(self._environment, agent="skyrl")


def rows(
    tasks: str | Sequence[str],
    seeds: Iterable[int],
    *,
    parameters: Mapping[str, int] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of a SkyRL data set, one for each task and seed: a prompt and what an episode needs.

    Args:
        tasks: ids of tasks, and names of suites for all of theirs; one, or several.
        seeds: the seeds of each task.
        parameters: what every task's fixture is built with.

    Raises:
        UnknownName: there is no such suite or task.
        InvalidParameter: a parameter or a seed is unknown or out of its limits.
    """
    for row in rows_of(tasks, seeds, parameters):
        extras = {
            "task": row.task,
            "seed": row.seed,
            "parameters": json.dumps(dict(row.parameters)),
        }
        env = DeskEnv(extras=extras)
        prompt, _ = env.init([])
        env.close()
        yield {"prompt": prompt, "env_class": ID, **extras}


def messages_of(request: ChatRequest) -> ConversationType:
    """The system prompt, and what the model is told last."""
    told = request.turns[-1]
    assert isinstance(told, UserTurn), "a model is asked after it was told something"
    return [
        {"role": "system", "content": request.system},
        {"role": "user", "content": told.text},
    ]


if ID not in skyrl_gym.registry:
    skyrl_gym.register(ID, "deskgym.adapters.skyrl:DeskEnv")
