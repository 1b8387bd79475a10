"""What each adapter adds to a step. An adapter is a function of `ADAPTERS`, one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from importlib.util import find_spec
from itertools import count
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np

import deskgym
from benchmarks.measure import Figure
from benchmarks.serve import serving
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
    text, menu = TextEnv(TASK), MenuEnv(TASK)
    places = menu_places(menu, actions)

    def through(env: Any, chosen: Sequence[Any]) -> int:
        for _ in range(EPISODES):
            env.reset(seed=0)
            for action in chosen:
                env.step(action)
            env.score()
        return EPISODES * len(chosen)

    works = (
        lambda: played(actions),
        lambda: through(text, texts),
        lambda: through(menu, places),
    )
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


def trl() -> Iterator[Figure]:
    """A step as a method that TRL calls."""
    if find_spec("trl") is None:
        yield Figure("a step in TRL", "not installed")
        return
    from deskgym.adapters.trl import environment_factory

    actions = actions_of(TASK)
    env: Any = environment_factory(TASK.partition("/")[0])()

    def through() -> int:
        for _ in range(EPISODES):
            env.reset(task=TASK, seed=0)
            for action in actions:
                arguments: Any = action.arguments
                getattr(env, action.tool)(**arguments)
            env.get_reward()
        return EPISODES * len(actions)

    without_s, through_s = in_turns((lambda: played(actions), through))
    yield Figure("  more, as a method in TRL", f"{(through_s - without_s) * 1e6:,.0f} µs")


def skyrl() -> Iterator[Figure]:
    """A step as text in SkyRL-gym, which records and scores each, as an evaluation does."""
    if find_spec("skyrl_gym") is None:
        yield Figure("a step in SkyRL-gym", "not installed")
        return
    from deskgym.adapters.skyrl import DeskEnv

    actions = actions_of(TASK)
    texts = [format_call(action) for action in actions]
    env = DeskEnv(extras={"task": TASK, "seed": 0})

    def through() -> int:
        for _ in range(EPISODES):
            env.init([])
            for text in texts:
                env.step(text)
        return EPISODES * len(texts)

    without_s, through_s = in_turns((lambda: played(actions), through))
    env.close()
    yield Figure("  more, as text in SkyRL-gym", f"{(through_s - without_s) * 1e6:,.0f} µs")


def nemo_gym() -> Iterator[Figure]:
    """A step of NeMo Gym's sessions on a server, beside the same step by the server's client."""
    if find_spec("prometheus_client") is None:
        yield Figure("a step of NeMo Gym's sessions", "no server installed")
        return
    from deskgym.adapters.nemo_gym import Sessions
    from deskgym.client import AsyncClient

    actions = actions_of(TASK)
    names = count()

    async def by_client(client: AsyncClient) -> None:
        environment = await client.make(TASK)
        await environment.reset(0)
        for action in actions:
            await environment.step(action)
        await environment.close()
        await environment.recording()

    async def by_sessions(sessions: Sessions) -> None:
        session = f"session-{next(names)}"
        await sessions.seed(session, task=TASK)
        for action in actions:
            await sessions.call(session, action.tool, action.arguments)
        await sessions.verify(session)

    with serving() as url, asyncio.Runner() as runner:
        client = AsyncClient(url)
        sessions = Sessions(client)

        def repeated(episode: Callable[[], Coroutine[Any, Any, None]]) -> int:
            for _ in range(EPISODES):
                runner.run(episode())
            return EPISODES * len(actions)

        works = (
            lambda: repeated(lambda: by_client(client)),
            lambda: repeated(lambda: by_sessions(sessions)),
        )
        client_s, sessions_s = in_turns(works)
        runner.run(sessions.close())
    yield Figure(f"a step of {TASK} on a server", f"{client_s * 1e6:,.0f} µs")
    yield Figure("  more, by NeMo Gym's sessions", f"{(sessions_s - client_s) * 1e6:,.0f} µs")


def played(actions: Sequence[Action]) -> int:
    """Episodes of these actions without an adapter; how many steps they took."""
    with deskgym.make(TASK) as environment:
        for _ in range(EPISODES):
            environment.reset(0)
            for action in actions:
                environment.step(action)
            environment.score()
    return EPISODES * len(actions)


ADAPTERS: tuple[Callable[[], Iterator[Figure]], ...] = (
    one_gymnasium,
    many_gymnasium,
    trl,
    skyrl,
    nemo_gym,
)
