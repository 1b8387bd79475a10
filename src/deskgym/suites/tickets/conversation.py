"""The trainer's view of an episode: the published models, over the same `Environment`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from deskgym.environment import Environment, make
from deskgym.errors import UsageError
from deskgym.rubric import Score
from deskgym.rubric.score import POINTS
from deskgym.rubric.turns import TurnBreakdown
from deskgym.store import WorldEngine
from deskgym.suites.tickets.customer import Customer
from deskgym.suites.tickets.models import SupportAction, SupportObservation, SupportState
from deskgym.suites.tickets.scenario import TIERS, Tier, tier_of
from deskgym.trajectory import call

_INFO: Final[Mapping[Tier, tuple[str, ...]]] = {
    "easy": ("Name the one category that this ticket belongs to.",),
    "medium": ("Solve the ticket in one reply.",),
    "hard": (
        "Turn 1 of 3: ask what you need to know.",
        "Turn 2 of 3: solve the ticket.",
        "Turn 3 of 3: close the conversation.",
    ),
}
"""What each turn is for: the same for every ticket, so that it tells nothing about this one."""


class _Standing(NamedTuple):
    """What both models say of an episode."""

    tier: Tier
    turns_max: int
    conversation: list[str]
    customer_query: str
    turn_scores: list[float]
    cumulative_reward: float
    score: Score


def _standing(environment: Environment) -> _Standing:
    customer = environment.fixture.customer
    if not isinstance(customer, Customer):
        raise UsageError(f"{environment.id} is no task of the tickets suite")
    said = [row for name, row in environment.world.log if name == "env_message"]
    opening = environment.fixture.opening
    score = environment.score()
    breakdown = score.breakdown
    assert isinstance(breakdown, TurnBreakdown), "the suite's rubrics judge turns"
    over = environment.done
    return _Standing(
        customer.tier,
        customer.turns,
        [opening, *(str(body) for _, _, body in said)],
        next((str(body) for _, role, body in reversed(said) if role == "customer"), opening),
        [turn.reward for turn in breakdown.turns],
        score.reward if over else breakdown.mean_so_far_points / POINTS,
        score,
    )


def observation_of(environment: Environment) -> SupportObservation:
    """The latest step of an episode, as a trainer sees it.

    Raises:
        UsageError: it is no episode of the tickets suite, or there is none yet.
    """
    standing = _standing(environment)
    step = environment.steps[-1] if environment.steps else None
    refused = step is not None and not step.result.ok
    turn = len(standing.turn_scores)
    info = None if environment.done else _INFO[standing.tier][turn]
    reward = None
    if step is not None:
        reward = 0.0 if refused else standing.turn_scores[-1]
    return SupportObservation(
        conversation=standing.conversation,
        customer_query=standing.customer_query,
        task_name=standing.tier,
        done=environment.done,
        reward=reward,
        cumulative_reward=standing.cumulative_reward,
        turn_scores=standing.turn_scores,
        info=step.result.message if step is not None and refused else info,
    )


def state_of(environment: Environment) -> SupportState:
    """How an episode stands.

    Raises:
        UsageError: it is no episode of the tickets suite, or there is none yet.
    """
    standing = _standing(environment)
    return SupportState(
        task_name=standing.tier,
        seed=environment.seed,
        step_count=len(environment.steps),
        turn_count=len(standing.turn_scores),
        turns_max=standing.turns_max,
        done=environment.done,
        ended=environment.ended,
        conversation=standing.conversation,
        turn_scores=standing.turn_scores,
        cumulative_reward=standing.cumulative_reward,
    )


class TicketEnvironment:
    """Tickets of any tier, one after another, in the published models.

    The score is in what it returns, so it is for whoever trains or evaluates. An agent works with
    `deskgym.make("tickets/hard")`, or is shown the conversation alone.
    """

    def __init__(self, *, rubric: str | None = None, engine: WorldEngine | None = None) -> None:
        """Works by the default rubric if None; raises `UnknownName` for one that there is not."""
        self._environments: Final = {
            tier: make(f"tickets/{tier}", rubric=rubric, engine=engine) for tier in TIERS
        }
        self._current: Environment | None = None

    @property
    def rubric_version(self) -> str:
        """The version of the rubric that the rewards are by."""
        return self._environments["easy"].rubric.version

    @property
    def environment(self) -> Environment:
        """The environment of the current episode; raises `UsageError` before the first reset."""
        if self._current is None:
            raise UsageError("there is no episode yet; call reset(task_name, seed) first")
        return self._current

    def reset(self, task_name: str, seed: int = 0) -> SupportObservation:
        """Start an episode of a tier; the seed picks the ticket.

        Raises:
            UnknownName: there is no such tier.
            InvalidParameter: the seed is no whole number from 0 to 2**31 - 1.
        """
        chosen = self._environments[tier_of(task_name)]
        chosen.reset(seed)
        if self._current is not None and self._current is not chosen:
            self._current.close()
        self._current = chosen
        return observation_of(chosen)

    def step(self, action: SupportAction) -> SupportObservation:
        """Send a reply.

        Raises:
            UsageError: it is no `SupportAction`, there is no episode yet, or it is over.
        """
        if not isinstance(action, SupportAction):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"step takes a SupportAction, not {type(action).__name__}")
        environment = self.environment
        if environment.done:
            raise UsageError("the episode is over; call reset(task_name, seed) for another one")
        environment.step(call("respond", message=action.message, intent=action.intent))
        return observation_of(environment)

    @property
    def state(self) -> SupportState:
        """How the current episode stands."""
        return state_of(self.environment)

    def score(self) -> Score:
        """What the current episode has earned so far, and why."""
        return self.environment.score()

    def close(self) -> None:
        """Give the episodes' places in memory back."""
        for environment in self._environments.values():
            environment.close()

    def __enter__(self) -> TicketEnvironment:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
