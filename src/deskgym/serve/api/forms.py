"""What the trainer's door takes and answers with."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from deskgym.desk import REPLY_CHARACTERS_MAX
from deskgym.rubric.score import Verdict
from deskgym.runstore.page import PAGE_MAX
from deskgym.serve.operation import Form, Query
from deskgym.task import SEED_MAX
from deskgym.tool import Kind

NAME_CHARACTERS_MAX: Final = 200
NUMBER_MAX: Final = 1_000_000
BATCH_MAX: Final = 1_024
"""How many episodes one batch may name."""

_TASK: Final = "service/two-full-captures"
_READ: Final[dict[str, Any]] = {"tool": "get_order", "arguments": {"order_id": "S-410"}}

Name = Annotated[
    str, Field(min_length=1, max_length=NAME_CHARACTERS_MAX, pattern=r"^[^\x00-\x1f\x7f]+$")
]
EpisodeId = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="1 to 64 letters, digits, dots, underscores and hyphens.",
    ),
]
Seed = Annotated[int, Field(ge=0, le=SEED_MAX)]


class Answer(BaseModel):
    """What is answered with."""

    model_config = ConfigDict(extra="forbid")


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


# Episodes.


class NewEpisodeForm(Form):
    """An episode to start."""

    model_config = _example(task=_TASK, seed=0)

    task: Annotated[Name, Field(description="The task's id: suite/task.")]
    seed: Seed = 0
    parameters: Annotated[
        dict[str, int],
        Field(
            default_factory=dict, description="The task's parameters; defaults for those left out."
        ),
    ]
    rubric: Annotated[
        Name | None, Field(description="The rubric's version; the suite's default if null.")
    ] = None
    id: Annotated[
        EpisodeId | None,
        Field(
            description="An id of your own makes the request safe to repeat: the same id with the "
            "same task, seed, parameters and rubric is the same episode."
        ),
    ] = None
    agent: Annotated[Name, Field(description="Who acts, for lists and recordings.")] = "agent"
    with_token: Annotated[
        bool, Field(description="Whether to make a token for the agent's door.")
    ] = False


class ObservationAnswer(Answer):
    """What an agent sees after an action; it shows no reward."""

    model_config = _example(
        ok=True, code="order_found", message="Order S-410.", data={}, step=1, steps_max=24,
        done=False, ended=None,
    )  # fmt: skip

    ok: bool
    code: str
    message: str
    data: dict[str, Any]
    step: Annotated[int, Field(description="How many actions were used.")]
    steps_max: int
    done: bool
    ended: Annotated[str | None, Field(description="Why the episode is over, if it is.")]


class EpisodeAnswer(Answer):
    """An episode that was started."""

    id: str
    observation: Annotated[ObservationAnswer, Field(description="What the agent is told first.")]
    token: Annotated[
        str | None, Field(description="The agent's token, if asked for. It is shown this once.")
    ]


class ActionForm(Form):
    """An action: a tool and its arguments."""

    model_config = _example(**_READ)

    tool: str
    arguments: Annotated[
        Any,
        Field(
            default_factory=dict,
            description="An object by argument name. Whatever else an agent sent is taken too, "
            "and refused by the tool.",
        ),
    ]


class ReplyForm(Form):
    """What a customer who is no script says to an action."""

    model_config = _example(message="Yes, please do that.", accepts=True)

    message: Annotated[str, Field(min_length=1, max_length=REPLY_CHARACTERS_MAX)]
    accepts: Annotated[bool, Field(description="Whether a proposal is accepted.")] = False
    done: Annotated[bool, Field(description="Whether there is nothing more to say.")] = False


class QuestionForm(Form):
    """An action that is only tried."""

    model_config = _example(action=_READ)

    action: ActionForm


class QuestionAnswer(Answer):
    """What an action would put to the customer; null where it asks nothing."""

    words: str | None
    proposal: Annotated[bool, Field(description="Whether it is to be accepted or declined.")]


class StepForm(Form):
    """A step to take."""

    model_config = _example(action=_READ, number=1)

    action: ActionForm
    number: Annotated[
        int | None,
        Field(
            ge=1,
            le=NUMBER_MAX,
            description="The step's number, from 1, makes the request safe to repeat: a number "
            "that the same action has taken is answered again, and nothing is done. Null takes "
            "the next one.",
        ),
    ] = None
    reply: Annotated[
        ReplyForm | None,
        Field(
            description="What the customer says to it, where a model or a person speaks for the "
            "customer. Null lets the task's own customer answer."
        ),
    ] = None


class StateAnswer(Answer):
    """What is stored of an episode; it has the reward, and is the trainer's."""

    id: str
    task: str
    seed: int
    parameters: dict[str, int]
    rubric: str
    agent: str
    holder: str | None
    status: Literal["live", "ended", "closed", "expired"]
    steps: int
    ended: str | None
    outcome: str | None
    reward: float | None
    digest: str | None
    version: str
    created_ms: int
    ended_ms: int | None


class ChangeAnswer(Answer):
    """A row before and after."""

    table: str
    key: list[Any]
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class ReplyAnswer(Answer):
    """What a customer who is no script said to a step."""

    message: str
    accepts: bool
    done: bool


class StepAnswer(Answer):
    """A step as it is recorded."""

    number: int
    action: dict[str, Any]
    result: dict[str, Any]
    changes: list[ChangeAnswer]
    ended: str | None
    reply: ReplyAnswer | None


class StepsAnswer(Answer):
    """The trajectory so far."""

    steps: list[StepAnswer]


class WorldAnswer(Answer):
    """What the episode has done to the store so far."""

    changes: list[ChangeAnswer]
    digest: Annotated[str, Field(description="Of every row: equal worlds have equal ones.")]


class ScoreAnswer(Answer):
    """What an episode has earned so far, and why."""

    rubric: str
    reward: float
    verdict: Verdict
    reasons: list[str]
    breakdown: dict[str, Any]
    brief: dict[str, Any]
    explanation: Annotated[str, Field(description="The breakdown for a person.")]
    actions: Annotated[list[int], Field(description="How many were taken, and how many there are.")]


class TokenAnswer(Answer):
    """A token for the agent's door. It is shown this once; an earlier one is no longer valid."""

    id: str
    token: str


class ScoreQuery(Query):
    """How to score."""

    rubric: Name | None = None


class EpisodesQuery(Query):
    """Which episodes."""

    status: Literal["live", "ended", "closed", "expired"] | None = None
    suite: Name | None = None
    task: Name | None = None
    agent: Name | None = None
    limit: Annotated[int, Field(ge=1, le=PAGE_MAX)] = 50
    page: Annotated[str | None, Field(description="`next` of the page before.")] = None


class EpisodesAnswer(Answer):
    """A page of episodes, newest first."""

    items: list[StateAnswer]
    next: Annotated[str | None, Field(description="The next page; null on the last one.")]


# Batches.


class NewEpisodesForm(Form):
    """Episodes to start: all of them, or none."""

    model_config = _example(episodes=[{"task": _TASK, "seed": 0}, {"task": _TASK, "seed": 1}])

    episodes: Annotated[list[NewEpisodeForm], Field(min_length=1, max_length=BATCH_MAX)]


class NewEpisodesAnswer(Answer):
    """The episodes that were started, in order."""

    episodes: list[EpisodeAnswer]


class EpisodeStepForm(StepForm):
    """A step of one of many episodes."""

    model_config = _example(episode="rollout-1", action=_READ, number=1)

    episode: EpisodeId


class StepsForm(Form):
    """Steps of many episodes. Several of one episode are taken in their order."""

    model_config = _example(steps=[{"episode": "rollout-1", "action": _READ, "number": 1}])

    steps: Annotated[list[EpisodeStepForm], Field(min_length=1, max_length=BATCH_MAX)]


class EpisodeIdsForm(Form):
    """Which episodes."""

    model_config = _example(episodes=["rollout-1", "rollout-2"])

    episodes: Annotated[list[EpisodeId], Field(min_length=1, max_length=BATCH_MAX)]


class ProblemAnswer(BaseModel):
    """What could not be done, and why (RFC 9457)."""

    model_config = _example(
        type="urn:deskgym:problem:step_conflict",
        title="That step was another action, or comes out of turn",
        status=409,
        detail="the next step of rollout-1 is 2, not 4",
        code="step_conflict",
        expected=2,
    )

    type: str
    title: str
    status: int
    detail: str
    code: str


class StepResult(Answer):
    """The observation of a step, or why there is none."""

    episode: str
    observation: ObservationAnswer | None = None
    problem: ProblemAnswer | None = None


class StepResults(Answer):
    """An answer for each step, in order. A problem of one disturbs no other."""

    results: list[StepResult]


class ScoreResult(Answer):
    """The score of an episode, or why there is none."""

    episode: str
    score: ScoreAnswer | None = None
    problem: ProblemAnswer | None = None


class ScoreResults(Answer):
    """An answer for each episode, in order."""

    results: list[ScoreResult]


class StateResult(Answer):
    """The state of an episode, or why there is none."""

    episode: str
    state: StateAnswer | None = None
    problem: ProblemAnswer | None = None


class StateResults(Answer):
    """An answer for each episode, in order."""

    results: list[StateResult]


# The catalogue.


class VersionAnswer(Answer):
    """The versions of what serves."""

    name: str
    version: str
    python: str
    recording_format: int
    rubrics: Annotated[dict[str, list[str]], Field(description="By suite, the default first.")]


class SuiteAnswer(Answer):
    """A suite: tasks that share tools, a policy and a rubric."""

    name: str
    title: str
    instructions: Annotated[str, Field(description="What an agent is given before it acts.")]
    rubrics: list[str]
    steps_max: int
    tasks: list[str]
    tools: list[str]


class SuitesAnswer(Answer):
    """The suites."""

    items: list[SuiteAnswer]


class ToolAnswer(Answer):
    """A tool."""

    name: str
    kind: Kind
    description: str
    codes: list[str]
    parameters: Annotated[dict[str, Any], Field(description="A JSON Schema.")]
    idempotent: Annotated[
        bool, Field(description="Whether the same call again changes no record further.")
    ]


class ToolsAnswer(Answer):
    """A suite's tools."""

    items: Annotated[
        list[ToolAnswer | dict[str, Any]], Field(description="As the format that was asked for.")
    ]


class ToolsQuery(Query):
    """Whose form the tools are wanted in."""

    format: Literal["deskgym", "openai", "anthropic", "mcp"] = "deskgym"


class ParameterAnswer(Answer):
    """A whole number that a task can be set with."""

    name: str
    description: str
    default: int
    minimum: int
    maximum: int
    multiple_of: int


class TaskAnswer(Answer):
    """A task."""

    id: str
    suite: str
    title: str
    question: str
    parameters: list[ParameterAnswer]
    rubrics: list[str]
    steps_max: int
    action_schema: Annotated[
        dict[str, Any], Field(description="A JSON Schema of the actions that its tools take.")
    ]


class TasksQuery(Query):
    """Which tasks."""

    suite: Name | None = None


class TasksAnswer(Answer):
    """Tasks."""

    items: list[TaskAnswer]


# Recordings.


class RecordingsQuery(Query):
    """Which recordings, and in which order."""

    suite: Name | None = None
    task: Name | None = None
    agent: Name | None = None
    rubric: Name | None = None
    status: Literal["reward", "invalid", "error"] | None = None
    verdict: Verdict | None = None
    evaluation: Name | None = None
    episode: EpisodeId | None = None
    hash: Name | None = None
    seed: Seed | None = None
    reward_min: Annotated[float | None, Field(allow_inf_nan=False)] = None
    reward_max: Annotated[float | None, Field(allow_inf_nan=False)] = None
    origin: Literal["own", "uploaded"] | None = None
    broken: Annotated[
        Name | None, Field(description="A check, ceiling or gate that kept the reward from 1.")
    ] = None
    sort: Literal["newest", "oldest", "highest", "lowest"] = "newest"
    limit: Annotated[int, Field(ge=1, le=PAGE_MAX)] = 50
    page: Annotated[str | None, Field(description="`next` of the page before.")] = None


class RecordingSummaryAnswer(Answer):
    """What a list shows of a recording."""

    id: str
    episode: str | None
    evaluation: str | None
    task: str
    seed: int
    parameters: dict[str, int]
    agent: str
    rubric: str
    status: str
    reward: float
    verdict: str
    ended: str | None
    steps: int
    bytes: int
    hash: str
    created_ms: int
    origin: str


class RecordingsAnswer(Answer):
    """A page of recordings."""

    items: list[RecordingSummaryAnswer]
    next: Annotated[str | None, Field(description="The next page; null on the last one.")]


class ImportedAnswer(Answer):
    """Where an imported recording is."""

    id: str
    new: Annotated[bool, Field(description="False where an equal one was there.")]


class ReplayForm(Form):
    """How to replay."""

    model_config = _example()

    rubric: Annotated[
        Name | None, Field(description="Score with this version; the recording's own if null.")
    ] = None


class DifferenceAnswer(Answer):
    """Where a replay first departed from its recording."""

    step: Annotated[
        int | None, Field(description="0 is the initial world, null the end of the episode.")
    ]
    what: str
    recorded: Any
    replayed: Any


class ReplayAnswer(Answer):
    """A replayed recording."""

    same: Annotated[bool, Field(description="Whether everything came out as it was recorded.")]
    difference: DifferenceAnswer | None
    score: ScoreAnswer
    rescored: Annotated[
        str | None, Field(description="The recording's own rubric, where another one scored.")
    ]


class DeletedAnswer(Answer):
    """What was deleted."""

    id: str


class WholeRecordingAnswer(BaseModel):
    """A recording, whole; see the documentation of its format."""

    header: dict[str, Any]
    steps: list[dict[str, Any]]
    footer: dict[str, Any]
    hash: str
