"""The service suite: a scripted episode against the bare driver, resets, and scoring."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

import deskgym
from benchmarks.measure import BareDriver, Figure, median_s, play
from deskgym.environment import Environment
from deskgym.runner import play as play_script
from deskgym.store import default_engine
from deskgym.trajectory import Action


def actions_of(environment: Environment, control: str) -> list[Action]:
    """The actions of a control's script."""
    play_script(environment, environment.task.control(control).script)
    return [step.action for step in environment.steps]


def figures() -> Iterator[Figure]:
    """Measure the suite: a script of the five small cases, and one of a richer dialogue case."""
    yield from _episode("service/damaged-lamp", "replace-and-refund")
    yield from _episode("service/wait-for-stock", "oracle_refund")
    yield from _resets()


def _episode(task: str, control: str) -> Iterator[Figure]:
    connections: list[apsw.Connection] = []
    apsw.connection_hooks.append(connections.append)
    environment = deskgym.make(task)
    actions = actions_of(environment, control)

    def whole() -> None:
        play(environment, actions)
        environment.score()

    def scored_each_step() -> None:
        environment.reset(0)
        for action in actions:
            environment.step(action)
            environment.score()

    bare = BareDriver(connections, whole)
    whole_s = median_s(whole, calls=900)
    each_step_s = median_s(scored_each_step, calls=600)
    bare_s = bare.seconds(calls=300)
    apsw.connection_hooks.remove(connections.append)
    default_engine().close()

    name = f"{task} {control}, {len(actions)} actions and the score"
    yield Figure(name, f"{1 / whole_s:,.0f} a second")
    yield Figure(f"  the bare driver, the same {len(bare.statements)} statements",
                 f"{1 / bare_s:,.0f} a second")  # fmt: skip
    yield Figure("  ratio to the bare driver", f"{whole_s / bare_s:.2f}", "2.5")
    yield Figure("  scored after every step", f"{1 / each_step_s:,.0f} a second")


def _resets() -> Iterator[Figure]:
    environment = deskgym.make("service/damaged-lamp")
    seeds = iter(range(1, 1_000_000))

    def fresh() -> None:
        environment.reset(next(seeds))
        environment.world.seat()

    def repeated() -> None:
        environment.reset(0)
        environment.world.seat()

    fresh_s = median_s(fresh, calls=600)
    repeated_s = median_s(repeated, calls=6_000)
    yield Figure("reset, the same seed again", f"{repeated_s * 1e6:,.1f} µs")
    yield Figure("reset, a fresh seed", f"{fresh_s * 1e6:,.1f} µs")
    yield Figure("  more than a repeated one", f"{(fresh_s - repeated_s) * 1e3:.2f} ms", "2 ms")
