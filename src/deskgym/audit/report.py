"""The report of an audit: its sections, its findings, and what they say of the checklist."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from deskgym.audit.attack import Attack
from deskgym.audit.attacks import ATTACKS
from deskgym.audit.checklist import Assessment, assess
from deskgym.audit.finding import Finding, Section, joined
from deskgym.audit.run import SEEDS, attack_suite, chosen_attacks, pieces, run_pieces
from deskgym.suite import Suite


@dataclass(frozen=True)
class Report:
    """What an audit tried and found.

    Attributes:
        version: of deskgym.
        tasks: the ids of what was audited.
        seeds: the seeds.
        sections: what each attack did, in the order of `ATTACKS`.
        elapsed_s: how long it took by the clock, in seconds.
        jobs: in how many processes.
    """

    version: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    sections: tuple[Section, ...]
    elapsed_s: float
    jobs: int

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that does not hold."""
        return tuple(item for section in self.sections for item in section.findings)

    @property
    def accepted(self) -> tuple[Finding, ...]:
        """Adversaries' runs that were paid and are right, a few of each."""
        return tuple(item for section in self.sections for item in section.accepted)

    @property
    def trajectories(self) -> int:
        """How many episodes were run."""
        return sum(section.trajectories for section in self.sections)

    @property
    def checklist(self) -> tuple[Assessment, ...]:
        """The Agentic Benchmark Checklist's items, each with its evidence."""
        return assess(self.sections)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "deskgym": self.version,
            "tasks": list(self.tasks),
            "seeds": list(self.seeds),
            "passed": not self.findings,
            "trajectories": self.trajectories,
            "elapsed_s": round(self.elapsed_s, 3),
            "jobs": self.jobs,
            "findings": len(self.findings),
            "sections": [
                {"sentence": sentence_of(section.attack), **section.to_dict()}
                for section in self.sections
            ],
            "checklist": [item.to_dict() for item in self.checklist],
        }


def sentence_of(name: str) -> str:
    """What an attack tries; empty for one that is not among `ATTACKS`."""
    return next((attack.sentence for attack in ATTACKS if attack.name == name), "")


def report_of(
    sections: Iterable[Section],
    *,
    attacks: Sequence[Attack],
    tasks: Sequence[str],
    seeds: Sequence[int],
    elapsed_s: float,
    jobs: int,
) -> Report:
    """Put the sections of all pieces together, one for each attack."""
    parts = list(sections)
    made = tuple(
        attack.finish(joined(attack.name, mine))
        for attack in attacks
        if (mine := [part for part in parts if part.attack == attack.name])
    )
    return Report(version("deskgym"), tuple(tasks), tuple(seeds), made, elapsed_s, jobs)


def audit(
    names: Sequence[str] = (),
    *,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    attacks: Sequence[str] = (),
) -> Report:
    """Audit tasks or suites.

    Args:
        names: ids of tasks or names of suites; all suites if empty.
        seeds: the seeds to try.
        jobs: how many processes; one does it here.
        attacks: the names of the attacks; all if empty.

    Raises:
        UnknownName: there is no such suite, task or attack.
        UsageError: there is no seed.
    """
    started = time.perf_counter()
    work = pieces(names, seeds, attacks)
    sections = list(run_pieces(work, jobs=jobs))
    tasks = dict.fromkeys(f"{piece.suite}/{task}" for piece in work for task in piece.tasks)
    return report_of(
        sections, attacks=chosen_attacks(attacks), tasks=tuple(tasks), seeds=tuple(seeds),
        elapsed_s=time.perf_counter() - started, jobs=jobs,
    )  # fmt: skip


def audit_suite(
    suite: Suite, *, seeds: Sequence[int] = SEEDS, attacks: Sequence[str] = ()
) -> Report:
    """Audit a suite that need not be installed, in this process; raises as `audit` does."""
    started = time.perf_counter()
    chosen = chosen_attacks(attacks)
    sections = attack_suite(suite, seeds, chosen)
    return report_of(
        sections, attacks=chosen, seeds=tuple(seeds),
        tasks=[f"{suite.name}/{task.name}" for task in suite.tasks],
        elapsed_s=time.perf_counter() - started, jobs=1,
    )  # fmt: skip
