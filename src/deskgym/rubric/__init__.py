"""Rubrics: versioned, deterministic functions of a world's before and after to a score."""

from deskgym.rubric.ceiling import COMMON_CEILINGS, Ceiling
from deskgym.rubric.check import BoundCheck, Check, Reader
from deskgym.rubric.checks import CheckBreakdown
from deskgym.rubric.fact import Facts
from deskgym.rubric.outcome import Case, Gate, Grant, Need, Outcome, Read, Write
from deskgym.rubric.outcome_breakdown import CEILING_FIRST, OutcomeBreakdown
from deskgym.rubric.outcome_rubric import OutcomeRubric
from deskgym.rubric.score import Breakdown, Score, Verdict
from deskgym.rubric.standing import Standing
from deskgym.rubric.turns import TurnBreakdown

__all__ = [
    "CEILING_FIRST",
    "COMMON_CEILINGS",
    "BoundCheck",
    "Breakdown",
    "Case",
    "Ceiling",
    "Check",
    "CheckBreakdown",
    "Facts",
    "Gate",
    "Grant",
    "Need",
    "Outcome",
    "OutcomeBreakdown",
    "OutcomeRubric",
    "Read",
    "Reader",
    "Score",
    "Standing",
    "TurnBreakdown",
    "Verdict",
    "Write",
]
