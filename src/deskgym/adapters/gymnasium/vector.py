"""Many episodes in one call, in one process, over deskgym's pooled worlds.

Each episode is as it is alone: the same seeds and actions give what `SyncVectorEnv` gives, without
its wrappers, dictionaries and copies for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from deskgym.adapters.gymnasium.choice import SEEDS
from deskgym.adapters.gymnasium.features import Vector
from deskgym.adapters.gymnasium.menu import MenuDefinition
from deskgym.adapters.gymnasium.menu_env import Mask, MenuEnv
from deskgym.adapters.gymnasium.seat import Pays
from deskgym.adapters.gymnasium.text_env import METADATA, TextEnv
from deskgym.errors import InvalidParameter, UsageError
from deskgym.store.engine import SLOTS_MAX, Engine

One = TypeVar("One", MenuEnv, TextEnv)
Infos = dict[str, Any]
Seeds = int | Sequence[int | None] | None

PLACES_MAX: Final = 128
"""The most worlds that lie ready at once, about 1 MB each; more episodes take turns in them."""
RESET_MASK: Final = "reset_mask"
"""The option of `reset` that names the episodes to reset, as in Gymnasium's own environments."""


class _ManyEnv(VectorEnv[Any, Any, npt.NDArray[Any]], Generic[One], ABC):
    """Episodes side by side.

    Attributes:
        envs: an environment for each of them.
    """

    def __init__(
        self, envs: Sequence[One], engine: Engine, autoreset_mode: AutoresetMode | str
    ) -> None:
        first = envs[0]
        self._engine: Final = engine
        self.envs: Final = envs
        self.num_envs = len(envs)
        self._mode: Final = checked_mode(autoreset_mode)
        self.metadata = {**METADATA, "autoreset_mode": self._mode}
        self.render_mode = first.render_mode
        self.single_action_space = first.action_space
        self.single_observation_space = first.observation_space
        self.action_space = batch_space(first.action_space, self.num_envs)
        self.observation_space = batch_space(first.observation_space, self.num_envs)
        self._over = np.zeros(self.num_envs, np.bool_)
        self._started = False

    @abstractmethod
    def _write(self, number: int) -> None:
        """Put an episode's observation, and what else is told of it, where they belong."""

    @abstractmethod
    def _observations(self) -> Any:
        """Every episode's observation, for the caller to keep."""

    @abstractmethod
    def _told(self) -> Infos:
        """What is told of all episodes with every step."""

    def reset(self, *, seed: Seeds = None, options: Infos | None = None) -> tuple[Any, Infos]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start episodes: all of them, or those of `options["reset_mask"]`.

        Args:
            seed: an episode each for `seed`, `seed + 1` and so on; or a list of seeds.
            options: as for one environment, for all of them.
        """
        mask, rest = reset_mask(options, self.num_envs)
        if not self._started and not mask.all():
            raise ResetNeeded("there are no episodes yet; the first reset is of all of them")
        seeds = seeds_of(seed, self.num_envs)
        infos: Infos = {}
        for number in map(int, np.flatnonzero(mask)):
            env = self.envs[number]
            env.start(seeds[number], rest)
            self._write(number)
            infos = self._add_info(infos, env.seat.info(), number)
        self._over[mask] = False
        self._started = True
        return self._observations(), {**infos, **self._told()}

    def step(self, actions: Any) -> tuple[Any, npt.NDArray[np.float64], Mask, Mask, Infos]:
        """Take an action in each episode.

        An episode that was over is started anew by the next step, in the same one, or by the
        caller, as `metadata["autoreset_mode"]` says.

        Raises:
            ResetNeeded: there are no episodes, or one is over that the caller has to reset.
            Exception: what a tool raised by mistake. All episodes have to be reset after it.
        """
        self._check(actions)
        rewards = np.zeros(self.num_envs, np.float64)
        terminations = np.zeros(self.num_envs, np.bool_)
        truncations = np.zeros(self.num_envs, np.bool_)
        infos: Infos = {}
        for number, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            if self._over[number]:
                env.start(None, None)
                self._over[number] = False
                infos = self._add_info(infos, env.seat.info(), number)
            else:
                rewards[number] = env.choose(action)
                seat = env.seat
                if seat.ended is not None:
                    terminations[number], truncations[number] = seat.terminated, seat.truncated
                    infos = self._ended(infos, env, number)
            self._write(number)
        return self._observations(), rewards, terminations, truncations, {**infos, **self._told()}

    def _check(self, actions: Any) -> None:
        if not self._started:
            raise ResetNeeded("there are no episodes yet; call reset(seed=…) first")
        if len(actions) != self.num_envs:
            raise InvalidParameter(
                f"{self.num_envs} episodes need as many actions, not {len(actions)}"
            )
        if self._mode is AutoresetMode.DISABLED and self._over.any():
            places = ", ".join(map(str, np.flatnonzero(self._over)))
            raise ResetNeeded(
                f"the episodes in places {places} are over; "
                "call reset(options={'reset_mask': …}) first"
            )

    def _ended(self, infos: Infos, env: One, number: int) -> Infos:
        told = env.seat.info()
        if self._mode is not AutoresetMode.SAME_STEP:
            self._over[number] = True
            return self._add_info(infos, told, number)
        self._write(number)
        final = {"final_obs": self._observation(number), "final_info": told}
        infos = self._add_info(infos, final, number)
        env.start(None, None)
        return self._add_info(infos, env.seat.info(), number)

    @abstractmethod
    def _observation(self, number: int) -> Any:
        """One episode's observation, for the caller to keep."""

    def render(self) -> tuple[str | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Each episode so far as text, where `render_mode` is `ansi`."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **_: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Give the episodes' places in memory back."""
        for env in self.envs:
            env.close()
        self._engine.close()


class MenuVectorEnv(_ManyEnv[MenuEnv]):
    """Many episodes of the discrete variant; `info["action_mask"]` has a row for each."""

    def __init__(
        self,
        num_envs: int,
        task: str | Sequence[str],
        *,
        parameters: Mapping[str, int] | None = None,
        seeds: Sequence[int] = SEEDS,
        rubric: str | None = None,
        reward: Pays = "final",
        menu: MenuDefinition | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        """`gymnasium.make_vec` is the shorter way.

        Args:
            num_envs: how many.
            task: as for `MenuEnv`, and so on.
            parameters: the tasks' parameters.
            seeds: the first seed and the one after the last.
            rubric: the rubric's version; the suite's default if None.
            reward: when it is paid.
            menu: a menu of your own; the suite's if None.
            autoreset_mode: who starts the next episode, and when.
            render_mode: `ansi`, or None.
        """
        engine = engine_for(num_envs)
        envs = [
            MenuEnv(
                task,
                parameters=parameters,
                seeds=seeds,
                rubric=rubric,
                reward=reward,
                menu=menu,
                render_mode=render_mode,
                engine=engine,
            )
            for _ in range(num_envs)
        ]
        super().__init__(envs, engine, autoreset_mode)
        self._rows: Vector = np.zeros((num_envs, len(envs[0].features)), np.float32)
        self._masks: Mask = np.zeros((num_envs, len(envs[0].menu)), np.bool_)

    def _write(self, number: int) -> None:
        env = self.envs[number]
        env.write(self._rows[number])
        self._masks[number] = env.mask

    def _observations(self) -> Vector:
        return self._rows.copy()

    def _observation(self, number: int) -> Vector:
        return self._rows[number].copy()

    def _told(self) -> Infos:
        everywhere = np.ones(self.num_envs, np.bool_)
        return {"action_mask": self.action_masks(), "_action_mask": everywhere}

    def action_masks(self) -> Mask:
        """Which places can be chosen now, a row for each episode."""
        return self._masks.copy()


class TextVectorEnv(_ManyEnv[TextEnv]):
    """Many episodes in text; observations and actions are tuples of texts."""

    def __init__(
        self,
        num_envs: int,
        task: str | Sequence[str],
        *,
        parameters: Mapping[str, int] | None = None,
        seeds: Sequence[int] = SEEDS,
        rubric: str | None = None,
        reward: Pays = "final",
        stop_at_call: bool = False,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        """`gymnasium.make_vec` is the shorter way; the arguments are those of `TextEnv`.

        Args:
            num_envs: how many.
            task: a task's id, a suite's name for all of its tasks, or several of one suite.
            parameters: the tasks' parameters.
            seeds: the first seed and the one after the last.
            rubric: the rubric's version; the suite's default if None.
            reward: when it is paid.
            stop_at_call: whether generation stops at `</tool_call>`.
            autoreset_mode: who starts the next episode, and when.
            render_mode: `ansi`, or None.
        """
        engine = engine_for(num_envs)
        envs = [
            TextEnv(
                task,
                parameters=parameters,
                seeds=seeds,
                rubric=rubric,
                reward=reward,
                stop_at_call=stop_at_call,
                render_mode=render_mode,
                engine=engine,
            )
            for _ in range(num_envs)
        ]
        super().__init__(envs, engine, autoreset_mode)

    @property
    def system(self) -> str:
        """The policy, the tools and how to call them, which is the same for all episodes."""
        return self.envs[0].system

    def _write(self, number: int) -> None:
        """An episode's observation is a text that it keeps itself."""

    def _observations(self) -> tuple[str, ...]:
        return tuple(env.told for env in self.envs)

    def _observation(self, number: int) -> str:
        return self.envs[number].told

    def _told(self) -> Infos:
        return {}


def engine_for(num_envs: int) -> Engine:
    """An engine in which so many episodes have a place each, as far as memory allows.

    Raises:
        InvalidParameter: it is no number of episodes.
    """
    if type(num_envs) is not int or num_envs < 1:
        raise InvalidParameter(f"num_envs is a whole number of at least 1, not {num_envs!r}")
    return Engine(max(SLOTS_MAX, min(num_envs, PLACES_MAX)))


def checked_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """The mode, if it is one; raises `UsageError`."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        modes = ", ".join(each.value for each in AutoresetMode)
        raise UsageError(f"autoreset_mode is one of {modes}, not {mode!r}") from None


def seeds_of(seed: Seeds, count: int) -> list[int | None]:
    """A seed for each episode: `seed`, `seed + 1` and so on, as Gymnasium's own have it."""
    if seed is None:
        return [None] * count
    if isinstance(seed, int | np.integer):
        return [int(seed) + number for number in range(count)]
    if len(seed) != count:
        raise InvalidParameter(f"{count} episodes need as many seeds, not {len(seed)}")
    return list(seed)


def reset_mask(options: Infos | None, count: int) -> tuple[Mask, Infos | None]:
    """Which episodes to reset, and the options without that; raises `InvalidParameter`."""
    if options is None or RESET_MASK not in options:
        return np.ones(count, np.bool_), options
    given = options[RESET_MASK]
    mask: Mask = np.asarray(given)
    if mask.dtype != np.bool_ or mask.shape != (count,):
        raise InvalidParameter(f"reset_mask is an array of {count} booleans, not {given!r}")
    if not mask.any():
        raise InvalidParameter("reset_mask names no episode to reset")
    return mask, {name: value for name, value in options.items() if name != RESET_MASK}
