"""The discrete variant: an action is a place on a menu, an observation a vector of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from deskgym.adapters.gymnasium.choice import SEEDS, Choice
from deskgym.adapters.gymnasium.features import Features, Vector
from deskgym.adapters.gymnasium.memory import Memory
from deskgym.adapters.gymnasium.menu import STOP, MenuDefinition, mask_of, menu_of
from deskgym.adapters.gymnasium.seat import AGENT_STOPPED, Pays, Seat
from deskgym.adapters.gymnasium.text_env import METADATA, checked_render_mode
from deskgym.errors import InvalidParameter
from deskgym.rubric import Score
from deskgym.store import WorldEngine
from deskgym.trajectory import Action, Observation

Mask = npt.NDArray[np.bool_]

NO_CALL: Final = Action("", {})
"""What an empty place stands for: a call of no tool, which is refused and counts as an action."""


class MenuEnv(gymnasium.Env[Vector, np.int64]):
    """A task whose actions are places on a menu of the next calls.

    The menu and the observation are built from what was observed, and from nothing else. An empty
    place can be chosen: it is a call of no tool, refused and counted.

    Attributes:
        menu: the menu; `menu.labels` says what each place holds.
        features: the observation; `features.names` says what each number is.
        mask: which places can be chosen now.
        chosen: the places whose call was chosen before and did its work.
    """

    metadata: dict[str, Any] = dict(METADATA)  # noqa: RUF012

    def __init__(
        self,
        task: str | Sequence[str],
        *,
        parameters: Mapping[str, int] | None = None,
        seeds: Sequence[int] = SEEDS,
        rubric: str | None = None,
        reward: Pays = "final",
        menu: MenuDefinition | None = None,
        render_mode: str | None = None,
        engine: WorldEngine | None = None,
    ) -> None:
        """`gymnasium.make` is the shorter way.

        Args:
            task: a task's id, a suite's name for all of its tasks, or several of one suite.
            parameters: the tasks' parameters.
            seeds: the first seed and the one after the last, to draw from where `reset` gets none.
            rubric: the rubric's version; the suite's default if None.
            reward: when it is paid.
            menu: a menu of your own; the suite's if None.
            render_mode: `ansi`, or None.
            engine: where worlds live; the process's own SQLite engine if None.

        Raises:
            UnknownName: there is no such suite, task or rubric.
            InvalidParameter: a parameter or a seed is out of its limits.
            UsageError: the tasks are of several suites, or an argument is none of its choices.
        """
        self.render_mode = checked_render_mode(render_mode)
        choice = Choice(task, parameters, seeds)
        self.seat: Final = Seat(choice, rubric=rubric, pays=reward, engine=engine)
        self._suite: Final = self.seat.choice.suite
        self.menu: Final = menu_of(self._suite, menu)
        self.features: Final = Features(self._suite.toolbox, self.menu.labels)
        self._memory: Final = Memory(self.menu.patterns)
        self._menu_version = -1
        self._entries: list[Action | None] = []
        self.mask: Mask = np.zeros(len(self.menu), np.bool_)
        self.chosen: Mask = np.zeros(len(self.menu), np.bool_)
        self.action_space = spaces.Discrete(len(self.menu))
        self.observation_space = spaces.Box(-1.0, 1.0, (len(self.features),), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vector, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: the episode's own seed, and that of the draws of later resets without one.
            options: `task`, `parameters` and `seeds` for this episode alone.
        """
        self.start(seed, options)
        return self._observed(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Choose a place of the menu.

        Raises:
            ResetNeeded: there is no episode, or it is over.
            InvalidParameter: the menu has no such place.
            Exception: what a tool raised by mistake; such an episode has no reward.
        """
        reward = self.choose(int(action))
        seat = self.seat
        return self._observed(), reward, seat.terminated, seat.truncated, self._info()

    def _observed(self) -> Vector:
        row = np.empty(len(self.features), np.float32)
        self.write(row)
        return row

    def _info(self) -> dict[str, Any]:
        return {**self.seat.info(), "action_mask": self.action_masks()}

    # What a vectorised environment uses, which owns the arrays.

    def start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start an episode."""
        super().reset(seed=seed)
        opening = self.seat.start(self.np_random, seed, options)
        self._memory.start(opening)
        self.chosen[:] = False
        self._lay_out()

    def choose(self, place: int) -> float:
        """Choose a place, and return what it earned."""
        if not 0 <= place < len(self.menu):
            raise InvalidParameter(f"the menu has places 0 to {len(self.menu) - 1}, not {place}")
        if place == STOP:
            _ = self.seat.running
            self.seat.stop(AGENT_STOPPED)
            return self.seat.pay()
        entry = self._entries[place] if self._entries else None
        action = entry or NO_CALL
        observation = self.seat.act(action)
        self._take_in(place, action, observation)
        return self.seat.pay()

    def _take_in(self, place: int, action: Action, observation: Observation) -> None:
        tool = self._suite.toolbox.get(action.tool)
        speaks = tool is not None and tool.kind == "talk"
        self._memory.take_in(action, observation, speaks=speaks)
        if observation.ok:
            self.chosen[place] = True
        self._lay_out()

    def _lay_out(self) -> None:
        """Work the menu out again if anything was learnt."""
        if self._memory.version != self._menu_version:
            self._entries = self.menu.entries(self._memory)
            self.mask = mask_of(self._entries)
            self._menu_version = self._memory.version

    def write(self, row: Vector) -> None:
        """Write the observation into a row of that length."""
        self.features.write(self._memory, self.chosen, row)

    # What a trainer asks.

    def action_masks(self) -> Mask:
        """Which places can be chosen now, as sb3-contrib's MaskablePPO asks for it."""
        return self.mask.copy()

    def entries(self) -> tuple[Action | None, ...]:
        """The calls in the places now; None for an empty one, and for stopping."""
        return tuple(self._entries)

    def score(self) -> Score:
        """The score so far; the trainer's, at any time."""
        return self.seat.score()

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The episode so far as text, where `render_mode` is `ansi`."""
        return self.seat.transcript() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Give the episode's place in memory back."""
        self.seat.close()
