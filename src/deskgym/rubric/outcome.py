"""What a case accepts: its outcomes, what each takes and allows, and its gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from deskgym.rubric.check import BoundCheck, Reader
from deskgym.store.change import Row

Target = tuple[str, str, str, str]
"""What a write is about: its tool, order, subject and SKU."""


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
    def target(self) -> Target:
        """What it is about, whatever the amount."""
        return self.tool, self.order_id, self.subject, self.sku

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


class Grant(NamedTuple):
    """A row of `env_grant`: a write that the customer's choice permits, exactly."""

    tool: str
    order_id: str
    subject: str = ""
    sku: str = ""
    amount_cents: int = 0


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

    @cached_property
    def target(self) -> Target:
        """What it is about: a committed call of the same target is this write, of any amount."""
        return self.tool, self.order_id, self.subject, self.sku

    @cached_property
    def name(self) -> str:
        """The write in words."""
        return " ".join(part for part in (self.tool, self.order_id, self.subject, self.sku) if part)


@dataclass(frozen=True)
class Read:
    """A read that an outcome requires. `denial` is the code of one that has to be refused."""

    tool: str
    order_id: str = ""
    sku: str = ""
    denial: str | None = None

    @cached_property
    def name(self) -> str:
        """The read in words."""
        return " ".join(part for part in (self.tool, self.order_id, self.sku) if part)


@dataclass(frozen=True)
class Outcome:
    """An acceptable end state.

    Attributes:
        name: what the breakdown calls it.
        title: in a few words, for people.
        writes: what it takes, each with the state that it leaves.
        keeps: what else must be so.
        only_if: what must have been so at the start for it to be acceptable at all; where it was
            not, every committed write lies outside it.
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
    only_if: tuple[BoundCheck, ...] = ()
    allows: tuple[Write, ...] = ()
    reads: tuple[Read, ...] = ()
    ceiling: str | None = None

    @cached_property
    def targets(self) -> frozenset[Target]:
        """What the committed calls that lie inside the outcome may be about."""
        return frozenset(write.target for write in (*self.writes, *self.allows))

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


class Gate(NamedTuple):
    """A line that no run may cross.

    Attributes:
        tables: the store's tables in which it can be crossed; it is not asked when none of them
            changed. None for a gate that is not about changes.
        breaches: the rows of what crossed it.
    """

    name: str
    sentence: str
    tables: frozenset[str] | None
    breaches: Callable[[Reader, frozenset[str]], list[dict[str, Any]]]


@dataclass(frozen=True)
class Case:
    """What a task accepts.

    Attributes:
        outcomes: the acceptable ones, the preferred one first.
        gates: the lines that no run may cross.
        needs: which reads each write needs.
    """

    outcomes: tuple[Outcome, ...]
    gates: tuple[Gate, ...] = ()
    needs: tuple[Need, ...] = ()

    def log_rows(self, opening: str, chosen: Sequence[Grant] = ()) -> dict[str, list[Row]]:
        """The rows of the environment's own tables that a fixture of this case starts with.

        Args:
            opening: the customer's first words.
            chosen: the writes that the opening already asks for; each is then the customer's
                choice until another one is accepted.
        """
        rows: dict[str, list[Row]] = {
            "env_need": [tuple(need) for need in self.needs],
            "env_message": [(0, "customer", opening)],
        }
        if chosen:
            rows["env_choice"] = [(0, "opening", chosen[0].order_id, 1)]
            rows["env_grant"] = [(0, *grant) for grant in chosen]
        return rows

    @cached_property
    def distinct_reads(self) -> tuple[Read, ...]:
        """The required reads of all outcomes, each once."""
        return tuple(dict.fromkeys(read for reads in self.reads for read in reads))

    @cached_property
    def reads(self) -> tuple[tuple[Read, ...], ...]:
        """The required reads of each outcome."""
        return tuple(outcome.required_reads(self.needs) for outcome in self.outcomes)
