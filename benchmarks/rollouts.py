"""What verifiers and Inspect add to a step, where they are installed (`.venv-training`)."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from benchmarks.measure import Figure
from deskgym.agents import AgentOptions, ScriptedAgent, open_agent
from deskgym.dialogue import play_dialogue
from deskgym.environment import make
from deskgym.models.options import ModelOptions
from deskgym.runner import record
from deskgym.testing.model_server import ModelRequest, ModelServer, Say, play_script

TASK = "service/damaged-lamp"
EPISODES = 20
WARM_UP = 3


def figures() -> Iterator[Figure]:
    """Milliseconds of a step: a model over HTTP alone and in verifiers; a mock in Inspect."""
    scripted_s = _scripted_s()
    yield Figure("a step of a script, in this process", f"{scripted_s * 1e3:.2f} ms")
    with ModelServer(_oracle()) as server:
        model_s = asyncio.run(_model_s(server))
        yield Figure("a step of a model over HTTP, in this process", f"{model_s * 1e3:.2f} ms")
        if find_spec("verifiers") is None:
            yield Figure("a step in verifiers", "not installed")
        else:
            verifiers_s = asyncio.run(_verifiers_s(server))
            yield _added("verifiers to a step of a model", verifiers_s, model_s)
    if find_spec("inspect_ai") is None:
        yield Figure("a step in Inspect", "not installed")
    else:
        yield _added("Inspect to a step of a script", _inspect_s(), scripted_s)


def _added(what: str, seconds: float, base_s: float) -> Figure:
    added_s = seconds - base_s
    return Figure(f"added by {what}", f"{added_s * 1e3:.1f} ms ({seconds / base_s:.1f} x)")


def _oracle() -> Callable[[ModelRequest], Say]:
    with make(TASK) as environment:
        return play_script(environment.task.control("oracle").script, goodbye="")


def _steps() -> int:
    with make(TASK) as environment:
        return len(record(environment, environment.task.control("oracle").script, agent="").steps)


def _scripted_s() -> float:
    async def run() -> float:
        with make(TASK) as environment:
            agent = ScriptedAgent("oracle", environment.task.control("oracle").script)
            for _ in range(WARM_UP):
                await play_dialogue(environment, agent)
            started = time.perf_counter()
            for _ in range(EPISODES):
                await play_dialogue(environment, agent)
            return (time.perf_counter() - started) / EPISODES / _steps()

    return asyncio.run(run())


async def _model_s(server: ModelServer) -> float:
    options = AgentOptions(ModelOptions(base_url=server.url("openai"), api_key="none"))
    async with open_agent("openai:scripted", options) as agents:
        with make(TASK) as environment:
            agent = agents.agent_for(environment.suite, environment.task)
            for _ in range(WARM_UP):
                await play_dialogue(environment, agent)
            started = time.perf_counter()
            for _ in range(EPISODES):
                await play_dialogue(environment, agent)
            return (time.perf_counter() - started) / EPISODES / _steps()


async def _verifiers_s(server: ModelServer) -> float:
    import verifiers.v1 as vf

    from deskgym.adapters.verifiers import load_environment

    environment = load_environment(TASK, seeds=0)
    client = vf.EvalClientConfig(base_url=server.url("openai"), api_key_var="NONE")
    context = vf.ModelContext(client=client, model="scripted", sampling=vf.SamplingConfig())
    (task,) = environment.taskset
    async with environment.serving():
        for slot in environment.slots(task, WARM_UP):
            await environment.run_slot(slot, context)
        started = time.perf_counter()
        for slot in environment.slots(task, EPISODES):
            await environment.run_slot(slot, context)
        return (time.perf_counter() - started) / EPISODES / _steps()


def _inspect_s() -> float:
    """By two sizes of a run, so that what a run costs once is left out."""
    _evaluation_s(1)
    few_s, many_s = _evaluation_s(WARM_UP), _evaluation_s(WARM_UP + EPISODES)
    return (many_s - few_s) / EPISODES / _steps()


def _evaluation_s(episodes: int) -> float:
    from inspect_ai import eval as evaluate

    from deskgym.adapters.inspect import desk_task

    task = desk_task(TASK, seeds=0)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        (log,) = evaluate(
            task,
            model="deskgym/oracle",
            log_dir=folder,
            display="none",
            max_samples=1,
            epochs=episodes,
        )
        seconds = time.perf_counter() - started
    assert log.status == "success", log.error
    return seconds
