"""What each adapter adds to a step. An adapter is a function of `ADAPTERS`, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np

import deskgym
from benchmarks.measure import Figure
from deskgym.adapters.gymnasium import MenuEnv, MenuVectorEnv, TextEnv
from deskgym.protocol import format_call
from deskgym.runner import play
from deskgym.trajectory import Action

TASK = "service/damaged-lamp"
EPISODES = 40
ROUNDS = 7
COUNT = 64


def figures() -> Iterator[Figure]:
    """Measure every adapter that is installed here."""
    for adapter in ADAPTERS:
        yield from adapter()


def actions_of(task: str) -> list[Action]:
    """What the oracle does."""
    environment = deskgym.make(task)
    play(environment, environment.task.control("oracle").script)
    return [step.action for step in environment.steps]


def in_turns(works: Sequence[Callable[[], int]]) -> list[float]:
    """Seconds of a step of each, the median of rounds in turns, so that load disturbs all alike.

    Each returns how many steps it took.
    """
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for number, work in enumerate(works):
            started = perf_counter()
            steps = work()
            seconds[number].append((perf_counter() - started) / steps)
    return [median(each) for each in seconds]


def one_gymnasium() -> Iterator[Figure]:
    """A step of the text and of the discrete environment, beside the same step without them."""
    actions = actions_of(TASK)
    texts = [format_call(action) for action in actions]
    plain, text, menu = deskgym.make(TASK), TextEnv(TASK), MenuEnv(TASK)
    places = menu_places(menu, actions)

    def without() -> int:
        for _ in range(EPISODES):
            plain.reset(0)
            for action in actions:
                plain.step(action)
            plain.score()
        return EPISODES * len(actions)

    def through(env: Any, chosen: Sequence[Any]) -> int:
        for _ in range(EPISODES):
            env.reset(seed=0)
            for action in chosen:
                env.step(action)
            env.score()
        return EPISODES * len(chosen)

    works = (without, lambda: through(text, texts), lambda: through(menu, places))
    bare_s, text_s, menu_s = in_turns(works)
    yield Figure(f"a step of {TASK}, without an adapter", f"{bare_s * 1e6:,.0f} µs")
    yield Figure("  more, as text through Gymnasium", f"{(text_s - bare_s) * 1e6:,.0f} µs")
    yield Figure("  more, by the menu, with mask and vector", f"{(menu_s - bare_s) * 1e6:,.0f} µs")


def menu_places(env: MenuEnv, actions: Sequence[Action]) -> list[int]:
    """The places of the menu for what the oracle does; its words may be others."""
    env.reset(seed=0)
    places: list[int] = []
    for action in actions:
        wanted = _without_reason(action)
        places.append(
            next(
                place
                for place, entry in enumerate(env.entries())
                if entry is not None and _without_reason(entry) == wanted
            )
        )
        env.step(places[-1])
    return places


def _without_reason(action: Action) -> tuple[str, dict[str, Any]]:
    arguments: Any = action.arguments
    return action.tool, {name: one for name, one in arguments.items() if name != "reason"}


def many_gymnasium() -> Iterator[Figure]:
    """Steps a second of many episodes: the vectorised environment against the plain loop."""
    actions = actions_of(TASK)
    places = [*menu_places(MenuEnv(TASK), actions), 0]
    name = f"deskgym/{TASK.replace('/', '.')}.menu-v0"
    seeds = list(range(COUNT))
    loop = [gymnasium.make(name) for _ in range(COUNT)]
    many = MenuVectorEnv(COUNT, TASK, autoreset_mode="Disabled")
    sync = gymnasium.make_vec(
        name, COUNT, vectorization_mode="sync", vector_kwargs={"autoreset_mode": "Disabled"}
    )

    def by_loop() -> int:
        for env, seed in zip(loop, seeds, strict=True):
            env.reset(seed=seed)
        for place in places:
            for env in loop:
                env.step(np.int64(place))
        return COUNT * len(places)

    def at_once(env: Any) -> int:
        env.reset(seed=0)
        for place in places:
            env.step(np.full(COUNT, place))
        return COUNT * len(places)

    works = (by_loop, lambda: at_once(sync), lambda: at_once(many))
    loop_s, sync_s, many_s = in_turns(works)
    yield Figure(f"{COUNT} episodes by the menu, in a loop", f"{1 / loop_s:,.0f} steps a second")
    yield Figure("  by Gymnasium's SyncVectorEnv", f"{1 / sync_s:,.0f} steps a second")
    yield Figure("  in one call of the vectorised one", f"{1 / many_s:,.0f} steps a second")
    yield Figure("  the vectorised one against the loop", f"{loop_s / many_s:.2f}", "1", True)


ADAPTERS: tuple[Callable[[], Iterator[Figure]], ...] = (one_gymnasium, many_gymnasium)
