"""What is asked of live episodes, and what is answered where one starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deskgym.desk import CustomerReply
from deskgym.trajectory import Action, Observation


@dataclass(frozen=True)
class NewEpisode:
    """An episode to create.

    Attributes:
        task: the task's id, such as `service/damaged-lamp`.
        seed: the episode's seed.
        parameters: the task's parameters; defaults for those left out.
        rubric: the rubric's version; the suite's default if None.
        id: 1 to 64 letters, digits, dots, underscores and hyphens; drawn if None. Creating with
            the id of an episode of the same task, seed, parameters, rubric and holder returns that
            one, so that a repeated request makes no second episode.
        agent: who acts, for lists and recordings.
        holder: whose it is, for limits and lists: a key's name, never the key.
        with_token: whether to make a token for the agent's door.
    """

    task: str
    seed: int = 0
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    rubric: str | None = None
    id: str | None = None
    agent: str = "agent"
    holder: str | None = None
    with_token: bool = False


@dataclass(frozen=True)
class Created:
    """An episode that is stored: its id, what the agent is told first, and its token if asked."""

    id: str
    observation: Observation
    token: str | None = None


@dataclass(frozen=True)
class NextStep:
    """A step to take: which episode, which action, its number if the caller counts, and a reply.

    `reply` is what a customer who is no script says to it; see `Environment.step`.
    """

    id: str
    action: Action
    number: int | None = None
    reply: CustomerReply | None = None
