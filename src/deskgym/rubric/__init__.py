"""Rubrics: versioned, deterministic functions of a world's before and after to a score."""

from deskgym.rubric.check import BoundCheck, Check, Reader
from deskgym.rubric.score import Score, Verdict

__all__ = ["BoundCheck", "Check", "Reader", "Score", "Verdict"]
