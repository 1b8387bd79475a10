"""The audit itself: every attack on every task, in as many processes as wanted."""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from deskgym.audit.attack import Attack, Target
from deskgym.audit.attacks import ATTACKS
from deskgym.audit.finding import Finding, Section
from deskgym.environment import ENVIRONMENT_LOG
from deskgym.errors import UnknownName, UsageError
from deskgym.suite import Suite, find_tasks, load_suite
from deskgym.testing.trace import described

SEEDS_A_PIECE: Final = 25
"""How many seeds of a task are one piece of work, for an attack that can be cut by seeds."""

SEEDS: Final = tuple(range(20))
"""The seeds that are tried unless others are asked for."""


@dataclass(frozen=True)
class Piece:
    """A piece of the work, which travels to the process that does it.

    Attributes:
        attack: the attack's name.
        suite: the suite's name.
        tasks: the names of the tasks.
        seeds: the seeds.
    """

    attack: str
    suite: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]


def pieces(
    names: Sequence[str] = (), seeds: Sequence[int] = SEEDS, attacks: Sequence[str] = ()
) -> list[Piece]:
    """The work of an audit, in pieces that may each be done in a process of its own.

    Args:
        names: ids of tasks or names of suites; all suites if empty.
        seeds: the seeds to try.
        attacks: the names of the attacks; all of `ATTACKS` if empty.

    Raises:
        UnknownName: there is no such suite, task or attack.
        UsageError: there is no seed.
    """
    # What cannot be cut into small pieces begins first, so that no process waits for it at the end.
    chosen = sorted(chosen_attacks(attacks), key=lambda attack: attack.scope == "seeds")
    by_suite: dict[str, list[str]] = {}
    for suite, task in find_tasks(names):
        by_suite.setdefault(suite.name, []).append(task.name)
    return [
        piece
        for attack in chosen
        for name, tasks in by_suite.items()
        for piece in _pieces(attack, load_suite(name), tasks, seeds)
    ]


def chosen_attacks(names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks of these names, all if there are none; raises `UnknownName`."""
    known = {attack.name: attack for attack in ATTACKS}
    for name in names:
        if name not in known:
            raise UnknownName("attack", name, known)
    return tuple(attack for attack in ATTACKS if not names or attack.name in names)


def _pieces(
    attack: Attack, suite: Suite, tasks: Sequence[str], seeds: Sequence[int]
) -> Iterator[Piece]:
    if not seeds:
        raise UsageError("an audit needs at least one seed")
    every = tuple(seeds)
    groups = [tuple(tasks)] if attack.scope == "suite" else [(task,) for task in tasks]
    step = SEEDS_A_PIECE if attack.scope == "seeds" else len(every)
    for group in groups:
        if attack.applies(Target(suite, tuple(map(suite.task, group)), every)):
            for at in range(0, len(every), step):
                yield Piece(attack.name, suite.name, group, every[at : at + step])


def attack_one(attack: Attack, target: Target) -> Section:
    """Let one attack loose on one target, and say how long it took."""
    started = time.process_time()
    with _quiet():
        try:
            section = attack.run(target)
        except Exception as error:  # a task's own code, or a script's, that meets a broken task
            section = Section(attack.name, findings=(_raised(attack, target, error),))
    return replace(section, attack=attack.name, cpu_s=time.process_time() - started)


def _raised(attack: Attack, target: Target, error: Exception) -> Finding:
    return Finding(
        attack.name, "the attack", target.suite.name, target.tasks[0].name, None, {}, "",
        "a task and its scripts run whatever is tried",
        f"it could not go on with seeds {target.seeds[0]} to {target.seeds[-1]}: the task raised "
        f"{described(error)}",
    )  # fmt: skip


def run_pieces(work: Sequence[Piece], *, jobs: int = 1) -> Iterator[Section]:
    """Do the work; its sections in the order of the pieces, with any number of processes.

    Args:
        work: the pieces.
        jobs: how many processes; one does it here.
    """
    if jobs <= 1 or len(work) <= 1:
        yield from map(_run_piece, work)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(_run_piece, work)


def _run_piece(piece: Piece) -> Section:
    suite = load_suite(piece.suite)
    (attack,) = chosen_attacks([piece.attack])
    return attack_one(attack, Target(suite, tuple(map(suite.task, piece.tasks)), piece.seeds))


def attack_suite(
    suite: Suite, seeds: Sequence[int] = SEEDS, attacks: Iterable[Attack] = ATTACKS
) -> list[Section]:
    """Let attacks loose on a suite that need not be installed, in this process."""
    return [
        attack_one(attack, target)
        for attack in attacks
        for target in _targets(attack, suite, tuple(seeds))
        if attack.applies(target)
    ]


def _targets(attack: Attack, suite: Suite, seeds: tuple[int, ...]) -> list[Target]:
    if attack.scope == "suite":
        return [Target(suite, suite.tasks, seeds)]
    return [Target(suite, (task,), seeds) for task in suite.tasks]


@contextmanager
def _quiet() -> Generator[None]:
    """Keep tools that fail out of the log meanwhile: each failure is a finding."""
    log = logging.getLogger(ENVIRONMENT_LOG)

    def drop(_: logging.LogRecord) -> bool:
        return False

    log.addFilter(drop)
    try:
        yield
    finally:
        log.removeFilter(drop)
