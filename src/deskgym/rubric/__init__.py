"""Rubrics: versioned, deterministic functions of a world's before and after to a score."""

from deskgym.rubric.ceiling import COMMON_CEILINGS, Ceiling
from deskgym.rubric.check import BoundCheck, Check, Reader
from deskgym.rubric.fact import Facts
from deskgym.rubric.outcome import Case, Gate, Grant, Need, Outcome, Read, Write
from deskgym.rubric.outcome_rubric import OutcomeRubric
from deskgym.rubric.score import Breakdown, Score, Verdict
from deskgym.rubric.standing import Standing

__all__ = [
    "COMMON_CEILINGS",
    "BoundCheck",
    "Breakdown",
    "Case",
    "Ceiling",
    "Check",
    "Facts",
    "Gate",
    "Grant",
    "Need",
    "Outcome",
    "OutcomeRubric",
    "Read",
    "Reader",
    "Score",
    "Standing",
    "Verdict",
    "Write",
]
