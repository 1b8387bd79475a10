"""deskgym's vectorised environment as Stable-Baselines3 wants one.

It keeps what each episode really earned apart from what the policy is trained on, which loses
`trap_penalty` for a trap: by the suite's rules a broken forbidden check makes the reward 0, and an
agent that has earned nothing yet has nothing to lose by it. It also takes calls off the menu that
did their work before, and stopping without a submission: nobody needs to learn that.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from deskgym.adapters.gymnasium import MenuEnv, MenuVectorEnv
from deskgym.adapters.gymnasium.menu import STOP


class Outcome(NamedTuple):
    """How an episode ended.

    Attributes:
        task: the task's id.
        reward: what it earned.
        traps: the forbidden checks that it broke.
    """

    task: str
    reward: float
    traps: tuple[str, ...]


def new_calls(env: MenuEnv) -> np.ndarray:
    """The places of the menu that a policy chooses from: calls that were not made before."""
    mask = env.action_masks() & ~env.chosen
    mask[STOP] = not mask.any()
    return mask


class DeskVecEnv(VecEnv):
    """Episodes of a suite, started anew as they end.

    Attributes:
        outcomes: the episodes that have ended since the last time that they were taken.
        trap_penalty: what an episode loses that broke a forbidden check.
    """

    def __init__(self, env: MenuVectorEnv, trap_penalty: float = 0.0) -> None:
        assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.outcomes: list[Outcome] = []
        self._env = env
        self.trap_penalty = trap_penalty
        self._actions: np.ndarray = np.zeros(env.num_envs, np.int64)

    def reset(self) -> np.ndarray:
        """Start all episodes; the seeds are those of the last call of `seed`, or drawn."""
        observations, _ = self._env.reset(seed=self._seeds)
        self._reset_seeds()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Take note of the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Take them."""
        observations, rewards, terminated, truncated, told = self._env.step(self._actions)
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for number in np.flatnonzero(dones):
            infos[number] = {
                "terminal_observation": told["final_obs"][number],
                "TimeLimit.truncated": bool(truncated[number]),
            }
            score = {name: value[number] for name, value in told["final_info"]["score"].items()
                     if not name.startswith("_") and not isinstance(value, dict)}  # fmt: skip
            traps = tuple(score["broken"])
            task = told["final_info"]["task"][number]
            self.outcomes.append(Outcome(task, float(score["reward"]), traps))
            rewards[number] -= self.trap_penalty * bool(traps)
        return observations, rewards.astype(np.float32), dones, infos

    def take_outcomes(self) -> list[Outcome]:
        """The episodes that have ended since the last time."""
        taken, self.outcomes = self.outcomes, []
        return taken

    def close(self) -> None:
        """Close the episodes."""
        self._env.close()

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """An attribute of some of the environments."""
        return [getattr(self._env.envs[number], attr_name) for number in self._places(indices)]

    def set_attr(
        self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None
    ) -> None:
        """Set an attribute of some of the environments."""
        for number in self._places(indices):
            setattr(self._env.envs[number], attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: int | Iterable[int] | None = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method of some of the environments, as MaskablePPO does with `action_masks`."""
        if method_name == "action_masks":
            return [new_calls(self._env.envs[number]) for number in self._places(indices)]
        return [
            getattr(self._env.envs[number], method_name)(*method_args, **method_kwargs)
            for number in self._places(indices)
        ]

    def env_is_wrapped(
        self, wrapper_class: type, indices: int | Iterable[int] | None = None
    ) -> list[bool]:
        """No environment is wrapped."""
        del wrapper_class
        return [False for _ in self._places(indices)]

    def _places(self, indices: int | Iterable[int] | None) -> Sequence[int]:
        return list(self._get_indices(indices))
