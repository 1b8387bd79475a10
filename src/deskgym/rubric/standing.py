"""How an episode stands to one acceptable outcome."""

from __future__ import annotations

from collections.abc import Sequence
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
        reads: the outcome's required reads.
        in_state: the world is in the outcome's state.
        broken: the checks that say it is not, with their rows.
        outside: committed writes outside it.
        done_at: at which action each required read and then each write was done; None while it
            was not.
        report: why the report was credited or not.
        credited: whether it was.
        complete: in its state, nothing outside, and (without writes) with its reads and report.
    """

    outcome: Outcome
    reads: tuple[Read, ...]
    in_state: bool
    broken: Sequence[tuple[str, list[dict[str, Any]]]]
    outside: Sequence[Call]
    done_at: Sequence[int | None]
    report: str
    credited: bool
    complete: bool

    @property
    def steps(self) -> tuple[RequiredStep, ...]:
        """Its required steps: the reads, then the writes."""
        names = [step.name for step in (*self.reads, *self.outcome.writes)]
        return tuple(map(RequiredStep, names, self.done_at))

    @property
    def steps_done(self) -> int:
        """How many of the required steps were done."""
        return sum(step is not None for step in self.done_at)


def standing_of(world: Reader, facts: Facts, outcome: Outcome, reads: tuple[Read, ...]) -> Standing:
    """Ask the world and the facts about one outcome, on its own."""
    broken: list[tuple[str, list[dict[str, Any]]]] = []
    done_at = [facts.read_at[read] for read in reads]
    for write in outcome.writes:
        assert write.state is not None, "a required write says which state it leaves"
        rows = write.state.breaches(world)
        if rows:
            broken.append((write.state.check.name, rows))
        # A state that holds counts as done, though no write of this episode made it so.
        done_at.append(None if rows else facts.written_at.get(write.target, 0))
    for kept in outcome.keeps:
        if rows := kept.breaches(world):
            broken.append((kept.check.name, rows))
    outside: Sequence[Call] = ()
    if not outcome.targets.issuperset(facts.written_at):
        outside = [call for call in facts.committed if call.target not in outcome.targets]
    for start in outcome.only_if:
        if rows := start.breaches(world):
            broken.append((start.check.name, rows))
            outside = facts.committed
    fits, report = _report(facts, outcome, done_at)
    in_state = not broken and (bool(outcome.writes) or not outside)
    complete = in_state and not outside and (bool(outcome.writes) or fits)
    if fits and not complete:
        fits, report = False, "the outcome is not complete"
    elif fits and facts.contradicted:
        fits, report = False, "a report was contradicted"
    return Standing(outcome, reads, in_state, broken, outside, done_at, report, fits, complete)


def _report(facts: Facts, outcome: Outcome, done_at: Sequence[int | None]) -> tuple[bool, str]:
    """Whether a fitting, true report came after the last required step, and why not."""
    fits = False
    supported_at = 0
    for item in facts.reports:
        if (item.claim, item.order_id) in outcome.reports:
            fits = True
            if item.supported:
                supported_at = item.step
    if not fits:
        return False, "no report fits the outcome"
    if not supported_at:
        return False, "the records contradicted the report"
    last = 0
    for step in done_at:
        if step is None:
            return False, "a required step was not done"
        last = max(last, step)
    if supported_at < last:
        return False, "the report came before the outcome's last required step"
    return True, "a fitting report was made after the last required step"
