"""The run store: what storing each action costs, at 1, 16 and 64 episodes at once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import deskgym
from benchmarks.measure import Figure
from benchmarks.service import actions_of
from deskgym.runstore import Episodes, EpisodeState, NewEpisode, NextStep, RunStore, open_run_store
from deskgym.runstore.upkeep import prune, size_bytes
from deskgym.store import default_engine
from deskgym.store.postgres.server import embedded_server
from deskgym.trajectory import call

TASK = "service/damaged-lamp"
AT_ONCE = (1, 16, 64)
EPISODES = {"SQLite": 320, "PostgreSQL": 128}
PRUNED = 10_000
PRUNE_EVERY = 1_000


def _ten_actions() -> list[deskgym.Action]:
    """The oracle's six actions and four more reads."""
    oracle = actions_of(deskgym.make(TASK), "return-and-replace")
    reads = [call("list_order_payments", order_id="S-410"), call("get_order", order_id="S-410")]
    return [*reads, *oracle, *reads]


ACTIONS = _ten_actions()


def figures() -> Iterator[Figure]:
    """Stored ten-step episodes against the same ones without a store, worlds in memory."""
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("normal", "full"):
            url = f"sqlite:///{folder}/{mode}.db?synchronous={mode}"
            with open_run_store(url, engine=default_engine()) as store:
                yield from _of(store, f"SQLite file, synchronous={mode}", EPISODES["SQLite"])
        with open_run_store(f"sqlite:///{folder}/pruned.db") as store:
            yield from _pruned(store, "SQLite")
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_server(Path(folder) / "data") as url,
        open_run_store(url, engine=default_engine(), connections_max=64) as store,
    ):
        yield from _of(store, "PostgreSQL, a commit to disk each", EPISODES["PostgreSQL"])
        yield from _pruned(store, "PostgreSQL")


def _of(store: RunStore, name: str, count: int) -> Iterator[Figure]:
    with store.episodes(record=False) as episodes:
        bare_s = _seconds(_bare, count)
        for at_once in AT_ONCE:
            stored_s = _seconds(partial(_stored, episodes, count, at_once), 1) / count
            yield from _figures(f"{name}, {at_once} at once", stored_s, bare_s)
        batch_s = _seconds(partial(_batched, episodes, count), 1) / count
        yield from _figures(f"{name}, 64 at once in batches", batch_s, bare_s)


def _figures(name: str, stored_s: float, bare_s: float) -> Iterator[Figure]:
    yield Figure(f"{name}: stored episodes", f"{1 / stored_s:,.0f} a second")
    yield Figure("  stored steps", f"{len(ACTIONS) / stored_s:,.0f} a second")
    yield Figure("  more than without a store", f"{1e6 * (stored_s - bare_s) / 10:,.0f} µs a step")
    yield Figure("  of the episodes without a store", f"{bare_s / stored_s:.0%}")


def _seconds(work: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls


def _bare() -> None:
    with deskgym.make(TASK) as environment:
        environment.reset(0)
        for action in ACTIONS:
            environment.step(action)
        assert environment.score().reward == 1.0


def _play(episodes: Episodes) -> None:
    id = episodes.create(TASK).id
    for number, action in enumerate(ACTIONS, start=1):
        episodes.step(id, action, number)
    assert episodes.close(id).reward == 1.0


def _stored(episodes: Episodes, count: int, at_once: int) -> None:
    if at_once == 1:
        for _ in range(count):
            _play(episodes)
        return
    with ThreadPoolExecutor(at_once) as pool:
        for playing in [pool.submit(_play, episodes) for _ in range(count)]:
            playing.result()


def _batched(episodes: Episodes, count: int, at_once: int = 64) -> None:
    for start in range(0, count, at_once):
        new = [NewEpisode(TASK)] * min(at_once, count - start)
        ids = [made.id for made in episodes.create_many(new)]
        for number, action in enumerate(ACTIONS, start=1):
            answers = episodes.step_many([NextStep(id, action, number) for id in ids])
            assert all(isinstance(answer, deskgym.Observation) for answer in answers)
        for state in episodes.close_many(ids):
            assert isinstance(state, EpisodeState)
            assert state.reward == 1.0


def _pruned(store: RunStore, name: str) -> Iterator[Figure]:
    """The size after many ended episodes, pruned as they come, against that after the first."""
    sizes: list[int] = []
    with store.episodes(record=False) as episodes:
        for _ in range(0, PRUNED, PRUNE_EVERY):
            _batched(episodes, PRUNE_EVERY)
            prune(store.database, 2**50)
            sizes.append(size_bytes(store.database))
    yield Figure(
        f"{name} after {PRUNED:,} ended episodes, pruned every {PRUNE_EVERY:,}",
        f"{sizes[-1] / 2**20:,.1f} MB",
    )
    yield Figure("  after the first of them", f"{sizes[0] / 2**20:,.1f} MB")
