"""The published typed models of a ticket's conversation, as a trainer or an HTTP client sees it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from deskgym.desk import Ending
from deskgym.suites.tickets.scenario import Intent, Tier
from deskgym.suites.tickets.tools import Message


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class SupportAction(_Model):
    """A reply to the customer. Anything that does not fit is an error, and nothing is assumed."""

    message: Message = Field(description="what the agent says to the customer")
    intent: Intent | None = Field(default=None, description="what the reply is meant to do")


class SupportObservation(_Model):
    """The conversation after a step, with the trainer's rewards; not for an agent's eyes whole."""

    conversation: list[str] = Field(description="every message, the customer's and the agent's")
    customer_query: str = Field(description="what the customer said last")
    task_name: Tier = Field(description="the tier")
    done: bool = Field(description="whether the episode is over")
    reward: float | None = Field(description="this step's reward; null before the first step")
    cumulative_reward: float = Field(
        description="the mean of the turns so far; once the episode is over, its reward"
    )
    turn_scores: list[float] = Field(description="the reward of each turn so far")
    info: str | None = Field(description="what this turn is for, or why a reply was refused")


class SupportState(_Model):
    """How an episode stands, without what the agent has to find out."""

    task_name: Tier = Field(description="the tier")
    seed: int = Field(description="what the episode was started with")
    step_count: int = Field(description="how many actions were taken, refused ones included")
    turn_count: int = Field(description="how many replies took a turn")
    turns_max: int = Field(description="how many turns the tier has")
    done: bool = Field(description="whether the episode is over")
    ended: Ending | None = Field(description="why it is, if it is")
    conversation: list[str] = Field(description="every message, the customer's and the agent's")
    turn_scores: list[float] = Field(description="the reward of each turn so far")
    cumulative_reward: float = Field(
        description="the mean of the turns so far; once the episode is over, its reward"
    )
