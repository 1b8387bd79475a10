"""A served episode's side in this process: its id, and how far it came."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from deskgym.client import calls
from deskgym.client.calls import Call, Suite, TaskSpec
from deskgym.desk import CustomerReply
from deskgym.errors import CustomerAsked, UnknownName, UsageError
from deskgym.task import checked_seed, checked_values
from deskgym.tool import ToolSchema
from deskgym.trajectory import Action, Observation


class Made:
    """What a client asked for once, for all episodes of an environment."""

    def __init__(
        self,
        task: TaskSpec,
        suite: Suite,
        tools: Mapping[str, ToolSchema],
        parameters: Mapping[str, object],
        rubric: str | None,
        agent: str,
    ) -> None:
        """What was asked for, checked before the first episode, as `deskgym.make` does.

        Raises:
            InvalidParameter: a parameter is unknown or out of its limits.
            UnknownName: the suite has no such rubric.
        """
        if rubric is not None and rubric not in suite.rubrics:
            raise UnknownName(f"rubric of {suite.name}", rubric, suite.rubrics)
        self.task: Final = task
        self.suite: Final = suite
        self.tools: Final = tools
        name = task.id.partition("/")[2]
        self.parameters: Final = checked_values(name, task.parameters, parameters)
        self.rubric: Final = rubric
        self.agent: Final = agent


class ServedEpisode:
    """What both kinds of served environments know. It is one caller's at a time."""

    def __init__(self, made: Made) -> None:
        self._made: Final = made
        self._id: str | None = None
        self._seed = 0
        self._last: Observation | None = None
        self._open = False

    @property
    def id(self) -> str:
        """The task's id, such as `service/damaged-lamp`."""
        return self._made.task.id

    @property
    def task(self) -> TaskSpec:
        """The task, as the server describes it."""
        return self._made.task

    @property
    def episode(self) -> str:
        """The current episode's id on the server."""
        return self._started()

    @property
    def parameters(self) -> Mapping[str, int]:
        """What its fixture is built with."""
        return self._made.parameters

    @property
    def tools(self) -> Mapping[str, ToolSchema]:
        """What the agent can call."""
        return self._made.tools

    @property
    def instructions(self) -> str:
        """The policy that an agent gets before its first action."""
        return self._made.suite.instructions

    @property
    def seed(self) -> int:
        """The seed of the current episode."""
        return self._seed

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._last is not None and self._last.done

    @property
    def ended(self) -> Any:
        """Why the episode ended, or None while it goes on."""
        return None if self._last is None else self._last.ended

    # What the clients make their calls of.

    def _new(self, seed: int) -> dict[str, Any]:
        """A new episode, whose id is drawn here so that the request can be repeated."""
        made = self._made
        return {
            "id": uuid.uuid4().hex,
            "task": made.task.id,
            "seed": checked_seed(seed),
            "parameters": made.parameters,
            "rubric": made.rubric,
            "agent": made.agent,
        }

    def _begin(self, new: Mapping[str, Any], observation: Observation) -> None:
        self._id, self._seed, self._last, self._open = new["id"], new["seed"], observation, True

    def _next(self, action: Action) -> tuple[str, Action, int]:
        id, last = self._started(), self._last
        assert last is not None, "a started episode has an observation"
        return id, action, last.step + 1

    def _step(self, action: Action, reply: CustomerReply | None) -> Call[Observation]:
        return calls.step(*self._next(action), reply)

    def _question(self, action: Action) -> Call[CustomerAsked | None]:
        return calls.question(self._started(), action)

    def _took(self, observation: Observation) -> Observation:
        if observation.code != "episode_over" or self._last is None or not self._last.done:
            self._last = observation
        return observation

    def _saw(self, observation: Observation) -> Observation:
        """Note the latest observation, which another caller's action may have led to."""
        self._last = observation
        return observation

    def _resume(self, state: Mapping[str, Any], observation: Observation) -> None:
        self._id, self._seed, self._last = state["id"], state["seed"], observation
        self._open = state["status"] == "live"

    def _to_close(self) -> str | None:
        """The episode to close, if one is open on the server; from now on none is."""
        id = self._id if self._open else None
        self._open = False
        return id

    def _started(self) -> str:
        if self._id is None:
            raise UsageError(f"{self.id}: there is no episode yet; call reset(seed=…) first")
        return self._id
