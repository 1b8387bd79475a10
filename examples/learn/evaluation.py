"""Evaluate the policy on seeds that it was not trained on, beside four other agents."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from rich.progress import Progress
from sb3_contrib import MaskablePPO

import deskgym
from deskgym.adapters.gymnasium import MenuEnv
from deskgym.agents.scripts import agents_of
from deskgym.environment import Environment
from deskgym.rubric import Score
from deskgym.rubric.checks import CheckBreakdown
from deskgym.runner import play
from examples.learn.vec_env import Outcome, new_calls

HELD_OUT_SEEDS = range(10_000, 10_050)
"""Outside of those that are trained on."""

PlayOne = Callable[[str, int], Outcome]
"""Plays an episode of a task with a seed."""


class Row(NamedTuple):
    """An agent's figures over some episodes.

    Attributes:
        agent: its name.
        reward: the mean.
        resolved: the share of episodes with the full reward.
        trapped: the share of episodes in which a forbidden check was broken.
        traps: how often each was broken.
    """

    agent: str
    reward: float
    resolved: float
    trapped: float
    traps: dict[str, int]


def figures(agent: str, outcomes: Sequence[Outcome]) -> Row:
    """An agent's figures."""
    count = len(outcomes)
    traps: dict[str, int] = {}
    for outcome in outcomes:
        for name in outcome.traps:
            traps[name] = traps.get(name, 0) + 1
    return Row(
        agent,
        round(sum(one.reward for one in outcomes) / count, 4),
        round(sum(one.reward == 1.0 for one in outcomes) / count, 4),
        round(sum(bool(one.traps) for one in outcomes) / count, 4),
        dict(sorted(traps.items())),
    )


def outcome_of(task: str, score: Score) -> Outcome:
    """How an episode ended, by its score."""
    assert isinstance(score.breakdown, CheckBreakdown), "the suite's rubric is of checks"
    return Outcome(task, score.reward, tuple(each.name for each in score.breakdown.broken))


def by_script(name: str) -> PlayOne:
    """An agent that comes with deskgym: `null`, `eager` or `careful`."""

    def play_one(task: str, seed: int) -> Outcome:
        suite = deskgym.load_suite(task.partition("/")[0])
        with Environment(suite, suite.task(task)) as environment:
            play(environment, agents_of(suite)[name], seed)
            return outcome_of(task, environment.score())

    return play_one


def by_menu(choose: Callable[[MenuEnv, np.ndarray], int]) -> PlayOne:
    """An agent that chooses from the menu."""
    environments: dict[str, MenuEnv] = {}

    def play_one(task: str, seed: int) -> Outcome:
        env = environments.setdefault(task, MenuEnv(task))
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            observation, _, terminated, truncated, _ = env.step(choose(env, observation))
            over = terminated or truncated
        return outcome_of(task, env.score())

    return play_one


def by_chance(seed: int = 0) -> PlayOne:
    """Any call of the menu that was not made before."""
    random = np.random.default_rng(seed)
    return by_menu(lambda env, _: int(random.choice(np.flatnonzero(new_calls(env)))))


def by_policy(model: MaskablePPO) -> PlayOne:
    """The policy's first choice."""

    def choose(env: MenuEnv, observation: np.ndarray) -> int:
        mask = new_calls(env)
        return int(model.predict(observation, action_masks=mask, deterministic=True)[0])

    return by_menu(choose)


def evaluate(
    model: MaskablePPO,
    tasks: Sequence[str],
    seeds: Iterable[int] = HELD_OUT_SEEDS,
    progress: Progress | None = None,
) -> dict[str, list[Outcome]]:
    """Every agent on every task and seed; the outcomes by agent."""
    agents = {
        "null": by_script("null"),
        "random": by_chance(),
        "eager": by_script("eager"),
        "learnt": by_policy(model),
        "careful": by_script("careful"),
    }
    episodes = [(task, seed) for task in tasks for seed in seeds]
    found: dict[str, list[Outcome]] = {}
    bar = progress.add_task("evaluating", total=len(agents) * len(episodes)) if progress else None
    for name, play_one in agents.items():
        found[name] = []
        for task, seed in episodes:
            found[name].append(play_one(task, seed))
            if progress is not None and bar is not None:
                progress.update(bar, advance=1, description=f"evaluating {name}")
    return found
