"""Where two runs of one task part: the first step at which they are not the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from deskgym.recording import RecordedStep, Recording
from deskgym.rubric.held import broken_of


class Parting(NamedTuple):
    """Where they part.

    Attributes:
        step: the first step that is not the same in both, from 1; 0 where they start with other
            records; None where every step is the same.
        what: what differs in it first, in words.
    """

    step: int | None
    what: str


class Setting(NamedTuple):
    """Something that a run was made with, in both."""

    name: str
    a: Any
    b: Any

    @property
    def differs(self) -> bool:
        """Whether it is not the same in both."""
        return self.a != self.b


class Held(NamedTuple):
    """A check, ceiling or gate by name: whether it kept each run's reward from being full."""

    name: str
    a: bool
    b: bool


def parting(a: Recording, b: Recording) -> Parting:
    """Where two runs part. What was earned is not compared: it follows from the rest."""
    if (a.header.template, a.header.opening) != (b.header.template, b.header.opening):
        return Parting(0, "they start with other records")
    for left, right in zip(a.steps, b.steps, strict=False):
        what = _difference(left, right)
        if what:
            return Parting(left.step, what)
    if len(a.steps) != len(b.steps):
        shorter = min(len(a.steps), len(b.steps))
        return Parting(shorter + 1, "one of them ends before it")
    return Parting(None, "every step is the same")


def _difference(a: RecordedStep, b: RecordedStep) -> str:
    pairs = {
        "they call another tool": (a.action["tool"], b.action["tool"]),
        "they call it with other arguments": (a.action["arguments"], b.action["arguments"]),
        "the same call is answered otherwise": (a.result, b.result),
        "the same call changes other rows": (a.changes, b.changes),
        "the customer says something else": (a.reply, b.reply),
    }
    return next((what for what, (left, right) in pairs.items() if left != right), "")


def settings(a: Recording, b: Recording) -> list[Setting]:
    """What both were made with, one below the other."""
    left, right = a.header, b.header
    names = dict.fromkeys((*left.parameters, *right.parameters))
    return [
        Setting("task", left.task, right.task),
        Setting("agent", left.agent, right.agent),
        Setting("seed", left.seed, right.seed),
        *(Setting(name, left.parameters.get(name), right.parameters.get(name)) for name in names),
        Setting("rubric", left.rubric, right.rubric),
        Setting("steps", len(a.steps), len(b.steps)),
    ]


def arguments(a: RecordedStep | None, b: RecordedStep | None) -> list[Setting]:
    """The arguments of two calls, one below the other; none where either has none by name."""
    left, right = _named(a), _named(b)
    names = dict.fromkeys((*left, *right))
    return [Setting(name, left.get(name), right.get(name)) for name in names]


def _named(step: RecordedStep | None) -> Mapping[str, Any]:
    found: object = None if step is None else step.action["arguments"]
    return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else {}


def held(a: Recording, b: Recording) -> list[Held]:
    """The checks, ceilings and gates that one run broke and the other did not, or both."""
    left, right = set(_broken(a)), set(_broken(b))
    names = dict.fromkeys((*_broken(a), *_broken(b)))
    return sorted(
        (Held(name, name in left, name in right) for name in names),
        key=lambda item: item.a and item.b,
    )


def _broken(recording: Recording) -> tuple[str, ...]:
    return broken_of(recording.footer.score) if recording.footer.status == "reward" else ()


class Changes(NamedTuple):
    """The rows that both runs changed alike, and those that only one changed so."""

    both: list[dict[str, Any]]
    a: list[dict[str, Any]]
    b: list[dict[str, Any]]


def changes(a: Recording, b: Recording) -> Changes:
    """What each run changed in all, against the other."""
    left, right = a.footer.changes, b.footer.changes
    return Changes(
        [item for item in left if item in right],
        _without(left, right),
        _without(right, left),
    )


def _without(
    items: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    return [item for item in items if item not in others]


__all__ = ["Changes", "Held", "Parting", "Setting", "arguments", "changes", "held",
           "parting", "settings"]  # fmt: skip
