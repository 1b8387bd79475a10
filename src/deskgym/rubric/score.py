"""A score: the reward, the rubric that gave it, and a breakdown that explains it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

Verdict = Literal["resolved", "partial", "not_resolved"]

POINTS: Final = 10_000
"""Rewards are counted in ten-thousandths, so that 0.7 + 0.2 + 0.1 is 1."""


class Breakdown(Protocol):
    """Why a reward is what it is."""

    def lines(self) -> list[str]:
        """The explanation, for a person."""
        ...

    def reasons(self) -> list[str]:
        """What keeps the reward from being full, in a few short sentences."""
        ...

    def brief(self) -> dict[str, Any]:
        """What a recording keeps of it after each step."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The explanation, for a program."""
        ...


@dataclass(frozen=True, slots=True)
class Score:
    """What an episode earned.

    Attributes:
        rubric: the version that gave it; scores of different versions are not comparable.
        points: the reward in ten-thousandths.
        verdict: whether the case is resolved, partly, or not.
        breakdown: why.
        actions: how many actions were taken, and how many there are, where a person asks why;
            None where a rubric was asked without an environment.
    """

    rubric: str
    points: int
    verdict: Verdict
    breakdown: Breakdown
    actions: tuple[int, int] | None = field(default=None, compare=False)

    def after(self, taken: int, actions_max: int) -> Score:
        """The score with the number of actions that it is about."""
        return Score(self.rubric, self.points, self.verdict, self.breakdown, (taken, actions_max))

    @property
    def reward(self) -> float:
        """The reward, exact to four decimals."""
        return self.points / POINTS

    def explain(self) -> str:
        """The reward and why, in lines of text."""
        head = f"reward {self.reward:+.2f} by {self.rubric}: {self.verdict.replace('_', ' ')}"
        taken = [f"  {self.actions[0]} of {self.actions[1]} actions"] if self.actions else []
        return "\n".join((head, *taken, *self.breakdown.lines()))

    def brief(self) -> dict[str, Any]:
        """The score in few words, as a recording keeps it after each step."""
        return {"reward": self.reward, "verdict": self.verdict, **self.breakdown.brief()}

    def to_dict(self) -> dict[str, Any]:
        """The score as JSON."""
        return {
            "rubric": self.rubric,
            "reward": self.reward,
            "verdict": self.verdict,
            "reasons": self.breakdown.reasons(),
            "breakdown": self.breakdown.to_dict(),
        }


def as_reward(points: int) -> str:
    """Points as a reward with two decimals, or four where two would hide something."""
    return f"{points / POINTS:.2f}" if points % 100 == 0 else f"{points / POINTS:.4f}"
