"""What an attack on a reward finds, and the section of the report that it fills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from deskgym.environment import Environment
from deskgym.recording import Recording
from deskgym.runner import record
from deskgym.suite import Suite, load_suite
from deskgym.testing.trace import repeat
from deskgym.trajectory import Action

ACCEPTED_KEPT: Final = 2
"""How many accepted runs of an actor on a task are listed; the counts count all."""

_Row = tuple[Any, ...]


@dataclass(frozen=True)
class Finding:
    """Something about a task's reward that does not hold, with the run that shows it.

    Attributes:
        attack: the attack that found it.
        by: who acted: the adversary, the control, the mutant, the broken rule.
        suite: the suite's name.
        task: the task's name, without its suite's.
        seed: the seed of the episode; None where it is about no episode.
        parameters: what its fixture was built with.
        rubric: the version that scored; "" where none did.
        expected: what had to be so, a sentence.
        got: what was so, a sentence.
        reward: what the run earned; None where nothing was scored.
        actions: the trajectory, with which the run can be had again.
    """

    attack: str
    by: str
    suite: str
    task: str
    seed: int | None
    parameters: Mapping[str, int]
    rubric: str
    expected: str
    got: str
    reward: float | None = None
    actions: tuple[Action, ...] = ()

    @property
    def id(self) -> str:
        """The task's id."""
        return f"{self.suite}/{self.task}"

    def recording(self, suite: Suite | None = None) -> Recording | None:
        """The run as a recording, made by taking its actions again; None where there was none.

        Args:
            suite: where the task is; the installed suite of that name if None.
        """
        if self.seed is None:
            return None
        owner = suite or load_suite(self.suite)
        with Environment(
            owner,
            owner.task(self.task),
            parameters=self.parameters,
            rubric=self.rubric or None,
        ) as environment:
            agent = f"audit {self.attack}: {self.by}"
            return record(environment, repeat(self.actions), self.seed, agent=agent)

    def __str__(self) -> str:
        seed = "" if self.seed is None else f" seed {self.seed}"
        reward = "" if self.reward is None else f" (reward {self.reward})"
        return (
            f"{self.id}{seed}, {self.attack}, {self.by}{reward}: "
            f"expected that {self.expected}; {self.got}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "attack": self.attack,
            "by": self.by,
            "task": self.id,
            "seed": self.seed,
            "parameters": dict(self.parameters),
            "rubric": self.rubric,
            "expected": self.expected,
            "got": self.got,
            "reward": self.reward,
            "actions": [action.to_dict() for action in self.actions],
        }


Merge = Literal["key", "sum", "max", "min", "mean"]
"""How a column is joined over parts of the work; a mean is weighted by the first column summed."""


class Table(NamedTuple):
    """Figures of a section: a title, the names of the columns, and rows of cells.

    Tables of one title from several parts of the work are joined: row after row, or where `merge`
    says how, rows with the same key to one.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    merge: tuple[Merge, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON, a row an object."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows}


@dataclass(frozen=True)
class Section:
    """What one attack did to one target, or, joined, to all of them.

    Attributes:
        attack: the attack's name.
        trajectories: how many episodes it ran.
        cpu_s: how many seconds of a processor it took.
        findings: what does not hold.
        accepted: runs that earned a right control's reward and are acceptable by the suite's own
            second opinion; `got` says how.
        counts: how many of what, by name, for the summary.
        tables: figures.
    """

    attack: str
    trajectories: int = 0
    cpu_s: float = 0.0
    findings: tuple[Finding, ...] = ()
    accepted: tuple[Finding, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    tables: tuple[Table, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The section as JSON."""
        return {
            "attack": self.attack,
            "trajectories": self.trajectories,
            "cpu_s": round(self.cpu_s, 3),
            "counts": dict(self.counts),
            "findings": [item.to_dict() for item in self.findings],
            "accepted": [item.to_dict() for item in self.accepted],
            "tables": [item.to_dict() for item in self.tables],
        }


def joined(attack: str, sections: Iterable[Section]) -> Section:
    """The sections of one attack on many targets as one."""
    parts = list(sections)
    counts: dict[str, int] = {}
    for part in parts:
        for name, count in part.counts.items():
            counts[name] = counts.get(name, 0) + count
    return Section(
        attack,
        sum(part.trajectories for part in parts),
        sum(part.cpu_s for part in parts),
        tuple(item for part in parts for item in part.findings),
        _few(item for part in parts for item in part.accepted),
        counts,
        _joined_tables([item for part in parts for item in part.tables]),
    )


def _few(accepted: Iterable[Finding]) -> tuple[Finding, ...]:
    """Of the accepted runs a few of each task and actor: a thousand seeds say no more."""
    kept: dict[tuple[str, str], list[Finding]] = {}
    for item in accepted:
        of_actor = kept.setdefault((item.id, item.by), [])
        if len(of_actor) < ACCEPTED_KEPT:
            of_actor.append(item)
    return tuple(item for items in kept.values() for item in items)


def _joined_tables(tables: Sequence[Table]) -> tuple[Table, ...]:
    kinds = dict.fromkeys((table.title, table.columns, table.merge) for table in tables)
    return tuple(
        Table(title, columns, _joined_rows(rows, merge), merge)
        for title, columns, merge in kinds
        for rows in [[row for item in tables if item[:2] == (title, columns) for row in item.rows]]
    )


def _joined_rows(rows: Sequence[_Row], merge: Sequence[Merge]) -> tuple[_Row, ...]:
    if not merge:
        return tuple(rows)
    keys = [at for at, how in enumerate(merge) if how == "key"]
    groups: dict[_Row, list[_Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[at] for at in keys), []).append(row)
    return tuple(_joined_row(group, merge) for group in groups.values())


def _joined_row(rows: Sequence[_Row], merge: Sequence[Merge]) -> _Row:
    if len(rows) == 1:
        return rows[0]
    weights = [row[merge.index("sum")] for row in rows] if "mean" in merge else []
    made: list[Any] = []
    for how, cells in zip(merge, zip(*rows, strict=True), strict=True):
        match how:
            case "key":
                made.append(cells[0])
            case "sum":
                made.append(sum(cells))
            case "max":
                made.append(max(cells))
            case "min":
                made.append(min(cells))
            case "mean":
                total = sum(cell * weight for cell, weight in zip(cells, weights, strict=True))
                made.append(round(total / max(1, sum(weights)), 4))
    return tuple(made)
