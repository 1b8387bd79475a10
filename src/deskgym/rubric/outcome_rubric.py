"""Outcome rubrics: the best single acceptable outcome that the world holds, and how it got there.

Each acceptable outcome is tried on its own and the one with the highest reward is kept; credit is
never added across outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deskgym.rubric.check import Reader
from deskgym.rubric.fact import Facts, read_facts
from deskgym.rubric.outcome import Case
from deskgym.rubric.outcome_breakdown import Deduction, OutcomeBreakdown, Part, share
from deskgym.rubric.score import POINTS, Score, Verdict
from deskgym.rubric.standing import Standing, standing_of


@dataclass(frozen=True)
class Ceiling:
    """The most that a run can earn when something is so.

    Attributes:
        when: the condition, in words.
        applies: the condition, over the facts and every outcome's standing. None for one that
            belongs to the outcomes that name it, and binds once such an outcome is complete.
    """

    name: str
    points: int
    when: str
    applies: Callable[[Facts, Sequence[Standing]], bool] | None = None


@dataclass(frozen=True)
class OutcomeRubric:
    """A version of the rubric: weights, deductions and ceilings, in ten-thousandths, as data.

    Attributes:
        deductions_last: True takes the deductions after the ceiling, so that a lie costs the
            same everywhere; False takes them before it.
    """

    version: str
    outcome_points: int
    evidence_points: int
    report_points: int
    contradicted_report_points: int
    refused_write_points: int
    ceilings: tuple[Ceiling, ...]
    deductions_last: bool

    def score(self, world: Reader, case: Case) -> Score:
        """The score of an episode: that of the acceptable outcome with the highest reward."""
        facts = read_facts(world, case)
        standings = tuple(
            standing_of(world, facts, outcome, reads)
            for outcome, reads in zip(case.outcomes, case.reads, strict=True)
        )
        deductions = (
            Deduction(
                "contradicted report", len(facts.contradicted), self.contradicted_report_points
            ),
            Deduction("refused write", len(facts.refused), self.refused_write_points),
        )
        binding = {
            ceiling.name
            for ceiling in self.ceilings
            if ceiling.applies is not None and ceiling.applies(facts, standings)
        }
        tried = [
            self._try(facts, standing, standings, deductions, binding) for standing in standings
        ]
        best = max(tried, key=lambda breakdown: breakdown.points)
        return Score(self.version, best.points, _verdict(best), best)

    def _try(
        self,
        facts: Facts,
        standing: Standing,
        standings: tuple[Standing, ...],
        deductions: tuple[Deduction, ...],
        binding: set[str],
    ) -> OutcomeBreakdown:
        parts = (
            Part("outcome", self.outcome_points, self.outcome_points * standing.complete),
            Part("prior evidence", self.evidence_points, self._evidence(facts, standing)),
            Part("supported report", self.report_points, self.report_points * standing.credited),
        )
        own = standing.outcome.ceiling if standing.complete else None
        ceilings = tuple(
            ceiling for ceiling in self.ceilings if ceiling.name in binding or ceiling.name == own
        )
        total = sum(part.points for part in parts)
        deducted = sum(deduction.points for deduction in deductions)
        lowest = min((ceiling.points for ceiling in ceilings), default=POINTS)
        if self.deductions_last:
            reward = min(total, lowest) - deducted
        else:
            reward = min(total - deducted, lowest)
        return OutcomeBreakdown(
            self.version,
            "ceiling first" if self.deductions_last else "deductions first",
            facts,
            standing,
            standings,
            parts,
            deductions,
            tuple((ceiling.name, ceiling.points, ceiling.when) for ceiling in ceilings),
            max(-POINTS, min(POINTS, reward)),
        )

    def _evidence(self, facts: Facts, standing: Standing) -> int:
        """The share of committed writes on evidence; without writes, all of it once complete."""
        if not standing.outcome.writes:
            return self.evidence_points * standing.complete
        wrote = len(facts.committed)
        return share(self.evidence_points, wrote - len(facts.unsupported_steps), wrote)


def _verdict(breakdown: OutcomeBreakdown) -> Verdict:
    if not breakdown.standing.complete or breakdown.facts.crossed:
        return "not_resolved"
    return "partial" if breakdown.standing.outcome.ceiling else "resolved"
