"""Every rule of a check rubric, broken: weights, checks, their parts, and tables not looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from deskgym.audit.rule import Rule, always_holds, asking, case_rule, never_holds, query_rule
from deskgym.audit.weakened import skipping, weakened
from deskgym.rubric.checks import CheckCase
from deskgym.store.schema import STORE_TABLES

READS_REPLIES: Final = "env_fact"
"""What a check of a reply's words reads. Such a check is broken whole, and not part by part: its
parts are what can be said, which the suite's own tests go through sentence by sentence."""
STEP_POINTS: Final = 100
"""By how much a weight is moved: a hundredth of a reward."""


def rules_of(cases: Mapping[str, CheckCase]) -> Iterator[Rule]:
    """Every rule of the cases, by task; a query that several tasks ask is one rule."""
    known: dict[str, Rule] = {}
    for task, case in cases.items():
        yield from _weights(task, case)
        bound = [item.check for item in case.required]
        for check in (*bound, *case.forbidden):
            sql, name = check.check.sql, check.check.name
            for word, answer in (("always", always_holds), ("never", never_holds)):
                rule = query_rule(f"{task}: {name} {word} holds", "check", sql, answer, task)
                yield rule
            for item in weakened(sql) if READS_REPLIES not in sql else ():
                known.setdefault(
                    item.sql,
                    query_rule(f"{name} without {item.lacks}", "part", sql, asking(item.sql)),
                )
            for table in STORE_TABLES:
                blind = skipping(sql, table)
                if blind is not None:
                    full = f"{task}: {name} blind to {table}"
                    yield query_rule(full, "table", sql, asking(blind), task)
    yield from known.values()


def _weights(task: str, case: CheckCase) -> Iterator[Rule]:
    """A hundredth of the reward moved from each required check to the next."""
    for place, item in enumerate(case.required):
        following = (place + 1) % len(case.required)
        if following != place:
            name = f"{task}: weight of {item.check.check.name} less by {STEP_POINTS}"
            yield case_rule(name, "constant", _moved(place, following), task)


def _moved(source: int, target: int) -> Callable[[CheckCase], CheckCase]:
    def change(case: CheckCase) -> CheckCase:
        required = list(case.required)
        required[source] = replace(required[source], points=required[source].points - STEP_POINTS)
        required[target] = replace(required[target], points=required[target].points + STEP_POINTS)
        return replace(case, required=tuple(required))

    return change
