"""The same episodes in processes and on Ray's actors, as many of each."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from benchmarks.measure import Figure
from deskgym.errors import MissingExtra
from deskgym.evaluate import EpisodeSpec
from deskgym.evaluate import stream as stream_here

TASK: Final = "service/two-full-captures"
EPISODES: Final = 1_500
WORKERS: Final = 2
WARM_UP: Final = 50


def figures() -> Iterator[Figure]:
    """Measure episodes a second from the first result on, so that no start is counted."""
    try:
        from deskgym.adapters.ray import stream
    except MissingExtra:
        yield Figure("Ray is not installed here: .venv-training has it", "-")
        return
    specs = [EpisodeSpec(TASK, "oracle", seed) for seed in range(EPISODES)]
    processes = _rate(stream_here(specs, jobs=WORKERS))
    actors = _rate(stream(specs, actors=WORKERS))
    yield Figure(f"{TASK}, {WORKERS} processes", f"{processes:,.0f} a second")
    yield Figure(f"{TASK}, {WORKERS} actors of Ray", f"{actors:,.0f} a second")
    yield Figure("  Ray against processes", f"{actors / processes:.2f}", "0.5", at_least=True)


def _rate(finished: Iterator[Any]) -> float:
    for _ in range(WARM_UP):
        next(finished)
    start = time.perf_counter()
    count = sum(1 for _ in finished)
    return count / (time.perf_counter() - start)
