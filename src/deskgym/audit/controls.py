"""Controls at scale: every scripted run earns what it must, and rewards tell right from wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from deskgym.agents import null
from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.opinion import aftermath_of, objections_to
from deskgym.audit.reward import RIGHT, finding_of, judge_paid
from deskgym.environment import Environment
from deskgym.rubric import Score
from deskgym.rubric.outcome_breakdown import OutcomeBreakdown
from deskgym.runner import play
from deskgym.task import Control
from deskgym.testing.gate import Rewards, judge_rewards

NAME: Final = "controls"
SWEPT: Final = "near_miss"
"""With other parameters a right control may be wrong: what it is paid for is what is asked."""
COLUMNS: Final = ("task", "rubric", "runs", "as declared", "gates", "gates passed")


def run(target: Target) -> Section:
    """Every control with every seed by every version of the rubric, and the gate of each."""
    suite, task = target.suite, target.task
    findings: list[Finding] = []
    rows: list[tuple[object, ...]] = []
    earned: dict[str, Rewards] = {rubric.version: {} for rubric in suite.rubrics}
    held = dict.fromkeys(earned, 0)
    runs = 0
    controls = list(_with_null(task.controls))
    for control in controls:
        with Environment(suite, task, parameters=control.parameters) as environment:
            for seed in target.seeds:
                play(environment, control.script, seed)
                runs += 1
                for version in earned:
                    found = list(_judge(environment, control, version))
                    held[version] += not found
                    findings += found
                    of_kind = earned[version].setdefault(control.kind, {})
                    reward = environment.score(version).reward
                    of_kind.setdefault(control.name, []).append(reward)
    found, swept = _sweep(target)
    findings += found
    for version, rewards in earned.items():
        gate = judge_rewards(suite, task, rewards, rubric=version)
        # An older version may be kept for the faults that it is known for.
        reasons = gate.reasons if version == suite.rubrics[0].version else ()
        findings += [
            Finding(NAME, "the gate", suite.name, task.name, None, {}, version,
                    "right controls earn 0.60 and more than all others", reason)
            for reason in reasons
        ]  # fmt: skip
        rows.append((target.id, version, runs, held[version], 1, int(gate.passes)))
    table = Table("controls", COLUMNS, tuple(rows), ("key", "key", "sum", "sum", "sum", "sum"))
    scored = runs * len(earned)
    return Section(
        NAME, runs + swept, findings=tuple(findings), tables=(table,),
        counts={"runs": runs, "scores": scored, "as declared": sum(held.values()),
                "runs of the sweep": swept},
    )  # fmt: skip


def _sweep(target: Target) -> tuple[list[Finding], int]:
    """The task's cases of the suite's sweep, with the first seed; how many there are."""
    suite, task = target.suite, target.task
    cases = [case for case in suite.sweep if case.task == task.name]
    findings: list[Finding] = []
    for case in cases:
        control = task.control(case.control)
        with Environment(suite, task, parameters=case.parameters) as environment:
            play(environment, control.script, target.seeds[0])
            for version in (item.version for item in suite.rubrics if item.version in case.rewards):
                expected = case.rewards[version]
                findings += _judge(
                    environment, replace(control, kind=SWEPT, reward=expected, rewards={}), version
                )
    return findings, len(cases)


def _with_null(controls: tuple[Control, ...]) -> Iterator[Control]:
    yield from controls
    if all(control.kind != "null" for control in controls):
        # It earns what idleness earns; the labels say what that may be.
        yield Control("null", "null", "do nothing", null, 0.0)


def _judge(environment: Environment, control: Control, version: str) -> Iterator[Finding]:
    """What does not hold of one run by one version of the rubric."""
    score = environment.score(version)
    expected = control.reward_by(version)
    if score.reward != expected:
        yield finding_of(
            environment, NAME, control.name, score=score,
            expected=f"it earns {expected} by {version}", got=f"it earned {score.reward}",
        )  # fmt: skip
    yield from _bound(environment, control, score)
    for bug in environment.bugs:
        yield finding_of(
            environment, NAME, control.name, score=score,
            expected="no tool fails", got=f"a tool raised {type(bug).__name__}: {bug}",
        )  # fmt: skip
    if version != environment.suite.rubrics[0].version:
        return
    if control.kind in RIGHT:
        objections = objections_to(environment)
        if objections:
            yield finding_of(
                environment, NAME, control.name, score=score,
                expected="nothing is wrong with a right control", got="; ".join(objections),
            )  # fmt: skip
        return
    if environment.suite.objections is not None:
        found, _ = judge_paid(environment, NAME, control.name, score)
        if found is not None:
            yield found


def _bound(environment: Environment, control: Control, score: Score) -> Iterator[Finding]:
    """Ceilings that the breakdown names and a second reading does not, or the other way around.

    Where less is left to earn than a ceiling leaves, its absence shows here and in no reward.
    """
    read, breakdown = environment.suite.ceilings, score.breakdown
    if read is None or not isinstance(breakdown, OutcomeBreakdown):
        return
    expected = read(aftermath_of(environment)).get(score.rubric)
    named = frozenset(item.name for item in breakdown.ceilings)
    if expected is not None and named != expected:
        yield finding_of(
            environment, NAME, control.name, score=score,
            expected=f"the ceilings that bind by {score.rubric} are {_listed(expected)}",
            got=f"the breakdown names {_listed(named)}",
        )  # fmt: skip


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"


ATTACK: Final = Attack(
    NAME,
    "every control earns what it declares by every version of the rubric, the gates hold, and the "
    "suite's second opinion agrees with both",
    run,
)
