"""Slots are shared by processes, survive their deaths, and keep nothing of ended episodes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import psycopg
import pytest

import deskgym
from deskgym import trajectory
from deskgym.environment import Environment
from deskgym.runner import play
from deskgym.store import Base, Engine, Template
from deskgym.store.postgres.engine import PostgresEngine
from deskgym.store.postgres.lease import Lease
from deskgym.store.postgres.upkeep import drop_free_slots, slots_in
from tests.store.shop import SHOP
from tests.store.test_world import SELL, STOCK, call

TASK = "service/damaged-lamp"
TEMPLATE = Template(SHOP)


@pytest.fixture
def engine(own_database: str) -> Iterator[PostgresEngine]:
    engine = PostgresEngine(own_database, slots_max=2)
    yield engine
    engine.close()


def asked(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(sql.encode()).fetchall()


def slots_of(url: str) -> list[int]:
    rows = asked(url, "SELECT number FROM deskgym_worlds.slot ORDER BY number")
    return [int(str(number)) for (number,) in rows]


def in_turns(environments: list[Environment]) -> list[tuple[float, str]]:
    """Step each episode once, then each again, until all have ended; what they came to."""
    control = environments[0].task.control("oracle")
    agents = [control.script(environment.reset(0)) for environment in environments]
    actions = [next(agent) for agent in agents]
    live = set(range(len(agents)))
    while live:
        for number in sorted(live):
            observation = environments[number].step(actions[number])
            try:
                actions[number] = agents[number].send(observation)
            except StopIteration:
                live.discard(number)
    return [(item.score().reward, item.world.digest()) for item in environments]


def expected() -> tuple[float, str]:
    ((reward, digest),) = in_turns([deskgym.make(TASK, engine=Engine(1))])
    assert reward == 1.0
    return reward, digest


@pytest.mark.parametrize("count", [12, pytest.param(64, marks=pytest.mark.long)])
def test_many_episodes_at_once_in_four_slots_each_come_out_right(own_database: str, count: int):
    engine = PostgresEngine(own_database, slots_max=4)
    environments = [deskgym.make(TASK, engine=engine) for _ in range(count)]
    assert in_turns(environments) == [expected()] * count
    assert len(slots_of(own_database)) == 4
    engine.close()


def test_a_slot_that_stands_idle_serves_other_tasks_before_another_is_made(own_database: str):
    engine = PostgresEngine(own_database)
    for task in (TASK, "service/two-full-captures", TASK, "service/stop-warehouse-order"):
        environment = deskgym.make(task, engine=engine)
        control = environment.task.control("oracle")
        play(environment, control.script)
        assert environment.score().reward == 1.0
        environment.close()
    assert slots_of(own_database) == [1]
    first, second = (deskgym.make(task, engine=engine) for task in (TASK, TASK))
    for environment in (first, second):
        environment.reset(0)
        environment.step(trajectory.call("get_order", order_id="S-410"))
    assert slots_of(own_database) == [1, 2], "one whose episode goes on is not idle"
    engine.close()


def _many(url: str, count: int) -> list[tuple[float, str]]:
    engine = PostgresEngine(url, slots_max=2)
    found = in_turns([deskgym.make(TASK, engine=engine) for _ in range(count)])
    engine.close()
    return found


def test_sixty_four_episodes_at_once_in_several_processes_each_come_out_right(own_database: str):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = [run for runs in pool.map(_many, [own_database] * 2, [32] * 2) for run in runs]
    assert found == [expected()] * 64


def test_two_owners_are_never_in_one_slot(own_database: str):
    base = Base("shop", SHOP)
    leases = [Lease(own_database, base) for _ in range(3)]
    assert sorted(lease.number for lease in leases) == slots_of(own_database) == [1, 2, 3]
    leases[1].give_back(base)
    again = Lease(own_database, base)
    assert again.number == leases[1].number
    for lease in (leases[0], leases[2], again):
        lease.connection.close()


def test_a_slot_that_was_given_back_clean_is_used_as_it_is(
    own_database: str, monkeypatch: pytest.MonkeyPatch
):
    base = Base("shop", SHOP)
    first = PostgresEngine(own_database)
    world = first.open(Template({"settings": [("a", "1")]}, base))
    call(world, SELL)
    first.close()
    filled: list[Base] = []
    fill = Lease.fill
    monkeypatch.setattr(Lease, "fill", lambda lease, base: (filled.append(base), fill(lease, base)))
    second = PostgresEngine(own_database)
    world = second.open(Template({}, base))
    assert world.rows("SELECT * FROM settings") == [("currency", "USD")]
    assert world.rows(STOCK) == world.rows("SELECT quantity FROM before.inventory") == [(5,)]
    assert filled == []
    assert second.open(Template(SHOP)).rows(STOCK) == [(5,)]
    assert [base.name for base in filled] == ["empty"]
    second.close()


def test_a_slot_left_dirty_by_a_killed_process_is_refilled(own_database: str):
    script = f"""
        import os, signal
        from deskgym.store.postgres.engine import PostgresEngine
        from tests.store.shop import open_world, SHOP
        from tests.store.test_world import SELL
        world = open_world(SHOP, PostgresEngine({own_database!r}))

        def work():
            world.rows(SELL)
            world.rows("DELETE FROM settings")
            if world.changes():
                os.kill(os.getpid(), signal.SIGKILL)

        world.atomic(work)
        world.atomic(work)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert run.returncode == -signal.SIGKILL
    # The call before the last one was committed, and the last one was not.
    assert asked(own_database, "SELECT quantity FROM deskgym_slot_1.inventory") == [(4,)]
    engine = PostgresEngine(own_database)
    world = engine.open(TEMPLATE)
    assert world.rows(STOCK) == [(5,)]
    assert world.rows("SELECT * FROM settings") == [("currency", "USD")]
    assert slots_of(own_database) == [1]
    engine.close()


def test_slots_emptied_by_a_crash_of_the_server_are_refilled(own_database: str):
    engine = PostgresEngine(own_database)
    engine.open(TEMPLATE).rows(STOCK)
    engine.close()
    # What a crash does to unlogged tables.
    with psycopg.connect(own_database) as connection:
        connection.execute("TRUNCATE deskgym_slot_1.settings, deskgym_slot_1.deskgym_state")
    engine = PostgresEngine(own_database)
    assert engine.open(Template({}, Base("shop", SHOP))).rows(STOCK) == [(5,)]
    engine.close()


def test_a_slot_of_another_version_is_left_alone(own_database: str):
    engine = PostgresEngine(own_database)
    engine.open(TEMPLATE).rows(STOCK)
    engine.close()
    with psycopg.connect(own_database) as connection:
        connection.execute("UPDATE deskgym_worlds.slot SET layout = 'older'")
    engine = PostgresEngine(own_database)
    assert engine.open(TEMPLATE).rows(STOCK) == [(5,)]
    assert slots_of(own_database) == [1, 2]
    engine.close()


def test_ended_episodes_leave_nothing(engine: PostgresEngine, own_database: str):
    environment = deskgym.make(TASK, engine=engine)
    script = environment.task.control("oracle").script

    def size() -> int:
        ((found,),) = asked(own_database, "SELECT pg_database_size(current_database())")
        return int(str(found))

    sizes: list[int] = []
    for number in range(60):
        play(environment, script, seed=number % 3)
        assert environment.score().reward == 1.0
        environment.close()
        if number in (29, 59):
            sizes.append(size())
    assert sizes[1] - sizes[0] < 2**18
    engine.close()
    # Slots are given back with nothing but their base, here an empty one.
    tables = asked(
        own_database,
        "SELECT table_schema, table_name FROM information_schema.tables"
        " WHERE table_schema LIKE 'deskgym_slot%' AND table_name <> 'deskgym_state'",
    )
    assert len(tables) > 70
    union = " UNION ALL ".join(f"SELECT COUNT(*) FROM {schema}.{name}" for schema, name in tables)
    assert asked(own_database, f"SELECT SUM(count) FROM ({union}) counted") == [(0,)]


def test_free_slots_can_be_dropped_and_those_in_use_stay(own_database: str):
    assert slots_in(own_database) == []
    assert drop_free_slots(own_database) == 0
    engine = PostgresEngine(own_database)
    worlds = [engine.open(TEMPLATE) for _ in range(2)]
    for world in worlds:
        call(world, SELL)
    gone = Lease(own_database, Base("shop", SHOP))
    gone.connection.close()
    found = slots_in(own_database)
    assert [(slot.number, slot.in_use, slot.current) for slot in found] == [
        (1, True, True), (2, True, True), (3, False, True),
    ]  # fmt: skip
    assert all(slot.bytes > 2**20 for slot in found)
    assert drop_free_slots(own_database) == 1
    assert slots_of(own_database) == [1, 2]
    assert [world.rows(STOCK) for world in worlds] == [[(4,)]] * 2
    engine.close()
    assert drop_free_slots(own_database) == 2
    assert (
        asked(own_database, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'deskgym_slot%'")
        == []
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_leaves_its_parents_slots_alone(engine: PostgresEngine, own_database: str):
    world = engine.open(TEMPLATE)
    call(world, SELL)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            call(world, SELL, SELL)
            code = 0 if world.rows(STOCK) == [(2,)] and world.seat().number == 2 else 2  # type: ignore[attr-defined]
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    call(world, SELL)
    assert world.rows(STOCK) == [(3,)]
