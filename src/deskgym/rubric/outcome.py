"""Outcome rubrics: the best single acceptable outcome that the world holds, and how it got there.

Each acceptable outcome is tried on its own and the one with the highest reward is kept; credit is
never added across outcomes. What an agent read, what the customer chose and what it reported are
rows of the world beside the store's, so everything here is read with SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from deskgym.rubric.check import BoundCheck, Check, Reader
from deskgym.rubric.score import POINTS, Score, Verdict, as_reward

# What an outcome is.


class Need(NamedTuple):
    """A read that must come before a write: of the same order, or one that listed its SKU."""

    tool: str
    reads: str
    scope: Literal["order", "sku"]


@dataclass(frozen=True)
class Write:
    """A write that an outcome contains. An empty subject or SKU stands for none, not for any.

    Attributes:
        tool: which tool does it.
        order_id: on which order.
        subject: to which item, payment or shipment.
        sku: with which SKU.
        state: how the records look once it is done; None for a write that is only allowed.
    """

    tool: str
    order_id: str
    subject: str = ""
    sku: str = ""
    state: BoundCheck | None = None

    def contains(self, call: Call) -> bool:
        """Whether a committed call is this write, of any amount: the state tells the right one."""
        return (call.tool, call.order_id, call.subject, call.sku) == (
            self.tool,
            self.order_id,
            self.subject,
            self.sku,
        )

    def __str__(self) -> str:
        return " ".join(part for part in (self.tool, self.order_id, self.subject, self.sku) if part)


@dataclass(frozen=True)
class Read:
    """A read that an outcome requires. `denial` is the code of one that has to be refused."""

    tool: str
    order_id: str = ""
    sku: str = ""
    denial: str | None = None

    def __str__(self) -> str:
        return " ".join(part for part in (self.tool, self.order_id, self.sku) if part)


@dataclass(frozen=True)
class Outcome:
    """An acceptable end state.

    Attributes:
        name: what the breakdown calls it.
        title: in a few words, for people.
        writes: what it takes, each with the state that it leaves.
        keeps: what else must be so.
        allows: writes that may be there too.
        reads: for an outcome without writes, what must have been read.
        reports: (claim, order) pairs that report it truly.
        ceiling: the name of a ceiling of its own, when it is only a partial remedy.
    """

    name: str
    title: str
    reports: tuple[tuple[str, str], ...]
    writes: tuple[Write, ...] = ()
    keeps: tuple[BoundCheck, ...] = ()
    allows: tuple[Write, ...] = ()
    reads: tuple[Read, ...] = ()
    ceiling: str | None = None

    def contains(self, call: Call) -> bool:
        """Whether a committed call lies inside the outcome."""
        return any(write.contains(call) for write in (*self.writes, *self.allows))

    def required_reads(self, needs: Sequence[Need]) -> tuple[Read, ...]:
        """Its own reads and those that its writes need, each once."""
        needed = [
            Read(need.reads, write.order_id if need.scope == "order" else "",
                 write.sku if need.scope == "sku" else "")
            for write in self.writes
            for need in needs
            if need.tool == write.tool
        ]  # fmt: skip
        return tuple(dict.fromkeys((*self.reads, *needed)))


@dataclass(frozen=True)
class Case:
    """What a task accepts: its outcomes, the first listed preferred, and its gates' keys."""

    outcomes: tuple[Outcome, ...]
    gates: tuple[Gate, ...]


class Gate(NamedTuple):
    """A line that no run may cross: `breaches` returns the rows of those that did."""

    name: str
    sentence: str
    breaches: Callable[[Reader], list[dict[str, Any]]]


# What happened, read from the world.


class Call(NamedTuple):
    """A row of `env_call`."""

    step: int
    tool: str
    kind: str
    code: str
    ok: int
    changed: int
    order_id: str
    subject: str
    sku: str
    amount_cents: int

    @property
    def committed(self) -> bool:
        """Whether it is a write that changed a store row."""
        return self.kind == "write" and self.changed == 1

    @property
    def refused(self) -> bool:
        """Whether it is a write that was not carried out, through no bug of ours."""
        return self.kind == "write" and not self.ok and self.code != "internal_error"

    def __str__(self) -> str:
        amount = str(self.amount_cents) if self.amount_cents else ""
        parts = (self.tool, self.order_id, self.subject, self.sku, amount)
        return f"#{self.step} {' '.join(part for part in parts if part)}"


class Report(NamedTuple):
    """A row of `env_report`."""

    step: int
    claim: str
    order_id: str
    supported: int


CALLS = "SELECT * FROM env_call ORDER BY step"
LISTED = "SELECT step, sku FROM env_listed ORDER BY step, sku"
REPORTS = "SELECT * FROM env_report ORDER BY step"

READ_BEFORE_WRITE = Check(
    "read-before-write",
    "every committed write comes after the reads that it needs",
    """
    SELECT c.step, c.tool, n.reads AS missing FROM env_call c JOIN env_need n ON n.tool = c.tool
    WHERE c.kind = 'write' AND c.changed = 1 AND NOT EXISTS (
      SELECT 1 FROM env_call r
      WHERE r.step < c.step AND r.tool = n.reads AND r.ok = 1 AND (
        n.scope = 'order' AND r.order_id = c.order_id
        OR n.scope = 'sku' AND EXISTS (
          SELECT 1 FROM env_listed l WHERE l.step = r.step AND l.sku = c.sku)))
    ORDER BY c.step, n.reads
    """,
)
CHOSEN_BY_CUSTOMER = Check(
    "chosen-by-customer",
    "every committed write is what the customer's latest choice at that moment permits",
    """
    SELECT c.step, c.tool, c.order_id, c.subject, c.sku, c.amount_cents FROM env_call c
    WHERE c.kind = 'write' AND c.changed = 1 AND NOT EXISTS (
      SELECT 1 FROM env_grant g
      WHERE g.step = (
          SELECT MAX(h.step) FROM env_choice h WHERE h.accepted = 1 AND h.step < c.step)
        AND g.tool = c.tool AND g.order_id = c.order_id AND g.subject = c.subject
        AND g.sku = c.sku AND g.amount_cents = c.amount_cents)
    ORDER BY c.step
    """,
)


@dataclass(frozen=True)
class Facts:
    """An episode as the rubric sees it.

    Attributes:
        calls: every action, in order.
        listed: the steps at which each SKU was listed.
        reports: every report, in order.
        unread: rows of `READ_BEFORE_WRITE`.
        unchosen: rows of `CHOSEN_BY_CUSTOMER`.
        crossed: the gates that fired, with their rows.
    """

    calls: tuple[Call, ...]
    listed: tuple[tuple[int, str], ...]
    reports: tuple[Report, ...]
    unread: list[dict[str, Any]]
    unchosen: list[dict[str, Any]]
    crossed: tuple[tuple[Gate, list[dict[str, Any]]], ...]

    @cached_property
    def committed(self) -> tuple[Call, ...]:
        """The committed writes."""
        return tuple(call for call in self.calls if call.committed)

    @cached_property
    def refused(self) -> tuple[Call, ...]:
        """The refused writes."""
        return tuple(call for call in self.calls if call.refused)

    @cached_property
    def contradicted(self) -> tuple[Report, ...]:
        """The reports that the records contradicted when they were made."""
        return tuple(report for report in self.reports if not report.supported)

    @cached_property
    def unsupported_steps(self) -> frozenset[int]:
        """The steps of committed writes without their reads or without the customer's choice."""
        return frozenset(row["step"] for row in (*self.unread, *self.unchosen))

    def read_at(self, read: Read) -> int | None:
        """The first step at which a read succeeded (or was denied, where it has to be)."""
        listing = {step for step, sku in self.listed if sku == read.sku}
        for call in self.calls:
            answered = call.ok == 1 if read.denial is None else call.code == read.denial
            if (
                answered
                and call.tool == read.tool
                and (not read.order_id or call.order_id == read.order_id)
                and (not read.sku or call.step in listing)
            ):
                return call.step
        return None


def read_facts(world: Reader, case: Case) -> Facts:
    """Read an episode's facts from its world."""
    calls = tuple(Call(*row) for row in world.rows(CALLS))  # type: ignore[arg-type]
    wrote = any(call.committed for call in calls)
    crossed = [(gate, gate.breaches(world)) for gate in case.gates]
    return Facts(
        calls=calls,
        listed=tuple(world.rows(LISTED)),  # type: ignore[arg-type]
        reports=tuple(Report(*row) for row in world.rows(REPORTS)),  # type: ignore[arg-type]
        unread=READ_BEFORE_WRITE.bind().breaches(world) if wrote else [],
        unchosen=CHOSEN_BY_CUSTOMER.bind().breaches(world) if wrote else [],
        crossed=tuple((gate, rows) for gate, rows in crossed if rows),
    )


# What it earns.


@dataclass(frozen=True)
class RequiredStep:
    """A step that an outcome requires, and at which action it was done, if it was."""

    name: str
    done_at: int | None


@dataclass(frozen=True)
class Standing:
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


class Situation(NamedTuple):
    """What a ceiling looks at: the facts, one outcome's standing, and all of them."""

    facts: Facts
    standing: Standing
    standings: tuple[Standing, ...]


@dataclass(frozen=True)
class Ceiling:
    """The most that a run can earn when something is so."""

    name: str
    points: int
    when: str
    applies: Callable[[Situation], bool]


@dataclass(frozen=True)
class OutcomeRubric:
    """A version of the rubric: weights, deductions and ceilings, in ten-thousandths, as data.

    Attributes:
        deductions_last: True takes the deductions after the ceiling, so that a lie costs the
            same everywhere; False takes them before it.
    """

    version: str
    outcome_points: int
    evidence_points: int
    report_points: int
    contradicted_report_points: int
    refused_write_points: int
    ceilings: tuple[Ceiling, ...]
    needs: tuple[Need, ...]
    deductions_last: bool

    def score(self, world: Reader, case: Case) -> Score:
        """The score of an episode: that of the acceptable outcome with the highest reward."""
        facts = read_facts(world, case)
        standings = tuple(self._standing(world, facts, outcome) for outcome in case.outcomes)
        tried = [self._try(Situation(facts, standing, standings)) for standing in standings]
        best = max(tried, key=lambda breakdown: breakdown.points)
        return Score(self.version, best.points, _verdict(best), best)

    def _standing(self, world: Reader, facts: Facts, outcome: Outcome) -> Standing:
        broken: list[tuple[str, list[dict[str, Any]]]] = []
        steps = [
            RequiredStep(str(read), facts.read_at(read))
            for read in outcome.required_reads(self.needs)
        ]
        for write in outcome.writes:
            assert write.state is not None, "a required write says which state it leaves"
            rows = write.state.breaches(world)
            done = [call.step for call in facts.committed if write.contains(call)]
            steps.append(RequiredStep(str(write), None if rows else max(done, default=0)))
            if rows:
                broken.append((write.state.check.name, rows))
        for kept in outcome.keeps:
            rows = kept.breaches(world)
            if rows:
                broken.append((kept.check.name, rows))
        outside = tuple(call for call in facts.committed if not outcome.contains(call))
        in_state = not broken and not (outside and not outcome.writes)
        complete = in_state and not outside
        fits, report = _report(facts, outcome, steps)
        if not outcome.writes:
            complete = complete and fits
        if fits and not complete:
            fits, report = False, "the outcome is not complete"
        elif fits and facts.contradicted:
            fits, report = False, "a report was contradicted"
        return Standing(
            outcome, in_state, tuple(broken), outside, tuple(steps), report, fits, complete
        )

    def _try(self, situation: Situation) -> OutcomeBreakdown:
        facts, standing, _ = situation
        if standing.outcome.writes:
            wrote = len(facts.committed)
            evident = wrote - len(facts.unsupported_steps)
        else:
            wrote, evident = 1, int(standing.complete)
        evidence = _share(self.evidence_points, evident, wrote)
        parts = (
            Part("outcome", self.outcome_points, self.outcome_points * standing.complete),
            Part("prior evidence", self.evidence_points, evidence),
            Part("supported report", self.report_points, self.report_points * standing.credited),
        )
        deductions = (
            Deduction("contradicted report", len(facts.contradicted),
                      self.contradicted_report_points),
            Deduction("refused write", len(facts.refused), self.refused_write_points),
        )  # fmt: skip
        ceilings = tuple(ceiling for ceiling in self.ceilings if ceiling.applies(situation))
        total = sum(part.points for part in parts)
        deducted = sum(deduction.points for deduction in deductions)
        lowest = min((ceiling.points for ceiling in ceilings), default=POINTS)
        if self.deductions_last:
            reward = min(total, lowest) - deducted
        else:
            reward = min(total - deducted, lowest)
        points = max(-POINTS, min(POINTS, reward))
        return OutcomeBreakdown(self, situation, parts, deductions, ceilings, points)


def _share(points: int, count: int, total: int) -> int:
    """`points * count / total`, halves up; 0 of nothing is 0."""
    return (2 * points * count + total) // (2 * total) if total else 0


def _report(facts: Facts, outcome: Outcome, steps: list[RequiredStep]) -> tuple[bool, str]:
    """Whether a fitting, true report came after the last required step, and why not."""
    fitting = [
        report for report in facts.reports if (report.claim, report.order_id) in outcome.reports
    ]
    if not fitting:
        return False, "no report fits the outcome"
    supported = [report for report in fitting if report.supported]
    if not supported:
        return False, "the records contradicted the report"
    done = [step.done_at for step in steps]
    if any(step is None for step in done):
        return False, "a required step was not done"
    last = max((step for step in done if step is not None), default=0)
    if all(report.step < last for report in supported):
        return False, "the report came before the outcome's last required step"
    return True, "a fitting report was made after the last required step"


def _verdict(breakdown: OutcomeBreakdown) -> Verdict:
    standing = breakdown.situation.standing
    if not standing.complete or breakdown.situation.facts.crossed:
        return "not_resolved"
    return "partial" if standing.outcome.ceiling else "resolved"


# How it explains itself.


class Part(NamedTuple):
    """A weighted part of the reward."""

    name: str
    points_max: int
    points: int


class Deduction(NamedTuple):
    """What something costs each time, and how often it happened."""

    name: str
    times: int
    points_each: int

    @property
    def points(self) -> int:
        """What it costs in all."""
        return self.times * self.points_each


@dataclass(frozen=True)
class OutcomeBreakdown:
    """Why an episode earned what it did, under the outcome that suits it best."""

    rubric: OutcomeRubric
    situation: Situation
    parts: tuple[Part, ...]
    deductions: tuple[Deduction, ...]
    ceilings: tuple[Ceiling, ...]
    points: int

    @property
    def weighted_sum_points(self) -> int:
        """The parts together."""
        return sum(part.points for part in self.parts)

    @property
    def deduction_points(self) -> int:
        """The deductions together."""
        return sum(deduction.points for deduction in self.deductions)

    def lines(self) -> list[str]:
        """The parts, deductions, ceilings, writes without evidence, and every outcome."""
        facts = self.situation.facts
        lines = [
            f"  {part.name} {part.points * 100 // part.points_max}% of {as_reward(part.points_max)}"
            for part in self.parts
        ]
        order = "ceiling first" if self.rubric.deductions_last else "deductions first"
        lines.append(
            f"  weighted sum {as_reward(self.weighted_sum_points)}, "
            f"deductions {as_reward(self.deduction_points)} ({order})"
        )
        lines.extend(
            f"  deduction {as_reward(item.points)}: {item.times} x {item.name}"
            for item in self.deductions
            if item.times
        )
        lines.extend(f"  ceiling {as_reward(item.points)}: {item.when}" for item in self.ceilings)
        lines.extend(
            f"  gate {gate.name}: {gate.sentence}: {_row_text(row)}"
            for gate, rows in facts.crossed
            for row in rows
        )
        lines.extend(
            f"  step {row['step']} {row['tool']}: {row['missing']} was not read before it"
            for row in facts.unread
        )
        lines.extend(
            f"  step {row['step']} {row['tool']}: not what the customer had chosen"
            for row in facts.unchosen
        )
        for standing in self.situation.standings:
            lines.extend(_standing_lines(standing))
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The breakdown as JSON: amounts are rewards, not points."""
        facts = self.situation.facts
        return {
            "actions": len(facts.calls),
            "outcome": self.situation.standing.outcome.name,
            "parts": [
                {"name": part.name, "weight": part.points_max / POINTS,
                 "value": part.points / part.points_max, "points": part.points / POINTS}
                for part in self.parts
            ],
            "weighted_sum": self.weighted_sum_points / POINTS,
            "deductions": [
                {"name": item.name, "count": item.times, "each": item.points_each / POINTS,
                 "points": item.points / POINTS}
                for item in self.deductions
            ],
            "ceilings": [
                {"name": item.name, "ceiling": item.points / POINTS, "when": item.when}
                for item in self.ceilings
            ],
            "gates": [
                {"name": gate.name, "sentence": gate.sentence, "rows": rows}
                for gate, rows in facts.crossed
            ],
            "writes_without_reads": facts.unread,
            "writes_without_choice": facts.unchosen,
            "reports": [
                {"step": report.step, "claim": report.claim, "order_id": report.order_id,
                 "supported": bool(report.supported)}
                for report in facts.reports
            ],
            "outcomes": [_standing_dict(standing) for standing in self.situation.standings],
        }  # fmt: skip


def _row_text(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items())


def _standing_lines(standing: Standing) -> list[str]:
    outside = ", ".join(map(str, standing.outside))
    share = _percent(standing)
    state = "in this state" if standing.in_state else "not in this state"
    head = (
        f"  outcome {standing.outcome.name}: the world is {state}; "
        f"{f'writes outside it: {outside}' if outside else 'no write outside it'}; "
        f"{share}% of its required steps done; "
        f"report {'credited' if standing.credited else 'not credited'}: {standing.report}"
    )
    rows = [f"    {name}: {_row_text(row)}" for name, broken in standing.broken for row in broken]
    missing = [f"    not done: {step.name}" for step in standing.steps if step.done_at is None]
    return [head, *rows, *missing]


def _percent(standing: Standing) -> int:
    """The share of required steps done, in whole per cent."""
    return _share(100, standing.steps_done, len(standing.steps))


def _standing_dict(standing: Standing) -> dict[str, Any]:
    return {
        "name": standing.outcome.name,
        "title": standing.outcome.title,
        "in_state": standing.in_state,
        "complete": standing.complete,
        "broken": [{"check": name, "rows": rows} for name, rows in standing.broken],
        "outside": [str(call) for call in standing.outside],
        "steps": [{"step": step.name, "done_at": step.done_at} for step in standing.steps],
        "steps_done_percent": _percent(standing),
        "report_credited": standing.credited,
        "report": standing.report,
    }
