"""How an episode stands to one acceptable outcome."""

from __future__ import annotations

from typing import Any, NamedTuple

from deskgym.rubric.check import Reader
from deskgym.rubric.fact import Facts
from deskgym.rubric.outcome import Call, Outcome, Read


class RequiredStep(NamedTuple):
    """A step that an outcome requires, and at which action it was done; None while it was not."""

    name: str
    done_at: int | None


class Standing(NamedTuple):
    """How an episode stands to one outcome.

    Attributes:
        in_state: the world is in the outcome's state.
        broken: the checks that say it is not, with their rows.
        outside: committed writes outside it.
        steps: its required steps.
        report: why the report was credited or not.
        credited: whether it was.
        complete: in its state, nothing outside, and (without writes) with its reads and report.
    """

    outcome: Outcome
    in_state: bool
    broken: tuple[tuple[str, list[dict[str, Any]]], ...]
    outside: tuple[Call, ...]
    steps: tuple[RequiredStep, ...]
    report: str
    credited: bool
    complete: bool

    @property
    def steps_done(self) -> int:
        """How many of the required steps were done."""
        return sum(step.done_at is not None for step in self.steps)


def standing_of(world: Reader, facts: Facts, outcome: Outcome, reads: tuple[Read, ...]) -> Standing:
    """Ask the world and the facts about one outcome, on its own."""
    broken: list[tuple[str, list[dict[str, Any]]]] = []
    steps = [RequiredStep(read.name, facts.read_at[read.name]) for read in reads]
    for write in outcome.writes:
        assert write.state is not None, "a required write says which state it leaves"
        rows = write.state.breaches(world)
        done = [call.step for call in facts.committed if write.contains(call)]
        steps.append(RequiredStep(write.name, None if rows else max(done, default=0)))
        if rows:
            broken.append((write.state.check.name, rows))
    for kept in outcome.keeps:
        rows = kept.breaches(world)
        if rows:
            broken.append((kept.check.name, rows))
    unmet = [
        (start.check.name, rows) for start in outcome.only_if if (rows := start.breaches(world))
    ]
    broken.extend(unmet)
    outside = tuple(call for call in facts.committed if unmet or not outcome.contains(call))
    fits, report = _report(facts, outcome, steps)
    in_state = not broken and (bool(outcome.writes) or not outside)
    complete = in_state and not outside and (bool(outcome.writes) or fits)
    if fits and not complete:
        fits, report = False, "the outcome is not complete"
    elif fits and facts.contradicted:
        fits, report = False, "a report was contradicted"
    return Standing(outcome, in_state, tuple(broken), outside, tuple(steps), report, fits, complete)


def _report(facts: Facts, outcome: Outcome, steps: list[RequiredStep]) -> tuple[bool, str]:
    """Whether a fitting, true report came after the last required step, and why not."""
    fitting = [item for item in facts.reports if (item.claim, item.order_id) in outcome.reports]
    if not fitting:
        return False, "no report fits the outcome"
    supported = [item.step for item in fitting if item.supported]
    if not supported:
        return False, "the records contradicted the report"
    done = [step.done_at for step in steps if step.done_at is not None]
    if len(done) < len(steps):
        return False, "a required step was not done"
    if max(supported) < max(done, default=0):
        return False, "the report came before the outcome's last required step"
    return True, "a fitting report was made after the last required step"
