"""Episodes on a Ray cluster: actors play them, and each result comes back as it ends.

An episode goes out as a small JSON spec and comes back as a line of a results file. What was lost
with an actor, its process or its machine is played again by another actor; whichever of them ends
it, it is the same episode, and it is handed on once.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from deskgym.agents.human import HUMAN
from deskgym.errors import MissingExtra, UsageError
from deskgym.evaluate import EpisodeSpec, WorkerLost
from deskgym.evaluate.episode import Play, open_stage
from deskgym.evaluate.flight import Finished, OpenStage
from deskgym.evaluate.result import parse_line
from deskgym.evaluate.stream import CONCURRENCY

try:
    import ray
    from ray.exceptions import (
        ActorDiedError,
        ObjectLostError,
        RayActorError,
        RayError,
        RayTaskError,
        WorkerCrashedError,
    )
except ImportError as missing:
    raise MissingExtra("deskgym.adapters.ray", "ray") from missing

LOSSES_MAX: Final = 3
"""How many actors one episode may be lost with, and how many may end in a row before they are
ready, until the run is given up: it then is not the machines that are at fault."""

REACH_TIMEOUT_S: Final = 10.0
"""How long a cluster's address may take to answer, in seconds."""

REASON_CHARACTERS_MAX: Final = 240

_LOST: Final = (RayActorError, ObjectLostError, WorkerCrashedError)
_log = logging.getLogger(__name__)


def stream(
    specs: Sequence[EpisodeSpec],
    *,
    actors: int | None = None,
    concurrency: int = CONCURRENCY,
    address: str | None = None,
    options: Mapping[str, Any] | None = None,
    stage: OpenStage = open_stage,
) -> Iterator[Finished]:
    """Run episodes on a Ray cluster and yield each as it ends, in whatever order that is.

    Ending the iteration early cancels what is still running. A connection to Ray that the program
    has already is used, and left as it is; one that is made here is closed at the end.

    Args:
        specs: what to run. Keys of models and the database's URL are among what is sent.
        actors: how many play; as many as the cluster has CPUs if None.
        concurrency: how many episodes are run at once, by all actors together.
        address: the cluster's, such as `auto`, `10.0.0.1:6379` or `ray://10.0.0.1:10001`; a
            cluster of this machine alone, which ends with the run, if None and the variable
            RAY_ADDRESS is not set.
        options: further options of each actor, as Ray has them: `num_cpus` (1 each if it is left
            out), `resources`, `runtime_env`.
        stage: opens what plays episodes, in each actor; a function of a module.

    Raises:
        UsageError: what is asked for cannot be: no such task or agent, no cluster at the address,
            a person as the agent.
        WorkerLost: an episode was lost again and again, or no actor starts, or the cluster ended.
    """
    if any(spec.agent == HUMAN for spec in specs):
        raise UsageError("a person plays at this terminal, and not on a Ray cluster")
    if not specs:
        return
    started = _connect(address, actors)
    try:
        count = min(actors or _cpus(), len(specs))
        crew = _Crew(count, max(1, -(-concurrency // count)), dict(options or {}), stage)
        try:
            yield from _play_all(crew, specs)
        finally:
            crew.dismiss()
    finally:
        if started:
            ray.shutdown()


def _connect(address: str | None, actors: int | None) -> bool:
    """Connect to Ray, unless the program is; whether it was done here."""
    if ray.is_initialized():
        return False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.WARNING}
    address = address or os.environ.get("RAY_ADDRESS")
    if address is None:
        cores = max(actors or 1, os.cpu_count() or 1)
        # "local" means a new one; without it Ray would join whatever it started here last.
        ray.init("local", num_cpus=cores, include_dashboard=False, **quiet)
        return True
    try:
        _reach(address)
        ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"there is no Ray cluster to connect to at {address}: {error}") from error
    return True


def _reach(address: str) -> None:
    """Raise OSError at once where nothing listens: Ray itself tries for minutes."""
    place = urlsplit(address if "://" in address else f"//{address}")
    if place.hostname is not None and place.port is not None:
        socket.create_connection((place.hostname, place.port), REACH_TIMEOUT_S).close()


def _cpus() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


class _Refused(NamedTuple):
    """What is asked for cannot be, whatever the episode."""

    why: str


class _Player:
    """The actor: an event loop with a stage, which plays what comes in."""

    def __init__(self, stage: OpenStage) -> None:
        self._open: Final = stage
        self._opened: Final = AsyncExitStack()
        self._play: Play | None = None

    async def ready(self) -> int:
        """Open the stage, and tell the process."""
        if self._play is None:
            self._play = await self._opened.enter_async_context(self._open())
        return os.getpid()

    async def play(self, document: bytes) -> bytes | _Refused:
        """Play an episode; its line."""
        assert self._play is not None, "it is asked to be ready first"
        try:
            episode = await self._play(EpisodeSpec.from_json(document))
        except UsageError as error:
            return _Refused(str(error))
        return episode.to_line()


@dataclass(eq=False)
class _Member:
    """An actor, and how many episodes more it can take; 0 until it is ready."""

    handle: Any
    free: int = 0


class _Task(NamedTuple):
    """What an actor is at: an episode by its number, or becoming ready if None."""

    member: _Member
    number: int | None


class _Crew:
    """The actors, and what each of them is at."""

    def __init__(self, count: int, each: int, options: Mapping[str, Any], stage: OpenStage) -> None:
        self._each: Final = each
        self._stage: Final = stage
        # One call more than episodes, so that becoming ready waits for none.
        asked = {"num_cpus": 1, "scheduling_strategy": "SPREAD", **options}
        self._kind: Final = ray.remote(_Player).options(max_concurrency=each + 1, **asked)
        self._members: Final[list[_Member]] = []
        self.tasks: Final[dict[Any, _Task]] = {}
        for _ in range(count):
            self._hire()

    def _hire(self) -> None:
        member = _Member(self._kind.remote(self._stage))
        self._members.append(member)
        self.tasks[member.handle.ready.remote()] = _Task(member, None)

    def assign(self, waiting: deque[int], documents: Sequence[bytes]) -> None:
        """Give every actor that is ready work, one episode each in turn, until it has its fill."""
        for level in range(self._each, 0, -1):
            for member in self._members:
                if member.free >= level and waiting:
                    number = waiting.popleft()
                    reference = member.handle.play.remote(documents[number])
                    self.tasks[reference] = _Task(member, number)
                    member.free -= 1

    def landed(self, task: _Task) -> None:
        """Note that an actor has done what it was at."""
        task.member.free += self._each if task.number is None else 1

    def replace(self, member: _Member) -> list[int]:
        """Put another actor in the place of one that is gone; the episodes that it was at."""
        lost = [reference for reference, task in self.tasks.items() if task.member is member]
        numbers = [self.tasks.pop(reference).number for reference in lost]
        self._members.remove(member)
        with suppress(RayError):  # it is gone, or it cannot be reached and must not go on
            ray.kill(member.handle)
        self._hire()
        return [number for number in numbers if number is not None]

    def dismiss(self) -> None:
        """End every actor, whatever it is at."""
        for member in self._members:
            with suppress(RayError, ValueError):  # it is gone already, or Ray itself is
                ray.kill(member.handle)


def _play_all(crew: _Crew, specs: Sequence[EpisodeSpec]) -> Iterator[Finished]:
    documents = [spec.to_json() for spec in specs]
    waiting = deque(range(len(specs)))
    losses: dict[int | None, int] = {}
    left = len(specs)
    while left:
        for reference in _some_ready(crew):
            task = crew.tasks.get(reference)
            if task is None:
                continue  # it was lost with its actor, a moment ago
            answer = _answer(reference)
            if isinstance(answer, _LostWith):
                numbers = crew.replace(task.member)
                _log.warning("an actor was lost, with %d episodes: %s", len(numbers), answer.why)
                _count_losses(losses, numbers, specs, answer.why)
                waiting.extendleft(reversed(numbers))
                continue
            del crew.tasks[reference]
            crew.landed(task)
            if task.number is None:
                losses.pop(None, None)
            elif isinstance(answer, _Refused):
                raise UsageError(answer.why)
            else:
                left -= 1
                yield _finished(task.number, specs[task.number], answer)
        crew.assign(waiting, documents)


def _finished(number: int, spec: EpisodeSpec, line: bytes) -> Finished:
    result = parse_line(line, f"the result of {spec.task}")
    here, there = version("deskgym"), result.settings.get("deskgym")
    if there != here:
        raise UsageError(
            f"a machine of the cluster has deskgym {there}, and this one {here}: "
            "results of different versions are not mixed"
        )
    return Finished(number, result, line)


def _some_ready(crew: _Crew) -> list[Any]:
    """What has ended, at least one."""
    references = list(crew.tasks)
    first, _ = ray.wait(references, num_returns=1)
    more, _ = ray.wait(references, num_returns=len(references), timeout=0)
    return more or first


class _LostWith(NamedTuple):
    """There is no answer, since the actor is gone."""

    why: str


def _answer(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except RayTaskError:
        raise  # a bug, which shows its own traceback
    except _LOST as error:
        return _LostWith(_reason(error))
    except RayError as error:
        raise WorkerLost(f"the Ray cluster failed: {_reason(error)}") from error


def _reason(error: RayError) -> str:
    """What Ray says, without its advice: the last line of it, up to a length."""
    kind = "the actor died" if isinstance(error, ActorDiedError) else type(error).__name__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[-1] if lines else "no reason was given"
    more = "…" if len(said) > REASON_CHARACTERS_MAX else ""
    return f"{kind}: {said[:REASON_CHARACTERS_MAX]}{more}"


def _count_losses(
    losses: dict[int | None, int], numbers: list[int], specs: Sequence[EpisodeSpec], why: str
) -> None:
    """Note what was lost, an actor that was not ready as None; too often is `WorkerLost`."""
    for number in numbers or [None]:
        times = losses[number] = losses.get(number, 0) + 1
        if times < LOSSES_MAX:
            continue
        if number is None:
            raise WorkerLost(f"no actor starts, {times} ended before they were ready: {why}")
        key = specs[number].planned().key
        raise WorkerLost(f"{key} was lost with {times} actors, one after another: {why}")
