"""What every suite is measured by: a whole episode against the bare driver, and resets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import apsw

import deskgym
from benchmarks.measure import BareDriver, Figure, median_s, play
from deskgym.environment import Environment
from deskgym.store import default_engine
from deskgym.trajectory import Action

RATIO_MAX: Final = "2.5"
"""The most that a whole episode may cost, in runs of its own SQL on the bare driver."""


def episode(
    name: str, environment: Environment, actions: Sequence[Action], bound: str = RATIO_MAX
) -> Iterator[Figure]:
    """An episode of known actions and its score, against its own SQL; and what scoring costs."""
    connections: list[apsw.Connection] = []
    default_engine().close()
    apsw.connection_hooks.append(connections.append)

    def whole() -> None:
        play(environment, actions)
        environment.score()

    def unscored() -> None:
        play(environment, actions)

    def scored_each_step() -> None:
        environment.reset(0)
        for action in actions:
            environment.step(action)
            environment.score()

    # A prototype's connection may come first; the slot's is the one that answers.
    whole()
    bare = BareDriver(connections[-1:], whole)
    whole_s = median_s(whole, calls=900)
    each_step_s = median_s(scored_each_step, calls=600)
    unscored_s = median_s(unscored, calls=600)
    bare_s = bare.seconds(calls=300)
    apsw.connection_hooks.remove(connections.append)
    default_engine().close()
    yield Figure(f"{name}, {len(actions)} actions and the score", f"{1 / whole_s:,.0f} a second")
    yield Figure(f"  the bare driver, the same {len(bare.statements)} statements",
                 f"{1 / bare_s:,.0f} a second")  # fmt: skip
    yield Figure("  ratio to the bare driver", f"{whole_s / bare_s:.2f}", bound)
    yield Figure("  one scoring, at the end", f"{(whole_s - unscored_s) * 1e6:,.0f} µs")
    yield Figure("  scored after every step", f"{1 / each_step_s:,.0f} a second")
    yield Figure("  one scoring, after a step",
                 f"{(each_step_s - unscored_s) / len(actions) * 1e6:,.0f} µs")  # fmt: skip


def resets(task: str) -> Iterator[Figure]:
    """What a reset costs for a repeated seed and for a fresh one."""
    environment = deskgym.make(task)
    seeds = iter(range(1, 1_000_000))

    def fresh() -> None:
        environment.reset(next(seeds))
        environment.world.seat()

    def repeated() -> None:
        environment.reset(0)
        environment.world.seat()

    fresh_s = median_s(fresh, calls=600)
    repeated_s = median_s(repeated, calls=6_000)
    yield Figure(f"{task} reset, the same seed again", f"{repeated_s * 1e6:,.1f} µs")
    yield Figure(f"{task} reset, a fresh seed", f"{fresh_s * 1e6:,.1f} µs")
    yield Figure("  more than a repeated one", f"{(fresh_s - repeated_s) * 1e3:.2f} ms", "2 ms")
