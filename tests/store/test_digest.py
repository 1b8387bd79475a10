from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.store import Engine, RowChange, Template
from deskgym.store.change import Row
from deskgym.store.digest import after_changes, as_text, row_digest, rows_digest
from tests.store.shop import SHOP, open_world, write

VALUES = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=8))
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=6)


def test_a_rows_digest_is_the_sha_256_of_its_table_and_values():
    expected = int(sha256(b'["settings","currency","USD"]').hexdigest(), 16)
    assert row_digest("settings", ("currency", "USD")) == expected
    assert rows_digest("settings", [("currency", "USD")] * 2) == expected * 2 % 2**256


def test_no_rows_have_the_digest_zero():
    assert as_text(rows_digest("settings", [])) == "0" * 64
    assert Template({}).id == "0" * 64


def test_a_digest_is_64_digits_however_small():
    assert as_text(255) == "0" * 62 + "ff"


@given(rows=ROWS, data=st.data())
def test_the_order_of_rows_does_not_matter(rows: list[Row], data: st.DataObject):
    shuffled = data.draw(st.permutations(rows))
    assert rows_digest("settings", rows) == rows_digest("settings", shuffled)


def test_a_template_has_one_digest_whatever_the_order_of_its_rows_and_tables():
    turned = {name: list(reversed(rows)) for name, rows in reversed(list(SHOP.items()))}
    assert Template(turned).id == Template(SHOP).id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("V1", 4800), ("V1", 4801)),
        (("V1", "Moss"), ("V1", "moss")),
        (("V1", "moss"), ("V1", "moss ")),
        (("V1", "moss"), ("V1", " moss")),
        (("V1", "1"), ("V1", 1)),
        (("V1", ""), ("V1", None)),
        (("V1", 0), ("V1", None)),
        (("a", "b"), ("b", "a")),
        (("ab", ""), ("a", "b")),
        (('a","b', ""), ("a", 'b",""')),
        (("\u00e9", ""), ("e\u0301", "")),
    ],
)
def test_values_that_look_alike_have_digests_of_their_own(one: Row, other: Row):
    assert row_digest("settings", one) != row_digest("settings", other)


def test_the_same_row_of_another_table_has_another_digest():
    assert row_digest("settings", ("a", "b")) != row_digest("policies", ("a", "b"))


def test_a_row_that_is_there_twice_does_not_cancel_itself():
    assert rows_digest("settings", [("a", "b")] * 2) not in (0, row_digest("settings", ("a", "b")))


@given(before=ROWS, after=ROWS)
def test_a_digest_follows_changes_there_and_back(before: list[Row], after: list[Row]):
    there = [RowChange("settings", (), row, None) for row in before]
    there += [RowChange("settings", (), None, row) for row in after]
    back = [RowChange("settings", (), change.after, change.before) for change in there]
    start = rows_digest("settings", before)
    assert after_changes(start, there) == rows_digest("settings", after)
    assert after_changes(after_changes(start, there), back) == start


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE orders SET total_cents = total_cents + 1 WHERE id = 'O1'",
        "UPDATE customers SET name = 'ada' WHERE id = 'C1'",
        "UPDATE customers SET note = ' ' WHERE id = 'C1'",
        "UPDATE shipments SET expected_at = '' WHERE id = 'S1'",
        "DELETE FROM settings",
    ],
)
def test_a_worlds_digest_shows_the_smallest_change(sql: str):
    world = open_world()
    write(world, sql)
    assert world.digest() != world.template.id
    world.reset()
    assert world.digest() == world.template.id


def test_a_digest_does_not_depend_on_how_rows_came_about():
    written = open_world({"products": [("P1", "Lamp", "lamp", "")]})
    write(written, "INSERT INTO settings VALUES ('b', '2'), ('a', '1')")
    given_rows = {"settings": [("a", "1"), ("b", "2")], "products": [("P1", "Lamp", "lamp", "")]}
    assert written.digest() == Template(given_rows).id


def test_the_environments_own_rows_are_outside_the_digest():
    logged = Template({**SHOP, "env_listed": [(1, "V1")]})
    assert logged.id == Template(SHOP).id
    world = Engine(1).open(logged)
    assert "env_listed" not in world.snapshot()
    assert world.rows("SELECT * FROM env_listed") == [(1, "V1")]
