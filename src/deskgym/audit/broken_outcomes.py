"""Every rule of an outcome rubric, broken: its record, its ceilings, its needs and its outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final, cast

from deskgym.audit.rule import (
    Rule,
    always_holds,
    asking,
    case_rule,
    never_holds,
    query_rule,
    rubric_rule,
)
from deskgym.rubric.check import BoundCheck, Reader
from deskgym.rubric.fact import CHOSEN_BY_CUSTOMER, READ_BEFORE_WRITE
from deskgym.rubric.outcome import Case, Gate, Outcome, Target, Write
from deskgym.rubric.outcome_rubric import OutcomeRubric
from deskgym.suite import Suite

STEP_POINTS: Final = 100
"""By how much a constant is moved: a hundredth of a reward."""

CONSTANTS: Final = (
    "outcome_points", "evidence_points", "report_points", "contradicted_report_points",
    "refused_write_points",
)  # fmt: skip


def record_rules(rubric: OutcomeRubric) -> Iterator[Rule]:
    """Each constant moved either way, each ceiling removed and moved, the order turned around."""
    version = rubric.version
    for name in CONSTANTS:
        for step in (STEP_POINTS, -STEP_POINTS):
            changed = replace(rubric, **{name: getattr(rubric, name) + step})
            yield rubric_rule(f"{version}: {name} moved by {step}", "constant", changed)
    turned = replace(rubric, deductions_last=not rubric.deductions_last)
    yield rubric_rule(f"{version}: deductions and ceiling the other way around", "constant", turned)
    for at, ceiling in enumerate(rubric.ceilings):
        others = (*rubric.ceilings[:at], *rubric.ceilings[at + 1 :])
        gone = replace(rubric, ceilings=others)
        yield rubric_rule(f"{version}: no ceiling {ceiling.name}", "ceiling", gone)
        for step in (STEP_POINTS, -STEP_POINTS):
            moved = replace(ceiling, points=ceiling.points + step)
            if moved.points >= -10_000:
                changed = replace(rubric, ceilings=(*others, moved))
                name = f"{version}: ceiling {ceiling.name} moved by {step}"
                yield rubric_rule(name, "ceiling", changed)


def fact_rules() -> Iterator[Rule]:
    """The two conditions of prior evidence, each waived and each never met."""
    for check in (READ_BEFORE_WRITE, CHOSEN_BY_CUSTOMER):
        for word, answer in (("always", always_holds), ("never", never_holds)):
            yield query_rule(f"{check.name} {word} holds", "check", check.sql, answer)


def need_rules(cases: Sequence[Case]) -> Iterator[Rule]:
    """Each read that a write needs, no longer needed.

    Among an outcome's steps it can stand for another write as well; then nothing is broken.
    """
    case = cases[0]
    for need in case.needs:
        without = tuple(item for item in case.needs if item != need)
        gone = f"(tool = '{need.tool}' AND reads = '{need.reads}')"
        sql = READ_BEFORE_WRITE.sql.replace(
            "JOIN env_need n", f"JOIN (SELECT * FROM env_need WHERE NOT {gone}) n"
        )
        name = f"{need.tool} needs no {need.reads}"
        yield query_rule(f"{name} before it", "need", READ_BEFORE_WRITE.sql, asking(sql))

        def change(given: Case, without: Any = without) -> Case:
            return replace(given, needs=without)

        if any(change(item).reads != item.reads for item in cases):
            yield case_rule(f"{name} among its steps", "need", change)


# What a case accepts.


COLUMNS: Final = ("tool", "order_id", "subject", "sku")
"""The parts of a target."""


@dataclass(frozen=True)
class LaxOutcome(Outcome):
    """An outcome that takes one of its writes for its own whatever a column of it says.

    Attributes:
        lax: the write.
        free: the column, one of `COLUMNS`.
    """

    lax: Write | None = None
    free: str = "subject"

    @cached_property
    def targets(self) -> frozenset[Target]:
        """What may be written, and whatever differs from the lax write in the free column only."""
        assert self.lax is not None, "a lax outcome says which write it takes for any"
        at = COLUMNS.index(self.free)
        return _AnyTarget(super().targets, _without(self.lax.target, at), at)


class _AnyTarget(frozenset[Target]):
    """Targets, and every one that is a given one but for a column."""

    _rest: tuple[str, ...]
    _at: int

    def __new__(cls, targets: frozenset[Target], rest: tuple[str, ...], at: int) -> _AnyTarget:
        made = super().__new__(cls, targets)
        made._rest, made._at = rest, at
        return made

    def __contains__(self, target: object) -> bool:
        return super().__contains__(target) or (
            isinstance(target, tuple) and _without(cast(Target, target), self._at) == self._rest
        )

    def issuperset(self, others: Iterable[object]) -> bool:
        """Whether each of them is among the targets."""
        return all(target in self for target in others)


def lax_outcome(outcome: Outcome, at: int, free: str) -> Outcome:
    """The outcome with a write that it takes for its own whatever a column of it says."""
    parts = {part.name: getattr(outcome, part.name) for part in fields(Outcome)}
    return LaxOutcome(**parts, lax=outcome.writes[at], free=free)


Change = Callable[[Outcome], Outcome]


def outcome_rules(task: str, case: Case) -> Iterator[Rule]:
    """Each outcome without each of its parts."""
    for place, outcome in enumerate(case.outcomes):
        if len(case.outcomes) > 1:
            yield case_rule(
                f"{task}: no outcome {outcome.name}", "outcome", _without_outcome(place), task
            )
        for name, change in _outcome_changes(outcome):
            full = f"{task} {outcome.name}: {name}"
            yield case_rule(full, "outcome", _in_outcome(place, change), task)
        for check in _checks_of(outcome):
            for word, answer in (("always", always_holds), ("never", never_holds)):
                name = f"{task}: {check.check.name} {word} holds"
                yield query_rule(name, "check", check.check.sql, answer, task)


def _without_outcome(place: int) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        return replace(case, outcomes=_without(case.outcomes, place))

    return change


def _in_outcome(place: int, change: Change) -> Callable[[Case], Case]:
    def changed(case: Case) -> Case:
        outcomes = list(case.outcomes)
        outcomes[place] = change(outcomes[place])
        return replace(case, outcomes=tuple(outcomes))

    return changed


def _without(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return (*items[:place], *items[place + 1 :])


def _outcome_changes(outcome: Outcome) -> Iterator[tuple[str, Change]]:
    for name in ("keeps", "only_if", "allows", "reads", "reports"):
        for at in range(len(getattr(outcome, name))):
            yield f"{name} {at + 1} gone", _part_gone(name, at)
    if outcome.ceiling is not None:
        yield "no ceiling of its own", lambda given: replace(given, ceiling=None)
    if len(outcome.writes) > 1:
        for at, write in enumerate(outcome.writes):
            yield f"{write.tool} not required", _part_gone("writes", at)
            yield f"{write.tool} only allowed", _only_allowed(at)
    for at, write in enumerate(outcome.writes):
        for free in ("subject", "sku", "order_id"):
            if getattr(write, free):
                yield f"{write.tool} of any {free}", _freed(at, free)


def _part_gone(name: str, at: int) -> Change:
    def change(outcome: Outcome) -> Outcome:
        values: Mapping[str, Any] = {name: _without(getattr(outcome, name), at)}
        return replace(outcome, **values)

    return change


def _only_allowed(at: int) -> Change:
    def change(outcome: Outcome) -> Outcome:
        writes = _without(outcome.writes, at)
        return replace(outcome, writes=writes, allows=(*outcome.allows, outcome.writes[at]))

    return change


def _freed(at: int, free: str) -> Change:
    def change(outcome: Outcome) -> Outcome:
        return lax_outcome(outcome, at, free)

    return change


def _checks_of(outcome: Outcome) -> list[BoundCheck]:
    states = [write.state for write in outcome.writes if write.state is not None]
    return [*states, *outcome.keeps, *outcome.only_if]


# The gates.


def gate_rules(case: Case) -> Iterator[Rule]:
    """Each gate removed, and each that fires whatever was done."""
    for place, gate in enumerate(case.gates):
        yield case_rule(f"no gate {gate.name}", "gate", _without_gate(place))
        yield case_rule(f"gate {gate.name} always crossed", "gate", _always_crossed(place))


def _without_gate(place: int) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        return replace(case, gates=_without(case.gates, place))

    return change


def _crossed(_: Reader, __: frozenset[str]) -> list[dict[str, Any]]:
    return [{"what": "broken"}]


def _always_crossed(place: int) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        gate = case.gates[place]
        fires = Gate(gate.name, gate.sentence, None, _crossed)
        return replace(case, gates=(*_without(case.gates, place), fires))

    return change


def table_rules(case: Case) -> Iterator[Rule]:
    """Each gate that looks at tables, blind to one of them."""
    for place, gate in enumerate(case.gates):
        for name in sorted(gate.tables or ()):
            yield case_rule(f"gate {gate.name} blind to {name}", "table", _blind(place, name))


def _blind(place: int, table: str) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        gate = case.gates[place]

        def breaches(world: Reader, changed: frozenset[str]) -> list[dict[str, Any]]:
            seen = changed - {table}
            return gate.breaches(world, seen) if seen & (gate.tables or seen) else []

        blind = gate._replace(breaches=breaches)
        return replace(case, gates=(*case.gates[:place], blind, *case.gates[place + 1 :]))

    return change


def rules_of(suite: Suite, cases: Mapping[str, Case]) -> Iterator[Rule]:
    """Every rule of a suite of outcomes, broken.

    Args:
        suite: the suite.
        cases: the case of each of its tasks.
    """
    for rubric in suite.rubrics:
        if isinstance(rubric, OutcomeRubric):
            yield from record_rules(rubric)
    yield from fact_rules()
    first = next(iter(cases.values()))
    yield from need_rules(list(cases.values()))
    yield from gate_rules(first)
    yield from table_rules(first)
    for task, case in cases.items():
        yield from outcome_rules(task, case)
