"""The runner: drive an agent through an episode and record it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from deskgym.environment import AnyEnvironment, Environment
from deskgym.recording import Recording, recording_of
from deskgym.rubric import Score
from deskgym.task import Script

E = TypeVar("E", bound=AnyEnvironment)


def play(
    environment: E,
    script: Script,
    seed: int = 0,
    *,
    after_step: Callable[[E], None] | None = None,
) -> None:
    """Run a scripted agent from a fresh episode until it stops or the episode ends.

    Args:
        environment: where to act; it is reset.
        script: the agent.
        seed: the episode's seed.
        after_step: called after each action, for whoever keeps scores.
    """
    moves = script(environment.reset(seed))
    try:
        action = next(moves)
        while not environment.done:
            observation = environment.step(action)
            if after_step is not None:
                after_step(environment)
            action = moves.send(observation)
    except StopIteration:
        pass
    finally:
        moves.close()


def record(environment: Environment, script: Script, seed: int = 0, *, agent: str) -> Recording:
    """Run a scripted agent and return the recording, with the score after each step.

    Args:
        environment: where to act; it is reset.
        script: the agent.
        seed: the episode's seed.
        agent: what the recording calls it.
    """
    scores: list[Score] = []
    play(environment, script, seed, after_step=lambda played: scores.append(played.score()))
    return recording_of(environment, agent=agent, step_scores=scores)
