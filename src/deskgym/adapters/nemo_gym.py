"""NeMo Gym: its sessions as episodes of a deskgym server, and the rows of its data sets.

NeMo Gym needs a Python of its own, and runs each environment as a server. So nothing here imports
it: the folder `examples/nemo_gym` has the server that does, and hands every request on to this.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from deskgym.adapters.rows import parameters_of, rows_of
from deskgym.client import AsyncClient
from deskgym.client.asynchronous import AsyncServedEnvironment
from deskgym.errors import (
    DeskgymError,
    InvalidDefinition,
    ServerFailed,
    ServerUnavailable,
    UsageError,
)
from deskgym.suite import Suite, load_suite
from deskgym.trajectory import Action

ENDPOINTS: Final = ("seed_session", "verify", "aggregate_metrics")
"""What NeMo Gym itself asks of a resources server, so that no tool can have such a name."""

VERIFIED_MAX: Final = 10_000
"""How many verified sessions are remembered, for an answer that is asked for again."""

_log = logging.getLogger(__name__)


class SessionError(DeskgymError):
    """A request that has no answer; NeMo Gym raises for its status.

    Attributes:
        status: of HTTP: 4xx where the request is wrong, 5xx where the episode cannot be judged.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status: Final = status


class Verified(NamedTuple):
    """What an episode has earned, for the trainer.

    Attributes:
        reward: as in process.
        verdict: the score's verdict.
        reasons: what kept the reward from being full, in sentences.
        episode: its id on the server, which has its recording.
        actions: how many were taken.
    """

    reward: float
    verdict: str
    reasons: list[str]
    episode: str
    actions: int


@dataclass
class _Session:
    """A rollout: its episode, and what failed in it."""

    environment: AsyncServedEnvironment
    failures: list[DeskgymError] = field(default_factory=list[DeskgymError])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Sessions:
    """NeMo Gym's sessions, each with an episode on a deskgym server; for one event loop."""

    def __init__(self, client: AsyncClient) -> None:
        """Nothing is sent before the first session.

        Args:
            client: of the server where the episodes are.
        """
        self._client: Final = client
        self._live: Final[dict[str, _Session]] = {}
        self._verified: Final[OrderedDict[str, Verified]] = OrderedDict()

    async def seed(
        self,
        session: str,
        *,
        task: str,
        seed: int = 0,
        parameters: Mapping[str, Any] | str | None = None,
        rubric: str | None = None,
    ) -> None:
        """Start a session's episode.

        A session has one: the model can post to this address too, and may not start over.

        Raises:
            SessionError: 409 if there is one, 422 for what does not exist, 5xx if the server fails.
        """
        if session in self._live or session in self._verified:
            raise SessionError(409, "this session has had its episode; a rollout needs its own")
        try:
            named = parameters_of(parameters)
            environment = await self._client.make(task, rubric=rubric, agent="nemo-gym", **named)
            await environment.reset(seed)
        except UsageError as error:
            raise SessionError(422, str(error)) from error
        except (ServerFailed, ServerUnavailable) as error:
            raise _failed(error) from error
        self._live[session] = _Session(environment)

    async def call(self, session: str, tool: str, arguments: object) -> dict[str, Any]:
        """Make a call; what the model sees of it.

        Raises:
            SessionError: 400 without an episode, 404 for a tool that does not exist, 410 after the
                episode was verified, 5xx if the server fails, and then the episode has no reward.
        """
        current = self._session(session)
        environment = current.environment
        if tool not in environment.tools:
            known = ", ".join(environment.tools)
            raise SessionError(404, f"there is no tool {tool!r}; the tools are: {known}")
        async with current.lock:
            try:
                seen = await environment.step(Action(tool, arguments))
            except DeskgymError as error:
                # NeMo Gym's agent shows it to the model and goes on, so that it is noted.
                current.failures.append(error)
                _log.exception("%s seed %d: %s failed", environment.id, environment.seed, tool)
                raise _failed(error) from error
            return seen.to_dict()

    async def verify(self, session: str) -> Verified:
        """End a session's episode; what it has earned. Asked again, it answers the same.

        Raises:
            SessionError: 400 without an episode, 5xx if it cannot be judged.
        """
        if session in self._verified:
            return self._verified[session]
        current = self._session(session)
        environment = current.environment
        async with current.lock:
            if session in self._verified:
                return self._verified[session]
            if current.failures:
                raise _failed(current.failures[0])
            try:
                await environment.close()
                recording = await environment.recording()
            except DeskgymError as error:
                raise _failed(error) from error  # both can be asked for again
            if recording.footer.status != "reward":
                why = f"{environment.id} cannot be judged: a tool failed by a bug"
                raise SessionError(500, f"{why} (episode {environment.episode})")
            score = recording.footer.score
            found = Verified(
                recording.reward,
                score["verdict"],
                score["reasons"],
                environment.episode,
                len(recording.steps),
            )
            self._verified[session] = found
            del self._live[session]
            if len(self._verified) > VERIFIED_MAX:
                self._verified.popitem(last=False)
            return found

    async def close(self) -> None:
        """Close the connections. Episodes stay as they are on the server."""
        await self._client.close()

    def _session(self, session: str) -> _Session:
        if session in self._verified:
            raise SessionError(410, "this session's episode is over")
        if session not in self._live:
            raise SessionError(400, "this session has no episode; post to /seed_session first")
        return self._live[session]


def _failed(error: DeskgymError) -> SessionError:
    status = 503 if isinstance(error, ServerUnavailable) else 502
    return SessionError(status, f"the episode cannot be judged: {error}")


def rows(
    tasks: str | Sequence[str],
    seeds: Iterable[int],
    *,
    parameters: Mapping[str, int] | None = None,
    agent: str = "deskgym_simple_agent",
) -> Iterator[dict[str, Any]]:
    """The rows of a NeMo Gym data set, one for each task and seed, ready for JSON Lines.

    Args:
        tasks: ids of tasks, and names of suites for all of theirs; one, or several.
        seeds: the seeds of each task.
        parameters: what every task's fixture is built with.
        agent: the agent's name in NeMo Gym's configuration.

    Raises:
        UnknownName: there is no such suite or task.
        InvalidParameter: a parameter or a seed is unknown or out of its limits.
        InvalidDefinition: a tool has the name of one of NeMo Gym's own endpoints.
    """
    for row in rows_of(tasks, seeds, parameters):
        yield {
            "responses_create_params": {
                "input": row.told(),
                "tools": _tools(load_suite(row.task.partition("/")[0])),
            },
            "agent_ref": {"type": "responses_api_agents", "name": agent},
            "task": row.task,
            "seed": row.seed,
            "parameters": dict(row.parameters),
        }


def _tools(suite: Suite) -> list[dict[str, Any]]:
    if taken := set(ENDPOINTS) & set(suite.toolbox):
        raise InvalidDefinition(
            f"{suite.name} has a tool {', '.join(taken)}, which is an endpoint of NeMo Gym"
        )
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": False,
        }
        for tool in suite.toolbox.values()
    ]
