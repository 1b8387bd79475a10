"""PostgreSQL: episodes against the bare driver, many at once, and what ended ones leave behind."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import psycopg

import deskgym
from benchmarks.backoffice import TASK, actions_of
from benchmarks.measure import Figure, median_s, play
from deskgym.environment import Environment
from deskgym.store import Engine
from deskgym.store.postgres.engine import PostgresEngine
from deskgym.store.postgres.server import embedded_server
from deskgym.store.postgres.slot import PostgresSlot
from deskgym.trajectory import Action

AT_ONCE = (1, 16, 64)
EPISODES = 320
ENDED = (1_000, 10_000)
TURNS = 30


class Pace(NamedTuple):
    """What one process did: when it began and ended, and how long its resets and steps took."""

    start_s: float
    end_s: float
    resets_s: float
    steps_s: float
    steps: int


def figures() -> Iterator[Figure]:
    """Measure a private server on this machine, which shares its cores with the episodes."""
    actions = actions_of(deskgym.make(TASK, engine=Engine(1)))
    with embedded_server() as url:
        with psycopg.connect(url) as connection:
            version = connection.info.parameter_status("server_version")
        yield Figure("server", f"PostgreSQL {version}")
        yield from _against_the_bare_driver(url, actions)
        for count in AT_ONCE:
            yield from _at_once(url, count)
        yield from _left_behind(url)


def _against_the_bare_driver(url: str, actions: Sequence[Action]) -> Iterator[Figure]:
    """A whole episode, and its statements alone, in turns, so that other load disturbs both."""
    engine = PostgresEngine(url)
    environment = deskgym.make(TASK, engine=engine)

    def whole() -> None:
        play(environment, actions)
        assert environment.score().reward == 1.0

    for _ in range(5):  # each statement is planned once
        whole()
    slot = environment.world.seat()
    assert isinstance(slot, PostgresSlot)
    statements = _recorded(slot, whole)
    whole_s, bare_s = [], []
    for _ in range(TURNS):
        whole_s.append(median_s(whole, calls=5))
        bare_s.append(median_s(lambda: _run(statements), calls=5))
    ratio = sorted(bare / own for bare, own in zip(bare_s, whole_s, strict=True))[TURNS // 2]
    yield Figure(f"back-office episode, {len(actions)} actions and the score",
                 f"{1 / min(whole_s):,.0f} a second")  # fmt: skip
    yield Figure(f"  the bare driver, the same {len(statements)} statements",
                 f"{1 / min(bare_s):,.0f} a second")  # fmt: skip
    yield Figure("  share of the bare driver's pace", f"{ratio:.0%}", "40%", at_least=True)
    yield from _fresh_resets(environment)
    engine.close()


Statement = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def _recorded(slot: PostgresSlot, work: Callable[[], object]) -> list[Statement]:
    """What the driver is asked to run in some work: the statements, and how they are sent."""
    found: list[Statement] = []

    def noting(execute: Callable[..., Any]) -> Callable[..., Any]:
        def note(*args: Any, **named: Any) -> Any:
            found.append((execute, args, named))
            return execute(*args, **named)

        return note

    work()
    driver: Any = (slot._cursor, slot._connection)
    for part in driver:
        part.execute = noting(part.execute)
    work()
    for part in driver:
        del part.execute
    return found


def _run(statements: Sequence[Statement]) -> None:
    for execute, args, named in statements:
        cursor = execute(*args, **named)
        if cursor.description:
            cursor.fetchall()


def _fresh_resets(environment: Environment) -> Iterator[Figure]:
    seeds = iter(range(1, 1_000_000))

    def seated() -> None:
        environment.reset(next(seeds))
        environment.world.seat()

    fresh_s = median_s(seated, calls=200)
    yield Figure(f"{TASK} reset, a fresh seed", f"{1 / fresh_s:,.0f} a second")


def _at_once(url: str, count: int) -> Iterator[Figure]:
    """So many live episodes that take turns, a process a core, each scored at its end."""
    processes = min(count, os.cpu_count() or 1)
    paces = _spread(_take_turns, url, processes, count // processes, EPISODES // processes)
    elapsed_s = max(pace.end_s for pace in paces) - min(pace.start_s for pace in paces)
    episodes = EPISODES // processes * processes
    bound = "150" if count > 1 else ""
    yield Figure(f"{count} at once, in {processes} process{'es' * (processes > 1)}: episodes",
                 f"{episodes / elapsed_s:,.0f} a second", bound, at_least=True)  # fmt: skip
    resets = sum(episodes / processes / pace.resets_s for pace in paces)
    steps = sum(pace.steps / pace.steps_s for pace in paces)
    yield Figure("  resets, with the undoing of what was there", f"{resets:,.0f} a second")
    yield Figure("  steps", f"{steps:,.0f} a second")


def _spread(work: Callable[..., Pace], url: str, processes: int, *args: int) -> list[Pace]:
    """Run the same work in so many processes, none of which begins before all are there."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        gate = manager.Barrier(processes)
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            runs = [pool.submit(work, url, gate, *args) for _ in range(processes)]
            return [run.result() for run in runs]


def _take_turns(url: str, gate: Any, live: int, episodes: int) -> Pace:
    """So many episodes, `live` of them at a time, each stepped in its turn."""
    engine = PostgresEngine(url, slots_max=32)
    environments = [deskgym.make(TASK, engine=engine) for _ in range(live)]
    actions = actions_of(deskgym.make(TASK, engine=Engine(1)))
    for environment in environments:
        for _ in range(2):
            play(environment, actions)
            environment.score()
    gate.wait()
    clock = time.perf_counter
    resets_s = steps_s = 0.0
    steps = 0
    start_s = time.time()
    for _ in range(max(1, episodes // live)):
        begun = clock()
        for environment in environments:
            environment.reset(0)
            environment.world.seat()
        reset = clock()
        for action in actions:
            for environment in environments:
                environment.step(action)
                steps += 1
        stepped = clock()
        assert all(environment.score().reward == 1.0 for environment in environments)
        resets_s += reset - begun
        steps_s += stepped - reset
    end_s = time.time()
    engine.close()
    return Pace(start_s, end_s, resets_s, steps_s, steps)


def _left_behind(url: str) -> Iterator[Figure]:
    """The database's size after some episodes of many seeds, and after many more."""
    processes = os.cpu_count() or 1
    sizes: list[float] = []
    done = 0
    for ended in ENDED:
        _spread(_end, url, processes, (ended - done) // processes, done)
        done = ended
        sizes.append(_size_mb(url))
        yield Figure(f"the database after {ended:,} ended episodes", f"{sizes[-1]:,.1f} MB")
    yield Figure("  more", f"{sizes[-1] - sizes[0]:,.1f} MB", "5 MB")


def _end(url: str, gate: Any, episodes: int, first_seed: int) -> Pace:
    engine = PostgresEngine(url, slots_max=2)
    environment = deskgym.make("service/damaged-lamp", engine=engine)
    script = environment.task.control("oracle").script
    gate.wait()
    start_s = time.time()
    for number in range(episodes):
        observation = environment.reset(first_seed + number)
        agent = script(observation)
        action = next(agent)
        while not environment.step(action).done:
            try:
                action = agent.send(environment.observe())
            except StopIteration:
                break
        assert environment.score().reward == 1.0
        environment.close()
    engine.close()
    return Pace(start_s, time.time(), 0, 0, 0)


def _size_mb(url: str) -> float:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None, "a function answers with a row"
    return float(row[0]) / 1e6
