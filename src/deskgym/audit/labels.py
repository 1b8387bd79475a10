"""Labels: which checks and outcomes hold before anything is done, and what idleness is paid."""

from __future__ import annotations

from typing import Final, NamedTuple

from deskgym.agents import null
from deskgym.audit.adversaries import settings_of
from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.reward import finding_of
from deskgym.environment import Environment
from deskgym.errors import InvalidDefinition
from deskgym.rubric import Score
from deskgym.rubric.checks import CheckBreakdown
from deskgym.rubric.outcome_breakdown import OutcomeBreakdown
from deskgym.runner import play

NAME: Final = "labels"
COLUMNS: Final = ("task", "check", "kind", "worlds", "holds untouched")


class Label(NamedTuple):
    """A part of a rubric, and whether it holds of an untouched world."""

    name: str
    kind: str
    holds: bool


def labels_of(score: Score) -> list[Label]:
    """The parts of a score: its checks, or its outcomes; the score itself where it has neither."""
    breakdown = score.breakdown
    if isinstance(breakdown, CheckBreakdown):
        return [
            Label(item.name, "forbidden" if item.forbidden else "required", item.holds)
            for item in breakdown.findings
        ]
    if isinstance(breakdown, OutcomeBreakdown):
        return [Label(item.outcome.name, "outcome", item.complete) for item in breakdown.standings]
    return [Label("the whole", "score", score.points > 0)]


def run(target: Target) -> Section:
    """Score every seed's world untouched, with the parameters at their limits too."""
    findings: list[Finding] = []
    counted: dict[tuple[str, str], list[int]] = {}
    worlds = 0
    settings = settings_of(target.task)
    for at, seed in enumerate(target.seeds):
        parameters = settings[at % len(settings)]
        with Environment(target.suite, target.task, parameters=parameters) as environment:
            try:
                play(environment, null, seed)
            except InvalidDefinition as error:
                findings.append(_refused(target, seed, parameters, str(error)))
                continue
            score = environment.score()
            worlds += 1
            labels = labels_of(score)
            for label in labels:
                tally = counted.setdefault(label[:2], [0, 0])
                tally[0] += 1
                tally[1] += label.holds
            findings += [
                finding_of(environment, NAME, "nobody", expected=expected, got=got, score=score)
                for expected, got in _faults(score, labels)
            ]
    rows = tuple((target.id, *key, *tally) for key, tally in counted.items())
    table = Table("labels: what holds before anything is done", COLUMNS, rows,
                  ("key", "key", "key", "sum", "sum"))  # fmt: skip
    free = sum(1 for _, _, kind, _, held in rows if held and kind == "required")
    counts = {"worlds": worlds, "checks": len(rows), "required checks that hold untouched": free}
    return Section(NAME, worlds, findings=tuple(findings), counts=counts, tables=(table,))


def _faults(score: Score, labels: list[Label]) -> list[tuple[str, str]]:
    """What must not be so of an untouched world: what had to be, and what was."""
    required = [label.holds for label in labels if label.kind in ("required", "outcome")]
    broken = [label.name for label in labels if label.kind == "forbidden" and not label.holds]
    found: list[tuple[str, str]] = []
    if score.points > 0:
        found.append(("doing nothing earns nothing", f"it earns {score.reward}"))
    if required and all(required):
        found.append(("some required check fails untouched", "all of them hold"))
    if broken:
        found.append(("no forbidden check fails untouched", f"these do: {', '.join(broken)}"))
    return found


def _refused(target: Target, seed: int, parameters: dict[str, int], error: str) -> Finding:
    return Finding(
        NAME, "nobody", target.suite.name, target.task.name, seed, parameters, "",
        "some required check fails untouched", error,
    )  # fmt: skip


ATTACK: Final = Attack(
    NAME, "doing nothing passes no task, breaks no forbidden check and is paid nothing", run
)
