"""What a conformance check finds, and the checks as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deskgym.testing.subject import Subject


class Flaw(NamedTuple):
    """What a check found on its subject: in which seed's run, at which place, and what."""

    seed: int | None
    where: str
    sentence: str


@dataclass(frozen=True)
class Finding:
    """Something about a task that breaks its contract.

    Attributes:
        check: the conformance check that found it.
        task: the task's id.
        seed: the seed of the episode; None where it is about no episode.
        where: the control and step, the tool, or the field.
        sentence: what is wrong.
    """

    check: str
    task: str
    seed: int | None
    where: str
    sentence: str

    def __str__(self) -> str:
        seed = "" if self.seed is None else f" seed {self.seed}"
        return f"{self.task}{seed}, {self.where}: {self.sentence} [{self.check}]"


@dataclass(frozen=True)
class ConformanceCheck:
    """One thing that every task has to keep to.

    Attributes:
        name: what a finding calls it.
        sentence: what has to be so.
        find: looks for what is not so.
    """

    name: str
    sentence: str
    find: Callable[[Subject], Iterator[Flaw]]
