"""How an outcome rubric explains a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from deskgym.rubric.ceiling import Ceiling
from deskgym.rubric.fact import Facts
from deskgym.rubric.score import POINTS, as_reward
from deskgym.rubric.standing import Standing


def share(points: int, count: int, total: int) -> int:
    """`points * count / total`, halves up; 0 of nothing is 0."""
    return (2 * points * count + total) // (2 * total) if total else 0


CEILING_FIRST: Final = "ceiling first"
DEDUCTIONS_FIRST: Final = "deductions first"

PARTS: Final = ("outcome", "prior evidence", "supported report")
DEDUCTIONS: Final = ("contradicted report", "refused write")


class Part(NamedTuple):
    """A weighted part of the reward."""

    name: str
    points_max: int
    points: int


class Deduction(NamedTuple):
    """What something costs each time, and how often it happened."""

    name: str
    times: int
    points_each: int

    @property
    def points(self) -> int:
        """What it costs in all."""
        return self.times * self.points_each


class OutcomeBreakdown(NamedTuple):
    """Why an episode earned what it did, under the outcome that suits it best.

    Attributes:
        order: `CEILING_FIRST` or `DEDUCTIONS_FIRST`.
        standing: how the episode stands to the outcome that was kept.
        standings: how it stands to each.
        parts_points_max: the weights of `PARTS`.
        parts_points: what each of them earned.
        deductions_points_each: what each of `DEDUCTIONS` costs.
        ceilings: those that bind.
    """

    order: str
    facts: Facts
    standing: Standing
    standings: Sequence[Standing]
    parts_points_max: tuple[int, int, int]
    parts_points: tuple[int, int, int]
    deductions_points_each: tuple[int, int]
    ceilings: Sequence[Ceiling]
    points: int

    @property
    def parts(self) -> tuple[Part, ...]:
        """The weighted parts of the reward."""
        return tuple(map(Part, PARTS, self.parts_points_max, self.parts_points))

    @property
    def deductions(self) -> tuple[Deduction, ...]:
        """What was taken off."""
        times = (len(self.facts.contradicted), len(self.facts.refused))
        return tuple(map(Deduction, DEDUCTIONS, times, self.deductions_points_each))

    @property
    def weighted_sum_points(self) -> int:
        """The parts together."""
        return sum(self.parts_points)

    @property
    def deduction_points(self) -> int:
        """The deductions together."""
        return sum(deduction.points for deduction in self.deductions)

    def lines(self) -> list[str]:
        """The parts, deductions, ceilings, writes without evidence, and every outcome."""
        facts = self.facts
        lines = [
            f"  {part.name} {part.points * 100 // part.points_max}% of {as_reward(part.points_max)}"
            for part in self.parts
        ]
        lines.append(
            f"  weighted sum {as_reward(self.weighted_sum_points)}, "
            f"deductions {as_reward(self.deduction_points)} ({self.order})"
        )
        lines.extend(f"  {reason}" for reason in self.reasons())
        lines.extend(
            f"  gate {gate.name}: {gate.sentence}: {_row_text(row)}"
            for gate, rows in facts.crossed
            for row in rows
        )
        lines.extend(
            f"  step {row['step']} {row['tool']}: {row['missing']} was not read before it"
            for row in facts.unread
        )
        lines.extend(
            f"  step {row['step']} {row['tool']}: not what the customer had chosen"
            for row in facts.unchosen
        )
        for standing in self.standings:
            lines.extend(_standing_lines(standing))
        return lines

    def reasons(self) -> list[str]:
        """The deductions and the ceilings."""
        deducted = [
            f"deduction {as_reward(item.points)}: {item.times} x {item.name}"
            for item in self.deductions
            if item.times
        ]
        return deducted + [
            f"ceiling {as_reward(item.points)}: {item.when}" for item in self.ceilings
        ]

    def brief(self) -> dict[str, Any]:
        """The outcome that suits best, its parts, and which ceilings bind."""
        return {
            "outcome": self.standing.outcome.name,
            "weighted_sum": self.weighted_sum_points / POINTS,
            "deductions": self.deduction_points / POINTS,
            "ceilings": [item.name for item in self.ceilings],
        }

    def to_dict(self) -> dict[str, Any]:
        """The breakdown as JSON: amounts are rewards, not points."""
        facts = self.facts
        return {
            "actions": len(facts.calls),
            "outcome": self.standing.outcome.name,
            "parts": [
                {"name": part.name, "weight": part.points_max / POINTS,
                 "value": part.points / part.points_max, "points": part.points / POINTS}
                for part in self.parts
            ],
            "weighted_sum": self.weighted_sum_points / POINTS,
            "deductions": [
                {"name": item.name, "count": item.times, "each": item.points_each / POINTS,
                 "points": item.points / POINTS}
                for item in self.deductions
            ],
            "ceilings": [
                {"name": item.name, "ceiling": item.points / POINTS, "when": item.when}
                for item in self.ceilings
            ],
            "gates": [
                {"name": gate.name, "sentence": gate.sentence, "rows": rows}
                for gate, rows in facts.crossed
            ],
            "writes_without_reads": facts.unread,
            "writes_without_choice": facts.unchosen,
            "reports": [
                {"step": report.step, "claim": report.claim, "order_id": report.order_id,
                 "supported": bool(report.supported)}
                for report in facts.reports
            ],
            "outcomes": [_standing_dict(standing) for standing in self.standings],
        }  # fmt: skip


def _row_text(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items())


def _standing_lines(standing: Standing) -> list[str]:
    outside = ", ".join(map(str, standing.outside))
    share = _percent(standing)
    state = "in this state" if standing.in_state else "not in this state"
    head = (
        f"  outcome {standing.outcome.name}: the world is {state}; "
        f"{f'writes outside it: {outside}' if outside else 'no write outside it'}; "
        f"{share}% of its required steps done; "
        f"report {'credited' if standing.credited else 'not credited'}: {standing.report}"
    )
    rows = [f"    {name}: {_row_text(row)}" for name, broken in standing.broken for row in broken]
    missing = [f"    not done: {step.name}" for step in standing.steps if step.done_at is None]
    return [head, *rows, *missing]


def _percent(standing: Standing) -> int:
    """The share of required steps done, in whole per cent."""
    return share(100, standing.steps_done, len(standing.steps))


def _standing_dict(standing: Standing) -> dict[str, Any]:
    return {
        "name": standing.outcome.name,
        "title": standing.outcome.title,
        "in_state": standing.in_state,
        "complete": standing.complete,
        "broken": [{"check": name, "rows": rows} for name, rows in standing.broken],
        "outside": [str(call) for call in standing.outside],
        "steps": [{"step": step.name, "done_at": step.done_at} for step in standing.steps],
        "steps_done_percent": _percent(standing),
        "report_credited": standing.credited,
        "report": standing.report,
    }
