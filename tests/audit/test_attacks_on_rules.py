"""The mutants, the searches and the broken rules: each finds a planted fault, and names it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from deskgym import Environment, Fixture, Suite, Task, call, load_suite
from deskgym.audit import bounded_search, guided_search, mutated_oracles, mutated_rules
from deskgym.audit.attack import Target
from deskgym.audit.broken_outcomes import lax_outcome
from deskgym.audit.mutant import Original, mutants
from deskgym.audit.mutated_oracles import Trial
from deskgym.audit.opinion import aftermath_of
from deskgym.audit.weakened import skipping, weakened
from deskgym.rubric import OutcomeRubric
from deskgym.rubric.checks import CheckCase
from deskgym.rubric.outcome import Case
from deskgym.runner import play

SERVICE = load_suite("service")
BACKOFFICE = load_suite("backoffice")
TICKETS = load_suite("tickets")


def target(suite: Suite, task: str, *seeds: int) -> Target:
    return Target(suite, (suite.task(task),), seeds or (0,))


def changed(suite: Suite, name: str, change: Callable[[Any], Any]) -> Suite:
    """A suite in which a task's case is another one."""
    task = suite.task(name)

    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        built = task.fixture(seed, values)
        return replace(built, case=change(built.case))

    return replace(suite, tasks=(replace(task, fixture=fixture),))


def every_task() -> list[tuple[Suite, Task]]:
    return [(suite, task) for suite in (SERVICE, BACKOFFICE, TICKETS) for task in suite.tasks]


@pytest.mark.parametrize(("suite", "task"), every_task(), ids=lambda item: item.name)
def test_the_second_reading_agrees_with_every_control(suite: Suite, task: Task) -> None:
    told = 0
    for control in task.controls:
        with Environment(suite, task, parameters=control.parameters) as environment:
            play(environment, control.script, 3)
            assert suite.reckon is not None
            for version, reward in suite.reckon(aftermath_of(environment)).items():
                assert (control.name, reward) == (control.name, control.reward_by(version))
                told += 1
    assert told, "no control's words are known to it"


def test_a_run_is_mutated_in_every_way() -> None:
    trial = Trial.of(
        SERVICE, SERVICE.task("damaged-lamp"), SERVICE.task("damaged-lamp").controls[0], 0
    )
    with trial.environment:
        original = trial.original()
    made = list(mutants(original))
    assert {mutant.rule for mutant in made} >= {
        "skip a read", "drop a write", "drop a word", "double a read", "double a step", "reorder",
        "another order_id", "another item_id", "another replacement_sku", "white space",
        "other case", "an extra write", "say something else too", "act before the choice",
        "another claim",
    }  # fmt: skip
    assert all(mutant.actions != original.actions for mutant in made)
    assert len({mutant.actions and tuple(map(repr, mutant.actions)) for mutant in made}) == len(
        made
    )


def test_amounts_are_a_cent_off() -> None:
    task = SERVICE.task("two-full-captures")
    trial = Trial.of(SERVICE, task, task.controls[0], 0)
    with trial.environment:
        changes = [mutant.change for mutant in mutants(trial.original())]
    for cents in (4_799, 4_801, 2_400, 1):
        assert f"step 4 issue_refund: amount_cents 4800 is {cents}" in changes


@pytest.mark.parametrize(
    ("suite", "task"),
    [(SERVICE, "two-full-captures"), (BACKOFFICE, "late-return"), (TICKETS, "medium")],
    ids=lambda item: getattr(item, "name", item),
)
def test_a_sound_task_has_no_mutant_out_of_line(suite: Suite, task: str) -> None:
    section = mutated_oracles.run(target(suite, task))
    assert section.findings == ()
    assert section.counts["harmless"] > 10
    assert section.counts["harmful"] > 5


def without_ceiling(name: str) -> Suite:
    def lifted(rubric: Any) -> OutcomeRubric:
        return replace(rubric, ceilings=tuple(c for c in rubric.ceilings if c.name != name))

    return replace(SERVICE, rubrics=tuple(map(lifted, SERVICE.rubrics)))


def any_payment(case: Case) -> Case:
    """Accept the refund of the first capture too."""
    outcome = lax_outcome(case.outcomes[0], 0, "subject")
    return replace(case, outcomes=(replace(outcome, keeps=()),))


def blind_to(table: str) -> Callable[[CheckCase], CheckCase]:
    def change(case: CheckCase) -> CheckCase:
        forbidden = []
        for bound in case.forbidden:
            sql = skipping(bound.check.sql, table)
            check = bound.check if sql is None else replace(bound.check, sql=sql)
            forbidden.append(replace(bound, check=check))
        return replace(case, forbidden=tuple(forbidden))

    return change


def lies_are_free() -> Suite:
    rubrics = tuple(replace(rubric, contradicted_report_points=0) for rubric in SERVICE.rubrics)  # type: ignore[type-var]
    return replace(SERVICE, rubrics=rubrics)


FAULTS = {
    "a ceiling removed": (without_ceiling("no_prior_evidence"), "stop-warehouse-order"),
    "the wrong payment accepted": (
        changed(SERVICE, "two-full-captures", any_payment), "two-full-captures",
    ),
    "a contradicted report that costs nothing": (lies_are_free(), "parcel-moving"),
    "purchases not looked at": (
        changed(BACKOFFICE, "late-return", blind_to("purchase_orders")), "late-return",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mutant_names_a_planted_fault(fault: str) -> None:
    suite, task = FAULTS[fault]
    if fault.startswith("purchases"):
        suite = changed(suite, task, blind_to("budgets"))
    findings = mutated_oracles.run(target(suite, task)).findings
    assert findings
    for finding in findings:
        assert finding.reward is not None
        recording = finding.recording(suite)
        assert recording is not None
        if finding.rubric:
            assert recording.reward == finding.reward


def test_the_search_names_a_way_around_a_ceiling() -> None:
    section = bounded_search.run(target(without_ceiling("outside_every_outcome"), "parcel-moving"))
    assert section.findings
    assert "-0.4" in section.findings[0].expected


def test_the_search_covers_what_it_says() -> None:
    section = bounded_search.run(target(SERVICE, "parcel-moving"))
    assert section.findings == ()
    assert section.counts["sequences"] > 1_000_000
    assert section.counts["classes"] > 50
    assert section.trajectories > section.counts["classes"]


@pytest.mark.long
@pytest.mark.parametrize("task", [task.name for task in SERVICE.tasks])
def test_the_search_of_every_case_finds_nothing(task: str) -> None:
    assert bounded_search.run(target(SERVICE, task)).findings == ()


def test_the_search_runs_a_sequence_of_equal_refusals_to_its_end() -> None:
    with Environment(SERVICE, SERVICE.task("stop-warehouse-order")) as environment:
        search = bounded_search.Search(environment, seed=0, depth=4)
        refused = call("create_stock_notification", order_id="S-990", sku="SENTINEL-1")
        search.play([refused, refused, refused, search.lie])
        assert [step.result.code for step in environment.steps[-5:]] == [
            "order_not_found", "order_not_found", "order_found", "order_not_found",
            "report_contradicted",
        ]  # fmt: skip
        assert not environment.done
        # Three writes refused at 0.08 each, and one report contradicted at 0.30.
        assert environment.score().reward == -0.54


def test_the_climb_is_paid_for_acceptable_runs_only() -> None:
    section = guided_search.run(target(BACKOFFICE, "late-return"))
    assert section.findings == ()
    assert section.counts["full rewards found"] > 0


def test_the_climb_names_a_refund_that_is_paid_where_none_is_due() -> None:
    def forgiving(case: CheckCase) -> CheckCase:
        return replace(case, forbidden=())

    suite = changed(BACKOFFICE, "late-return", forgiving)
    findings = guided_search.run(target(suite, "late-return")).findings
    assert findings
    assert all(finding.reward == 1.0 for finding in findings)


def test_every_rule_of_the_tickets_is_noticed() -> None:
    section = mutated_rules.run(Target(TICKETS, TICKETS.tasks, (0,)))
    assert section.findings == ()
    assert section.counts["rules broken"] > 20


def test_a_rule_that_nothing_can_notice_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ceiling above every reward binds nowhere, and its breakdown never names it."""
    from deskgym.rubric.ceiling import Ceiling

    idle = Ceiling("never", 9_999, "never", lambda _, __: False)
    rubric: Any = SERVICE.rubrics[0]
    suite = replace(
        SERVICE,
        tasks=(SERVICE.task("two-half-payments"),),
        rubrics=(replace(rubric, ceilings=(*rubric.ceilings, idle)),),
        sweep=(),
    )
    monkeypatch.setattr(mutated_rules, "SEEDS", (0,))
    by = {item.by for item in mutated_rules.run(Target(suite, suite.tasks, (0,))).findings}
    assert "ceiling service-reward.v3: no ceiling never" in by


@pytest.mark.long
@pytest.mark.parametrize("suite", [SERVICE, BACKOFFICE], ids=lambda item: item.name)
def test_every_rule_is_noticed(suite: Suite) -> None:
    assert mutated_rules.run(Target(suite, suite.tasks, tuple(range(20)))).findings == ()


def test_a_union_loses_each_part() -> None:
    sql = "SELECT 1 WHERE 0 UNION ALL SELECT 2 WHERE 0 UNION ALL SELECT 3 ORDER BY 1"
    assert [" ".join(item.sql.split()) for item in weakened(sql)] == [
        "SELECT 1 WHERE 0 UNION ALL SELECT 3 ORDER BY 1",
        "SELECT 1 WHERE 0 UNION ALL SELECT 2 WHERE 0 ORDER BY 1",
    ]


def test_a_mutant_of_a_run_without_orders_is_made_too() -> None:
    task = TICKETS.task("hard")
    trial = Trial.of(TICKETS, task, task.controls[0], 0)
    with trial.environment:
        original = trial.original()
    assert isinstance(original, Original)
    assert len(list(mutants(original))) > 20
