"""`baseline`: agents over tiers and seeds, their episodes and averages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from deskgym.store import WorldEngine
from deskgym.suites.tickets import agents
from deskgym.suites.tickets.conversation import TicketEnvironment
from deskgym.suites.tickets.models import SupportAction, SupportObservation
from deskgym.suites.tickets.scenario import TIERS
from deskgym.suites.tickets.ticket import TICKETS, recognise

Policy = Callable[[SupportObservation], SupportAction]
"""Anything that answers: a scripted agent, a model. It is shown no reward, see `evaluate`."""


@dataclass(frozen=True)
class Episode:
    """One episode of an agent.

    Attributes:
        reward: the episode's, by the rubric of the run; None where it is invalid.
        turn_scores: the reward of each turn that was taken.
        invalid: why nobody can judge it, through no fault of the agent; None where it has a reward.
    """

    agent: str
    task_name: str
    seed: int
    reward: float | None
    turn_scores: tuple[float, ...]
    invalid: str | None = None

    def __str__(self) -> str:
        head = f"{self.agent} {self.task_name} seed {self.seed}"
        if self.reward is None:
            return f"{head}: invalid ({self.invalid})"
        turns = ", ".join(f"{score:.2f}" for score in self.turn_scores)
        return f"{head}: {self.reward:.4f} ({turns})"

    def to_dict(self) -> dict[str, Any]:
        """The episode as JSON."""
        return {
            "task_name": self.task_name,
            "seed": self.seed,
            "reward": self.reward,
            "turn_scores": list(self.turn_scores),
            **({} if self.invalid is None else {"invalid": self.invalid}),
        }


@dataclass(frozen=True)
class Baseline:
    """What agents earned, by one rubric.

    Attributes:
        rubric: its version.
        episodes: in the order that they were run: by agent, tier and seed.
    """

    rubric: str
    episodes: tuple[Episode, ...]

    def averages(self) -> dict[str, dict[str, float]]:
        """The mean reward by agent and tier, to four decimals, over episodes that have one."""
        rewards: dict[str, dict[str, list[float]]] = {}
        for episode in self.episodes:
            by_tier = rewards.setdefault(episode.agent, {})
            if episode.reward is not None:
                by_tier.setdefault(episode.task_name, []).append(episode.reward)
        return {
            agent: {tier: round(sum(got) / len(got), 4) for tier, got in by_tier.items()}
            for agent, by_tier in rewards.items()
        }

    def published(self) -> dict[str, dict[str, Any]]:
        """The scores of one agent by tier, in the form of the published `baseline_scores.json`.

        The published script counted a failed call as 0; here it is invalid, its score is null, and
        the average leaves it out.
        """
        averages = self.averages()
        scores: dict[str, dict[str, Any]] = {}
        for tier in dict.fromkeys(episode.task_name for episode in self.episodes):
            own = [episode for episode in self.episodes if episode.task_name == tier]
            scores[tier] = {
                "average_score": averages[own[0].agent].get(tier),
                "scores": [episode.reward for episode in own],
                "episodes": len(own),
                "invalid": sum(episode.reward is None for episode in own),
                "model": own[0].agent,
                "rubric": self.rubric,
            }
        return scores

    def table(self) -> str:
        """The averages as lines of text, a column for each tier."""
        averages = self.averages()
        tiers = list(dict.fromkeys(episode.task_name for episode in self.episodes))
        width = max(map(len, (self.rubric, *averages)))
        rows = [(self.rubric, tiers)]
        rows += [
            (agent, [f"{by_tier[tier]:.4f}" for tier in tiers])
            for agent, by_tier in averages.items()
        ]
        return "\n".join(
            "  ".join([name.ljust(width), *(cell.rjust(6) for cell in cells)])
            for name, cells in rows
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole as JSON, as `baseline_scores.json` holds it."""
        return {
            "rubric": self.rubric,
            "agents": [
                {
                    "agent": agent,
                    "averages": averages,
                    "episodes": [
                        episode.to_dict() for episode in self.episodes if episode.agent == agent
                    ],
                }
                for agent, averages in self.averages().items()
            ],
        }


def _act(agent: agents.Agent, observation: SupportObservation) -> SupportAction:
    ticket = recognise(observation.conversation[0])
    turn = len(observation.conversation) // 2
    reply = agent(observation.task_name, turn, ticket)
    return SupportAction(message=reply.message, intent=reply.intent)


BUILT_IN: Final[Mapping[str, Policy]] = {
    name: partial(_act, agent) for name, agent in agents.BASELINES.items()
}
"""An oracle, a fixed reply and keyword stuffing."""


def evaluate(
    environment: TicketEnvironment, name: str, policy: Policy, task_name: str, seed: int
) -> Episode:
    """Run one episode. The agent sees the conversation with the rewards taken out."""
    observation = environment.reset(task_name, seed)
    while not observation.done:
        shown = observation.model_copy(
            update={"reward": None, "cumulative_reward": 0.0, "turn_scores": []}
        )
        observation = environment.step(policy(shown))
    return Episode(
        name, task_name, seed, observation.cumulative_reward, tuple(observation.turn_scores)
    )


def baseline(
    rubric: str | None = None,
    tiers: Sequence[str] = TIERS,
    seeds: Iterable[int] = range(len(TICKETS)),
    policies: Mapping[str, Policy] = BUILT_IN,
    *,
    engine: WorldEngine | None = None,
) -> Baseline:
    """Run agents on tiers over seeds.

    Args:
        rubric: the version of the rubric; the default one if None.
        tiers: which tiers.
        seeds: which seeds; by default as many as there are tickets, each of them once.
        policies: the agents by name; by default the built-in ones.
        engine: where worlds live; this process's SQLite engine if None.

    Raises:
        UnknownName: there is no such rubric or tier.
        InvalidParameter: a seed is no whole number from 0 to 2**31 - 1.
    """
    chosen = tuple(seeds)
    with TicketEnvironment(rubric=rubric, engine=engine) as environment:
        episodes = tuple(
            evaluate(environment, name, policy, tier, seed)
            for name, policy in policies.items()
            for tier in tiers
            for seed in chosen
        )
        return Baseline(environment.rubric_version, episodes)
