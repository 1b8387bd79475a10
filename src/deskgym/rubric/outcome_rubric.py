"""Outcome rubrics: the best single acceptable outcome that the world holds, and how it got there.

Each acceptable outcome is tried on its own and the one with the highest reward is kept; credit is
never added across outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deskgym.rubric.ceiling import Ceiling
from deskgym.rubric.check import Reader
from deskgym.rubric.fact import Facts, read_facts
from deskgym.rubric.outcome import Case
from deskgym.rubric.outcome_breakdown import (
    CEILING_FIRST,
    DEDUCTIONS_FIRST,
    OutcomeBreakdown,
    share,
)
from deskgym.rubric.score import POINTS, Score, Verdict
from deskgym.rubric.standing import Standing, standing_of
from deskgym.store import World


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
        if isinstance(world, World):
            world = world.seat()
        facts = read_facts(world, case)
        standings = [
            standing_of(world, facts, outcome, reads)
            for outcome, reads in zip(case.outcomes, case.reads, strict=True)
        ]
        common = [
            ceiling
            for ceiling in self.ceilings
            if ceiling.applies is not None and ceiling.applies(facts, standings)
        ]
        parts = [self._parts_points(facts, standing) for standing in standings]
        points = [
            self._points(facts, sum(parts[place]), self._binding(standing, common))
            for place, standing in enumerate(standings)
        ]
        # The first of the best.
        best = points.index(max(points))
        standing = standings[best]
        breakdown = OutcomeBreakdown(
            CEILING_FIRST if self.deductions_last else DEDUCTIONS_FIRST,
            facts,
            standing,
            standings,
            (self.outcome_points, self.evidence_points, self.report_points),
            parts[best],
            (self.contradicted_report_points, self.refused_write_points),
            self._binding(standing, common),
            points[best],
        )
        return Score(self.version, points[best], _verdict(breakdown), breakdown)

    def _points(self, facts: Facts, total: int, binding: Sequence[Ceiling]) -> int:
        deducted = (
            len(facts.contradicted) * self.contradicted_report_points
            + len(facts.refused) * self.refused_write_points
        )
        reward = total if self.deductions_last else total - deducted
        for ceiling in binding:
            if ceiling.points < reward:
                reward = ceiling.points
        if self.deductions_last:
            reward -= deducted
        return max(-POINTS, min(POINTS, reward))

    def _parts_points(self, facts: Facts, standing: Standing) -> tuple[int, int, int]:
        """The outcome, the prior evidence and the supported report.

        An outcome without writes has all the evidence once it is complete.
        """
        if standing.outcome.writes:
            evidence = share(self.evidence_points, facts.evident, len(facts.committed))
        else:
            evidence = self.evidence_points * standing.complete
        return (
            self.outcome_points * standing.complete,
            evidence,
            self.report_points * standing.credited,
        )

    def _binding(self, standing: Standing, common: Sequence[Ceiling]) -> Sequence[Ceiling]:
        """The ceilings that bind the run, and the outcome's own once it is complete."""
        own = standing.outcome.ceiling
        if own is None or not standing.complete:
            return common
        return [item for item in self.ceilings if item.name == own or item in common]


def _verdict(breakdown: OutcomeBreakdown) -> Verdict:
    if not breakdown.standing.complete or breakdown.facts.crossed:
        return "not_resolved"
    return "partial" if breakdown.standing.outcome.ceiling else "resolved"
