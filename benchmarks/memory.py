"""Many live episodes: what they take in memory while they are stepped in random order."""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator

import deskgym
from benchmarks.measure import Figure
from benchmarks.service import actions_of
from deskgym.environment import Environment
from deskgym.store import Engine
from deskgym.store.draw import Draw
from deskgym.trajectory import call

TEMPLATES = 100
STEPS = 10


def figures() -> Iterator[Figure]:
    """Measure 1,000 and 10,000 live ten-step episodes over 100 templates."""
    yield from _live(1_000, "")
    yield from _live(10_000, "256 MB")


def _resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123, no path is built
        pages = int(file.read().split()[1])
    return pages * resource.getpagesize() / 2**20


def _live(count: int, bound: str) -> Iterator[Figure]:
    """Step so many episodes in a drawn order to their end, and check that each ends right."""
    actions = _ten_actions()
    gc.collect()
    before_mb = _resident_mb()
    engine = Engine()
    episodes = [
        deskgym.make(
            "service/damaged-lamp", engine=engine, total_cents=1_000 + n * TEMPLATES // count
        )
        for n in range(count)
    ]
    for environment in episodes:
        environment.reset(0)
    # A fifth of the steps is taken in random order: that is where worlds trade places.
    draw = Draw(0, "benchmarks/memory")
    for number, action in enumerate(actions):
        order = draw.shuffled(episodes) if number % 5 == 0 else episodes
        for environment in order:
            environment.step(action)
    after_mb = _resident_mb()
    right = sum(map(_ended_right, episodes))
    engine.close()
    yield Figure(f"{count:,} live {STEPS}-step episodes over {TEMPLATES} templates",
                 f"{after_mb - before_mb:,.0f} MB", bound)  # fmt: skip
    yield Figure(
        "  that ended with the right reward", f"{right:,} of {count:,}", f"{count:,}", at_least=True
    )


def _ten_actions() -> list[deskgym.Action]:
    """The oracle's six actions and four more reads."""
    oracle = actions_of(deskgym.make("service/damaged-lamp"), "return-and-replace")
    reads = [call("list_order_payments", order_id="S-410"), call("get_order", order_id="S-410")]
    return [*reads, *oracle, *reads]


def _ended_right(environment: Environment) -> bool:
    return len(environment.steps) == STEPS and environment.score().reward == 1.0
