"""What the tickets' endpoints take and answer with."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from deskgym.serve.operation import Form, Query
from deskgym.suites.tickets.models import SupportObservation, SupportState
from deskgym.suites.tickets.scenario import Category, Intent, Tier
from deskgym.suites.tickets.tools import Message
from deskgym.task import SEED_MAX

_SESSION: Final = "01a22d31e81c03a675627dfddd11a345"
_RUBRIC: Final = "The version of the rules: ticket-reward.v2 or ticket-reward.v1."

SessionId = Annotated[
    str, Field(min_length=1, max_length=200, description="What /reset answered with.")
]


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Answer(BaseModel):
    """What is answered with."""

    model_config = ConfigDict(extra="forbid")


class ResetForm(Form):
    """An episode to start."""

    model_config = _example(task_name="easy", seed=42)

    task_name: Annotated[Tier, Field(description="The tier.")] = "easy"
    seed: Annotated[
        int | None, Field(ge=0, le=SEED_MAX, description="Picks the ticket; drawn if left out.")
    ] = None
    session_id: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$",
            description="A session to go on with, or the name of a new one; drawn if left out.",
        ),
    ] = None
    rubric: Annotated[
        str | None, Field(max_length=200, description=f"{_RUBRIC} The first if left out.")
    ] = None


class StepForm(Form):
    """A reply to the customer."""

    model_config = _example(session_id=_SESSION, message="refund", intent="classify")

    session_id: SessionId
    message: Annotated[Message, Field(description="What the agent says to the customer.")]
    intent: Annotated[Intent | None, Field(description="What the reply is meant to do.")] = None
    number: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="The number of this step, from 1: a request that is sent again with it "
            "is answered again, and takes no further turn.",
        ),
    ] = None


class GraderForm(Form):
    """An episode to grade."""

    model_config = _example(session_id=_SESSION)

    session_id: SessionId
    episode_summary: Annotated[
        str | None, Field(max_length=10_000, description="Taken, and not used.")
    ] = None


class BaselineForm(Form):
    """What to run; five episodes a tier if left out."""

    model_config = _example(episodes=5)

    episodes: Annotated[int, Field(ge=1, le=45, description="How many episodes a tier.")] = 5
    rubric: Annotated[str | None, Field(max_length=200, description=_RUBRIC)] = None


class StateQuery(Query):
    """Which session."""

    session_id: SessionId


class Health(Answer):
    """That the server is up."""

    status: str
    env: str
    version: str
    description: str


class Observed(Answer):
    """An observation, with its session."""

    session_id: str
    observation: SupportObservation


class Started(Observed):
    """The first observation of an episode, with its session and its seed."""

    seed: int


class Standing(Answer):
    """How a session stands."""

    session_id: str
    state: SupportState


class TaskAnswer(Answer):
    """A tier."""

    name: Tier
    description: str
    difficulty: Tier
    max_steps: int
    action_schema: Annotated[dict[str, Any], Field(description="A JSON Schema.")]


class Tasks(Answer):
    """The tiers."""

    tasks: list[TaskAnswer]


class Grade(Answer):
    """An episode's score and the reward of each turn."""

    session_id: str
    score: Annotated[float | None, Field(description="None before the first step.")]
    message: Annotated[str | None, Field(description="Why there is no score, or not the last.")]
    task: Tier
    steps: int
    done: bool
    cumulative_reward: float
    turn_scores: list[float]
    resolved: bool
    issue_type: Annotated[Category | None, Field(description="None until the episode is over.")]
    rubric: str
    breakdown: Annotated[
        dict[str, Any] | None,
        Field(description="What each turn was paid for; none until the episode is over."),
    ]


class TierScores(Answer):
    """An agent's episodes of a tier."""

    average_score: float
    scores: list[float]


class BaselineScores(Answer):
    """What built-in agents earn: the oracle by tier, and all of them."""

    easy: float
    medium: float
    hard: float
    details: dict[Tier, TierScores]
    agents: dict[str, dict[Tier, float]]
    rubric: str
