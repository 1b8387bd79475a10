"""Which checks of a rubric held, read from a score's JSON, whatever the rubric is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final


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


def broken_of(score: Mapping[str, Any]) -> tuple[str, ...]:
    """What kept a score from being full, by name: what a list of runs can be searched for.

    Those are the checks that did not hold, the ceilings that bind, the gates that were crossed, and
    what is not as it should be in the outcome that suits best. A score that a stranger wrote may be
    of any shape: what cannot be read has no names.

    Args:
        score: a score as JSON, as a recording's footer has it.
    """
    found = [*_read(_unheld, score), *_read(_bounds, score), *_read(_outcome, score)]
    names = dict.fromkeys(name.strip()[:NAME_CHARACTERS_MAX] for name in found)
    return tuple(filter(None, names))[:BROKEN_MAX]


BROKEN_MAX: Final = 200
NAME_CHARACTERS_MAX: Final = 200
"""No rubric of ours comes near; a score that a stranger wrote is held to them."""


def _read(names: Callable[[Mapping[str, Any]], list[str]], score: Mapping[str, Any]) -> list[str]:
    try:
        return names(score)
    except (AttributeError, KeyError, RecursionError, TypeError):
        return []  # of another shape than a rubric of ours writes


def _unheld(score: Mapping[str, Any]) -> list[str]:
    return [name for name, holds in checks_of(score).items() if not holds]


def _bounds(score: Mapping[str, Any]) -> list[str]:
    breakdown = score["breakdown"]
    gates = [f"gate {item['name']}" for item in breakdown.get("gates", ())]
    return gates + [f"ceiling {item['name']}" for item in breakdown.get("ceilings", ())]


def _outcome(score: Mapping[str, Any]) -> list[str]:
    breakdown = score["breakdown"]
    suits = [item for item in breakdown["outcomes"] if item["name"] == breakdown["outcome"]]
    return [f"{item['name']}: {broken['check']}" for item in suits for broken in item["broken"]]


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
