"""Broken rules: a rubric with one rule changed, and how an end state is scored by it.

Rubrics are data, so most rules are broken by another record. A query is broken between the rubric
and the world: the rubric asks as ever, and is answered what the broken query would answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deskgym.environment import Environment
from deskgym.rubric import Reader, Score
from deskgym.suite import Rubric

Bindings = Sequence[object] | Mapping[str, object]
PLANTED_ROW: Mapping[str, Any] = {"step": 0, "tool": "", "missing": "", "what": "broken"}
"""What a check that never holds shows."""


class Asked(NamedTuple):
    """A query that a rubric asked, and whether it wanted named columns."""

    sql: str
    bindings: Bindings
    rows: list[Any]


@dataclass
class Listener:
    """A reader that notes what a rubric asks of a world."""

    world: Reader
    asked: list[Asked] = field(default_factory=list[Asked])

    def rows(self, sql: str, bindings: Bindings = ()) -> list[tuple[object, ...]]:
        """Run one query; rows as tuples."""
        return self.world.rows(sql, bindings)

    def records(self, sql: str, bindings: Bindings = ()) -> list[dict[str, Any]]:
        """Run one query; rows by column name."""
        rows = self.world.records(sql, bindings)
        self.asked.append(Asked(sql, bindings, rows))
        return rows


Answer = Callable[[Reader, Bindings], list[dict[str, Any]]]


@dataclass(frozen=True)
class Broken:
    """A reader that answers one query otherwise."""

    world: Reader
    sql: str
    answer: Answer

    def rows(self, sql: str, bindings: Bindings = ()) -> list[tuple[object, ...]]:
        """Run one query; rows as tuples."""
        return self.world.rows(sql, bindings)

    def records(self, sql: str, bindings: Bindings = ()) -> list[dict[str, Any]]:
        """Run one query; rows by column name."""
        if sql == self.sql:
            return self.answer(self.world, bindings)
        return self.world.records(sql, bindings)


def always_holds(_: Reader, __: Bindings) -> list[dict[str, Any]]:
    """No row breaks it."""
    return []


def never_holds(_: Reader, __: Bindings) -> list[dict[str, Any]]:
    """Some row always breaks it."""
    return [dict(PLANTED_ROW)]


def asking(sql: str) -> Answer:
    """What another query answers."""
    return lambda world, bindings: world.records(sql, bindings)


@dataclass(frozen=True)
class Scene:
    """An end state: what the rubric says of it, what it asked, and what it must say.

    Attributes:
        environment: where it stands; its world is settled.
        world: its rows, or what is planted in their place.
        rubric: the version that scores.
        case: what the task accepts.
        expected: what it must earn by that version, by a reading other than the rubric's.
        earned: what it does earn, by the whole rubric.
        asked: the queries that the whole rubric asked of it.
        by: whose run it is.
        explanation: the breakdown by the whole rubric, as JSON.
    """

    environment: Environment
    world: Reader
    rubric: Rubric
    case: Any
    expected: float
    earned: float
    asked: tuple[Asked, ...]
    by: str
    explanation: Mapping[str, Any]


def scene_of(
    environment: Environment,
    rubric: Rubric,
    expected: float,
    by: str,
    world: Reader | None = None,
) -> Scene:
    """An episode as it stands, as a scene; through another reader of its world if one is given."""
    environment.world.settle()
    listener = Listener(world or environment.world)
    case = environment.fixture.case
    score = rubric.score(listener, case)
    return Scene(
        environment, listener.world, rubric, case, expected, score.reward, tuple(listener.asked),
        by, score.breakdown.to_dict(),
    )  # fmt: skip


Rescore = Callable[[Scene], Score | None]
"""What a broken rule makes of a scene; None where it cannot make a difference."""


@dataclass(frozen=True)
class Rule:
    """A rule that is broken.

    Attributes:
        name: which, and how.
        kind: `constant`, `ceiling`, `need`, `outcome`, `gate`, `check`, `table` or `guard`.
        tasks: the tasks in which it counts, all if empty.
        rescore: what it makes of a scene.
    """

    name: str
    kind: str
    rescore: Rescore
    tasks: frozenset[str] = frozenset()

    def notices(self, scene: Scene) -> bool:
        """Whether the scene tells the broken rule from the right one."""
        score = self._score(scene)
        return score is not None and score.reward != scene.expected

    def explains_otherwise(self, scene: Scene) -> bool:
        """Whether the broken rule's breakdown of the scene differs, though its reward may not."""
        score = self._score(scene)
        return score is not None and score.breakdown.to_dict() != scene.explanation

    def _score(self, scene: Scene) -> Score | None:
        if self.tasks and scene.environment.task.name not in self.tasks:
            return None
        return self.rescore(scene)


def query_rule(name: str, kind: str, sql: str, answer: Answer, *tasks: str) -> Rule:
    """A rule that is broken by a query which answers otherwise."""

    def rescore(scene: Scene) -> Score | None:
        for asked in scene.asked:
            if asked.sql == sql and answer(scene.world, asked.bindings) != asked.rows:
                broken = Broken(scene.world, sql, answer)
                return scene.rubric.score(broken, scene.case)
        return None

    return Rule(name, kind, rescore, frozenset(tasks))


def case_rule(name: str, kind: str, change: Callable[[Any], Any], *tasks: str) -> Rule:
    """A rule that is broken by another case."""

    def rescore(scene: Scene) -> Score | None:
        case = change(scene.case)
        return None if case is None else scene.rubric.score(_plain(scene.world), case)

    return Rule(name, kind, rescore, frozenset(tasks))


def rubric_rule(name: str, kind: str, rubric: Rubric) -> Rule:
    """A rule that is broken by another record of the same version."""

    def rescore(scene: Scene) -> Score | None:
        if scene.rubric.version != rubric.version:
            return None
        return rubric.score(_plain(scene.world), scene.case)

    return Rule(name, kind, rescore)


def _plain(world: Reader) -> Reader:
    """The world without what a rubric keeps in it from one scoring to the next."""
    return Listener(world)
