"""Secrecy: what an agent is shown does not depend on what only the rubric may know.

A fixture holds rows and a case for the rubric alone. With both taken away, the same actions must be
answered with the same bytes; an answer that shows an expected value, or depends on one, is another.
An expected value that is worked out from other rows shows by its name at the latest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final, cast

from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section
from deskgym.audit.zoo.adversary import ZOO
from deskgym.environment import Environment
from deskgym.store import Template
from deskgym.store.schema import LOG_PREFIX, STORE_TABLES, TABLES
from deskgym.task import Fixture, Script, Task
from deskgym.testing.trace import repeat
from deskgym.trajectory import Observation

NAME: Final = "secrecy"
SEEDS_MAX: Final = 4
GIVEN_AWAY: Final = frozenset(
    ("answer", "best", "correct", "due", "expected", "gold", "hint", "oracle", "reward", "right",
     "rubric", "score", "solution", "verdict")
)  # fmt: skip
"""Words in the name of a value that no agent is shown; a column's own name tells nothing."""

_COLUMNS: Final = frozenset(name for table in STORE_TABLES for name in TABLES[table].columns)

_WANDERERS: Final = ("only-reads", "random-calls")


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
                fault = _named(seen) or _difference(seen, again)
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
