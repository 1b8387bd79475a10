"""The conformance suite: every check, run on a task, a suite, or what a package adds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Final

from deskgym.environment import ENVIRONMENT_LOG
from deskgym.errors import UnknownName
from deskgym.testing import declaration, determinism, refusal, replays, scoring, secrecy
from deskgym.testing.finding import ConformanceCheck, Finding, Flaw
from deskgym.testing.subject import SEEDS, Subject, What, subjects
from deskgym.testing.trace import described

_FIRST: Final = (
    ConformanceCheck(
        "declarations",
        "what an agent or a person reads is there, and the tools' schemas are strict",
        declaration.declarations,
    ),
    ConformanceCheck(
        "fixtures",
        "a seed builds the same valid rows every time, over the limits of the parameters",
        declaration.fixtures,
    ),
)
"""What the others stand on: where one of these fails, they are not run."""

CHECKS: Final = (
    *_FIRST,
    ConformanceCheck(
        "same-again",
        "the same seed and actions give the same bytes on another engine",
        determinism.same_again,
    ),
    ConformanceCheck(
        "interleaved",
        "the same bytes while another episode takes the only slot in between",
        determinism.interleaved,
    ),
    ConformanceCheck(
        "ordered-queries",
        "the same bytes where unordered rows come the other way round",
        determinism.unordered,
    ),
    ConformanceCheck(
        "other-process",
        "the same bytes with another hash seed, time zone and locale",
        determinism.other_process,
    ),
    ConformanceCheck(
        "refusals",
        "whatever a tool is called with, it answers by its codes, and a refusal changes nothing",
        refusal.refusals,
    ),
    ConformanceCheck(
        "whole-worlds",
        "the world holds just the rows that its changes say",
        refusal.whole_worlds,
    ),
    ConformanceCheck(
        "after-the-end",
        "after the end every action is refused and changes nothing",
        refusal.after_the_end,
    ),
    ConformanceCheck(
        "replays",
        "a recording of every control replays, and a changed one is refused with its step named",
        replays.replays,
    ),
    ConformanceCheck(
        "hidden-score",
        "nothing of the rubric and no private value is in what an agent is shown",
        secrecy.hidden_score,
    ),
    ConformanceCheck(
        "null-earns-nothing",
        "doing nothing earns no more than 0",
        scoring.null_earns_nothing,
    ),
    ConformanceCheck(
        "controls-earn",
        "every control earns exactly what it declares, by every version of the rubric",
        scoring.controls_earn,
    ),
    ConformanceCheck(
        "gates",
        "right controls earn 0.60 and more than wrong or idle ones, forbidden ones less than idle",
        scoring.gates,
    ),
    ConformanceCheck(
        "pure-scoring",
        "scoring gives the same result whenever it is done, and changes nothing",
        scoring.pure,
    ),
)
"""Everything that a task has to keep to."""


def check_conformance(
    what: What, seeds: Sequence[int] = SEEDS, checks: Sequence[str] = ()
) -> list[Finding]:
    """What breaks the contract of tasks; nothing for a task that keeps to it.

    Args:
        what: a task's id, a suite's name, a `Suite`, or a (`Suite`, `Task`) pair.
        seeds: the seeds to look at.
        checks: the names of the checks to run; all of `CHECKS` if empty.

    Raises:
        UnknownName: there is no such suite, task or check.
        UsageError: there is no seed.
    """
    return _check(subjects(what, seeds), _chosen(checks))


def assert_conforms(what: What, seeds: Sequence[int] = SEEDS, checks: Sequence[str] = ()) -> None:
    """Raise an AssertionError that lists everything `check_conformance` finds."""
    _refuse(check_conformance(what, seeds, checks))


def cases(*names: str, checks: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Each task of these suites or tasks with each check: what `pytest.mark.parametrize` takes.

    ```python
    @pytest.mark.parametrize(("task", "check"), cases("returns-desk"))
    def test_conforms(task: str, check: str) -> None:
        assert_conforms(task, checks=[check])
    ```
    """
    chosen = _chosen(checks)
    return [
        (subject.id, check.name) for name in names for subject in subjects(name) for check in chosen
    ]


def conformance_test(
    *names: str, seeds: Sequence[int] = SEEDS, checks: Sequence[str] = ()
) -> Callable[..., None]:
    """A pytest test of every task of these suites or tasks against every check, in one line.

    ```python
    test_conforms = conformance_test("returns-desk")
    ```
    """
    import pytest  # only a package's tests have it

    @cache
    def subjects_of(task: str) -> tuple[Subject, ...]:
        return subjects(task, seeds)  # its episodes serve all checks

    @pytest.mark.parametrize(("task", "check"), cases(*names, checks=checks))
    def test_conforms(task: str, check: str) -> None:
        _refuse(_check(subjects_of(task), _chosen([check])))

    return test_conforms


def _check(found: Sequence[Subject], checks: Sequence[ConformanceCheck]) -> list[Finding]:
    with _quiet():
        return [finding for subject in found for finding in _findings(subject, checks)]


def _refuse(findings: Sequence[Finding]) -> None:
    if findings:
        lines = "\n".join(f"  {finding}" for finding in findings)
        raise AssertionError(f"{len(findings)} findings:\n{lines}")


def _chosen(names: Sequence[str]) -> tuple[ConformanceCheck, ...]:
    known = {check.name: check for check in CHECKS}
    for name in names:
        if name not in known:
            raise UnknownName("conformance check", name, known)
    return tuple(check for check in CHECKS if not names or check.name in names)


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


def _findings(subject: Subject, checks: Sequence[ConformanceCheck]) -> Iterator[Finding]:
    failed = False
    for check in checks:
        if failed and check not in _FIRST:
            return
        for flaw in _guarded(check, subject):
            failed = True if check in _FIRST else failed
            yield Finding(check.name, subject.id, *flaw)


def _guarded(check: ConformanceCheck, subject: Subject) -> Iterator[Flaw]:
    """What a check finds; where the task's own code raises, that is what it found."""
    try:
        yield from check.find(subject)
    except Exception as error:
        yield Flaw(None, "the check", f"could not go on: the task raised {described(error)}")
