"""Conformance: the contract of tasks, by the suite of checks that ships for their authors."""

from __future__ import annotations

from typing import Final

from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section, Table
from deskgym.testing import CHECKS, check_conformance

NAME: Final = "conformance"
SEEDS_MAX: Final = 1
_ELSEWHERE: Final = frozenset(
    # The first three are what the controls and the labels do with more seeds. The others take long
    # (large shops, one slot for all, a process each) and are for a package's tests.
    ("controls-earn", "gates", "null-earns-nothing", "fixtures", "interleaved", "other-process")
)


def run(target: Target) -> Section:
    """Every conformance check that no other attack makes, with the first seed."""
    checks = [check.name for check in CHECKS if check.name not in _ELSEWHERE]
    seeds = target.seeds[:SEEDS_MAX]
    found = check_conformance((target.suite, target.task), seeds, checks)
    findings = tuple(
        Finding(NAME, item.check, target.suite.name, target.task.name, None, {}, "",
                _sentence(item.check), f"{item.where}: {item.sentence}")
        for item in found
    )  # fmt: skip
    rows = tuple((name, 1, sum(item.check == name for item in found)) for name in checks)
    columns = ("check", "tasks", "findings")
    table = Table("conformance: findings by check", columns, rows, ("key", "sum", "sum"))
    return Section(
        NAME, len(target.task.controls), findings=findings,
        counts={"checks": len(checks)}, tables=(table,),
    )  # fmt: skip


def _sentence(name: str) -> str:
    return next(check.sentence for check in CHECKS if check.name == name)


ATTACK: Final = Attack(
    NAME,
    "tools, fixtures, refusals, determinism, replay and secrecy keep to the contract of tasks",
    run,
    scope="task",
)
