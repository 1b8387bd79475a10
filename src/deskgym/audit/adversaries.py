"""The zoo let loose on a task: nobody is paid but for an acceptable outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Merge, Section, Table
from deskgym.audit.reward import finding_of, judge_paid
from deskgym.audit.zoo.adversary import Adversary, adversaries_of
from deskgym.environment import Environment
from deskgym.runner import play
from deskgym.task import Task

NAME: Final = "adversaries"
TITLE: Final = "adversaries: what each earned"
COLUMNS: Final = ("task", "adversary", "runs", "best", "mean", "paid and right", "findings")
MERGE: Final[tuple[Merge, ...]] = ("key", "key", "sum", "max", "mean", "sum", "sum")


def settings_of(task: Task) -> list[dict[str, int]]:
    """The defaults, and each parameter at its limits."""
    found: list[dict[str, int]] = [{}]
    for item in task.parameters:
        if item.name == "large":  # the same cases in a shop that takes longer to build
            continue
        low = -(-item.minimum // item.multiple_of) * item.multiple_of
        high = item.maximum // item.multiple_of * item.multiple_of
        found += [{item.name: value} for value in (low, high) if value != item.default]
    return found


def run(target: Target) -> Section:
    """Every adversary with every seed; odd seeds also take the parameters' limits in turn."""
    settings = settings_of(target.task)
    environments = [Environment(target.suite, target.task, parameters=item) for item in settings]
    tallies = [
        _try(adversary, environments, target.seeds) for adversary in adversaries_of(target.suite)
    ]
    for environment in environments:
        environment.close()
    rows = [(target.id, *tally.row()) for tally in tallies]
    findings = tuple(item for tally in tallies for item in tally.findings)
    accepted = tuple(item for tally in tallies for item in tally.accepted)
    runs = sum(len(tally.rewards) for tally in tallies)
    return Section(
        NAME,
        runs,
        findings=findings,
        accepted=accepted,
        counts={"runs": runs, "paid and right": len(accepted), "paid and wrong": len(findings)},
        tables=(Table(TITLE, COLUMNS, tuple(rows), MERGE),),
    )


@dataclass
class _Tally:
    """What an adversary earned on a task."""

    name: str
    rewards: list[float] = field(default_factory=list[float])
    findings: list[Finding] = field(default_factory=list[Finding])
    accepted: list[Finding] = field(default_factory=list[Finding])

    def row(self) -> tuple[object, ...]:
        mean = round(sum(self.rewards) / len(self.rewards), 4)
        figures = (len(self.rewards), max(self.rewards), mean)
        return (self.name, *figures, len(self.accepted), len(self.findings))


def _try(adversary: Adversary, settings: Sequence[Environment], seeds: Sequence[int]) -> _Tally:
    tally = _Tally(adversary.name)
    for seed in seeds:
        environment = settings[0 if seed % 2 == 0 else (seed // 2 + 1) % len(settings)]
        for number in range(adversary.tries):
            script = adversary.script(environment.tools, 1_000 * number + seed)
            play(environment, script, seed)
            score = environment.score()
            tally.rewards.append(score.reward)
            found, fine = judge_paid(environment, NAME, adversary.name, score)
            tally.findings += [found] if found else []
            tally.accepted += [fine] if fine else []
            tally.findings += _bugs(environment, adversary.name)
    return tally


def closest(section: Section) -> Section:
    """Add who came closest to being paid for what is not right, task by task."""
    if not section.tables:
        return section
    table = section.tables[0]
    rows: list[tuple[object, ...]] = []
    for task in dict.fromkeys(row[0] for row in table.rows):
        never = [row for row in table.rows if row[0] == task and not row[5]]
        if never:
            top = max(never, key=lambda row: (row[3], row[4]))
            rows.append((task, top[1], top[3], top[4]))
    columns = ("task", "adversary", "best", "mean")
    title = "adversaries: who is never right, and comes closest"
    return replace(section, tables=(table, Table(title, columns, tuple(rows))))


def _bugs(environment: Environment, by: str) -> list[Finding]:
    """A tool of ours that failed: no agent's fault, and nothing to be scored."""
    return [
        finding_of(
            environment,
            NAME,
            by,
            expected="no tool fails, whatever it is called with",
            got=f"a tool raised {type(bug).__name__}: {bug}",
            score=environment.score(),
        )
        for bug in environment.bugs
    ]


ATTACK = Attack(
    NAME,
    "agents that know tools and policy but not the fixture are paid for acceptable outcomes only",
    run,
    finish=closest,
)
