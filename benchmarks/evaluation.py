"""What the runner itself costs, and how near many episodes at once come to what a model allows."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.connection import Connection
from time import perf_counter, process_time

from benchmarks.measure import Figure
from deskgym.agents import AgentOptions
from deskgym.agents.model import ModelAgent
from deskgym.dialogue import play_dialogue
from deskgym.environment import make
from deskgym.evaluate import EpisodeSpec, stream
from deskgym.models.chat import ChatReply, ChatRequest, ToolCall
from deskgym.models.options import ModelOptions
from deskgym.recording import recording_of
from deskgym.testing.model_server import ModelRequest, ModelServer, RawCall, Say

TASK = "tickets/hard"
REPLIES = 3
MESSAGE = '{{"message": "I am sorry. Could you tell me a little more about it? ({number})"}}'
"""A model's are never the same, so that none is judged by what was found out about another."""

IN_FLIGHT = 64
DELAY_S = 0.2
EPISODES = 2_048
SHARE_MIN = 0.9


class Instant:
    """A model that answers at once."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        """The same call, whatever was said."""
        arguments = MESSAGE.format(number=0)
        return ChatReply("", (ToolCall(f"call-{len(request.turns)}", "respond", arguments),))


def figures() -> Iterator[Figure]:
    """The runner's cost of a step, and episodes a second."""
    yield from _own_cost()
    yield from _throughput()


def _own_cost() -> Iterator[Figure]:
    environment = make(TASK)
    agent = ModelAgent("openai:instant", Instant())
    asyncio.run(play_dialogue(environment, agent))
    actions = [step.action for step in environment.steps]

    def bare() -> None:
        """What any runner has to do: the steps, the score after each, and the recording."""
        environment.reset()
        scores = []
        for action in actions:
            environment.step(action)
            scores.append(environment.score())
        recording_of(environment, agent="bare", step_scores=scores)

    with asyncio.Runner() as runner:
        played_s = _cpu_s(lambda: runner.run(play_dialogue(environment, agent)))
    bare_us = _cpu_s(bare) / REPLIES * 1e6
    yield Figure("a step of the environment, scored and recorded", f"{bare_us:,.0f} µs")
    yield Figure(
        "  more, by the runner with an instant model",
        f"{played_s / REPLIES * 1e6 - bare_us:,.0f} µs",
    )


def _cpu_s(work: Callable[[], object], calls: int = 200) -> float:
    """Seconds of processor time of one call, which a busy machine stretches least."""
    work()
    started = process_time()
    for _ in range(calls):
        work()
    return (process_time() - started) / calls


def _throughput() -> Iterator[Figure]:
    allowed = IN_FLIGHT / (REPLIES * DELAY_S)
    with _server() as url:
        options = AgentOptions(ModelOptions(base_url=url))
        specs = [
            EpisodeSpec(TASK, "openai:slow", seed, options=options) for seed in range(EPISODES)
        ]
        for _ in stream(specs[:IN_FLIGHT], concurrency=IN_FLIGHT):
            pass  # connections are made, and modules imported
        started, started_cpu = perf_counter(), process_time()
        ended = stream(specs, concurrency=IN_FLIGHT)
        done = sum(finished.result.status == "reward" for finished in ended)
        rate = done / (perf_counter() - started)
        cpu_ms = (process_time() - started_cpu) / done / REPLIES * 1e3
    yield Figure(
        f"episodes a second, {IN_FLIGHT} in flight, {DELAY_S * 1000:.0f} ms a reply",
        f"{rate:.1f} ({rate / allowed:.0%} of {allowed:.1f})",
        f"{SHARE_MIN:.0%}, with a core to itself",
        at_least=True,
    )
    yield Figure("  processor time of a reply, in this process", f"{cpu_ms:.2f} ms")


def _slow_player() -> Callable[[ModelRequest], Say]:
    numbers = count()

    def play(_: ModelRequest) -> Say:
        call = RawCall("respond", MESSAGE.format(number=next(numbers)))
        return Say(calls=(call,), delay_s=DELAY_S)

    return play


@contextmanager
def _server() -> Generator[str]:
    """A model server in a process of its own, so that its work is not counted."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join()


def _serve(connection: Connection) -> None:
    with ModelServer(_slow_player()) as server:
        connection.send(server.url("openai"))
        connection.recv()
