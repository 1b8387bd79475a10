"""A second opinion on a paid run: the suite's own, which shares no code with its rubric."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from deskgym.aftermath import Aftermath, Record, Records
from deskgym.environment import Environment
from deskgym.store import Template
from deskgym.store.change import Row
from deskgym.store.schema import STORE_TABLES, TABLES

TEMPLATES_CACHED: Final = 64


def aftermath_of(environment: Environment) -> Aftermath:
    """An episode as it stands, in plain rows."""
    world = environment.world
    before = _before(world.template)
    after = dict(before)
    changes = world.changes()
    for name in {change.table for change in changes}:
        known = TABLES[name]
        rows = {known.key_of(tuple(row.values())): row for row in before[name]}
        for change in changes:
            if change.table == name and change.after is not None:
                rows[change.key] = known.as_dict(change.after)
            elif change.table == name:
                del rows[change.key]
        after[name] = tuple(rows[key] for key in sorted(rows))
    fixture = environment.fixture
    return Aftermath(
        environment.task.name,
        environment.parameters,
        fixture.account,
        fixture.opening,
        before,
        after,
        _log(environment),
        environment.steps,
        environment.ended,
    )


@lru_cache(maxsize=TEMPLATES_CACHED)
def _before(template: Template) -> Records:
    """The store's rows of a template, its own in place of the base's."""
    return {name: _records(name, template) for name in STORE_TABLES}


def _records(name: str, template: Template) -> tuple[Record, ...]:
    known = TABLES[name]
    rows: dict[tuple[object, ...], Row] = {}
    for source in (template.base.rows, template.rows):
        rows.update((known.key_of(row), row) for row in source.get(name, ()))
    return tuple(known.as_dict(rows[key]) for key in sorted(rows))


def _log(environment: Environment) -> Records:
    world = environment.world
    kept: dict[str, list[Record]] = {name: [] for name, item in TABLES.items() if item.is_log}
    template = world.template
    own = [(name, row) for name in kept for row in template.rows.get(name, ())]
    for name, row in (*own, *world.log):
        kept[name].append(TABLES[name].as_dict(row))
    return {name: tuple(rows) for name, rows in kept.items()}


def objections_to(environment: Environment) -> tuple[str, ...] | None:
    """What the suite itself holds against an episode; None where the suite has no such opinion."""
    judge = environment.suite.objections
    return None if judge is None else judge(aftermath_of(environment))
