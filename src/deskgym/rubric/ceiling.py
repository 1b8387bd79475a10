"""Ceilings: the most that a run can earn when something is so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from deskgym.rubric.fact import Facts
from deskgym.rubric.standing import Standing


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


def _nothing_read_or_changed(facts: Facts, standings: Sequence[Standing]) -> bool:
    """A denial that an outcome requires is a read that succeeded."""
    if facts.committed or any(call.kind == "read" and call.ok for call in facts.calls):
        return False
    denials = {
        (read.tool, read.order_id, read.denial)
        for standing in standings
        for read in standing.outcome.reads
    }
    return not any(
        call.kind == "read" and (call.tool, call.order_id, call.code) in denials
        for call in facts.calls
    )


COMMON_CEILINGS: Final = (
    Ceiling(
        "no_prior_evidence",
        4_000,
        "a committed write lacked its reads or the customer's choice",
        lambda facts, _: bool(facts.unread or facts.unchosen),
    ),
    Ceiling(
        "no_complete_outcome",
        2_500,
        "no acceptable outcome is complete",
        lambda _, standings: not any(standing.complete for standing in standings),
    ),
    Ceiling(
        "nothing_read_or_changed",
        0,
        "not one read succeeded and nothing changed",
        _nothing_read_or_changed,
    ),
    Ceiling(
        "outside_every_outcome",
        -4_000,
        "the committed writes lie inside no single outcome",
        lambda _, standings: all(standing.outside for standing in standings),
    ),
    Ceiling(
        "gate",
        -10_000,
        "a gate was crossed",
        lambda facts, _: bool(facts.crossed),
    ),
)
"""What holds for any case: a write without evidence, nothing achieved, idleness, a write that
belongs to no outcome, a gate."""
