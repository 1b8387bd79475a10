"""Text in, text out: what a model writes is an action, by the raw-text tool protocol."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from deskgym.adapters.gymnasium.choice import SEEDS, Choice
from deskgym.adapters.gymnasium.seat import AGENT_STOPPED, UNUSABLE_OUTPUT, Pays, Seat
from deskgym.agents.model import opening_text, text_system, text_told, thought
from deskgym.agents.player import AgentBriefing, Seen
from deskgym.dialogue.limits import ATTEMPTS_MAX
from deskgym.dialogue.play import EMPTY_TURN, NOBODY_READS, last_said
from deskgym.errors import UsageError
from deskgym.protocol import CALL_CHARACTERS_MAX, CallError, parse
from deskgym.rubric import Score
from deskgym.store import WorldEngine
from deskgym.trajectory import Action, Observation

OBSERVATION_CHARACTERS_MAX: Final = 2**24
RENDER_MODES: Final = ("ansi",)
METADATA: Final[Mapping[str, Any]] = MappingProxyType(
    # Gymnasium warns of an environment that is rendered and names no rate.
    {"render_modes": list(RENDER_MODES), "render_fps": 1}
)
_SAMPLE_CHARACTERS_MAX: Final = 64


class AnyText(spaces.Text):
    """Any text up to a length, in any script. `gymnasium.spaces.Text` takes a fixed alphabet."""

    def __init__(self, max_length: int, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def contains(self, x: object) -> bool:
        """Whether it is a text that is short enough."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short text; nothing that a model would write."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        length = int(self.np_random.integers(1, _SAMPLE_CHARACTERS_MAX + 1))
        return "".join(self.np_random.choice(list(string.printable), size=length))

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"


class TextEnv(gymnasium.Env[str, str]):
    """A task whose actions and observations are text.

    A turn's calls are carried out in their order. A text without a call is said to the customer,
    where there is one. An empty text ends the episode: the agent has stopped. Three turns in a
    row of which nothing can be carried out end it too.

    Attributes:
        system: the policy, the tools and how to call them; what a model is told before the
            first observation.
        told: the last observation.
    """

    metadata: dict[str, Any] = dict(METADATA)  # noqa: RUF012
    attempts_max: ClassVar[int] = ATTEMPTS_MAX

    def __init__(
        self,
        task: str | Sequence[str],
        *,
        parameters: Mapping[str, int] | None = None,
        seeds: Sequence[int] = SEEDS,
        rubric: str | None = None,
        reward: Pays = "final",
        stop_at_call: bool = False,
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
            stop_at_call: whether generation stops at `</tool_call>`, so that this tag may be
                missing at the end of an action.
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
        suite = self.seat.choice.suite
        self._suite: Final = suite
        self._stop_at_call: Final = stop_at_call
        self.action_space = AnyText(CALL_CHARACTERS_MAX)
        self.observation_space = AnyText(OBSERVATION_CHARACTERS_MAX)
        nothing = Observation(True, "ready", "", {}, 0, suite.steps_max)
        self.system: Final = text_system(self._briefing(nothing))
        self._fruitless = 0
        self.told = ""

    def _briefing(self, opening: Observation) -> AgentBriefing:
        suite = self._suite
        return AgentBriefing(suite.instructions, suite.toolbox, opening, suite.speech is not None)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; the observation is what the agent is asked.

        Args:
            seed: the episode's own seed, and that of the draws of later resets without one.
            options: `task`, `parameters` and `seeds` for this episode alone.
        """
        self.start(seed, options)
        return self.told, self.seat.info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn.

        Raises:
            ResetNeeded: there is no episode, or it is over.
            Exception: what a tool raised by mistake; such an episode has no reward.
        """
        reward = self.choose(action)
        seat = self.seat
        return self.told, reward, seat.terminated, seat.truncated, seat.info()

    def start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start an episode; what the agent is asked is `told`."""
        super().reset(seed=seed)
        opening = self.seat.start(self.np_random, seed, options)
        self._fruitless = 0
        self.told = opening_text(opening)

    def choose(self, action: str) -> float:
        """Take one turn and return what it earned; what came of it is `told`."""
        self.told = text_told(self._turn(str(action)))
        return self.seat.pay()

    def _turn(self, written: str) -> Seen:
        _ = self.seat.running  # or an action before the first reset would be read first
        if not written:
            self.seat.stop(AGENT_STOPPED)
            return Seen(notice="The agent has stopped.")
        text = thought(written).text
        parsed = parse(text, self._suite.toolbox, stopped=self._stop_at_call)
        if parsed.items:
            return self._calls(parsed.items)
        words = parsed.visible.strip()
        speech = self._suite.speech
        if speech is None:
            return self._nothing_done(NOBODY_READS)
        if not words:
            return self._nothing_done(EMPTY_TURN)
        self._fruitless = 0
        answer = self.seat.act(Action(speech.tool, {speech.argument: words}))
        said = last_said(self.seat.environment, "customer") if self.seat.environment else None
        if said is not None:
            return Seen(said=said)
        return Seen(notice=answer.message if answer.ok else f"{answer.code}: {answer.message}")

    def _calls(self, items: Sequence[Action | CallError]) -> Seen:
        answers: list[Observation | CallError] = []
        for item in items:
            if isinstance(item, CallError):
                answers.append(item)
            elif self.seat.ended is None:
                answers.append(self.seat.act(item))
        if any(isinstance(answer, Observation) for answer in answers):
            self._fruitless = 0
            return Seen(tuple(answers))
        return self._nothing_done(None)._replace(answers=tuple(answers))

    def _nothing_done(self, notice: str | None) -> Seen:
        self._fruitless += 1
        if self._fruitless >= self.attempts_max:
            self.seat.stop(UNUSABLE_OUTPUT)
        return Seen(notice=notice)

    def score(self) -> Score:
        """The score so far; the trainer's, at any time."""
        return self.seat.score()

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The episode so far as text, where `render_mode` is `ansi`."""
        return self.seat.transcript() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Give the episode's place in memory back."""
        self.seat.close()


def checked_render_mode(mode: str | None) -> str | None:
    """The mode, if it is one; raises `UsageError`."""
    if mode is not None and mode not in RENDER_MODES:
        raise UsageError(f"render_mode is {' or '.join(RENDER_MODES)} or None, not {mode!r}")
    return mode
