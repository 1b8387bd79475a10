"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx

from deskgym.client import calls
from deskgym.client.calls import Call, RecordingPage, ReplayResult, Suite, TaskSpec
from deskgym.client.connection import DEFAULT_URL, Connection
from deskgym.client.episode import Made, ServedEpisode
from deskgym.client.failure import Patience, error_in, unreachable
from deskgym.desk import CustomerReply
from deskgym.errors import CustomerAsked, DeskgymError
from deskgym.recording import Recording
from deskgym.rubric import Score
from deskgym.store import RowChange
from deskgym.tool import ToolSchema
from deskgym.trajectory import Action, Observation, Step

T = TypeVar("T")


class AsyncClient:
    """A server's episodes, tasks and recordings, for one event loop.

    Every method may raise `ServerUnavailable` where the server cannot be reached for as long as is
    waited, `ServerFailed` where it fails, `AccessRefused` where it wants another key, and what the
    same call raises in this process.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        key: str | None = None,
        timeout_s: float = 30.0,
        retry_s: float = 30.0,
        connections_max: int = 100,
    ) -> None:
        """Nothing is sent before the first call.

        Args:
            url: where the server is.
            key: the trainer's key; that of `DESKGYM_API_KEY` if None, and none where that is unset.
            timeout_s: how long one attempt at a call may take.
            retry_s: how long a call that can safely be repeated is tried again, while the server
                restarts, for example; 0 for not at all.
            connections_max: how many connections are open at once.

        Raises:
            UsageError: the URL is none, or the key cannot be sent.
        """
        self._connection: Final = Connection.of(url, key, timeout_s, retry_s, connections_max)
        self._http: Final = httpx.AsyncClient(**self._connection.options())
        # What was asked about a task, so that hundreds of environments cost no further request.
        self._known: Final[dict[str, tuple[TaskSpec, Suite, Mapping[str, ToolSchema]]]] = {}

    @property
    def url(self) -> str:
        """The server's URL."""
        return self._connection.url

    async def make(
        self, task: str, *, rubric: str | None = None, agent: str = "agent", **parameters: object
    ) -> AsyncServedEnvironment:
        """An environment for a task on the server, as `deskgym.make` makes one in this process.

        Args:
            task: the task's id, `suite/task`.
            rubric: the rubric's version; the suite's default if None.
            agent: who acts, for lists and recordings.
            **parameters: the task's parameters.

        Raises:
            UnknownName: the server has no such suite or task.
        """
        known = self._known.get(task)
        if known is None:
            spec, name = await self.call(calls.task(task)), task.partition("/")[0]
            suite, tools = await self.call(calls.suite(name)), await self.call(calls.tools(name))
            known = self._known[task] = (spec, suite, tools)
        return AsyncServedEnvironment(self, Made(*known, parameters, rubric, agent))

    async def resume(self, episode: str) -> AsyncServedEnvironment:
        """An environment that goes on with an episode on the server, live or not.

        Raises:
            UnknownEpisode: there is none of that id.
        """
        state = await self.call(calls.state(episode))
        environment = await self.make(
            state["task"], rubric=state["rubric"], agent=state["agent"], **state["parameters"]
        )
        observation = await self.call(calls.observe(episode))
        environment._resume(state, observation)  # pyright: ignore[reportPrivateUsage]
        return environment

    async def version(self) -> Mapping[str, Any]:
        """The versions of the server, of its recordings' format and of its rubrics."""
        return await self.call(calls.version())

    async def suites(self) -> list[Suite]:
        """The server's suites."""
        return await self.call(calls.suites())

    async def tasks(self, suite: str | None = None) -> list[TaskSpec]:
        """The server's tasks, or those of a suite."""
        return await self.call(calls.tasks(suite))

    async def tools(self, suite: str) -> Mapping[str, ToolSchema]:
        """A suite's tools by name."""
        return await self.call(calls.tools(suite))

    async def reset_all(
        self, environments: Sequence[AsyncServedEnvironment], seeds: Iterable[int] | None = None
    ) -> list[Observation]:
        """Reset many environments in one request: all of them, or none.

        Args:
            environments: made by this client.
            seeds: one for each; 0, 1, 2 and so on if None.
        """
        chosen = range(len(environments)) if seeds is None else seeds
        pairs = list(zip(environments, chosen, strict=True))
        if not pairs:
            return []
        await self.close_all(environments)
        new = [environment._new(seed) for environment, seed in pairs]  # pyright: ignore[reportPrivateUsage]
        made = await self.call(calls.create_many(new))
        for environment, fields, observation in zip(environments, new, made, strict=True):
            environment._begin(fields, observation)  # pyright: ignore[reportPrivateUsage]
        return made

    async def step_all(
        self, actions: Sequence[tuple[AsyncServedEnvironment, Action]]
    ) -> list[Observation | DeskgymError]:
        """Take one action in each of many environments, in one request.

        An action that `step` would raise an error for is answered with it; the others are taken.
        """
        if not actions:
            return []
        steps = [environment._next(action) for environment, action in actions]  # pyright: ignore[reportPrivateUsage]
        answers = await self.call(calls.step_many(steps))
        for (environment, _), answer in zip(actions, answers, strict=True):
            if isinstance(answer, Observation):
                environment._took(answer)  # pyright: ignore[reportPrivateUsage]
        return answers

    async def score_all(
        self, environments: Sequence[AsyncServedEnvironment]
    ) -> list[Score | DeskgymError]:
        """The scores of many environments, in one request."""
        ids = [environment.episode for environment in environments]
        return await self.call(calls.score_many(ids)) if ids else []

    async def close_all(self, environments: Sequence[AsyncServedEnvironment]) -> None:
        """Close many environments in one request."""
        ids = [environment._to_close() for environment in environments]  # pyright: ignore[reportPrivateUsage]
        live = [id for id in ids if id is not None]
        if live:
            await self.call(calls.close_many(live))

    async def recordings(self, **filters: Any) -> RecordingPage:
        """A page of the server's recordings.

        Args:
            **filters: suite, task, agent, rubric, status, verdict, evaluation, episode, hash, seed,
                reward_min, reward_max, origin, broken; sort (newest, oldest, highest, lowest),
                limit and page.
        """
        return await self.call(calls.recordings(filters))

    async def recording(self, id: str) -> Recording:
        """A recording, checked whole."""
        return await self.call(calls.stored_recording(id))

    async def import_recording(self, recording: Recording) -> str:
        """Store a recording on the server; its id there. An equal one is kept once."""
        return await self.call(calls.import_recording(recording))

    async def replay(self, id: str, rubric: str | None = None) -> ReplayResult:
        """Replay a recording on the server, scored by its own rubric or another version."""
        return await self.call(calls.replay(id, rubric))

    async def call(self, call: Call[T]) -> T:
        """Make a call, again where that is safe and may help."""
        connection = self._connection
        patience = Patience(repeatable=call.repeatable, retry_s=connection.retry_s)
        headers = {} if call.body is None else {"Content-Type": "application/json"}
        while True:
            try:
                response = await self._http.request(
                    call.method, call.path, content=call.body, headers=headers
                )
            except httpx.TransportError as error:
                wait_s = patience.wait_s(error)
                if wait_s is None:
                    raise unreachable(connection.url, error) from error
            else:
                if response.is_success:
                    return call.result(response.content)
                wait_s = patience.wait_s(response)
                if wait_s is None:
                    raise error_in(response)
            await asyncio.sleep(wait_s)

    async def close(self) -> None:
        """Close the connections. Episodes stay as they are on the server."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncServedEnvironment(ServedEpisode):
    """An environment on a server, whose calls are awaited; see `deskgym.Environment`.

    `close` ends the episode on the server, which then stores its recording; the trajectory and the
    score stay. `reset` closes the episode before.
    """

    def __init__(self, client: AsyncClient, made: Made) -> None:
        """`Client.make` is the way."""
        super().__init__(made)
        self._client: Final = client

    @property
    def agent_url(self) -> str:
        """The agent's own door to the current episode, over MCP; it asks for `token()`."""
        return f"{self._client.url}/episodes/{self.episode}/mcp"

    async def token(self) -> str:
        """A new token for the episode's agent; an earlier one is no longer valid."""
        return await self._client.call(calls.token(self.episode))

    async def reset(self, seed: int = 0) -> Observation:
        """Start an episode and return what the agent is told first."""
        await self.close()
        new = self._new(seed)
        observation = await self._client.call(calls.create(new))
        self._begin(new, observation)
        return observation

    async def step(self, action: Action, reply: CustomerReply | None = None) -> Observation:
        """Take one action; it is stored on the server when this returns."""
        return self._took(await self._client.call(self._step(action, reply)))

    async def question(self, action: Action) -> CustomerAsked | None:
        """What an action would put to the customer, or None if it asks nothing."""
        return await self._client.call(self._question(action))

    async def observe(self) -> Observation:
        """The latest observation again."""
        return self._saw(await self._client.call(calls.observe(self.episode)))

    async def score(self, rubric: str | None = None) -> Score:
        """What the episode has earned so far."""
        return await self._client.call(calls.score(self.episode, rubric))

    async def steps(self) -> tuple[Step, ...]:
        """The trajectory so far, asked for anew each time."""
        return () if self._id is None else await self._client.call(calls.steps(self._id))

    async def changes(self) -> tuple[RowChange, ...]:
        """The net row changes of the episode so far."""
        return await self._client.call(calls.changes(self.episode))

    async def state(self) -> Mapping[str, Any]:
        """What the server has stored of the episode."""
        return await self._client.call(calls.state(self.episode))

    async def recording(self) -> Recording:
        """The episode's recording, as it is now."""
        return await self._client.call(calls.recording(self.episode))

    async def close(self) -> None:
        """End the episode on the server, if one is open."""
        id = self._to_close()
        if id is not None:
            await self._client.call(calls.close(id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        await self.close()
