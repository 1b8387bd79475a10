"""What a person sees of an episode: the records beside it, what was agreed, reported and said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from deskgym.environment import Environment
from deskgym.panel import Panel, plain_panels
from deskgym.rubric import Reader, Score
from deskgym.trajectory import Observation, Step
from deskgym.web import show

NAMED: Final = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+|\d{3,}")
"""What may be an id in the words that open a case."""

WORDS_TRIED_MAX: Final = 20


class Cell(NamedTuple):
    """A value of a record.

    Attributes:
        column: the column's name.
        value: the value; money as text.
        opens: the name that it can stand for in other panels, or None.
    """

    column: str
    value: object
    opens: str | None


class Beside(NamedTuple):
    """A panel with its records.

    Attributes:
        chosen: what a person chose for it, by name.
        records: the cells of each row.
    """

    panel: Panel
    chosen: Mapping[str, str]
    records: Sequence[Sequence[Cell]]


class Choice(NamedTuple):
    """What the customer has agreed to last: in words, what it permits, and when."""

    step: int
    permits: Sequence[str]


class Report(NamedTuple):
    """A report, and whether the records bore it out when it was made."""

    step: int
    claim: str
    order_id: str
    true: bool


class Said(NamedTuple):
    """Words of a conversation."""

    step: int
    role: str
    body: str


@dataclass(frozen=True)
class Taken:
    """A step as a list shows it."""

    number: int
    tool: str
    arguments: str
    ok: bool
    code: str
    changes: int


@dataclass(frozen=True)
class Sight:
    """An episode as the workbench shows it.

    Attributes:
        choice: the customer's current choice; None where nothing was agreed to.
        chooses: whether the case is one in which the customer's choice counts.
        currency: that of the customer's orders, or of the store's.
        suggestions: the ids that stand beside the case, by column.
        changes: the net row changes so far.
    """

    task: str
    title: str
    question: str
    observation: Observation
    opening: Observation
    score: Score
    taken: Sequence[Taken]
    steps: Sequence[Step]
    beside: Sequence[Beside]
    chosen: Mapping[str, str]
    currency: str
    suggestions: Mapping[str, Sequence[str]]
    choice: Choice | None
    chooses: bool
    reports: Sequence[Report]
    conversation: Sequence[Said]
    changes: Sequence[Mapping[str, Any]]


def sight_of(environment: Environment, asked: Mapping[str, str]) -> Sight:
    """What is to be seen of an episode.

    Args:
        environment: the episode's.
        asked: what a person chose for panels, by name; further names are left out.
    """
    score = environment.score()
    look = environment.look(lambda world: _Look(world, environment, asked))
    steps = environment.steps
    return Sight(
        task=environment.id,
        title=environment.task.title,
        question=environment.task.question,
        observation=environment.observe(),
        opening=environment.opening(),
        score=score,
        taken=[_taken(step) for step in steps],
        steps=steps,
        beside=look.beside,
        chosen=look.chosen,
        currency=look.currency,
        suggestions=_suggestions(look.beside),
        choice=look.choice,
        chooses=look.chooses,
        reports=look.reports,
        conversation=look.conversation,
        changes=[change.to_dict() for change in environment.changes()],
    )


def _taken(step: Step) -> Taken:
    result = orjson.loads(step.result_json)
    arguments = step.action.arguments
    short = show.as_json(arguments, indent=False)
    if isinstance(arguments, dict):
        given: dict[str, Any] = arguments  # pyright: ignore[reportUnknownVariableType]
        short = ", ".join(str(value) for value in given.values())
    short = short if len(short) <= 120 else f"{short[:117]}…"
    return Taken(
        step.number, step.action.tool, short, result["ok"], result["code"], len(step.changes)
    )


class _Look:
    """What is read from the world, in one look."""

    def __init__(self, world: Reader, environment: Environment, asked: Mapping[str, str]) -> None:
        self._world: Final = world
        account = environment.fixture.account
        self._given: Final = {"account": account, "now": environment.fixture.now}
        orders = world.rows(
            "SELECT currency FROM orders WHERE customer_id = COALESCE(?, customer_id) LIMIT 1",
            (account,),
        )
        self.currency: Final = str(orders[0][0]) if orders else "USD"
        panels = environment.suite.panels or plain_panels(account=account is not None)
        self._panels: Final = [
            panel for panel in panels if account is not None or not panel.uses_account
        ]
        self.chosen: Final = self._choose(asked, environment.fixture.opening)
        self.beside: Final = list(self._read())
        self.choice: Final = self._choice()
        self.chooses: Final = bool(self.choice or world.rows("SELECT tool FROM env_need LIMIT 1"))
        self.reports: Final = [
            Report(int(str(step)), str(claim), str(order), supported == 1)
            for step, claim, order, supported in world.rows(
                "SELECT step, claim, order_id, supported FROM env_report ORDER BY step"
            )
        ]
        self.conversation: Final = [
            Said(int(str(step)), str(role), str(body))
            for step, role, body in world.rows(
                "SELECT step, role, body FROM env_message ORDER BY step, role"
            )
        ]

    def _choose(self, asked: Mapping[str, str], opening: str) -> dict[str, str]:
        """What panels are about: what a person chose, else what the opening names."""
        chosen: dict[str, str] = {}
        words = list(dict.fromkeys(NAMED.findall(opening)))[:WORDS_TRIED_MAX]
        for panel in self._panels:
            for name in panel.needs:
                if name not in chosen and asked.get(name):
                    chosen[name] = asked[name]
        for panel in self._panels:
            if len(panel.needs) == 1 and panel.needs[0] not in chosen:
                (name,) = panel.needs
                named = (word for word in words if self._records(panel, {name: word}))
                chosen.update((name, word) for word in list(named)[:1])
        return chosen

    def _read(self) -> Iterator[Beside]:
        opening = {name for panel in self._panels for name in panel.needs}
        for panel in self._panels:
            if not all(name in self.chosen for name in panel.needs):
                continue
            chosen = {name: self.chosen[name] for name in panel.needs}
            records = [
                list(_cells(row, opening, self.chosen, self.currency))
                for row in self._records(panel, chosen)
            ]
            yield Beside(panel, chosen, records)

    def _records(self, panel: Panel, chosen: Mapping[str, str]) -> list[dict[str, Any]]:
        bound = {**self._given, **chosen}
        names = [name for name in bound if name in panel.bound]
        return self._world.records(panel.query, {name: bound[name] for name in names})

    def _choice(self) -> Choice | None:
        accepted = self._world.rows(
            "SELECT step, remedy, order_id FROM env_choice WHERE accepted = 1"
            " ORDER BY step DESC LIMIT 1"
        )
        if not accepted:
            return None
        ((step, remedy, order_id),) = accepted
        granted = self._world.records(
            "SELECT g.tool, g.order_id, g.subject, g.sku, g.amount_cents, o.currency FROM env_grant"
            " g LEFT JOIN orders o ON o.id = g.order_id WHERE g.step = ? ORDER BY g.tool",
            (step,),
        )
        if step == 0:
            # What the customer's first words ask for has no remedy's name, only what it permits.
            permits = [_permit(show.words(row["tool"]), row) for row in granted]
        elif granted:
            row = {**granted[0], "sku": next((g["sku"] for g in granted if g["sku"]), "")}
            permits = [_permit(show.words(str(remedy)), row)]
        else:
            permits = []
        return Choice(int(str(step)), [f"{permit} (order {order_id})" for permit in permits])


def _permit(what: str, row: Mapping[str, Any]) -> str:
    """What is permitted, in words: `refund PAY-A, $48.00`."""
    words = " ".join(part for part in (what, row["subject"], row["sku"]) if part)
    amount = row["amount_cents"]
    return f"{words}, {show.money(amount, row['currency'] or 'USD')}" if amount else words


def _cells(
    row: Mapping[str, Any], opening: set[str], chosen: Mapping[str, str], currency: str
) -> Iterator[Cell]:
    for column, value in row.items():
        if column == "currency":
            continue
        if column.endswith("_cents") and isinstance(value, int):
            money = show.money(value, row.get("currency") or currency)
            yield Cell(column.removesuffix("_cents"), money, None)
            continue
        opens = column in opening and isinstance(value, str) and chosen.get(column) != value
        yield Cell(column, value, column if opens else None)


def _suggestions(beside: Sequence[Beside]) -> dict[str, list[str]]:
    """The ids that stand beside the case, by column, each once."""
    found: dict[str, dict[str, None]] = {}
    for item in beside:
        for name, value in item.chosen.items():
            found.setdefault(name, {})[value] = None
        for record in item.records:
            for cell in record:
                if isinstance(cell.value, str) and (cell.column + "_").endswith(("_id_", "sku_")):
                    found.setdefault(cell.column, {})[cell.value] = None
    return {name: list(values) for name, values in found.items()}
