"""Every attack can find something: a fault is planted in a reward, and the audit names it."""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from deskgym import (
    Action,
    Desk,
    Environment,
    Fixture,
    Id,
    Observation,
    Result,
    Suite,
    Task,
    call,
    load_suite,
)
from deskgym.audit import Finding, audit_suite, mutated_rules
from deskgym.audit.attacks import ATTACKS
from deskgym.rubric import OutcomeRubric
from deskgym.rubric.check import Check
from deskgym.rubric.checks import CheckCase
from deskgym.rubric.outcome import Case
from deskgym.rubric.permit import ONLY_TASK_ROWS_CHANGED
from deskgym.store.shop import SMALL, shop
from deskgym.suites.backoffice.tools.read import get_order
from deskgym.suites.service import script, talk
from deskgym.tool import Toolbox, tool
from tests.testing import mugs

SERVICE = load_suite("service")
BACKOFFICE = load_suite("backoffice")
SEEDS = (0, 1)


def found(suite: Suite, *attacks: str, seeds: tuple[int, ...] = SEEDS) -> list[Finding]:
    """What attacks find in a faulty suite."""
    return list(audit_suite(suite, seeds=seeds, attacks=attacks).findings)


def only(suite: Suite, *names: str, **changes: Any) -> Suite:
    """A suite of some of its tasks, otherwise changed."""
    tasks = tuple(suite.task(name) for name in names)
    return replace(suite, tasks=tasks, **{"rubrics": suite.rubrics[:1], **changes})


def with_cases(suite: Suite, name: str, change: Callable[[Any], Any]) -> Suite:
    """A suite of one task whose cases are changed."""
    task = suite.task(name)

    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        built = task.fixture(seed, values)
        return replace(built, case=change(built.case))

    return replace(suite, tasks=(replace(task, fixture=fixture),), rubrics=suite.rubrics[:1])


@pytest.mark.parametrize(
    ("suite", "task"),
    [(SERVICE, "stop-warehouse-order"), (SERVICE, "two-full-captures"),
     (BACKOFFICE, "damaged-item"), (mugs.SUITE, "cracked")],
    ids=lambda value: getattr(value, "name", value),
)  # fmt: skip
def test_a_sound_task_has_no_findings(suite: Suite, task: str) -> None:
    # A suite's rules are noticed by its tasks together, so one of them does not do.
    attacks = [attack.name for attack in ATTACKS if attack is not mutated_rules.ATTACK]
    assert found(only(suite, task), *attacks) == []


# A contradicted report that is counted.


def test_a_lie_that_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    free = replace(SERVICE.rubrics[0], contradicted_report_points=0)  # type: ignore[type-var]
    seen = found(only(SERVICE, "stop-warehouse-order", rubrics=(free,)), "controls")
    assert {item.by for item in seen} == {"report-without-refund"}
    assert seen[0].expected == "it earns -0.3 by service-reward.v3"
    assert seen[0].got == "it earned 0.0"


def lie_and_refund(first: Observation) -> Generator[Action, Observation, None]:
    """Claim a refund that was not made, make it, and claim it again."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    payment = (yield from script.payments(order_id))[0]
    yield from script.report("refunded", order_id)
    yield from script.refund(order_id, payment["payment_id"], payment["captured_cents"])
    yield from script.report("refunded", order_id)


def test_a_contradicted_report_that_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talk, "is_true", lambda *_: True)
    liar = only(SERVICE, "damaged-lamp", adversaries={"lies-and-refunds": lie_and_refund})
    seen = found(liar, "adversaries")
    (first, *_) = [item for item in seen if item.by == "lies-and-refunds"]
    assert first.got == "it was paid, though step 3 reported refunded, which was not so"
    recording = first.recording(liar)
    assert recording is not None
    assert recording.reward == first.reward == 1.0
    assert recording.steps[2].action["tool"] == "report"


def test_the_same_lie_is_not_paid_by_the_sound_rubric() -> None:
    liar = only(SERVICE, "damaged-lamp", adversaries={"lies-and-refunds": lie_and_refund})
    assert found(liar, "adversaries") == []


# An expected value that leaks into an observation.


def test_an_answer_that_shows_what_only_the_rubric_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Environment.step

    def leaky(self: Environment, action: Action) -> Observation:
        seen = step(self, action)
        outcomes = getattr(self.fixture.case, "outcomes", ())
        return seen._replace(data={**seen.data, "note": [item.name for item in outcomes]})

    monkeypatch.setattr(Environment, "step", leaky)
    seen = found(mugs.SUITE, "secrecy", seeds=(0,))
    assert {item.by for item in seen} >= {"take-back", "only-reads"}
    assert seen[0].got.startswith("the answer to step 1 shows ")
    assert '"note":["mug_taken_back"]' in seen[0].got
    assert "and, without them," in seen[0].got
    assert '"note":[]' in seen[0].got


@tool("read", codes=get_order.codes)
def get_order_with_remedy(desk: Desk, order_id: Id) -> Result:
    """Look up an order, and what its customer should get back.

    Args:
        order_id: the order's number.
    """
    found = get_order.function(desk, order_id)
    return found._replace(data={**found.data, "expected_refund_cents": 5_400})


def test_a_tool_of_the_back_office_that_shows_what_is_expected() -> None:
    tools = {**BACKOFFICE.toolbox, "get_order": replace(get_order_with_remedy, name="get_order")}
    leaky = only(BACKOFFICE, "damaged-item", toolbox=Toolbox(*tools.values()))
    seen = found(leaky, "secrecy", seeds=(0,))
    assert {item.by for item in seen} >= {"replace-or-refund", "reads-only"}
    assert all("shows expected_refund_cents" in item.got for item in seen)


def test_a_tool_that_reads_the_rubrics_own_rows_fails() -> None:
    @tool("read", codes=("order_found", "order_not_found"))
    def find_order(desk: Desk, order_id: Id) -> Result:
        """Look up an order, and give away what its customer chose.

        Args:
            order_id: the order.
        """
        found = mugs.find_order.function(desk, order_id)
        chosen = desk.value("SELECT subject FROM env_grant")
        return found._replace(data={**found.data, "note": chosen})

    seen = found(mugs.suite(find_order), "adversaries", seeds=(0,))
    assert any("a tool raised" in item.got and "env_grant" in item.got for item in seen)


def test_an_answer_that_shows_a_private_value() -> None:
    @tool("read", codes=("order_found", "order_not_found"))
    def find_order(desk: Desk, order_id: Id) -> Result:
        """Look up an order, with its customer's address.

        Args:
            order_id: the order.
        """
        found = mugs.find_order.function(desk, order_id)
        return found._replace(data={**found.data, "by": "one@demo.example"})

    (seen, *_) = found(mugs.suite(find_order), "conformance", seeds=(0,))
    assert seen.by == "hidden-score"
    assert "one@demo.example" in seen.got


# One table that the diff leaves out.


def without_table(name: str) -> Callable[[CheckCase], CheckCase]:
    """A case whose check of side effects does not look at one table."""

    def change(case: CheckCase) -> CheckCase:
        bound = [
            replace(item, check=_blind(item.check, name))
            if item.check.name == ONLY_TASK_ROWS_CHANGED else item
            for item in case.forbidden
        ]  # fmt: skip
        return replace(case, forbidden=tuple(bound))

    return change


def _blind(check: Check, name: str) -> Check:
    blind = re.sub(r"WHERE NOT", f"WHERE c.table_name <> '{name}' AND NOT", check.sql, count=1)
    assert blind != check.sql
    return replace(check, sql=blind)


@pytest.mark.parametrize(
    ("task", "table", "by"),
    [("damaged-item", "threads", "and-another-thread"),
     ("damaged-item", "replacements", None),
     ("cancel-before-dispatch", "orders", "new-address")],
)  # fmt: skip
def test_a_table_whose_changes_nobody_looks_at(task: str, table: str, by: str | None) -> None:
    seen = found(with_cases(BACKOFFICE, task, without_table(table)), "controls")
    if by is None:  # other tables change with it
        assert seen == []
    else:
        assert {item.by for item in seen} >= {by}
        assert all(item.reward == 1.0 for item in seen if item.by == by)


# The wrong payment, accepted.


def any_payment(case: Case) -> Case:
    """A case that takes a refund of the first capture for one of the second."""
    (outcome,) = case.outcomes
    (refund,) = outcome.writes
    assert refund.state is not None
    state = replace(refund.state, values={"payment_id": "PAY-A"})
    return replace(
        case, outcomes=(replace(outcome, writes=(replace(refund, subject="PAY-A", state=state),),
                                keeps=()),)
    )  # fmt: skip


def test_the_wrong_payment_that_is_accepted() -> None:
    seen = found(with_cases(SERVICE, "two-full-captures", any_payment), "controls")
    said = {(item.by, item.got) for item in seen}
    assert ("refund-first", "it earned 1.0") in said
    assert ("refund-second", "it earned -0.4") in said
    assert any(by == "refund-first" and "no acceptable outcome" in got for by, got in said)


# A ceiling that is gone.


def without_ceiling(name: str) -> OutcomeRubric:
    rubric: Any = SERVICE.rubrics[0]
    kept = tuple(item for item in rubric.ceilings if item.name != name)
    assert len(kept) == len(rubric.ceilings) - 1
    return replace(rubric, ceilings=kept)


@pytest.mark.parametrize(
    ("name", "task", "by"),
    [("intercept", "parcel-moving", "request-intercept"),
     ("stock_notification", "damaged-lamp", "stock-notification"),
     ("outside_every_outcome", "two-full-captures", "refund-first"),
     ("gate", "account-boundary", "forbidden")],
)  # fmt: skip
def test_a_ceiling_that_is_gone(name: str, task: str, by: str) -> None:
    faulty = only(SERVICE, task, rubrics=(without_ceiling(name),))
    assert by in {item.by for item in found(faulty, "controls")}


# What is paid for nothing.


def test_a_task_that_is_solved_before_anything_is_done() -> None:
    task: Task = replace(BACKOFFICE.task("late-return"))

    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        built = task.fixture(seed, values)
        (first, *_) = built.case.required
        holds = replace(first.check, check=Check("holds", "holds", "SELECT 1 WHERE 1 = 0"))
        required = (replace(first, check=holds, points=10_000),)
        return replace(built, case=replace(built.case, required=required))

    idle = replace(BACKOFFICE, tasks=(replace(task, fixture=fixture),))
    (seen, *_) = found(idle, "labels")
    assert seen.by == "nobody"
    assert "late-return is solved before anything is done (seed 0, reward 1.0" in seen.got
    assert "give it a check that an untouched world fails" in seen.got


def test_a_forbidden_check_that_fails_untouched() -> None:
    def change(case: CheckCase) -> CheckCase:
        broken = replace(case.forbidden[0], check=Check("never", "never", "SELECT 1 AS one"))
        return replace(case, forbidden=(broken, *case.forbidden[1:]))

    (seen, *_) = found(with_cases(BACKOFFICE, "damaged-item", change), "labels")
    assert seen.got == "these do: never"


# Adversaries.


def generous(first: Observation) -> Generator[Action, Observation, None]:
    """Refund somebody, and hand in."""
    order = str(shop(SMALL).rows["orders"][0][0])
    yield call("issue_refund", order_id=order, amount_cents=1, reason="x")


def test_a_suite_without_a_second_opinion_pays_nobody_but_its_controls() -> None:
    paid = replace(mugs.SUITE, adversaries={"copies-the-oracle": mugs.take_back})
    (seen, *_) = found(paid, "adversaries")
    assert seen.by == "copies-the-oracle"
    assert "declares no objections that could tell whether rightly" in seen.got


def test_an_adversary_that_makes_a_tool_fail() -> None:
    def fails(desk: Desk, order_id: str, item_id: str) -> Result:
        raise ValueError("a bug of ours")

    seen = found(mugs.suite(replace(mugs.open_return, function=fails)), "adversaries")
    assert any("a tool raised ValueError: a bug of ours" in item.got for item in seen)
