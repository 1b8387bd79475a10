"""The back-office suite: a ten-step episode against the bare driver, both shops, fresh seeds."""

from __future__ import annotations

from collections.abc import Iterator

import deskgym
from benchmarks.episode import episode, resets
from benchmarks.measure import Figure, median_s, play
from deskgym.environment import Environment
from deskgym.runner import play as play_script
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
    for large, shop in enumerate(("small", "large")):
        environment = deskgym.make(TASK, large=large)
        name = f"back-office episode, {shop} shop"
        yield from episode(name, environment, actions_of(environment))
    yield Figure("  a whole episode, the large shop against the small one",
                 f"{_large_against_small():.2f}", "1.5")  # fmt: skip
    yield from resets(TASK)


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
