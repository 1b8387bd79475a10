"""Which checks of a rubric held, read from a score's JSON, whatever the rubric is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def checks_of(score: Mapping[str, Any]) -> dict[str, bool]:
    """The checks of a score by name, and whether each held.

    A rubric of checks has its own. One of outcomes has its parts, which hold when they pay in full,
    and what it deducts for or forbids, which holds when it never happened. One of turns has the
    parts of each turn that was taken. A rubric of another kind has none.

    Args:
        score: a score as JSON, as a recording's footer has it.
    """
    breakdown: Mapping[str, Any] = score.get("breakdown") or {}
    return dict(_named(breakdown))


def _named(breakdown: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    for check in breakdown.get("checks", ()):
        yield str(check["name"]), bool(check["holds"])
    for part in breakdown.get("parts", ()):
        yield str(part["name"]), part["value"] == 1
    for deduction in breakdown.get("deductions", ()):
        yield f"no {deduction['name']}", deduction["count"] == 0
    for field, name in _NEVER.items():
        if field in breakdown:
            yield name, not breakdown[field]
    for number, turn in enumerate(breakdown.get("turns", ()), start=1):
        for part in turn["parts"]:
            yield f"turn {number}: {part['name']}", part["points"] >= part["points_max"]


_NEVER: Mapping[str, str] = {
    "gates": "no gate crossed",
    "writes_without_reads": "no write without its reads",
    "writes_without_choice": "no write that was not chosen",
}
"""What an outcome rubric lists when it happened, and the check that it did not."""
