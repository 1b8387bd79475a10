"""The back-office suite: a ten-step episode against the bare driver, both shops, fresh seeds."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

import deskgym
from benchmarks.measure import BareDriver, Figure, median_s, play
from deskgym.environment import Environment
from deskgym.runner import play as play_script
from deskgym.store import default_engine
from deskgym.trajectory import Action, call

TASK = "backoffice/damaged-item"


def actions_of(environment: Environment) -> list[Action]:
    """Ten actions: the oracle's seven, with the inbox, another search and a status between."""
    play_script(environment, environment.task.control("oracle").script)
    policy, thread, *others, submit = (step.action for step in environment.steps)
    closing = call("set_thread_status", **thread.arguments, status="closed")  # type: ignore[dict-item]
    searching = call("search_orders", status="processing")
    return [policy, call("list_inbox", status="open"), thread, searching, *others, closing, submit]


def figures() -> Iterator[Figure]:
    """Measure the suite."""
    yield from _episode("small", large=0)
    yield from _episode("large", large=1)
    yield Figure("  a whole episode, the large shop against the small one",
                 f"{_large_against_small():.2f}", "1.5")  # fmt: skip
    yield from _resets()


def _large_against_small() -> float:
    """Whole episodes in turns, so that other load disturbs both alike."""
    best = [float("inf"), float("inf")]
    environments = [deskgym.make(TASK, large=large) for large in (0, 1)]
    actions = [actions_of(environment) for environment in environments]
    for _ in range(9):
        for large, environment in enumerate(environments):

            def work(large: int = large, environment: Environment = environment) -> None:
                play(environment, actions[large])
                environment.score()

            best[large] = min(best[large], median_s(work, calls=30))
    return best[1] / best[0]


def _episode(shop: str, *, large: int) -> Iterator[Figure]:
    connections: list[apsw.Connection] = []
    default_engine().close()
    apsw.connection_hooks.append(connections.append)
    environment = deskgym.make(TASK, large=large)
    actions = actions_of(environment)

    def whole() -> None:
        play(environment, actions)
        environment.score()

    def scored_each_step() -> None:
        environment.reset(0)
        for action in actions:
            environment.step(action)
            environment.score()

    # A prototype's connection comes first; the slot's is the one that answers.
    whole()
    bare = BareDriver(connections[-1:], whole)
    whole_s = median_s(whole, calls=600)
    each_step_s = median_s(scored_each_step, calls=600)
    bare_s = bare.seconds(calls=200)
    apsw.connection_hooks.remove(connections.append)
    yield Figure(f"back-office episode, {len(actions)} actions and the score, {shop} shop",
                 f"{1 / whole_s:,.0f} a second")  # fmt: skip
    yield Figure(f"  the bare driver, the same {len(bare.statements)} statements",
                 f"{1 / bare_s:,.0f} a second")  # fmt: skip
    yield Figure("  ratio to the bare driver", f"{whole_s / bare_s:.2f}", "2.5")
    yield Figure("  scored after every step", f"{1 / each_step_s:,.0f} a second")


def _resets() -> Iterator[Figure]:
    environment = deskgym.make(TASK)
    seeds = iter(range(1, 1_000_000))

    def fresh() -> None:
        environment.reset(next(seeds))
        environment.world.seat()

    def repeated() -> None:
        environment.reset(0)
        environment.world.seat()

    fresh_s = median_s(fresh, calls=600)
    repeated_s = median_s(repeated, calls=6_000)
    yield Figure("back-office reset, the same seed again", f"{repeated_s * 1e6:,.1f} µs")
    yield Figure("back-office reset, a fresh seed", f"{fresh_s * 1e6:,.1f} µs")
    yield Figure("  more than a repeated one", f"{(fresh_s - repeated_s) * 1e3:.2f} ms", "2 ms")
