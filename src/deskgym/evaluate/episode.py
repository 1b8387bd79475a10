"""One episode of an evaluation: what is asked for, and how it is run."""

from __future__ import annotations

import asyncio
import atexit
import logging
import multiprocessing
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from pydantic import TypeAdapter

from deskgym.agents import AgentOptions, AgentSource, find_agent, is_model, open_agent
from deskgym.customers import Customer, CustomerOptions, open_customer
from deskgym.dialogue import Limits, PlayedEpisode, play_dialogue
from deskgym.environment import Environment
from deskgym.errors import UsageError
from deskgym.evaluate.result import Episode, EpisodeKey, EpisodeResult, Usage
from deskgym.evaluate.results_file import Planned, plain
from deskgym.models.options import ModelOptions
from deskgym.recording import Recording, parse
from deskgym.rubric.held import checks_of
from deskgym.runner import record
from deskgym.store import WorldEngine, open_engine
from deskgym.suite import load_suite

EVALUATION_LOG: Final = __name__
"""The logger that tells of an episode that failed by a bug of ours."""
_log = logging.getLogger(EVALUATION_LOG)

Play = Callable[["EpisodeSpec"], Awaitable[Episode]]
"""Runs an episode."""


@dataclass(frozen=True)
class EpisodeSpec:
    """One episode to run: a small thing that travels between processes.

    Attributes:
        task: the task's id.
        agent: the agent's name.
        seed: the episode's seed.
        rubric: the rubric's version; the suite's default if None.
        parameters: what the fixture is built with, beside what the agent's control asks for.
        trial: from 0; others repeat the episode with the same seed.
        options: how models are reached and asked. Its key is in no result.
        limits: the budgets of a dialogue.
        customer: the model that speaks for the customer; the task's own script if None.
        database: the URL of the PostgreSQL server where the world lives, which changes no result;
            this process's memory if None. May hold a password, so that it is not shown.
    """

    task: str
    agent: str
    seed: int
    rubric: str | None = None
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    trial: int = 0
    options: AgentOptions = field(default_factory=AgentOptions)
    limits: Limits = field(default_factory=Limits)
    customer: CustomerOptions | None = None
    database: str | None = field(default=None, repr=False)

    def to_json(self) -> bytes:
        """The spec as JSON, for another machine; it holds the models' keys."""
        return _spec_form().dump_json(self)

    @staticmethod
    def from_json(document: bytes) -> EpisodeSpec:
        """The spec that `to_json` wrote."""
        return _spec_form().validate_json(document)

    def environment(self) -> Environment:
        """The environment that it is run in.

        Raises:
            UnknownName: there is no such task or rubric.
            InvalidParameter: a parameter is out of its limits.
            DatabaseUnavailable: the server cannot be reached or used.
        """
        suite = load_suite(self.task.partition("/")[0])
        task = suite.task(self.task)
        named = [item.parameters for item in task.controls if item.name == self.agent]
        parameters = {**(named[0] if named else {}), **self.parameters}
        return Environment(
            suite,
            task,
            parameters=parameters,
            rubric=self.rubric,
            engine=_engine_of(self.database),
        )

    def planned(self) -> Planned:
        """Which episode it is, and what its result depends on; raises as `environment` does."""
        environment = self.environment()
        parameters = tuple(sorted(environment.parameters.items()))
        key = EpisodeKey(environment.id, self.agent, self.seed, self.trial, parameters)
        return Planned(key, self.settings(environment))

    def settings(self, environment: Environment) -> dict[str, Any]:
        """What the result depends on beside the episode: versions and options."""
        settings: dict[str, Any] = {
            "rubric": environment.rubric.version,
            "deskgym": _version(),
        }
        if is_model(self.agent):
            settings |= _agent_settings(self.options) | {"limits": vars(self.limits)}
        if self.customer is not None:
            settings["customer"] = {
                "name": self.customer.name,
                "traits": list(self.customer.traits),
                **_model_settings(self.customer.model),
            }
        return settings


@cache
def _spec_form() -> TypeAdapter[EpisodeSpec]:
    return TypeAdapter(EpisodeSpec)


@cache
def _engine_of(database: str | None) -> WorldEngine:
    """The engine of a database's URL, once a process."""
    engine = open_engine(database)
    atexit.register(engine.close)
    return engine


def _agent_settings(options: AgentOptions) -> dict[str, Any]:
    return {
        "protocol": options.protocol,
        "stop at call": options.stop_at_call,
        **_model_settings(options.model),
    }


def _model_settings(model: ModelOptions) -> dict[str, Any]:
    """What a model's replies depend on, without its key, its time-outs and its retries."""
    sampling = model.sampling
    return {
        "base URL": None if model.base_url is None else _without_secrets(model.base_url),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max tokens": sampling.max_tokens,
        "sampling seed": sampling.seed,
        "extra": dict(sampling.extra),
        "prices": None if model.prices is None else vars(model.prices),
    }


def _without_secrets(url: str) -> str:
    """An address without the name, password and query that it may carry a key in."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@cache
def _version() -> str:
    return version("deskgym")


def run_episode(spec: EpisodeSpec) -> Recording:
    """Run one episode of a scripted agent and record it.

    Raises:
        UnknownName: there is no such task, agent or rubric.
        InvalidParameter: a parameter or the seed is out of its limits.
    """
    with spec.environment() as environment:
        script = find_agent(environment.suite, environment.task, spec.agent)
        return record(environment, script, spec.seed, agent=spec.agent)


def run_episodes(specs: Sequence[EpisodeSpec], *, jobs: int = 1) -> Iterator[Recording]:
    """Run episodes of scripted agents and return their recordings in the order of the specs.

    `stream` takes agents of every kind and returns results as they come.

    Args:
        specs: what to run.
        jobs: how many processes; one runs them here.

    Raises:
        UnknownName: there is no such task, agent or rubric.
        InvalidParameter: a parameter or a seed is out of its limits.
    """
    if jobs <= 1 or len(specs) <= 1:
        yield from map(run_episode, specs)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for line in pool.map(_run_as_json, specs, chunksize=max(1, len(specs) // (jobs * 8))):
            yield parse(line)


def _run_as_json(spec: EpisodeSpec) -> bytes:
    return run_episode(spec).to_json()


class Stage:
    """Where episodes are played, many at once; models of one name share their connections."""

    def __init__(self, opened: AsyncExitStack) -> None:
        self._opened: Final = opened
        self._lock: Final = asyncio.Lock()
        self._sources: Final[list[tuple[str, AgentOptions, AgentSource]]] = []
        self._customers: Final[list[tuple[CustomerOptions, Customer]]] = []

    async def play(self, spec: EpisodeSpec) -> Episode:
        """Play one episode, whatever its agent is; a bug of ours is an `error`, never a reward.

        Raises:
            UsageError: what is asked for cannot be, whatever the episode: no such agent, no key.
        """
        try:
            with spec.environment() as environment:
                source = await self._source(spec)
                agent = source.agent_for(environment.suite, environment.task)
                customer = await self._customer(spec)
                played = await play_dialogue(
                    environment, agent, customer, seed=spec.seed, limits=spec.limits
                )
        except UsageError:
            raise
        except Exception as error:
            # The one place that takes any exception: it is ours, it is logged with its traceback,
            # and the other episodes go on.
            _log.exception("%s failed", spec.planned().key)
            return Episode(_failed(spec, error), None)
        return Episode(_result(spec, played), played.recording)

    async def _source(self, spec: EpisodeSpec) -> AgentSource:
        async with self._lock:
            for name, options, source in self._sources:
                if (name, options) == (spec.agent, spec.options):
                    return source
            source = await self._opened.enter_async_context(open_agent(spec.agent, spec.options))
            self._sources.append((spec.agent, spec.options, source))
            return source

    async def _customer(self, spec: EpisodeSpec) -> Customer | None:
        if spec.customer is None:
            return None
        async with self._lock:
            for options, customer in self._customers:
                if options == spec.customer:
                    return customer
            customer = await self._opened.enter_async_context(open_customer(spec.customer))
            self._customers.append((spec.customer, customer))
            return customer


@asynccontextmanager
async def open_stage() -> AsyncGenerator[Play]:
    """What plays episodes in one event loop, for as long as the block lasts."""
    async with AsyncExitStack() as opened:
        yield Stage(opened).play


def _failed(spec: EpisodeSpec, error: Exception) -> EpisodeResult:
    planned = spec.planned()
    return EpisodeResult(
        **_asked(planned),
        status="error",
        reward=None,
        termination="error",
        detail=f"{type(error).__name__}: {error}",
        verdict=None,
        reasons=[],
        actions=0,
        checks={},
        usage=None,
    )


def _result(spec: EpisodeSpec, played: PlayedEpisode) -> EpisodeResult:
    score = None if played.score is None else played.score.to_dict()
    recording = played.recording
    return EpisodeResult(
        **_asked(spec.planned()),
        status=played.status,
        reward=played.reward,
        termination=played.termination,
        detail=played.detail,
        verdict=None if score is None else score["verdict"],
        reasons=[] if score is None else score["reasons"],
        actions=0 if recording is None else len(recording.steps),
        checks={} if score is None else checks_of(score),
        usage=_usage(played),
    )


def _asked(planned: Planned) -> dict[str, Any]:
    key = planned.key._asdict()
    return {**key, "parameters": dict(planned.key.parameters), "settings": plain(planned.settings)}


def _usage(played: PlayedEpisode) -> Usage | None:
    calls = len(played.agent_meter.calls) + len(played.customer_meter.calls)
    if not calls:
        return None
    return Usage(
        calls=calls,
        retries=played.retries,
        malformed=played.malformed_calls,
        prompt_tokens=played.usage.prompt_tokens,
        completion_tokens=played.usage.completion_tokens,
        cost_usd=played.cost_usd,
        latencies_s=[round(seconds, 6) for seconds in played.latencies_s],
    )
