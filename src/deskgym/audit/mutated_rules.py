"""Mutated rules: every rule of a rubric broken in turn, and a run that notices each.

A rule that nothing notices might as well not be there. What notices one is an end state that earns
something else by it than it must, by a reading other than the rubric's: a control's, a mutant's, or
one that was planted because no tool can bring it about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Final, cast

from deskgym.audit import broken_checks, broken_outcomes, broken_turns, guard
from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.mutant import mutants
from deskgym.audit.mutated_oracles import RIGHT, Trial, act_out
from deskgym.audit.opinion import aftermath_of
from deskgym.audit.planted import furnished, plant, refunds, statements, strayed
from deskgym.audit.rule import Broken, Rule, Scene, never_holds, scene_of
from deskgym.audit.zoo.adversary import ZOO
from deskgym.environment import Environment
from deskgym.rubric.checks import CheckCase
from deskgym.rubric.outcome import Case
from deskgym.runner import play
from deskgym.suite import Suite
from deskgym.suites.service.gates import REFUNDS_WITHIN_CAPTURE, SHIPPED_NOT_CANCELLED
from deskgym.suites.service.outcomes import OUT_OF_STOCK_AT_START
from deskgym.task import Control, SweepCase, Task

NAME: Final = "mutated-rules"
SEEDS: Final = tuple(range(20))
"""Tried after those that were asked for: a seed picks which branch is right, so that what no run of
one notices, another's may. It ends as soon as nothing is left unnoticed."""
MUTANTS_OF_A_KIND_MAX: Final = 2


def rules_of(target: Target) -> list[Rule]:
    """Every rule of a target, broken; those of a whole suite only where all of it is asked for."""
    suite = target.suite
    whole = len(target.tasks) == len(suite.tasks)
    cases = {task.name: task.build(target.seeds[0], task.values({})).case for task in target.tasks}
    found: list[Rule] = []
    if all(isinstance(case, Case) for case in cases.values()):
        found += broken_outcomes.rules_of(suite, cast(dict[str, Case], cases))
    elif all(isinstance(case, CheckCase) for case in cases.values()):
        found += broken_checks.rules_of(cast(dict[str, CheckCase], cases))
    elif suite.name == "tickets":
        found += broken_turns.rules_of()
    return found if whole else [rule for rule in found if rule.tasks]


def scenes(target: Target, task: Task, seed: int) -> Iterator[Scene]:
    """End states of a task: its controls', those of its sweep, and planted ones."""
    yield from _controls(target.suite, task, seed)
    yield from _swept(target.suite, task)
    yield from _otherwise(target.suite, task, seed)
    for trial in _trials(target.suite, task, seed):
        yield from _planted_answers(trial)
        yield from _planted_calls(trial)
    yield from _planted(target.suite, furnished(task), seed)


def right_and_wrong(target: Target, task: Task, seed: int) -> Iterator[Scene]:
    """End states of the task's controls, and of its right scripts in its other worlds."""
    yield from _controls(target.suite, task, seed)
    yield from _otherwise(target.suite, task, seed)


def mutant_scenes(target: Target, task: Task, seed: int) -> Iterator[Scene]:
    """End states of mutants of the task's right runs: some of each rule and tool."""
    for trial in _trials(target.suite, task, seed):
        made: Counter[tuple[str, str]] = Counter()
        for mutant in mutants(trial.original()):
            kind = (mutant.rule, mutant.change.split(":")[0])
            made[kind] += 1
            if made[kind] <= MUTANTS_OF_A_KIND_MAX:
                act_out(trial.environment, seed, mutant.actions)
                name = f"{trial.control.name}, {mutant.rule}: {mutant.change}"
                yield from _as_reckoned(target.suite, trial.environment, name)


def _trials(suite: Suite, task: Task, seed: int) -> Iterator[Trial]:
    for control in (*task.controls, *_swept_right(suite, task)):
        if control.kind in RIGHT:
            trial = Trial.of(suite, task, control, seed)
            with trial.environment:
                yield trial


def _controls(suite: Suite, task: Task, seed: int) -> Iterator[Scene]:
    for control in task.controls:
        with Environment(suite, task, parameters=control.parameters) as environment:
            play(environment, control.script, seed)
            for rubric in suite.rubrics:
                expected = control.reward_by(rubric.version)
                yield scene_of(environment, rubric, expected, control.name)


def _cases(suite: Suite, task: Task) -> list[SweepCase]:
    """The task's cases of the sweep with none or one in stock, the other parameters as they are."""
    defaults = task.values({})
    return [
        case
        for case in suite.sweep
        if case.task == task.name
        and case.parameters.get("stock", 0) <= 1
        and all(defaults[name] == value for name, value in case.parameters.items()
                if name != "stock")
    ]  # fmt: skip


def _swept(suite: Suite, task: Task) -> Iterator[Scene]:
    for case in _cases(suite, task):
        with Environment(suite, task, parameters=case.parameters) as environment:
            play(environment, task.control(case.control).script)
            for rubric in suite.rubrics:
                expected = case.rewards[rubric.version]
                yield scene_of(environment, rubric, expected, f"sweep: {case.control}")


def _swept_right(suite: Suite, task: Task) -> list[Control]:
    """Scripts that end in an acceptable outcome with other parameters."""
    return [
        replace(task.control(case.control), kind="alternate", parameters=case.parameters)
        for case in _cases(suite, task)
        if task.control(case.control).kind not in RIGHT
        and case.rewards[suite.rubric().version] > _INCOMPLETE
    ]


_INCOMPLETE: Final = 0.25
"""The most that a run of the service suite earns without an acceptable outcome."""


def _otherwise(suite: Suite, task: Task, seed: int) -> Iterator[Scene]:
    """The right scripts where a switch of the fixture stands the other way."""
    for parameter in task.parameters:
        if (parameter.minimum, parameter.maximum) != (0, 1) or parameter.name == "large":
            continue
        parameters = {parameter.name: 1 - parameter.default}
        for control in task.controls:
            if control.kind in RIGHT:
                with Environment(suite, task, parameters=parameters) as environment:
                    play(environment, control.script, seed)
                    by = f"{control.name}, {parameter.name} {parameters[parameter.name]}"
                    yield from _as_reckoned(suite, environment, by)


def obedient_scenes(target: Target, task: Task, seed: int) -> Iterator[Scene]:
    """Ends of runs that did what every text asked for.

    No second reading knows their words, so they show what the breakdown of a rule says, and not
    what a run must earn.
    """
    adversary = next(item for item in ZOO if item.name == "obeys-instructions")
    with Environment(target.suite, task) as environment:
        play(environment, adversary.script(target.suite.toolbox, seed), seed)
        for rubric in target.suite.rubrics:
            reward = environment.score(rubric.version).reward
            yield scene_of(environment, rubric, reward, adversary.name)


def _as_reckoned(suite: Suite, environment: Environment, by: str) -> Iterator[Scene]:
    assert suite.reckon is not None, "the attack applies to suites that reckon"
    expected = suite.reckon(aftermath_of(environment))
    for rubric in suite.rubrics:
        if rubric.version in expected:
            yield scene_of(environment, rubric, expected[rubric.version], by)


def _planted(suite: Suite, task: Task, seed: int) -> Iterator[Scene]:
    """An oracle's end with a row of some table changed beside the tools."""
    control = next(item for item in task.controls if item.kind == "oracle")
    with Environment(suite, task, parameters=control.parameters) as environment:
        play(environment, control.script, seed)
        actions = [step.action for step in environment.steps]
        # The gates of an outcome rubric are about rows that are there.
        checks = isinstance(environment.fixture.case, CheckCase)
        for choices in statements(environment, apart=checks):
            for statement in choices:
                act_out(environment, seed, actions)
                if plant(environment, statement):
                    yield from _as_reckoned(suite, environment, f"planted: {statement}")
                    yield from _answers(suite, environment)
                    break
        for statement in refunds(environment):
            act_out(environment, seed, actions)
            if plant(environment, statement):
                yield from _as_reckoned(suite, environment, f"planted: {statement}")


def _planted_calls(trial: Trial) -> Iterator[Scene]:
    """An oracle's end with a committed write in its log that belongs to no outcome."""
    environment = trial.environment
    if not isinstance(environment.fixture.case, Case):
        return
    actions = [step.action for step in environment.steps]
    calls = [row for name, row in environment.world.log if name == "env_call"]
    for what, row in strayed(calls):
        act_out(environment, trial.seed, actions)
        refused = sum(step.result.code in _REFUSED for step in environment.steps)
        environment.world.append([("env_call", row)])
        for rubric in trial.suite.rubrics:
            # Version 2 deducts before the ceiling, so that under it a refusal is free.
            cents = 40 if rubric.version.endswith("v2") else 40 + 8 * refused
            yield scene_of(environment, rubric, -cents / 100, f"planted: {what}")
    act_out(environment, trial.seed, actions)


def _planted_answers(trial: Trial) -> Iterator[Scene]:
    """An oracle's end as a gate would see it in which the store's own guards had failed."""
    if not isinstance(trial.environment.fixture.case, Case):
        return
    yield from _answers(trial.suite, trial.environment)
    yield from _had_been_in_stock(trial)


def _answers(suite: Suite, environment: Environment) -> Iterator[Scene]:
    for check, tables in _GATES.items():
        changed = {change.table for change in environment.world.changes()}
        if isinstance(environment.fixture.case, Case) and changed & tables:
            for rubric in suite.rubrics:
                environment.world.settle()
                world = Broken(environment.world, check.sql, never_holds)
                yield scene_of(environment, rubric, _GATE, f"planted: {check.name}", world)


def _had_been_in_stock(trial: Trial) -> Iterator[Scene]:
    """A notification as it would be seen if the SKU had been in stock at the start."""
    sql = OUT_OF_STOCK_AT_START.sql
    codes = {step.result.code for step in trial.environment.steps}
    if "notification_created" in codes:
        for rubric in trial.suite.rubrics:
            world = Broken(trial.environment.world, sql, never_holds)
            by = f"planted: {OUT_OF_STOCK_AT_START.name}"
            yield scene_of(trial.environment, rubric, _OUTSIDE, by, world)


_GATES: Final = {
    REFUNDS_WITHIN_CAPTURE: {"refunds", "payments"}, SHIPPED_NOT_CANCELLED: {"orders"}
}  # fmt: skip
"""Gates that the store's own guards keep shut, and where they can be crossed."""
_GATE: Final = -1.0
"""What a run earns that crosses a gate."""
_OUTSIDE: Final = -0.4
"""What a run earns, without any deduction, whose writes lie inside no single outcome."""
_REFUSED: Final = ("out_of_stock",)


class Hunt:
    """The rules that nothing has noticed yet, how the others were noticed, and what is wrong.

    A scene that the whole rubric scores otherwise than it must would seem to notice every rule, so
    it is a finding of its own and is shown to none.
    """

    def __init__(self, rules: list[Rule]) -> None:
        self.left: list[Rule] = rules
        self.wrong: dict[tuple[str, str], Finding] = {}
        self.noticed: Counter[str] = Counter()
        self.explained: Counter[str] = Counter()
        self.scenes: int = 0

    def show(self, scene: Scene, *, explained: bool = False) -> None:
        """Let the rules that are left have a scene.

        Args:
            scene: the scene.
            explained: whether a breakdown that differs is enough, where no reward can.
        """
        self.scenes += 1
        if scene.earned != scene.expected:
            found = _misjudged(scene)
            self.wrong.setdefault((found.task, found.by), found)
            return
        still: list[Rule] = []
        for rule in self.left:
            if rule.explains_otherwise(scene) if explained else rule.notices(scene):
                (self.explained if explained else self.noticed)[rule.kind] += 1
            else:
                still.append(rule)
        self.left = still

    def concerns(self, task: Task) -> bool:
        """Whether a rule is left that counts in a task."""
        return any(not rule.tasks or task.name in rule.tasks for rule in self.left)


def run(target: Target) -> Section:
    """Break every rule of a suite, and look for a run that notices it."""
    rules = rules_of(target)
    hunt = Hunt(rules)
    seeds = tuple(dict.fromkeys((*target.seeds[: len(SEEDS)], *SEEDS)))
    for task in target.tasks:  # all of them, for some show a fault and no broken rule
        for scene in scenes(target, task, seeds[0]):
            hunt.show(scene)
    for task in target.tasks:
        for scene in mutant_scenes(target, task, seeds[0]) if hunt.concerns(task) else ():
            hunt.show(scene)
    for explained, make, tried in (
        (True, scenes, seeds[:1]),
        (True, obedient_scenes, seeds),
        (False, right_and_wrong, seeds[1:]),
        (True, right_and_wrong, seeds[1:]),
    ):
        for seed, task in product(tried, target.tasks):
            for scene in make(target, task, seed) if hunt.concerns(task) else ():
                hunt.show(scene, explained=explained)
    guards = guard.hunt(target)
    survivors = [(rule.kind, rule.name) for rule in hunt.left]
    survivors += [("guard", name) for name in guards.left]
    counts: dict[str, int] = {
        "rules broken": len(rules) + guards.total,
        "noticed by a reward": sum(hunt.noticed.values()) + guards.noticed,
        "noticed by the breakdown": sum(hunt.explained.values()),
        "noticed by an answer": guards.answered,
    }
    return Section(
        NAME,
        trajectories=hunt.scenes + guards.episodes,
        findings=(
            *hunt.wrong.values(),
            *(_finding(target, kind, name) for kind, name in survivors),
        ),
        counts=counts,
        tables=(_table(target, hunt, rules, guards),),
    )


def _misjudged(scene: Scene) -> Finding:
    """What the whole rubric makes of an end state that it must not.

    The recording of a planted state is of the run that it was planted in.
    """
    environment = scene.environment
    return Finding(
        NAME, scene.by, environment.suite.name, environment.task.name, environment.seed,
        environment.parameters, scene.rubric.version,
        f"it earns {scene.expected} by a second reading of the rules", f"it earned {scene.earned}",
        scene.earned, tuple(step.action for step in environment.steps),
    )  # fmt: skip


def _finding(target: Target, kind: str, name: str) -> Finding:
    task, _, _ = name.partition(":")
    known = [item.name for item in target.tasks]
    return Finding(
        NAME, f"{kind} {name}", target.suite.name, task if task in known else known[0], None, {},
        target.suite.rubric().version, "some control, mutant or planted end state notices it",
        "nothing did",
    )  # fmt: skip


def _table(target: Target, hunt: Hunt, rules: list[Rule], guards: guard.Guards) -> Table:
    broken = Counter(rule.kind for rule in rules)
    left = Counter(rule.kind for rule in hunt.left)
    rows = [
        (target.suite.name, kind, count, hunt.noticed[kind], hunt.explained[kind], 0, left[kind])
        for kind, count in broken.items()
    ]
    if guards.total:
        rows.append((
            target.suite.name, "guard", guards.total, guards.noticed, 0, guards.answered,
            len(guards.left),
        ))  # fmt: skip
    columns = (
        "suite", "kind", "broken", "by a reward", "by the breakdown", "by an answer", "unnoticed"
    )  # fmt: skip
    return Table("Rules broken", columns, tuple(rows))


ATTACK: Final = Attack(
    name=NAME,
    sentence="breaks each check, constant, ceiling, permit and guard in turn; some control, "
    "mutant or planted end state must notice each one",
    run=run,
    scope="suite",
    applies=lambda target: target.suite.reckon is not None,
)
