"""The score of one reply, and what earned it."""

from dataclasses import dataclass
from typing import get_args

from deskgym.suites.tickets.scenario import TURNS, Intent, Tier

POINTS_WHOLE = 100
"""Points are hundredths: a reward of 1.0 is 100 points. Sums stay exact until the last division."""


@dataclass(frozen=True)
class Part:
    """One line of a breakdown.

    points: hundredths of a reward; negative for a penalty. words: what in the reply earned or
    cost them, as read after folding. reason: set where the words alone do not explain the points.
    """

    name: str
    points: int
    words: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class TurnScore:
    """The score of one reply. points: the sum of the parts, held to 0..100 or to a turn's cap."""

    points: int
    parts: tuple[Part, ...]

    @property
    def reward(self) -> float:
        return self.points / POINTS_WHOLE

    def explain(self) -> str:
        """One line for each part, and the total."""
        lines = [_line(part) for part in self.parts]
        return "\n".join([*lines, f"{self.reward:5.2f}  reward"])


def _line(part: Part) -> str:
    words = ": " + ", ".join(part.words) if part.words else ""
    reason = f" ({part.reason})" if part.reason else ""
    return f"{part.points / POINTS_WHOLE:+5.2f}  {part.name}{words}{reason}"


def total(parts: tuple[Part, ...], points_max: int = POINTS_WHOLE) -> TurnScore:
    """The parts with their sum, held to 0..points_max."""
    return TurnScore(max(0, min(points_max, sum(part.points for part in parts))), parts)


def mean_reward(turns: tuple[TurnScore, ...], count: int) -> float:
    """The sum of the turns divided by a number of turns; 0.0 when there are none."""
    if not turns:
        return 0.0
    return sum(turn.points for turn in turns) / (count * POINTS_WHOLE)


def require_turn(tier: Tier, turn_index: int, intent: Intent | None) -> None:
    """Raise ValueError for a tier, a turn (counted from 0) or an intent that there is not."""
    if tier not in TURNS:
        raise ValueError(f"no tier {tier!r}; there are {', '.join(TURNS)}")
    if not 0 <= turn_index < TURNS[tier]:
        raise ValueError(f"tier {tier} has {TURNS[tier]} turn(s); no turn index {turn_index}")
    if intent is not None and intent not in get_args(Intent):
        raise ValueError(f"no intent {intent!r}; there are {', '.join(get_args(Intent))}")
