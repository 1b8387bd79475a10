"""Secrecy: what an agent is shown does not depend on what only the rubric may know.

A fixture holds rows and a case for the rubric alone. With both taken away, the same actions must be
answered with the same bytes; an answer that shows an expected value, or depends on one, is another.
An expected value that is worked out from other rows, or simply known, shows by where it stands: a
right run's payments, SKUs and amounts are read in columns, and never in a sentence, in the opening
or under a name that no column has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final, NamedTuple, cast

from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section
from deskgym.audit.zoo.adversary import ZOO
from deskgym.environment import Environment
from deskgym.runner import play
from deskgym.store import Template
from deskgym.store.schema import LOG_PREFIX, STORE_TABLES, TABLES
from deskgym.suite import Suite
from deskgym.task import Fixture, Script, Task
from deskgym.testing.trace import repeat
from deskgym.trajectory import Action, Observation

NAME: Final = "secrecy"
SEEDS_MAX: Final = 4
GIVEN_AWAY: Final = frozenset(
    ("answer", "best", "correct", "due", "expected", "gold", "hint", "oracle", "reward", "right",
     "rubric", "score", "solution", "verdict")
)  # fmt: skip
"""Words in the name of a value that no agent is shown; a column's own name tells nothing."""

_COLUMNS: Final = frozenset(name for table in STORE_TABLES for name in TABLES[table].columns)

_WANDERERS: Final = ("only-reads", "random-calls")


_BALANCE: Final = frozenset(
    ("balance", "captured", "discount", "left", "paid", "price", "refundable", "refunded",
     "remaining", "spent", "tax", "total")
)  # fmt: skip
"""Words in the name of an amount that sums rows up, whatever is right."""

_NOT_TOLD: Final = ("payment_id", "item_id", "shipment_id", "sku", "replacement_sku")
"""Arguments of writes that an agent has to find out. Orders and threads it is told."""


class Due(NamedTuple):
    """What right runs write, which nobody may be told.

    Attributes:
        ids: payments, items, parcels and SKUs.
        cents: amounts.
    """

    ids: frozenset[str]
    cents: frozenset[int]

    def words(self) -> frozenset[str]:
        """Each of them as it would stand in a sentence."""
        amounts = {f"{cents // 100}.{cents % 100:02d}" for cents in self.cents}
        return self.ids | amounts | {str(cents) for cents in self.cents}


def due_of(suite: Suite, task: Task, seed: int) -> Due:
    """The ids and amounts of the writes by which the oracles of a task solve it."""
    ids: set[str] = set()
    cents: set[int] = set()
    for control in task.controls:
        if control.kind != "oracle":
            continue
        with Environment(suite, task, parameters=control.parameters) as environment:
            play(environment, control.script, seed)
            for step in environment.steps:
                tool = suite.toolbox.get(step.action.tool)
                if tool is None or tool.kind != "write" or not step.result.ok:
                    continue
                given = cast(Mapping[str, object], step.action.arguments)
                ids |= {str(given[name]) for name in _NOT_TOLD if given.get(name)}
                amount = given.get("amount_cents")
                cents |= {amount} if isinstance(amount, int) else set()
    return Due(frozenset(ids), frozenset(cents))


def without_the_rubric(task: Task, versions: Sequence[str]) -> Task:
    """The task with no case and no row of the rubric's own tables."""

    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        built = task.fixture(seed, values)
        own = {
            name: rows
            for name, rows in built.template.rows.items()
            if not name.startswith(LOG_PREFIX)
        }
        return replace(built, template=Template(own, built.template.base), case=None)

    bare = replace(task, fixture=fixture)
    bare.vetted.update(versions)  # nobody can score it
    return bare


def run(target: Target) -> Section:
    """Every control and two wanderers, once as they are and once without what the rubric knows."""
    suite, task = target.suite, target.task
    bare = without_the_rubric(task, [rubric.version for rubric in suite.rubrics])
    findings: list[Finding] = []
    runs = 0
    for seed in target.seeds[:SEEDS_MAX]:
        due = due_of(suite, task, seed)
        scripts: list[tuple[str, Script, Mapping[str, int]]] = [
            (control.name, control.script, control.parameters) for control in task.controls
        ]
        scripts += [
            (item.name, item.script(suite.toolbox, seed), dict[str, int]())
            for item in ZOO
            if item.name in _WANDERERS
        ]
        for name, script, parameters in scripts:
            runs += 1
            with (
                Environment(suite, task, parameters=parameters) as told,
                Environment(suite, bare, parameters=parameters) as untold,
            ):
                seen = _seen(told, script, seed)
                again = _seen(untold, repeat([step.action for step in told.steps]), seed)
                actions = [step.action for step in told.steps]
                fault = _named(seen) or _difference(seen, again) or _told(seen, actions, due)
                if fault:
                    findings.append(_finding(told, name, fault))
    return Section(NAME, runs, findings=tuple(findings), counts={"runs": runs})


def _seen(environment: Environment, script: Script, seed: int) -> list[Observation]:
    """Every observation of an episode, from the first."""
    seen = [environment.reset(seed)]
    moves = script(seen[0])
    try:
        action = next(moves)
        while not environment.done:
            seen.append(environment.step(action))
            action = moves.send(seen[-1])
    except StopIteration:
        pass
    finally:
        moves.close()
    return seen


def _difference(seen: Sequence[Observation], again: Sequence[Observation]) -> str:
    """The first answer that is another one without the rubric's rows and case; empty if none is."""
    for number, (first, second) in enumerate(zip_longest(seen, again)):
        told, untold = (b"nothing" if item is None else item.to_json() for item in (first, second))
        if told != untold:
            return f"{_place(number)} shows {_short(told)} and, without them, {_short(untold)}"
    return ""


def _named(seen: Sequence[Observation]) -> str:
    """The first answer that names something as the right one; empty if none does."""
    for number, observation in enumerate(seen):
        names = set(_keys(observation.data)) - _COLUMNS
        told = sorted(name for name in names if GIVEN_AWAY & set(name.split("_")))
        if told:
            return f"{_place(number)} shows {', '.join(told)}: {_short(observation.to_json())}"
    return ""


_WORD: Final = re.compile(r"\d+\.\d\d(?!\d)|\w+(?:-\w+)*")


def _told(seen: Sequence[Observation], actions: Sequence[Action], due: Due) -> str:
    """The first answer that tells what a right run writes elsewhere than in a column.

    What an agent named itself may be repeated to it.
    """
    known = due.words()
    for number, observation in enumerate(seen):
        said = set(_WORD.findall(actions[number - 1].to_json().decode())) if number else set[str]()
        amounts = {f"{int(word) // 100}.{int(word) % 100:02d}" for word in said if word.isdecimal()}
        said |= amounts
        told = sorted((known & set(_WORD.findall(observation.message))) - said)
        if told:
            return f"{_place(number)} tells {', '.join(told)}: {_short(observation.to_json())}"
        for name, value in _values(observation.data, ""):
            if not _is_plain(name, value) and str(value) not in said and _is_due(value, due):
                return f"{_place(number)} shows {value} as {name}: {_short(observation.to_json())}"
    return ""


def _is_plain(name: str, value: object) -> bool:
    """Whether a value stands where such values do: an id or SKU, an amount, a balance."""
    column = name if name in _COLUMNS else name.removesuffix("s")
    if isinstance(value, str):
        return column in _COLUMNS and column.split("_")[-1] in ("id", "sku")
    if column in _COLUMNS:
        return True
    return name.endswith("_cents") and bool(_BALANCE & set(name.split("_")))


def _is_due(value: object, due: Due) -> bool:
    return value in (due.cents if isinstance(value, int) else due.ids)


def _values(value: object, name: str) -> Iterator[tuple[str, object]]:
    """Every plain value, with the name that it stands under."""
    if isinstance(value, Mapping):
        for key, item in cast(Mapping[str, object], value).items():
            yield from _values(item, key)
    elif isinstance(value, list | tuple):
        for item in cast(Sequence[object], value):
            yield from _values(item, name)
    elif isinstance(value, str | int):
        yield name, value


def _place(number: int) -> str:
    return f"the answer to step {number}" if number else "the opening"


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in cast(Mapping[str, object], value).items():
            yield key.lower()
            yield from _keys(item)
    elif isinstance(value, list | tuple):
        for item in cast(Sequence[object], value):
            yield from _keys(item)


def _finding(environment: Environment, by: str, fault: str) -> Finding:
    return Finding(
        NAME, by, environment.suite.name, environment.task.name, environment.seed,
        environment.parameters, environment.rubric.version,
        "no observation depends on the case or on the rubric's own rows, or names what is right",
        fault, actions=tuple(step.action for step in environment.steps),
    )  # fmt: skip


def _short(answer: bytes) -> str:
    text = answer.decode()
    return text if len(text) <= 300 else f"{text[:297]}…"


ATTACK: Final = Attack(
    NAME,
    "with the rubric's rows and case taken away, every action is answered with the same bytes",
    run,
    scope="task",
)
