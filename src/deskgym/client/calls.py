"""The calls that a client makes, each with how its answer is read; nothing here waits or sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote, urlencode

import orjson

from deskgym.client.failure import error_of
from deskgym.desk import CustomerReply
from deskgym.errors import CustomerAsked, DeskgymError, ServerFailed, UnknownName
from deskgym.recording import Recording, parse
from deskgym.rubric import Score
from deskgym.rubric.score import POINTS
from deskgym.store import RowChange
from deskgym.store.schema import TABLES
from deskgym.task import Parameter
from deskgym.tool import ToolSchema
from deskgym.trajectory import Action, Observation, Step

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request and how its answer is read.

    Attributes:
        method: the HTTP method.
        path: below `/api`, with its query.
        read: the answer's meaning, from its JSON.
        body: the JSON to send, or None.
        repeatable: whether making it twice does what making it once does.
        raw: whether `read` takes the bytes as they came.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: bytes | None = None
    repeatable: bool = True
    raw: bool = False

    def result(self, content: bytes) -> T:
        """What a successful answer means; raises `ServerFailed` where it means nothing."""
        try:
            return self.read(content if self.raw else orjson.loads(content))
        except DeskgymError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise ServerFailed(
                f"{self.method} {self.path} was not answered as deskgym answers; is that its "
                f"server, and of this version? ({type(error).__name__}: {error})"
            ) from error


@dataclass(frozen=True)
class Suite:
    """What a client knows of a suite."""

    name: str
    title: str
    instructions: str
    rubrics: tuple[str, ...]
    steps_max: int
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class TaskSpec:
    """A task on a server.

    Attributes:
        id: its id, such as `service/damaged-lamp`.
        parameters: what it can be set with.
        action_schema: a JSON Schema of its actions.
    """

    id: str
    title: str
    question: str
    parameters: tuple[Parameter, ...]
    rubrics: tuple[str, ...]
    steps_max: int
    action_schema: Mapping[str, Any]


@dataclass(frozen=True)
class RecordingPage:
    """Some of the server's recordings, as their summaries; `next` is the token of the next page."""

    items: tuple[Mapping[str, Any], ...]
    next: str | None


@dataclass(frozen=True)
class ReplayResult:
    """A replayed recording: whether it came out the same, the first difference, the score."""

    same: bool
    difference: Mapping[str, Any] | None
    score: Score
    rescored: str | None


class ReceivedBreakdown:
    """A score's breakdown as a server explained it."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self._answer: Final = answer

    def lines(self) -> list[str]:
        """The explanation, for a person."""
        lines = self._answer["explanation"].split("\n")
        return lines[2:] if self._answer["actions"] else lines[1:]

    def reasons(self) -> list[str]:
        """What keeps the reward from being full."""
        return list(self._answer["reasons"])

    def brief(self) -> dict[str, Any]:
        """What a recording keeps of it."""
        own = ("reward", "verdict")
        return {name: value for name, value in self._answer["brief"].items() if name not in own}

    def to_dict(self) -> dict[str, Any]:
        """The explanation, for a program."""
        return dict(self._answer["breakdown"])


# Reading answers.


def observation_of(answer: Any) -> Observation:
    """An observation from its JSON."""
    return Observation(**answer)


def score_of(answer: Any) -> Score:
    """A score from its JSON."""
    taken = answer["actions"]
    return Score(
        answer["rubric"],
        round(answer["reward"] * POINTS),
        answer["verdict"],
        ReceivedBreakdown(answer),
        (taken[0], taken[1]) if taken else None,
    )


def change_of(answer: Any) -> RowChange:
    """A row change from its JSON."""
    columns = TABLES[answer["table"]].columns

    def row(fields: Any) -> tuple[object, ...] | None:
        return None if fields is None else tuple(fields[name] for name in columns)

    before, after = row(answer["before"]), row(answer["after"])
    return RowChange(answer["table"], tuple(answer["key"]), before, after)


def step_of(answer: Any) -> Step:
    """A step from its JSON."""
    return Step(
        answer["number"],
        Action.from_json(answer["action"]),
        orjson.dumps(answer["result"]),
        tuple(map(change_of, answer["changes"])),
        answer["ended"],
        None if answer["reply"] is None else CustomerReply(**answer["reply"]),
    )


def _suite_of(answer: Any) -> Suite:
    return Suite(
        answer["name"], answer["title"], answer["instructions"], tuple(answer["rubrics"]),
        answer["steps_max"], tuple(answer["tasks"]),
    )  # fmt: skip


def _tool_of(answer: Any) -> ToolSchema:
    return ToolSchema(
        answer["name"],
        answer["kind"],
        answer["description"],
        tuple(answer["codes"]),
        answer["parameters"],
        idempotent=answer["idempotent"],
    )


def _task_of(answer: Any) -> TaskSpec:
    return TaskSpec(
        answer["id"], answer["title"], answer["question"],
        tuple(Parameter(**item) for item in answer["parameters"]), tuple(answer["rubrics"]),
        answer["steps_max"], answer["action_schema"],
    )  # fmt: skip


# The calls.


def _get(path: str, read: Callable[[Any], T], *, raw: bool = False, **query: Any) -> Call[T]:
    given = {name: value for name, value in query.items() if value is not None}
    return Call("GET", f"{path}?{urlencode(given)}" if given else path, read, raw=raw)


def _post(path: str, read: Callable[[Any], T], body: Any, *, repeatable: bool = True) -> Call[T]:
    return Call("POST", path, read, orjson.dumps(body, dict), repeatable)


def version() -> Call[dict[str, Any]]:
    """The server's versions."""
    return _get("/version", dict)


def suites() -> Call[list[Suite]]:
    """The suites."""
    return _get("/suites", lambda answer: [_suite_of(item) for item in answer["items"]])


def suite(name: str) -> Call[Suite]:
    """A suite."""
    return _get(f"/suites/{quote(name, safe='')}", _suite_of)


def tools(suite: str) -> Call[dict[str, ToolSchema]]:
    """A suite's tools by name."""
    return _get(
        f"/suites/{quote(suite, safe='')}/tools",
        lambda answer: {item["name"]: _tool_of(item) for item in answer["items"]},
    )


def tasks(suite: str | None) -> Call[list[TaskSpec]]:
    """The tasks."""
    return _get("/tasks", lambda answer: [_task_of(item) for item in answer["items"]], suite=suite)


def task(id: str) -> Call[TaskSpec]:
    """A task; raises `UnknownName` for what cannot be its id."""
    owner, _, name = id.partition("/")
    if not owner or not name:
        raise UnknownName("task", id, ())
    return _get(f"/tasks/{quote(owner, safe='')}/{quote(name, safe='')}", _task_of)


def episode_path(id: str) -> str:
    """Where an episode is, below `/api`."""
    return f"/episodes/{quote(id, safe='')}"


def create(new: Mapping[str, Any]) -> Call[Observation]:
    """Start an episode, whose id is the caller's; its first observation."""
    return _post("/episodes", lambda answer: observation_of(answer["observation"]), new)


def step(
    id: str, action: Action, number: int, reply: CustomerReply | None = None
) -> Call[Observation]:
    """Take a step."""
    body = {"action": action.canonical().to_dict(), "number": number}
    if reply is not None:
        body["reply"] = reply.checked()._asdict()
    return _post(f"{episode_path(id)}/steps", observation_of, body)


def question(id: str, action: Action) -> Call[CustomerAsked | None]:
    """What an action would put to the customer."""
    body = {"action": action.canonical().to_dict()}
    return _post(f"{episode_path(id)}/question", _asked_of, body)


def _asked_of(answer: Any) -> CustomerAsked | None:
    if answer["words"] is None:
        return None
    return CustomerAsked(answer["words"], proposal=answer["proposal"])


def observe(id: str) -> Call[Observation]:
    """The latest observation."""
    return _get(f"{episode_path(id)}/observation", observation_of)


def score(id: str, rubric: str | None) -> Call[Score]:
    """The score now."""
    return _get(f"{episode_path(id)}/score", score_of, rubric=rubric)


def steps(id: str) -> Call[tuple[Step, ...]]:
    """The trajectory."""
    return _get(f"{episode_path(id)}/steps", lambda answer: tuple(map(step_of, answer["steps"])))


def changes(id: str) -> Call[tuple[RowChange, ...]]:
    """The net row changes."""
    return _get(
        f"{episode_path(id)}/world", lambda answer: tuple(map(change_of, answer["changes"]))
    )


def state(id: str) -> Call[dict[str, Any]]:
    """What is stored of an episode."""
    return _get(episode_path(id), dict)


def close(id: str) -> Call[dict[str, Any]]:
    """End an episode; its state."""
    return _post(f"{episode_path(id)}/close", dict, {})


def token(id: str) -> Call[str]:
    """A new token for the episode's agent. Repeated, it would make another one."""
    return _post(f"{episode_path(id)}/token", lambda answer: answer["token"], {}, repeatable=False)


def recording(id: str) -> Call[Recording]:
    """An episode's recording."""
    return _get(f"{episode_path(id)}/recording", parse, raw=True)


# Batches.


def _each(answer: Any, name: str, read: Callable[[Any], T]) -> list[T | DeskgymError]:
    return [
        read(item[name]) if item.get(name) is not None else error_of(item["problem"])
        for item in answer["results"]
    ]


def create_many(new: Sequence[Mapping[str, Any]]) -> Call[list[Observation]]:
    """Start episodes: all or none."""
    return _post(
        "/batch/episodes",
        lambda answer: [observation_of(item["observation"]) for item in answer["episodes"]],
        {"episodes": new},
    )


def step_many(
    steps: Sequence[tuple[str, Action, int]],
) -> Call[list[Observation | DeskgymError]]:
    """Take steps of many episodes, as (episode, action, number)."""
    body = [
        {"episode": id, "action": action.canonical().to_dict(), "number": number}
        for id, action, number in steps
    ]
    return _post(
        "/batch/steps",
        lambda answer: _each(answer, "observation", observation_of),
        {"steps": body},
    )


def score_many(ids: Sequence[str]) -> Call[list[Score | DeskgymError]]:
    """The scores of many episodes."""
    return _post(
        "/batch/scores", lambda answer: _each(answer, "score", score_of), {"episodes": ids}
    )


def close_many(ids: Sequence[str]) -> Call[list[dict[str, Any] | DeskgymError]]:
    """End many episodes."""
    return _post("/batch/close", lambda answer: _each(answer, "state", dict), {"episodes": ids})


# Recordings.


def recordings(filters: Mapping[str, Any]) -> Call[RecordingPage]:
    """A page of recordings."""
    return _get(
        "/recordings",
        lambda answer: RecordingPage(tuple(answer["items"]), answer["next"]),
        **filters,
    )


def stored_recording(id: str) -> Call[Recording]:
    """A recording."""
    return _get(f"/recordings/{quote(id, safe='')}", parse, raw=True)


def import_recording(recording: Recording) -> Call[str]:
    """Import a recording; its id. An equal one is kept once."""
    return Call("POST", "/recordings", lambda answer: answer["id"], recording.to_json())


def replay(id: str, rubric: str | None) -> Call[ReplayResult]:
    """Replay a recording on the server."""
    return _post(
        f"/recordings/{quote(id, safe='')}/replay",
        lambda answer: ReplayResult(
            answer["same"], answer["difference"], score_of(answer["score"]), answer["rescored"]
        ),
        {"rubric": rubric},
    )
