"""A suite as an OpenEnv environment: typed, many sessions at once, one path for every step.

This is the only module that imports OpenEnv, which the development environment does not hold:
`make test-adapters` checks its types where it is installed.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Literal

from fastapi import FastAPI, Request
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
)
from openenv.core.env_server.types import (
    Action,
    ConcurrencyConfig,
    EnvironmentMetadata,
    Observation,
    State,
)
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from deskgym.errors import DeskgymError, InvalidParameter, UnknownEpisode, UsageError
from deskgym.runstore import EpisodeState
from deskgym.serve.openenv.door import CALLER
from deskgym.serve.openenv.task_list import Chosen, TaskList
from deskgym.serve.problem import Problem, problem_of
from deskgym.serve.service import Service
from deskgym.suite import Suite
from deskgym.trajectory import Action as Call
from deskgym.trajectory import Observation as Seen

STEP_KEY: Final = "step"
"""An action's metadata may name the number of its step here; then it can be sent again safely."""

AGENT: Final = "openenv"
OVER: Final = "episode_over"


class ToolResult(BaseModel):
    """What a call found or did."""

    model_config = ConfigDict(extra="forbid")

    ok: bool = Field(description="whether the call did its work")
    code: str = Field(description="what happened, from the tool's closed set")
    message: str = Field(description="the same in a sentence")
    data: dict[str, Any] = Field(description="what a read found, what a write made")


class DeskObservation(CallToolObservation):
    """What an agent sees after a call. `reward` is the trainer's: 0 until the end, then the score.

    After a reset the result holds what the agent is asked, and the metadata the episode's id and
    the policy that the agent works by.
    """

    tool_name: str = Field(default="", description="the tool that was called; empty after a reset")
    result: ToolResult = Field(description="what the call found or did")
    step_count: int = Field(description="how many actions were used")
    steps_max: int = Field(description="how many there are")
    ended: str | None = Field(default=None, description="why the episode is over, if it is")


class DeskState(State):
    """Which episode this is and how far it came. It holds no reward and nothing of the answer."""

    suite: str = Field(default="", description="the suite")
    task: str | None = Field(default=None, description="the task's id")
    seed: int | None = Field(default=None, description="the episode's seed")
    rubric: str | None = Field(default=None, description="the version that the score is by")
    steps_max: int = Field(default=0, description="how many actions an episode has")
    done: bool = Field(default=False, description="whether the episode is over")
    ended: str | None = Field(default=None, description="why, if it is")


class DeskEnvironment(Environment[Action, Observation, DeskState]):
    """One session: an episode at a time, kept in the run store like every other.

    An episode with an id of its caller's stays open when the connection goes, and `reset` with the
    same id, task and seed goes on with it; any other is closed with its connection.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, service: Service, suite: Suite, tasks: TaskList) -> None:
        super().__init__()
        self._service: Final = service
        self._suite: Final = suite
        self._tasks: Final = tasks
        self._episode: EpisodeState | None = None
        self._seen: Seen | None = None
        self._kept = False
        self._resets = 0
        self._owed = 0.0
        self.mcp_client: Final = AgentTools(self)

    # The episode.

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: str | None = None,
        split: str | None = None,
        index: int | None = None,
        rubric: str | None = None,
        **parameters: Any,
    ) -> DeskObservation:
        """Start an episode.

        Args:
            seed: its seed.
            episode_id: its id; drawn if None.
            task: the task's id, with or without the suite.
            split: a split of the task list; with `index`, instead of a task and a seed.
            index: the place in it. Without task or place, a session takes the train split in order.
            rubric: the rubric's version; the suite's default if None.
            **parameters: the task's parameters.

        Raises:
            UsageError: there is no such task, split or rubric, a value is out of its limits, or
                the id is another episode's.
        """
        chosen = self._choose(task, seed, split, index)
        caller = CALLER.get()
        run, episodes = self._service.run, self._service.episodes
        await run(self.close)
        made = await run(
            episodes.create,
            f"{self._suite.name}/{self._suite.task(chosen.task).name}",
            chosen.seed,
            parameters=parameters,
            rubric=rubric,
            id=episode_id,
            agent=AGENT,
            holder=caller.holder,
        )
        self._episode = await run(episodes.state, made.id)
        self._kept = episode_id is not None or not caller.connected
        self._owed = 0.0
        self._resets += 1
        again = self._episode.steps > 0
        self._seen = await run(episodes.observe, made.id) if again else made.observation
        metadata = {"episode_id": made.id, "instructions": self._suite.instructions}
        return _observed(self._seen, "", None, metadata)

    async def step_async(
        self,
        action: Action,
        timeout_s: float | None = None,
        episode_id: str | None = None,
        **_: Any,
    ) -> Observation:
        """Take one action.

        Args:
            action: a tool call, or the question which tools there are, which is no step.
            timeout_s: not used; a step takes a fraction of a millisecond.
            episode_id: which episode, where each request is a connection of its own.

        Raises:
            UsageError: there is no episode yet, or it was closed.
        """
        del timeout_s
        if isinstance(action, ListToolsAction):
            tools = [
                Tool(name=tool.name, description=tool.description, input_schema=dict(tool.schema))
                for tool in self._suite.toolbox.values()
            ]
            done = self._seen is not None and self._seen.done
            return ListToolsObservation(tools=tools, reward=0.0, done=done)
        if not isinstance(action, CallToolAction):
            raise UsageError(f"an action is a tool call, not {type(action).__name__}")
        if episode_id is not None and self._episode is None:
            await self._attach(episode_id)
        seen = await self._take(action.tool_name, action.arguments, _number(action.metadata))
        reward, self._owed = self._owed, 0.0
        return _observed(seen, action.tool_name, reward, {})

    async def _take(self, tool: str, arguments: Mapping[str, Any], number: int | None) -> Seen:
        """Take an action, whoever asks for it; what the episode earned with it is owed."""
        if self._episode is None:
            raise UsageError("there is no episode yet; reset first")
        id = self._episode.id
        seen = await self._service.step(id, Call(tool, dict(arguments)), number)
        self._seen = seen
        if seen.done and seen.code != OVER:
            self._owed = (await self._service.run(self._service.episodes.score, id)).reward
        return seen

    async def _attach(self, id: str) -> None:
        run, episodes = self._service.run, self._service.episodes
        state = await run(episodes.state, id)
        if state.holder != CALLER.get().holder or state.task.partition("/")[0] != self._suite.name:
            raise UnknownEpisode(f"there is no episode {id!r} of {self._suite.name} and yours")
        self._episode, self._kept = state, True

    def reset(self, *_: Any, **__: Any) -> Observation:
        """OpenEnv's other form, which the server does not use where `reset_async` is."""
        raise UsageError("reset this environment with reset_async")

    def step(self, *_: Any, **__: Any) -> Observation:
        """OpenEnv's other form, which the server does not use where `step_async` is."""
        raise UsageError("step this environment with step_async")

    @property
    def state(self) -> DeskState:
        """How the current episode stands; without an episode, its suite alone."""
        episode, seen = self._episode, self._seen
        if episode is None:
            return DeskState(suite=self._suite.name, steps_max=self._suite.steps_max)
        return DeskState(
            episode_id=episode.id,
            step_count=0 if seen is None else seen.step,
            suite=self._suite.name,
            task=episode.task,
            seed=episode.seed,
            rubric=episode.rubric,
            steps_max=self._suite.steps_max,
            done=seen is not None and seen.done,
            ended=None if seen is None else seen.ended,
        )

    def close(self) -> None:
        """Close the episode, unless it goes on elsewhere; its score and recording are stored."""
        episode, self._episode = self._episode, None
        over = self._seen is not None and self._seen.done
        self._seen = None
        if episode is not None and (over or not self._kept):
            self._service.episodes.close(episode.id)

    def get_metadata(self) -> EnvironmentMetadata:
        """What this environment is."""
        return EnvironmentMetadata(
            name=self._suite.name,
            description=self._suite.title,
            version=self._service.store.version,
            author="The deskgym authors",
            readme_content=self._suite.instructions,
        )

    def _choose(
        self, task: str | None, seed: int | None, split: str | None, index: int | None
    ) -> Chosen:
        if index is not None or split is not None:
            if task is not None or seed is not None:
                raise InvalidParameter("name a task and a seed, or a split and an index, not both")
            try:
                return self._tasks.pick(split or "train", _whole("index", index or 0))
            except IndexError as error:
                raise InvalidParameter(str(error)) from error
        if task is not None:
            return Chosen(task, self._resets if seed is None else seed)
        chosen = self._tasks.pick("train", self._resets % self._tasks.count("train"))
        return chosen if seed is None else Chosen(chosen.task, seed)

    # The task list, which OpenEnv serves where these methods are.

    def list_splits(self) -> list[dict[str, Any]]:
        """The splits."""
        return [{"name": split, "type": split} for split in ("train", "test")]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Every task of a split."""
        return self._tasks.describe_range(split, None, None)

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return self._tasks.count(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """One task of a split; raises `IndexError`."""
        return self._tasks.describe(split, index)

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        """Some tasks of a split, by the bounds of a slice."""
        return self._tasks.describe_range(split, start, stop)


class AgentTools:
    """A session's tools over OpenEnv's MCP. A call is a step of the episode like any other.

    It shows no reward: what the episode earns is paid out with the trainer's next step.
    """

    def __init__(self, environment: DeskEnvironment) -> None:
        self._environment: Final = environment

    def is_connected(self) -> Literal[True]:
        """There is no connection that could be lost."""
        return True

    async def __aenter__(self) -> AgentTools:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def list_tools(self) -> list[dict[str, Any]]:
        """The suite's tools, in the protocol's own names."""
        return [tool.mcp() for tool in self._environment._suite.toolbox.values()]

    async def call_tool(self, name: str, arguments: Any) -> dict[str, Any]:
        """Call a tool; what comes back is a tool's result in the protocol's own names."""
        if not isinstance(arguments, Mapping):
            raise InvalidParameter("a call's arguments are a JSON object")
        seen = await self._environment._take(name, arguments, None)
        shown = seen.to_dict()
        return {
            "content": [{"type": "text", "text": seen.to_json().decode()}],
            "structuredContent": shown,
            "data": shown,
            "isError": not seen.ok,
        }


def make_app(service: Service, suite: Suite) -> FastAPI:
    """The OpenEnv app of a suite, as OpenEnv makes it."""
    tasks = TaskList(suite)
    app = create_fastapi_app(
        partial(DeskEnvironment, service, suite, tasks),
        CallToolAction,
        DeskObservation,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=service.settings.live_max,
            session_timeout=service.settings.idle_timeout_s,
        ),
        env_name=suite.name,
        state_cls=DeskState,
        mode="simulation",
    )
    app.title = f"deskgym {suite.name}, an OpenEnv environment"
    app.add_exception_handler(DeskgymError, _answer_error)
    app.add_exception_handler(Problem, _answer_problem)
    return app


def _answer_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, DeskgymError), "the handler of deskgym's errors"
    return problem_of(error).response()


def _answer_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem), "the handler of problems"
    return error.response()


def _observed(
    seen: Seen, tool: str, reward: float | None, metadata: dict[str, Any]
) -> DeskObservation:
    return DeskObservation(
        tool_name=tool,
        result=ToolResult(ok=seen.ok, code=seen.code, message=seen.message, data=dict(seen.data)),
        step_count=seen.step,
        steps_max=seen.steps_max,
        ended=seen.ended,
        done=seen.done,
        reward=reward,
        metadata=metadata,
    )


def _number(metadata: Mapping[str, Any]) -> int | None:
    number = metadata.get(STEP_KEY)
    return None if number is None else _whole(f"metadata.{STEP_KEY}", number)


def _whole(name: str, value: object) -> int:
    if type(value) is not int:
        raise InvalidParameter(f"{name} is a whole number, not {value!r:.40}")
    return value
