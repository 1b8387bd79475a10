"""One seat at the desk: episode after episode in one environment, and what each step pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import numpy as np
from gymnasium.error import ResetNeeded

from deskgym.adapters.gymnasium.choice import Choice
from deskgym.environment import Environment
from deskgym.errors import UsageError
from deskgym.rubric import Score
from deskgym.rubric.checks import CheckBreakdown
from deskgym.store import WorldEngine
from deskgym.trajectory import Action, Observation

Pays = Literal["final", "per-step"]
"""When a reward is paid: the whole score at the end, or with each step what it changed of the
score, counted from 0; both add up to the score."""

AGENT_STOPPED: Final = "agent_stopped"
UNUSABLE_OUTPUT: Final = "unusable_output"
TRUNCATED: Final = frozenset({"action_limit", "no_progress", UNUSABLE_OUTPUT})
"""The ends that a limit made; every other one is the agent's or the task's own."""


class Seat:
    """An environment that plays one episode after another.

    Attributes:
        choice: what it plays.
        environment: the episode under way, or the last one; None before the first.
        ended: why the episode is over; None while it goes on.
    """

    def __init__(
        self, choice: Choice, *, rubric: str | None, pays: Pays, engine: WorldEngine | None = None
    ) -> None:
        """Take the seat.

        Raises:
            UnknownName: the suite has no such rubric.
            UsageError: rewards are not paid like that.
        """
        if pays not in get_args(Pays):
            raise UsageError(f"reward is paid {' or '.join(get_args(Pays))}, not {pays!r}")
        self.choice: Final = choice
        self.environment: Environment | None = None
        self.ended: str | None = None
        self._rubric: Final = choice.suite.rubric(rubric).version
        self._per_step: Final = pays == "per-step"
        self._engine: Final = engine
        self._paid = 0.0
        self._final: Score | None = None

    def start(
        self, random: np.random.Generator, seed: int | None, options: Mapping[str, Any] | None
    ) -> Observation:
        """Start the next episode; raises as `Choice.draw` does."""
        task, parameters, drawn = self.choice.draw(random, seed, options)
        values = task.values(parameters)
        environment = self.environment
        if environment is None or environment.task is not task or environment.parameters != values:
            self.close()
            environment = Environment(
                self.choice.suite,
                task,
                parameters=parameters,
                rubric=self._rubric,
                engine=self._engine,
            )
        opening = environment.reset(drawn)
        self.environment = environment
        self.ended = None
        self._paid = 0.0
        self._final = None
        return opening

    @property
    def running(self) -> Environment:
        """The environment of the episode under way; raises `ResetNeeded` if there is none."""
        if self.environment is None:
            raise ResetNeeded("there is no episode yet; call reset(seed=…) first")
        if self.ended is not None:
            raise ResetNeeded(f"the episode is over ({self.ended}); call reset() for the next one")
        return self.environment

    def act(self, action: Action) -> Observation:
        """Take one action. A tool that fails by mistake raises its own error, and pays nothing."""
        environment = self.running
        observation = environment.step(action)
        if environment.bugs:
            self.ended = "error"
            bug = environment.bugs[0]
            bug.add_note(
                f"in the tool {action.tool}, step {observation.step} of {environment.id} "
                f"with seed {environment.seed}: a bug of ours or of the task, and no reward"
            )
            raise bug
        self.ended = observation.ended
        return observation

    def stop(self, why: str) -> None:
        """End the episode though the environment would go on."""
        if self.ended is None:
            self.ended = why

    @property
    def terminated(self) -> bool:
        """Whether the episode came to an end of its own."""
        return self.ended is not None and self.ended not in TRUNCATED

    @property
    def truncated(self) -> bool:
        """Whether a limit ended it."""
        return self.ended in TRUNCATED

    def score(self) -> Score:
        """The score so far; the trainer's."""
        if self.environment is None:
            raise ResetNeeded("there is no episode yet; call reset(seed=…) first")
        return self.environment.score()

    def pay(self) -> float:
        """What the last step earned, by the rule of this seat. To be asked once a step."""
        if not self._per_step and self.ended is None:
            return 0.0
        score = self.score()
        if self.ended is not None:
            self._final = score
        reward = score.reward
        # Ten-thousandths add up exactly to the score only if they are rounded on the way.
        earned = round(reward - self._paid, 4)
        self._paid = reward
        return earned

    def info(self) -> dict[str, Any]:
        """Which episode this is, and how it ended if it did, with the score. The trainer's."""
        environment = self.environment
        assert environment is not None, "there is information on an episode that was started"
        told: dict[str, Any] = {
            "task": environment.id,
            "seed": environment.seed,
            "actions": len(environment.steps),
        }
        if self.ended is not None:
            score = self._final or self.score()
            told["ended"] = self.ended
            told["score"] = {"rubric": score.rubric, **score.brief()}
            if isinstance(score.breakdown, CheckBreakdown):
                told["score"]["broken"] = [each.name for each in score.breakdown.broken]
        return told

    def transcript(self) -> str:
        """The episode so far, as text: what was asked, and each call with its answer."""
        environment = self.environment
        if environment is None:
            return ""
        lines = [f"{environment.id}, seed {environment.seed}: {environment.opening().message}"]
        for step in environment.steps:
            answer = step.result
            lines.append(f"{step.number}. {step.action_json.decode()}")
            lines.append(f"   {answer.code}: {answer.message}")
        if self.ended is not None:
            lines.append(f"ended: {self.ended}")
        return "\n".join(lines)

    def close(self) -> None:
        """Give the place in memory back."""
        if self.environment is not None:
            self.environment.close()
