"""What counts as paid: the reward of a right control, and what a run that earns it must be."""

from __future__ import annotations

from deskgym.audit.finding import Finding
from deskgym.audit.opinion import objections_to
from deskgym.environment import Environment
from deskgym.rubric import Score
from deskgym.task import Task

RIGHT: tuple[str, ...] = ("oracle", "alternate")
"""The kinds of controls that do the right thing."""


def is_paid(task: Task, score: Score) -> bool:
    """Whether a run earned all that its outcome pays, so that it must have done right.

    That is the highest reward of a right control; for a partial remedy, such as a promise to tell
    when something is in stock, the lowest.
    """
    right = [control.reward_by(score.rubric) for control in task.controls if control.kind in RIGHT]
    if score.reward >= max(right, default=1.0):
        return True
    return score.verdict == "partial" and score.reward >= min(right, default=1.0)


def finding_of(
    environment: Environment, attack: str, by: str, *, expected: str, got: str, score: Score
) -> Finding:
    """A finding about an environment's episode."""
    return Finding(
        attack,
        by,
        environment.suite.name,
        environment.task.name,
        environment.seed,
        environment.parameters,
        score.rubric,
        expected,
        got,
        score.reward,
        tuple(step.action for step in environment.steps),
    )


def judge_paid(
    environment: Environment, attack: str, by: str, score: Score
) -> tuple[Finding | None, Finding | None]:
    """What to make of a run that may have been paid: a finding, or an accepted run, or neither.

    A run that earns what a right control earns has to be acceptable by the suite's second opinion;
    a suite that has none pays nobody but its right controls.
    """
    if not is_paid(environment.task, score):
        return None, None
    objections = objections_to(environment)
    expected = "full reward is earned by acceptable outcomes only"
    if objections is None:
        got = "it was paid, and the suite declares no objections that could tell whether rightly"
        return finding_of(environment, attack, by, expected=expected, got=got, score=score), None
    if objections:
        got = f"it was paid, though {'; '.join(objections)}"
        return finding_of(environment, attack, by, expected=expected, got=got, score=score), None
    got = "its outcome is acceptable"
    return None, finding_of(environment, attack, by, expected=expected, got=got, score=score)
