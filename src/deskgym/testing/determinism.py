"""Checks of determinism: the same seed and actions give the same bytes, whatever is around."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import orjson

from deskgym.errors import DeskgymError
from deskgym.store import Engine
from deskgym.suite import load_suite
from deskgym.task import SEED_MAX
from deskgym.testing.finding import Flaw
from deskgym.testing.fingerprint import fingerprints
from deskgym.testing.subject import Episode, Subject
from deskgym.testing.trace import first_departure

PROCESS_TIMEOUT_S = 300


def same_again(subject: Subject) -> Iterator[Flaw]:
    """A second run on another engine is the same."""
    engine = Engine(slots_max=2)
    for episode in subject.episodes:
        run, trace = episode
        departure = first_departure(trace, subject.trace(run, engine=engine))
        if departure is not None:
            yield _flaw(episode, departure.where, f"run again, {departure.sentence}")
    engine.close()


def interleaved(subject: Subject) -> Iterator[Flaw]:
    """A run whose one slot another episode takes after every step is the same."""
    for episode in subject.episodes:
        run, trace = episode
        engine = Engine(slots_max=1)
        disturb = _disturber(subject, episode, engine)
        got = subject.trace(run, actions=trace.actions, engine=engine, between=disturb)
        departure = first_departure(trace, got)
        if departure is not None:
            sentence = f"with another episode in between, {departure.sentence}"
            yield _flaw(episode, departure.where, sentence)
        engine.close()


def _disturber(subject: Subject, episode: Episode, engine: Engine) -> Callable[[int], None]:
    """Another episode, of the next seed, that takes a step whenever it is called."""
    other = subject.environment(episode.run.parameters, engine)
    actions = episode.trace.actions
    seed = (episode.run.seed + 1) % SEED_MAX

    def disturb(number: int) -> None:
        if number == 0 or other.done:
            other.reset(seed)
        if actions:
            other.step(actions[number % len(actions)])
            other.score()

    return disturb


def unordered(subject: Subject) -> Iterator[Flaw]:
    """A run on an engine that returns unordered rows the other way round is the same."""
    engine = Engine(slots_max=2, reverse_unordered_selects=True)
    for episode in subject.episodes:
        run, trace = episode
        got = subject.trace(run, actions=trace.actions, engine=engine)
        departure = first_departure(trace, got)
        if departure is not None:
            sentence = f"with unordered rows reversed, {departure.sentence}: an ORDER BY is missing"
            yield _flaw(episode, departure.where, sentence)
    engine.close()


def other_process(subject: Subject) -> Iterator[Flaw]:
    """A run in a process with another hash seed, time zone and locale is the same.

    Only a suite that can be loaded by its name is there in another process.
    """
    if not _installed(subject):
        return
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from deskgym.testing.fingerprint import main; main()",
            subject.id,
            *map(str, subject.seeds),
        ],
        env=_other_environment(),
        capture_output=True,
        timeout=PROCESS_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        yield Flaw(None, "another process", f"failed: {last[0]}")
        return
    got: list[list[str]] = orjson.loads(done.stdout)
    for episode, marks, same in zip(subject.episodes, fingerprints(subject), got, strict=True):
        if marks == same:
            continue
        step = next(
            (number for number, pair in enumerate(zip(marks, same, strict=False))
             if pair[0] != pair[1]),
            min(len(marks), len(same)),
        )  # fmt: skip
        where = f"step {step} {episode.trace.actions[step - 1].tool}" if step else "start"
        sentence = "another process, with another hash seed, time zone and locale, differs"
        yield _flaw(episode, where, sentence)


def _installed(subject: Subject) -> bool:
    try:
        return load_suite(subject.suite.name).task(subject.task.name) is subject.task
    except DeskgymError:
        return False


def _other_environment() -> dict[str, str]:
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    time_zone = "Asia/Kathmandu" if os.environ.get("TZ") != "Asia/Kathmandu" else "UTC"
    paths = os.pathsep.join(path for path in sys.path if path)
    return {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": paths,
        "TZ": time_zone,
        "LC_ALL": "C",
    }


def _flaw(episode: Episode, where: str, sentence: str) -> Flaw:
    return Flaw(episode.run.seed, f"{episode.run.name} {where}", sentence)
