"""Nothing that an agent sees says how it is judged."""

import json
import logging
import re
from collections.abc import Generator

import pytest

from deskgym import Action, Environment, Observation, Task, call, make
from deskgym.rubric.checks import CheckCase
from deskgym.suites.backoffice import restock, script, suite
from tests.suites.backoffice.play import play

JUDGING = re.compile(
    r"\b(reward|score|scored|oracle|near_miss|control|rubric|checks?|required|forbidden|trap|"
    r"baseline|env_[a-z]+|claim|secret|payload|weight|branch)\b",
    re.IGNORECASE,
)


def shown(environment: Environment, first: bytes) -> str:
    """All that the agent was shown in an episode, without its own words."""
    parts = [first.decode()]
    for step in environment.steps:
        parts.append(step.result_json.decode())
    return "\n".join(parts)


def names(case: CheckCase) -> set[str]:
    bound = [item.check for item in case.required] + list(case.forbidden)
    return {item.check.name for item in bound} | {item.check.sentence for item in bound}


def due_amounts(environment: Environment) -> set[str]:
    """Amounts that only a check knows: a part of an item's price, which no record holds."""
    due = {
        str(row["due"])
        for item in environment.fixture.case.required
        for row in item.check.breaches(environment.world)
        if row.get("what") == "cents refunded"
    }
    recorded = {
        str(cents)
        for (cents,) in environment.world.rows(
            "SELECT paid_cents FROM order_items UNION SELECT total_cents FROM orders"
            " UNION SELECT unit_price_cents FROM order_items"
            " UNION SELECT unit_cost_cents FROM inventory"
        )
    }
    return {cents for cents in due - recorded if len(cents) > 3}


def reader(first: Observation) -> Generator[Action, Observation, None]:
    """Read everything that the task is about, and refuse nothing."""
    if script.thread_named_in(first) is None:
        yield from restock.plan()
        return
    case = yield from script.look(first)
    for item in case.order["items"]:
        yield call("check_inventory", sku=item["sku"])
    yield call("get_customer", customer_id=case.thread["customer_id"])


def look_for_leaks(task: Task, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    for control in task.controls:
        with caplog.at_level(logging.DEBUG):
            environment = play(task.name, control.script, seed, **control.parameters)
        first = Environment(suite, task, parameters=control.parameters).reset(seed).to_json()
        text = shown(environment, first)
        found = JUDGING.findall(text) + JUDGING.findall(caplog.text)
        assert found == [], (control.name, seed)
        for name in names(environment.fixture.case):
            assert name not in text
            assert name not in caplog.text
        for word in {item.name for item in task.controls}:
            assert f'"{word}"' not in text
        environment.close()
    # An agent that only reads is never shown the amount that is due.
    with play(task.name, task.control("null").script, seed) as idle:
        due = due_amounts(idle)
    with play(task.name, reader, seed) as reading:
        text = shown(reading, b"")
        for cents in due:
            assert re.search(rf"(?<!\d){cents}(?!\d)", text) is None


@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_no_observation_says_how_it_is_judged(task: Task, caplog: pytest.LogCaptureFixture):
    for seed in range(2):
        look_for_leaks(task, seed, caplog)


@pytest.mark.long
@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_no_observation_says_how_it_is_judged_on_fifty_seeds(
    task: Task, caplog: pytest.LogCaptureFixture
):
    for seed in range(50):
        look_for_leaks(task, seed, caplog)


def test_no_tool_says_how_it_is_judged():
    text = json.dumps([tool.openai() for tool in suite.toolbox.values()])
    # "required" is JSON Schema's own word.
    assert set(JUDGING.findall(text)) <= {"required"}
    for task in suite.tasks:
        with make(f"backoffice/{task.name}") as environment:
            environment.reset(0)
            for name in names(environment.fixture.case):
                assert name not in text
                assert name not in suite.instructions


def test_the_instructions_and_the_policy_name_no_task():
    with make("backoffice/damaged-item") as environment:
        environment.reset(0)
        text = suite.instructions
    assert JUDGING.findall(text) == []
    for task in suite.tasks:
        assert task.name not in text


def test_both_branches_of_a_seed_look_alike_until_the_stock_is_read():
    openings = set()
    for seed in range(12):
        with make("backoffice/damaged-item") as environment:
            openings.add(re.sub(r"T-\d+", "T", environment.reset(seed).message))
    assert len(openings) == 1


def test_an_answer_is_the_same_whether_it_was_right():
    """A refund is answered alike where it is due and where it is forbidden."""
    answers = set()
    for control in ("refund-duplicate", "refund-first"):
        with play(
            "duplicate-charge", suite.task("duplicate-charge").control(control).script
        ) as run:
            for step in run.steps:
                if step.action.tool == "issue_refund":
                    answers.add((step.result.ok, step.result.code, step.result.message))
    assert len(answers) == 1
