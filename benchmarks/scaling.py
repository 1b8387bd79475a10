"""From one process to two: whole episodes of each suite, counted over the same seconds."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Iterator
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Final

import deskgym
from benchmarks import backoffice, service
from benchmarks.measure import Figure, play

SECONDS: Final = 1.5
ROUNDS: Final = 3
WARM_UP: Final = 50
TASKS: Final = ("service/damaged-lamp", "backoffice/damaged-item", "tickets/hard")


def figures() -> Iterator[Figure]:
    """Measure how many more episodes a second two processes run than one."""
    for task in TASKS:
        # In turns, so that other load disturbs both alike.
        rates = [(_rate(task, 1), _rate(task, 2)) for _ in range(ROUNDS)]
        one, two = (statistics.median(column) for column in zip(*rates, strict=True))
        yield Figure(f"{task} in one process", f"{one:,.0f} a second")
        yield Figure(f"{task} in two processes", f"{two:,.0f} a second")
        yield Figure("  two against one", f"{two / one:.2f}", "1.6", at_least=True)


def _rate(task: str, processes: int) -> float:
    """Episodes a second, of so many processes together."""
    context = multiprocessing.get_context("spawn")
    barrier, counts = context.Barrier(processes), context.Queue()
    workers = [
        context.Process(target=_work, args=(task, barrier, counts)) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    rates: list[float] = [counts.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    return sum(rates)


def _work(task: str, barrier: Barrier, counts: Queue[float]) -> None:
    environment = deskgym.make(task)
    if task.startswith("backoffice"):
        actions = backoffice.actions_of(environment)
    else:
        actions = service.actions_of(environment, "oracle")

    def whole() -> None:
        play(environment, actions)
        environment.score()

    for _ in range(WARM_UP):
        whole()
    barrier.wait(timeout=120)
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        whole()
        done += 1
    counts.put(done / (time.perf_counter() - start))
