"""A recording of an episode that a trainer played, made when somebody asks for it."""

from __future__ import annotations

from collections.abc import Generator

from deskgym.environment import Environment
from deskgym.recording import Recording
from deskgym.runner import record
from deskgym.trajectory import Action, Observation


def record_again(environment: Environment, *, agent: str) -> Recording:
    """Play an episode's actions again and record them, with the score after each.

    The same actions make the same episode, so that training pays nothing for a recording that
    nobody wants.

    Args:
        environment: one with an episode, which stays as it is.
        agent: who acted, for people.
    """
    actions = [step.action for step in environment.steps]

    def script(_: Observation) -> Generator[Action, Observation, None]:
        for action in actions:  # noqa: UP028 (a list's iterator takes no observation)
            yield action

    again = Environment(
        environment.suite,
        environment.task,
        parameters=environment.parameters,
        rubric=environment.rubric.version,
    )
    with again:
        return record(again, script, environment.seed, agent=agent)
