"""Which rows may change: whatever way a difference came about, and only real differences."""

import pytest

from deskgym import Environment, make
from tests.suites.backoffice.play import broken, change, forbidden, rows, value

ONLY = "only-task-rows-changed"


@pytest.fixture
def desk():
    with make("backoffice/late-return") as environment:
        environment.reset(0)
        yield environment


def the_customer(desk: Environment) -> str:
    return value(desk, "SELECT customer_id FROM threads WHERE id = 'T-301'")


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["UPDATE products SET note = note || ' ' WHERE id = 'P-MUG'"], "change products P-MUG"),
        (
            ["UPDATE products SET name = upper(name) WHERE id = 'P-MUG'"],
            "change products P-MUG",
        ),
        (["DELETE FROM messages WHERE id = 'M-000011'"], "remove messages M-000011"),
        (
            ["INSERT INTO threads SELECT 'T-399', customer_id, subject, status, opened_at"
             " FROM threads WHERE id = 'T-301'"],
            "add threads T-399",
        ),
        (
            ["UPDATE messages SET id = 'M-999999' WHERE id = 'M-000011'"],
            "remove messages M-000011, add messages M-999999",
        ),
        (
            ["UPDATE policies SET value = value + 1 WHERE name = 'return_window_days'"],
            "change policies return_window_days",
        ),
        (
            ["UPDATE orders SET status = 'cancelled' WHERE id = '1002'",
             "UPDATE orders SET shipping_address = 'elsewhere' WHERE id = '1002'"],
            "change orders 1002",
        ),
    ],
)  # fmt: skip
def test_a_difference_is_found_and_named(desk: Environment, statements: list[str], reason: str):
    change(desk, *statements)
    assert desk.score().reward == 0
    assert broken(desk)[ONLY] == f"unexpected: {reason}"


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE products SET note = 'x' WHERE id = 'P-MUG'",
         "UPDATE products SET note = (SELECT b.note FROM before.products b WHERE b.id = 'P-MUG')"
         " WHERE id = 'P-MUG'"],
        ["DELETE FROM messages WHERE id = 'M-000011'",
         "INSERT INTO messages SELECT * FROM before.messages WHERE id = 'M-000011'"],
        ["UPDATE messages SET id = 'M-999999' WHERE id = 'M-000011'",
         "UPDATE messages SET id = 'M-000011' WHERE id = 'M-999999'"],
        ["UPDATE products SET note = note"],
    ],
)  # fmt: skip
def test_what_is_as_it_was_is_no_difference(desk: Environment, statements: list[str]):
    change(desk, *statements)
    assert ONLY not in broken(desk)


def test_a_permitted_row_may_change_in_the_permitted_columns_only(desk: Environment):
    (thread,) = rows(desk, "SELECT thread_id FROM env_claim")[0]
    change(desk, f"UPDATE threads SET status = 'closed' WHERE id = '{thread}'")
    assert ONLY not in forbidden(desk)
    change(desk, f"UPDATE threads SET subject = 'Closed' WHERE id = '{thread}'")
    assert ONLY in forbidden(desk)


def test_a_customers_message_cannot_be_made_up(desk: Environment):
    (thread,) = rows(desk, "SELECT thread_id FROM env_claim")[0]
    for sender, allowed in (("store", True), ("customer", False)):
        change(
            desk,
            f"INSERT INTO messages VALUES ('M-99999{int(allowed)}', '{thread}', '{sender}', 'hi',"
            " '2028-03-08T12:00:00Z')",
        )
        assert (ONLY not in forbidden(desk)) == allowed


def test_a_refused_call_leaves_nothing_to_find(desk: Environment):
    from deskgym import call

    refused = desk.step(call("cancel_order", order_id="1002", reason="x"))
    assert not refused.ok
    assert ONLY not in forbidden(desk)
