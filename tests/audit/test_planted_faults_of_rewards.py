"""Every attack can find something: a fault is planted in a reward, and the audit names it."""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import pytest

from deskgym import (
    Action,
    Desk,
    Environment,
    Fixture,
    Id,
    Observation,
    Refusal,
    Result,
    Suite,
    Task,
    call,
    load_suite,
)
from deskgym.audit import Finding, audit_suite, mutated_rules
from deskgym.audit.attack import Target
from deskgym.audit.attacks import ATTACKS
from deskgym.rubric import OutcomeRubric
from deskgym.rubric.check import Check
from deskgym.rubric.checks import CheckCase
from deskgym.rubric.outcome import Case
from deskgym.rubric.permit import ONLY_TASK_ROWS_CHANGED
from deskgym.store.schema import STORE_TABLES
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


def telling(change: Callable[[Desk, Result, str], Result]) -> Suite:
    """The case of two full captures, in which looking the order up tells more than it should."""
    sound = SERVICE.toolbox["get_order"]

    @wraps(sound.function)
    def function(desk: Desk, order_id: str) -> Result:
        return change(desk, sound.function(desk, order_id=order_id), order_id)

    tools = {**SERVICE.toolbox, "get_order": replace(sound, function=function)}
    return only(SERVICE, "two-full-captures", toolbox=Toolbox(*tools.values()))


def with_data(result: Result, **data: object) -> Result:
    return result._replace(data={**result.data, **data})


LATEST = "SELECT MAX(id) FROM payments WHERE order_id = ?"
LEAKS: dict[str, tuple[Callable[[Desk, Result, str], Result], str]] = {
    "under a harmless name": (
        lambda _, seen, __: with_data(seen, note="PAY-B"), "shows PAY-B as note"),
    "in a list, worked out from rows": (
        lambda desk, seen, order: with_data(seen, extra={"of": [desk.value(LATEST, order)]}),
        "shows PAY-B as of"),
    "as cents": (lambda _, seen, __: with_data(seen, figure=4_800), "shows 4800 as figure"),
    "in a sentence": (
        lambda _, seen, __: seen._replace(message="Look at PAY-B."), "tells PAY-B"),
    "in a sentence, as money": (
        lambda _, seen, __: seen._replace(message="It is about $48.00."), "tells 48.00"),
}  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
def test_an_answer_that_tells_what_a_right_run_writes(leak: str) -> None:
    change, told = LEAKS[leak]
    seen = found(telling(change), "secrecy", seeds=(0,))
    assert {item.by for item in seen} >= {"refund-second", "only-reads"}
    assert told in seen[0].got
    assert seen[0].recording() is not None


def test_a_refusal_that_tells_what_would_be_right() -> None:
    sound = SERVICE.toolbox["issue_refund"]

    @wraps(sound.function)
    def function(desk: Desk, **given: Any) -> Result:
        try:
            return sound.function(desk, **given)
        except Refusal as refusal:
            raise Refusal(refusal.code, f"{refusal} PAY-B takes 4800.") from None

    tools = {**SERVICE.toolbox, "issue_refund": replace(sound, function=function)}
    leaky = only(SERVICE, "two-full-captures", toolbox=Toolbox(*tools.values()))
    seen = found(leaky, "secrecy", seeds=(0,))
    assert any(item.by == "refund-too-much" and "tells 4800" in item.got for item in seen)


def test_an_opening_that_tells_what_is_right() -> None:
    task = SERVICE.task("two-full-captures")

    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        built = task.fixture(seed, values)
        return replace(built, opening=f"{built.opening} It was PAY-B.")

    seen = found(replace(SERVICE, tasks=(replace(task, fixture=fixture),)), "secrecy", seeds=(0,))
    assert "the opening tells PAY-B" in seen[0].got


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
     ("cancel-before-dispatch", "orders", "new-address")],
)  # fmt: skip
def test_a_table_whose_changes_nobody_looks_at(task: str, table: str, by: str) -> None:
    seen = found(with_cases(BACKOFFICE, task, without_table(table)), "controls")
    assert {item.by for item in seen} >= {by}
    assert all(item.reward == 1.0 for item in seen if item.by == by)


@pytest.mark.parametrize("table", STORE_TABLES)
def test_no_table_can_be_left_out_of_the_diff(table: str) -> None:
    """Other tables change with some, and no tool changes others: rows planted there show it."""
    blind = with_cases(BACKOFFICE, "damaged-item", without_table(table))
    hunt = mutated_rules.Hunt([])
    for scene in mutated_rules.scenes(Target(blind, blind.tasks, (0,)), blind.tasks[0], 0):
        hunt.show(scene)
    named = [item for item in hunt.wrong.values() if table in item.by]
    assert named
    assert {item.got for item in named} == {"it earned 1.0"}
    assert {item.task for item in named} == {"damaged-item"}


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


def test_a_capture_of_another_size_that_is_accepted() -> None:
    """The gift card's capture is no duplicate, and no amount of the right run fits it."""
    with Environment(SERVICE, SERVICE.task("refund-duplicate")) as environment:
        environment.reset(0)
        payments = environment.world.rows(
            "SELECT id FROM payments WHERE order_id = (SELECT order_id FROM payments"
            " GROUP BY order_id HAVING COUNT(*) = 3) ORDER BY captured_cents"
        )
    gift = str(payments[0][0])

    def change(case: Case) -> Case:
        (outcome,) = case.outcomes
        (refund,) = outcome.writes
        assert refund.state is not None
        state = replace(refund.state, values={"payment_id": gift})
        other = replace(outcome, writes=(replace(refund, subject=gift, state=state),))
        return replace(case, outcomes=(outcome, other))

    seen = found(with_cases(SERVICE, "refund-duplicate", change), "mutated-oracles", seeds=(0,))
    assert any("with all it captured" in item.by and item.reward == 1.0 for item in seen)


# A ceiling that is gone.


def without_ceiling(name: str) -> OutcomeRubric:
    rubric: Any = SERVICE.rubrics[0]
    kept = tuple(item for item in rubric.ceilings if item.name != name)
    assert len(kept) == len(rubric.ceilings) - 1
    return replace(rubric, ceilings=kept)


@pytest.mark.parametrize(
    ("name", "task", "by"),
    [("no_complete_outcome", "stop-warehouse-order", "report-without-refund"),
     ("nothing_read_or_changed", "cancel-pending", "null"),
     ("intercept", "parcel-moving", "request-intercept"),
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
