"""Episodes come out alike on both engines: observations, codes, changes, scores and digests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskgym import Control, Environment, Suite, Task, call, find_tasks, load_suite
from deskgym.errors import StoreError
from deskgym.store import Engine, Template, World, WorldEngine
from deskgym.store.postgres.engine import PostgresEngine
from deskgym.task import Script, SweepCase
from deskgym.testing.probe import probe_all, wander
from deskgym.trajectory import Action
from tests.episode import play, transcript
from tests.store.shop import SHOP
from tests.store.test_world_property import REFUNDS, STATEMENTS, TRADES, Statement

SUITES = ("service", "backoffice", "tickets")
CONTROLS = [(suite, task, control) for suite, task in find_tasks(SUITES)
            for control in task.controls]  # fmt: skip
TASKS = list(find_tasks(SUITES))
SWEEP = [(suite, case) for suite in map(load_suite, SUITES) for case in suite.sweep or ()]
SEED_MAX = 2**31 - 1


def named(item: tuple[Suite, Task, Control]) -> str:
    return f"{item[1].name}-{item[2].name}"


def assert_alike(
    suite: Suite, task: Task, control: Control, postgres: PostgresEngine, seed: int = 0
) -> None:
    found = transcript(suite, task, control, seed, postgres)
    assert found == transcript(suite, task, control, seed, Engine(1))


# Every one of them in the long run.
SLICE = CONTROLS[::4]


@pytest.mark.parametrize("item", SLICE, ids=named)
def test_a_control_comes_out_alike(item: tuple[Suite, Task, Control], postgres: PostgresEngine):
    assert_alike(*item, postgres)


@pytest.mark.long
@pytest.mark.parametrize("item", CONTROLS, ids=named)
def test_every_control_comes_out_alike_for_any_seed(
    item: tuple[Suite, Task, Control], postgres: PostgresEngine
):
    for seed in (0, 1, 12_345, SEED_MAX):
        assert_alike(*item, postgres, seed=seed)


def swept(suite: Suite, case: SweepCase, engine: WorldEngine) -> object:
    task = suite.task(case.task)
    with Environment(suite, task, parameters=case.parameters, engine=engine) as environment:
        seen = play(environment, task.control(case.control).script)
        rewards = {version: environment.score(version).reward for version in case.rewards}
        assert rewards == case.rewards
        return seen, environment.changes(), environment.world.digest()


def assert_sweep_alike(cases: list[tuple[Suite, SweepCase]], postgres: PostgresEngine) -> None:
    lite = Engine(1)
    for suite, case in cases:
        assert swept(suite, case, postgres) == swept(suite, case, lite), case


def test_a_slice_of_the_sweep_comes_out_alike_and_as_the_rules_say(postgres: PostgresEngine):
    assert SWEEP
    assert_sweep_alike(SWEEP[::29], postgres)


@pytest.mark.long
def test_the_sweep_comes_out_alike_and_as_the_rules_say(postgres: PostgresEngine):
    assert_sweep_alike(SWEEP, postgres)


def known_actions(suite: Suite, task: Task) -> list[Action]:
    """What the task's oracle does, whose values wandering starts from."""
    with Environment(suite, task, engine=Engine(1)) as environment:
        play(environment, task.control("oracle").script)
        return [step.action for step in environment.steps]


def wandered(
    suite: Suite, task: Task, script: Script, seed: int, engine: WorldEngine
) -> list[object]:
    """An episode of random actions, scored and digested after every one of them."""
    with Environment(suite, task, engine=engine) as environment:
        observation = environment.reset(seed)
        found: list[object] = [observation.to_json()]
        agent = script(observation)
        action = next(agent)
        while True:
            observation = environment.step(action)
            score = environment.score()
            found.append((observation.to_json(), score.to_dict(), environment.world.digest()))
            found.append((environment.changes(), [str(bug) for bug in environment.bugs]))
            try:
                action = agent.send(observation)
            except StopIteration:
                return found
            if environment.done:
                return found


def assert_wanders_alike(place: int, draw: int, seed: int, postgres: PostgresEngine) -> None:
    suite, task = TASKS[place % len(TASKS)]
    script = wander(suite.toolbox, known_actions(suite, task), draw)
    found = wandered(suite, task, script, seed, postgres)
    assert found == wandered(suite, task, script, seed, Engine(1))
    assert len(found) > 1


@given(place=st.integers(0), draw=st.integers(0, 10**6), seed=st.integers(0, 99))
@settings(max_examples=12)
def test_random_actions_come_out_alike(place: int, draw: int, seed: int, postgres: PostgresEngine):
    assert_wanders_alike(place, draw, seed, postgres)


@pytest.mark.long
@given(
    place=st.integers(0, len(TASKS) - 1), draw=st.integers(0, 10**9), seed=st.integers(0, SEED_MAX)
)
@settings(max_examples=400)
def test_many_random_actions_come_out_alike(
    place: int, draw: int, seed: int, postgres: PostgresEngine
):
    assert_wanders_alike(place, draw, seed, postgres)


def shared(statement: Statement) -> bool:
    """Whether both engines know the statement: the rest is SQLite's own, or none at all."""
    return not any(own in statement[0] for own in (" OR ", ";", "ON CONFLICT DO UPDATE"))


TEMPLATE = Template({**SHOP, **REFUNDS})
HISTORIES = st.lists(
    st.one_of(st.lists(STATEMENTS.filter(shared), min_size=1, max_size=4), TRADES), max_size=8
)


def outcome(world: World, statements: list[Statement]) -> object:
    """What a call of random SQL came to: its changes, or the kind of its failure."""

    def work() -> None:
        for sql, bindings in statements:
            world.rows(sql, bindings)

    try:
        return world.atomic(work).changes
    except StoreError as error:
        return type(error).__name__


def assert_rows_alike(history: list[list[Statement]], postgres: PostgresEngine) -> None:
    worlds = [postgres.open(TEMPLATE), Engine(1).open(TEMPLATE)]
    for statements in history:
        first, second = (outcome(world, statements) for world in worlds)
        assert first == second, statements
    first, second = ((world.digest(), world.snapshot()) for world in worlds)
    assert first == second
    worlds[0].park()
    assert worlds[0].snapshot() == second[1]


@given(history=HISTORIES)
@settings(max_examples=25)
def test_random_statements_change_the_same_rows(
    history: list[list[Statement]], postgres: PostgresEngine
):
    assert_rows_alike(history, postgres)


@pytest.mark.long
@given(history=HISTORIES)
@settings(max_examples=1_000)
def test_many_random_statements_change_the_same_rows(
    history: list[list[Statement]], postgres: PostgresEngine
):
    assert_rows_alike(history, postgres)


# Texts that mean something to one parser or another, and must mean nothing as an argument.
INJECTIONS = (
    "' OR '1'='1", "'; DROP TABLE orders; --", "'); DELETE FROM refunds; --", "\\'; COMMIT; --",
    "x' UNION SELECT email FROM customers --", "%' OR 1=1 --", "$1", "$$; ROLLBACK; $$", "?",
    ":order_id", "%s", "%(name)s", "{0}", "E'\\x27'", "\"; SELECT pg_sleep(9); --", "/* */",
    "U&'\\0027'", "1; SET search_path = public", "NULL", "-- ", "\N{FULLWIDTH APOSTROPHE} OR 1=1",
    "\N{MODIFIER LETTER APOSTROPHE}; DROP SCHEMA deskgym_worlds CASCADE", "0x27", "1e9", "-1",
)  # fmt: skip


def as_fields(arguments: object) -> dict[str, Any]:
    assert isinstance(arguments, dict)
    return arguments


def injected(suite: Suite, task: Task, engine: WorldEngine, texts: tuple[str, ...]) -> list[object]:
    """Every text in every argument of every tool, from the same start."""
    found: list[object] = []
    known = known_actions(suite, task)
    with Environment(suite, task, engine=engine) as environment:
        environment.reset(0)
        for tool in suite.toolbox.values():
            fitting = next(
                (as_fields(action.arguments) for action in known if action.tool == tool.name),
                {item.name: "x" for item in tool.parameters if item.required},
            )
            for parameter in tool.parameters:
                for text in texts:
                    if environment.done:
                        environment.reset(0)
                    observation = environment.step(
                        call(tool.name, **{**fitting, parameter.name: text})
                    )
                    assert not environment.bugs, (tool.name, parameter.name, text)
                    found.append((observation.to_json(), environment.world.digest()))
            environment.reset(0)
    return found


def one_task_a_suite() -> Iterator[tuple[Suite, Task]]:
    """A task of each suite, for every suite has tools of its own."""
    for name in SUITES:
        suite = load_suite(name)
        yield suite, next(task for own, task in TASKS if own.name == name)


@pytest.mark.parametrize("item", list(one_task_a_suite()), ids=lambda item: item[0].name)
def test_sql_in_any_argument_of_any_tool_is_data(
    item: tuple[Suite, Task], postgres: PostgresEngine
):
    suite, task = item
    # Each text is tried in some place, and each place with some text; all of both when long.
    texts = INJECTIONS[:: 6 if suite.name == "backoffice" else 2]
    assert injected(suite, task, postgres, texts) == injected(suite, task, Engine(1), texts)


@pytest.mark.long
@pytest.mark.parametrize("item", TASKS, ids=lambda item: f"{item[0].name}-{item[1].name}")
def test_sql_in_any_argument_of_any_tool_in_any_task_is_data(
    item: tuple[Suite, Task], postgres: PostgresEngine
):
    lite = Engine(1)
    assert injected(*item, postgres, INJECTIONS) == injected(*item, lite, INJECTIONS)


@pytest.mark.long
@pytest.mark.parametrize("item", TASKS, ids=lambda item: f"{item[0].name}-{item[1].name}")
def test_garbage_in_any_argument_of_any_tool_is_answered_alike(
    item: tuple[Suite, Task], postgres: PostgresEngine
):
    suite, task = item
    known = known_actions(suite, task)
    found = [
        [
            (probe.action.to_json(), probe.observation.to_json(), probe.digests, probe.bug)
            for probe in probe_all(Environment(suite, task, engine=engine), 0, known, known[:4])
        ]
        for engine in (postgres, Engine(1))
    ]
    assert found[0] == found[1]
