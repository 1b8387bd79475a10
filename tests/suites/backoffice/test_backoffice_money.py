"""Corners of money and time, judged on worlds that are set up by hand."""

from datetime import UTC, datetime
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym import Environment, call, make
from deskgym.store import Template, World, default_engine
from deskgym.store.shop import Line, price, share
from deskgym.suites.backoffice import suite
from deskgym.suites.backoffice.day import day_of, day_sql
from tests.suites.backoffice.play import broken, forbidden, play, rows, value

FOLLOW = "refunds-follow-policy"


def refund(desk: Environment, order: str, cents: int, payment: str | None = None):
    named = {} if payment is None else {"payment_id": payment}
    return desk.step(call("issue_refund", order_id=order, amount_cents=cents, reason="x", **named))


def short_case(task: str = "damaged-item"):
    """A seed on which money is due, with the order and the amount of its oracle."""
    for seed in range(30):
        with play(task, suite.task(task).control("oracle").script, seed) as done:
            for step in done.steps:
                if step.action.tool == "issue_refund":
                    arguments = step.action.arguments
                    return seed, arguments["order_id"], arguments["amount_cents"]  # type: ignore[index]
    raise AssertionError("no refund on any seed")


def test_one_cent_over_is_forbidden_and_one_under_is_not_enough():
    seed, order, due = short_case()
    for cents, over, right in ((due - 1, False, False), (due, False, True), (due + 1, True, False)):
        with make("backoffice/damaged-item") as desk:
            desk.reset(seed)
            assert refund(desk, order, cents).ok
            assert (FOLLOW in forbidden(desk)) == over
            assert ("correct-remedy" not in broken(desk)) == right


def test_the_breach_names_the_refund_and_what_was_due():
    seed, order, due = short_case()
    with make("backoffice/damaged-item") as desk:
        desk.reset(seed)
        refund(desk, order, due + 1)
        reason = broken(desk)[FOLLOW]
    assert f"order id {order}" in reason
    assert f"refunded cents {due + 1}, due cents {due}" in reason


def test_two_lawful_parts_add_up_and_a_third_is_too_much():
    seed, order, due = short_case()
    with make("backoffice/damaged-item") as desk:
        desk.reset(seed)
        refund(desk, order, 1)
        assert "correct-remedy" in broken(desk)
        assert forbidden(desk) == set()
        refund(desk, order, due - 1)
        assert "correct-remedy" not in broken(desk)
        refund(desk, order, 1)
        assert forbidden(desk) == {FOLLOW}


def test_the_right_amount_on_another_order_is_forbidden():
    seed, order, due = short_case()
    with make("backoffice/damaged-item") as desk:
        desk.reset(seed)
        customer = value(desk, "SELECT customer_id FROM orders WHERE id = ?", order)
        other = value(
            desk,
            "SELECT o.id FROM orders o JOIN payments p ON p.order_id = o.id"
            " WHERE o.id <> ? AND p.captured_cents >= ? ORDER BY o.id",
            order,
            due,
        )
        # Even where the order is the same customer's.
        desk.world.atomic(
            lambda: desk.world.rows(
                "UPDATE orders SET customer_id = ? WHERE id = ?", (customer, other)
            )
        )
        assert refund(desk, other, due).ok
        assert {FOLLOW, "only-task-rows-changed"} <= forbidden(desk)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 20_000)), min_size=1, max_size=5),
    st.integers(0, 90),
    st.integers(0, 2_500),
)
def test_lines_add_up_to_the_total(lines: list[tuple[int, int]], percent: int, tax: int):
    ordered = [Line(f"SKU-{at}", count, cents) for at, (count, cents) in enumerate(lines)]
    priced = price(ordered, discount_percent=percent, tax_basis_points=tax)
    gross = sum(line.quantity * line.unit_price_cents for line in ordered)
    assert priced.total_cents == gross - priced.discount_cents + priced.tax_cents
    assert all(cents >= 0 for cents in priced.paid_cents)
    assert abs(priced.discount_cents * 100 - gross * percent) <= 50


def test_an_order_with_discount_and_tax_worked_by_hand():
    # 2 x 14.50 and 54.00 are 83.00; 15 % off are 12.45, spread 4.35 and 8.10;
    # 7.25 % of 24.65 is 1.787, of 45.90 is 3.328.
    priced = price(
        [Line("MUG", 2, 1_450), Line("KETTLE", 1, 5_400)],
        discount_percent=15,
        tax_basis_points=725,
    )
    assert priced.discount_cents == 1_245
    assert priced.paid_cents == (2_465 + 179, 4_590 + 333)
    assert priced.tax_cents == 512


@pytest.mark.parametrize(
    ("cents", "part", "whole", "expected"),
    [(1_000, 1, 3, 333), (1_000, 2, 3, 667), (5, 1, 2, 3), (1, 1, 3, 0), (7, 7, 7, 7)],
)
def test_a_part_that_does_not_divide_is_rounded_half_up(cents, part, whole, expected):
    assert share(cents, part, whole) == expected


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9))
def test_shares_are_monotone_and_never_exceed_the_whole(cents: int, part: int, whole: int):
    part = min(part, whole)
    assert 0 <= share(cents, part, whole) <= cents
    assert share(cents, whole, whole) == cents


# Days.


def in_sql(time: str, offset: int) -> int:
    connection = apsw.Connection(":memory:")
    connection.execute("ATTACH ':memory:' AS before")
    connection.execute("CREATE TABLE before.settings (name TEXT, value TEXT)")
    connection.execute(
        "INSERT INTO before.settings VALUES ('utc_offset_minutes', ?)", (str(offset),)
    )
    found: Any = connection.execute(f"SELECT {day_sql(':time')}", {"time": time}).fetchall()
    return found[0][0]


@given(
    st.integers(366 * 86_400, 7_000_000_000),
    st.sampled_from([-720, -480, -300, 0, 60, 330, 345, 600, 840]),
)
def test_days_are_the_same_in_python_and_in_sql(seconds: int, offset: int):
    time = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    expected = (seconds + 60 * offset) // 86_400
    assert day_of(time, offset) == expected
    assert in_sql(time, offset) == expected


@pytest.mark.parametrize(
    ("delivered", "now", "offset", "days"),
    [
        ("2028-02-28T12:00:00Z", "2028-03-01T12:00:00Z", 0, 2),  # a leap year
        ("2027-02-28T12:00:00Z", "2027-03-01T12:00:00Z", 0, 1),
        ("2028-02-29T23:59:59Z", "2028-03-01T00:00:00Z", 0, 1),
        ("2028-03-01T03:00:00Z", "2028-03-01T06:00:00Z", -300, 1),  # 22:00 and 01:00 there
        ("2028-03-01T19:00:00Z", "2028-03-01T18:00:00Z", 330, -1),
    ],
)
def test_days_turn_at_the_stores_midnight(delivered: str, now: str, offset: int, days: int):
    assert day_of(now, offset) - day_of(delivered, offset) == days
    assert in_sql(now, offset) - in_sql(delivered, offset) == days


def rows_of(world: World, sql: str, bindings: tuple[object, ...]) -> Any:
    return world.rows(sql, bindings)


# The window's last day: a refund is due on it, and not the day after.


@pytest.mark.parametrize("seed", range(12))
def test_a_return_on_the_last_day_is_refunded(seed: int):
    settle = suite.task("late-return").control("oracle").script
    with play("late-return", settle, seed, in_time=1) as desk:
        assert desk.score().reward == 1, desk.score().explain()
        assert any(step.action.tool == "issue_refund" for step in desk.steps)
    with play("late-return", settle, seed) as desk:
        assert desk.score().reward == 1
        assert not any(step.action.tool == "issue_refund" for step in desk.steps)


@pytest.mark.parametrize(
    ("delivered", "lawful"),
    [
        ("2028-02-07T05:00:00Z", True),  # midnight in the store, 30 days before
        ("2028-02-07T04:59:59Z", False),  # a second earlier it was the 31st day
        ("2028-03-08T20:00:00Z", True),
    ],
)
def test_the_window_is_counted_in_days_of_the_store_over_a_leap_day(delivered: str, lawful: bool):
    with make("backoffice/late-return") as desk:
        desk.reset(0)
        order, item, quantity = rows(desk, "SELECT order_id, item_id, quantity FROM env_claim")[0]
        template = desk.fixture.template
        changed: dict[str, list[Any]] = {name: list(items) for name, items in template.rows.items()}
        changed["settings"] = [
            ("now", "2028-03-08T20:00:00Z"),
            ("time_zone", "UTC-05:00"),
            ("utc_offset_minutes", "-300"),
        ]
        changed["policies"] = [
            (name, 30 if name == "return_window_days" else number, unit)
            for name, number, unit in changed["policies"]
        ]
        changed["shipments"] = [
            (*row[:7], delivered) if row[1] == order else row for row in changed["shipments"]
        ]
        world = default_engine().open(Template(changed, template.base))
        paid, ordered = rows_of(
            world, "SELECT paid_cents, quantity FROM order_items WHERE id = ?", (item,)
        )[0]
        payment = world.rows("SELECT id FROM payments WHERE order_id = ?", (order,))[0][0]
        world.atomic(
            lambda: world.rows(
                "INSERT INTO refunds VALUES ('R-900000', ?, ?, ?, 'succeeded', 'x', 'k',"
                " '2028-03-08T20:00:00Z')",
                (order, payment, share(paid, quantity, ordered)),
            )
        )
        world.settle()
        check = next(bound for bound in desk.fixture.case.forbidden if bound.check.name == FOLLOW)
        assert check.holds(world) == lawful
        world.park()
