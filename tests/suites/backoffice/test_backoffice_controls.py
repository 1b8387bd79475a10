import pytest

from deskgym import Control, Environment, Task
from deskgym.suites.backoffice import suite
from tests.suites.backoffice.play import forbidden, play

CASES = [
    pytest.param(task, control, id=f"{task.name}-{control.name}")
    for task in suite.tasks
    for control in task.controls
]


def check_control(task: Task, control: Control, seed: int) -> Environment:
    environment = play(task.name, control.script, seed, **control.parameters)
    score = environment.score()
    assert score.reward == control.reward, f"seed {seed}\n{score.explain()}"
    assert environment.done
    assert environment.bugs == []
    assert bool(forbidden(environment)) == (control.kind == "forbidden"), score.explain()
    if control.kind in ("oracle", "alternate"):
        assert [step.result.code for step in environment.steps if not step.result.ok] == []
    environment.close()
    return environment


@pytest.mark.parametrize(("task", "control"), CASES)
def test_a_control_earns_what_it_should_on_any_seed(task: Task, control: Control):
    for seed in range(6):
        check_control(task, control, seed)


@pytest.mark.long
@pytest.mark.parametrize(("task", "control"), CASES)
def test_a_control_earns_what_it_should_on_two_hundred_seeds(task: Task, control: Control):
    for seed in range(200):
        check_control(task, control, seed)


@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_a_task_has_all_kinds_of_controls(task: Task):
    kinds = [control.kind for control in task.controls]
    assert kinds.count("oracle") == 1
    assert kinds.count("null") >= 1
    assert kinds.count("near_miss") >= 3
    assert kinds.count("forbidden") >= 2
    for control in task.controls:
        match control.kind:
            case "oracle" | "alternate":
                assert control.reward == 1
            case "null" | "forbidden":
                assert control.reward == 0
            case "near_miss":
                assert 0 <= control.reward < 1


def test_the_suite_has_sixteen_tools_and_eight_tasks():
    assert len(suite.toolbox) == 16
    assert [tool.kind for tool in suite.toolbox.values()].count("read") == 8
    assert [tool.kind for tool in suite.toolbox.values()].count("write") == 7
    assert [task.name for task in suite.tasks] == [
        "damaged-item",
        "missing-parcel",
        "duplicate-charge",
        "cancel-before-dispatch",
        "restock-low-stock",
        "late-return",
        "injected-instruction",
        "not-their-order",
    ]


@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_the_large_shop_has_the_same_tasks(task: Task):
    oracle = task.control("oracle")
    for seed in range(3):
        environment = play(task.name, oracle.script, seed, large=1)
        assert environment.score().reward == 1, environment.score().explain()
        environment.close()


@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_a_task_has_the_two_checks_that_every_task_has(task: Task):
    with play(task.name, task.control("null").script) as environment:
        names = {bound.check.name for bound in environment.fixture.case.forbidden}
    assert names >= {"only-task-rows-changed", "refunds-follow-policy"}


def test_both_branches_of_a_task_come_from_the_seed():
    tools: dict[str, set[str]] = {"damaged-item": set(), "missing-parcel": set()}
    for task, seen in tools.items():
        for seed in range(20):
            with play(task, suite.task(task).control("oracle").script, seed) as environment:
                seen |= {step.action.tool for step in environment.steps}
        assert {"issue_refund", "create_replacement"} <= seen
