"""Mutated oracles: every right run changed in one place, and what each change must cost.

What a mutant must earn is worked out by the suite's second reading of its own rules
(`Suite.reckon`), which knows nothing of the rubric. A mutant is harmless where that is what the
right run earns, and harmful where it is less; the rubric has to say the same to the point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.mutant import Mutant, Original, mutants
from deskgym.audit.opinion import aftermath_of, objections_to
from deskgym.environment import Environment
from deskgym.runner import play
from deskgym.suite import Suite
from deskgym.task import Control, Task
from deskgym.trajectory import Action

NAME: Final = "mutated-oracles"
SEEDS_MIN: Final = 2
SEEDS_PERCENT: Final = 10
"""Hundreds of mutants are made for each seed of a task, so some seeds have to do."""

RIGHT: Final = ("oracle", "alternate")
"""Kinds of controls that do the right thing."""


def sampled(
    seeds: Sequence[int], least: int = SEEDS_MIN, percent: int = SEEDS_PERCENT
) -> list[int]:
    """Some of the seeds, evenly spread: a share of them, and not fewer than `least`."""
    count = min(len(seeds), max(least, len(seeds) * percent // 100))
    return [seeds[place * len(seeds) // count] for place in range(count)]


def act_out(environment: Environment, seed: int, actions: Sequence[Action]) -> None:
    """Take actions from a fresh episode, as far as it goes."""
    environment.reset(seed)
    for action in actions:
        if environment.done:
            return
        environment.step(action)


@dataclass
class Trial:
    """A right run of a task and seed, and what it and its mutants earn."""

    suite: Suite
    task: Task
    control: Control
    seed: int
    environment: Environment

    @classmethod
    def of(cls, suite: Suite, task: Task, control: Control, seed: int) -> Trial:
        """The right run, played."""
        environment = Environment(suite, task, parameters=control.parameters)
        play(environment, control.script, seed)
        return cls(suite, task, control, seed, environment)

    def original(self) -> Original:
        """The right run, for its mutants to be made from."""
        actions = [step.action for step in self.environment.steps]
        return Original(actions, self.suite.toolbox, aftermath_of(self.environment).before)

    def reckoned(self) -> Mapping[str, float]:
        """What the latest run must earn, by version; empty where that cannot be told."""
        assert self.suite.reckon is not None, "the attack applies to suites that reckon"
        return self.suite.reckon(aftermath_of(self.environment))

    def finding(
        self, mutant: Mutant, version: str, expected: str, got: str, reward: float | None
    ) -> Finding:
        """A finding about a mutant."""
        return Finding(
            NAME, f"{self.control.name}, {mutant.rule}: {mutant.change}", self.suite.name,
            self.task.name, self.seed, dict(self.environment.parameters), version, expected, got,
            reward, mutant.actions,
        )  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A mutant that was run.

    Attributes:
        verdict: `harmless`, `harmful` or `not told`.
        findings: what does not hold.
    """

    rule: str
    verdict: str
    findings: tuple[Finding, ...]


def judge_mutant(trial: Trial, mutant: Mutant, right: Mapping[str, float]) -> Judged:
    """Run a mutant, and compare what it earns with what it must.

    Args:
        trial: the right run that it was made from.
        mutant: the mutant.
        right: what the right run earns, by version.
    """
    act_out(trial.environment, trial.seed, mutant.actions)
    expected = trial.reckoned()
    found = list(_disagreements(trial, mutant, right, expected))
    if trial.environment.bugs:
        sentence = f"a tool failed: {trial.environment.bugs[0]!r}"
        found.append(trial.finding(mutant, "", "no tool fails by mistake", sentence, None))
    version = trial.suite.rubric().version
    if version not in expected:
        return Judged(mutant.rule, "not told", tuple(found))
    harmless = expected[version] >= right[version]
    return Judged(mutant.rule, "harmless" if harmless else "harmful", tuple(found))


def _disagreements(
    trial: Trial, mutant: Mutant, right: Mapping[str, float], expected: Mapping[str, float]
) -> Iterator[Finding]:
    default = trial.suite.rubric().version
    for version, reward in right.items():
        earned = trial.environment.score(version).reward
        if version in expected and earned != expected[version]:
            yield trial.finding(
                mutant, version, f"it earns {expected[version]} by a second reading of the rules",
                f"it earns {earned}", earned,
            )  # fmt: skip
        if mutant.neutral and version in expected and earned != reward:
            yield trial.finding(
                mutant, version, f"it keeps the {reward} of the right run, for the change means "
                "nothing", f"it earns {earned}", earned,
            )  # fmt: skip
        if version == default and earned >= reward:
            objections = objections_to(trial.environment)
            if objections:
                yield trial.finding(
                    mutant, version, "what earns as much as a right run is acceptable",
                    "; ".join(objections), earned,
                )  # fmt: skip


def trials(target: Target, seeds: Sequence[int]) -> Iterator[Trial]:
    """Every right control of a task with each seed, played."""
    for seed in seeds:
        for control in target.task.controls:
            if control.kind in RIGHT:
                trial = Trial.of(target.suite, target.task, control, seed)
                with trial.environment:
                    yield trial


def run(target: Target) -> Section:
    """Mutate every right run of a task."""
    verdicts: Counter[tuple[str, str]] = Counter()
    found: list[Finding] = []
    episodes = 0
    seeds = sampled(target.seeds)
    for trial in trials(target, seeds):
        versions = [rubric.version for rubric in target.suite.rubrics]
        right = {version: trial.environment.score(version).reward for version in versions}
        episodes += 1
        for mutant in mutants(trial.original()):
            judged = judge_mutant(trial, mutant, right)
            verdicts[judged.rule, judged.verdict] += 1
            found += judged.findings
            episodes += 1
    return Section(
        NAME,
        trajectories=episodes,
        findings=tuple(found),
        counts=_counts(verdicts, len(seeds)),
        tables=(_table(target, verdicts),),
    )


def _counts(verdicts: Mapping[tuple[str, str], int], seeds: int) -> dict[str, int]:
    counts = {"harmless": 0, "harmful": 0, "not told": 0}
    for (_, verdict), count in verdicts.items():
        counts[verdict] += count
    return {**counts, "seeds of tasks": seeds}


def _table(target: Target, verdicts: Mapping[tuple[str, str], int]) -> Table:
    rules = dict.fromkeys(rule for rule, _ in verdicts)
    rows = tuple(
        (target.id, rule, *(verdicts.get((rule, kind), 0) for kind in ("harmless", "harmful")))
        for rule in rules
    )
    return Table("Mutants by rule", ("task", "rule", "harmless", "harmful"), rows)


ATTACK: Final = Attack(
    name=NAME,
    sentence="changes every right run in one place, by rule: what is harmless by a second reading "
    "of the rules must keep its reward, and what is harmful must lose it, to the point",
    run=run,
    scope="task",
    applies=lambda target: target.suite.reckon is not None,
)
