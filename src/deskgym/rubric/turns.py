"""Turn rubrics: a conversation judged a reply at a time. The reward is the mean of its turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from deskgym.rubric.check import Reader
from deskgym.rubric.score import POINTS, Score, Verdict, as_reward

WORDS_SHOWN_MAX: Final = 8
"""How many words a line of the explanation names; the JSON names every one."""

_REPLIES: Final = """
    SELECT m.body, t.intent
    FROM env_turn t
    JOIN env_message m ON m.step = t.step AND m.role = 'agent'
    ORDER BY t.step
"""


class Reply(NamedTuple):
    """What the agent said in a turn, and what it declared to be doing; None if it did not."""

    message: str
    intent: str | None


class Part(NamedTuple):
    """One line of a turn's breakdown.

    Attributes:
        name: what is judged.
        points: what it earned, in ten-thousandths of a reward; negative for a penalty.
        points_max: the most that it can earn; 0 for a penalty.
        words: what in the reply earned or cost them, as read after folding.
        reason: set where the words alone do not explain the points.
    """

    name: str
    points: int
    points_max: int
    words: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        share = f" of {as_reward(self.points_max)}" if self.points_max else ""
        words = ": " + ", ".join(self.words[:WORDS_SHOWN_MAX]) if self.words else ""
        more = len(self.words) - WORDS_SHOWN_MAX
        words += f" and {more} more" if more > 0 else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.name} {as_reward(self.points)}{share}{words}{reason}"

    def to_dict(self) -> dict[str, Any]:
        """The part as JSON: amounts are rewards, not points."""
        return {
            "name": self.name,
            "points": self.points / POINTS,
            "points_max": self.points_max / POINTS,
            "words": list(self.words),
            "reason": self.reason,
        }


class TurnScore(NamedTuple):
    """What one reply earned, in ten-thousandths: its parts' sum, held to the turn's limits."""

    points: int
    parts: tuple[Part, ...]

    @property
    def reward(self) -> float:
        """The turn's reward, exact to four decimals."""
        return self.points / POINTS


def total(parts: tuple[Part, ...], points_max: int = POINTS) -> TurnScore:
    """The parts with their sum, held to 0 and `points_max`."""
    return TurnScore(max(0, min(points_max, sum(part.points for part in parts))), parts)


def mean_points(turns: Sequence[TurnScore], count: int) -> int:
    """The turns' sum divided by a number of turns, to the nearest point, halves up; 0 of none."""
    return (2 * sum(turn.points for turn in turns) + count) // (2 * count) if count else 0


class TurnRules(NamedTuple):
    """How one conversation is judged.

    Attributes:
        turns_max: how many replies it takes.
        judge: scores a reply by its turn's rule; turns count from 0.
    """

    turns_max: int
    judge: Callable[[int, Reply], TurnScore]


@dataclass(frozen=True, slots=True)
class TurnBreakdown:
    """Why a conversation earned what it did.

    Attributes:
        turns: the score of each turn that was taken.
        turns_max: how many there are to take.
        mean_of: how many the sum was divided by.
    """

    turns: tuple[TurnScore, ...]
    turns_max: int
    mean_of: int

    @property
    def mean_so_far_points(self) -> int:
        """The mean of the turns that were taken, in ten-thousandths; 0 before the first."""
        return mean_points(self.turns, len(self.turns))

    def lines(self) -> list[str]:
        """Each turn with its parts, and what the mean is taken over."""
        lines: list[str] = []
        for number, turn in enumerate(self.turns, start=1):
            lines.append(f"  turn {number} of {self.turns_max}: {as_reward(turn.points)}")
            lines.extend(f"    {part}" for part in turn.parts)
        lines.extend(f"  {sentence}" for sentence in self._not_taken())
        if self.turns_max > 1:
            lines.append(f"  mean of {self.mean_of} turns")
        return lines

    def reasons(self) -> list[str]:
        """The parts that earned less than they can, the penalties, and turns not taken."""
        short = [
            f"turn {number}: {part}"
            for number, turn in enumerate(self.turns, start=1)
            for part in turn.parts
            if part.points < part.points_max or part.points < 0
        ]
        return short + self._not_taken()

    def brief(self) -> dict[str, Any]:
        """The turns' rewards."""
        return {"turn_scores": [turn.reward for turn in self.turns]}

    def to_dict(self) -> dict[str, Any]:
        """The breakdown as JSON: amounts are rewards, not points."""
        return {
            "turns": [
                {"reward": turn.reward, "parts": [part.to_dict() for part in turn.parts]}
                for turn in self.turns
            ],
            "turns_max": self.turns_max,
            "mean_of": self.mean_of,
        }

    def _not_taken(self) -> list[str]:
        return [
            f"turn {number} of {self.turns_max}: not taken"
            for number in range(len(self.turns) + 1, self.turns_max + 1)
        ]


@dataclass(frozen=True)
class TurnRubric:
    """A version of the rules for a conversation.

    Attributes:
        rules: how the conversation of a world is judged, from its rows.
        untaken_count: whether a turn that was never taken counts as 0. Where it does not, the
            reward is the mean of those that were taken.
        reward_min: no turn costs anything.
    """

    reward_min: ClassVar[float] = 0.0

    version: str
    rules: Callable[[Reader], TurnRules]
    untaken_count: bool

    def score(self, world: Reader, case: Any) -> Score:
        """The mean of the turns. It is read from rows alone: the case adds nothing."""
        del case
        turns_max, judge = self.rules(world)
        turns = tuple(
            judge(turn, Reply(str(message), str(intent) or None))
            for turn, (message, intent) in enumerate(world.rows(_REPLIES))
        )
        mean_of = turns_max if self.untaken_count else len(turns)
        points = mean_points(turns, mean_of)
        return Score(
            self.version, points, _verdict(points), TurnBreakdown(turns, turns_max, mean_of)
        )


def _verdict(points: int) -> Verdict:
    if points == POINTS:
        return "resolved"
    return "partial" if points else "not_resolved"
