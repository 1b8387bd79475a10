"""Every row that SQLite's schema refuses is refused by PostgreSQL's too, with SQL on the bare one.

What is refused, and what is not, are the rows of `test_schema.py`, which tries them on SQLite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import RawCursor

from deskgym.store.postgres.ddl import SLOT_DDL
from deskgym.store.postgres.lease import adapt
from deskgym.store.schema import TABLES
from tests.store.shop import SHOP, refund
from tests.store.test_schema import BAD, CLOSED_SETS, GOOD, LOWEST, NULLABLE, TAKEN, columns

TYPE_ERRORS = (
    psycopg.errors.InvalidTextRepresentation,
    psycopg.errors.DatatypeMismatch,
    psycopg.errors.UndefinedFunction,
)


class Shop:
    """The tables of a slot with a small shop in them; nothing that a test does is committed."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url)
        adapt(self.connection)
        self.cursor = RawCursor(self.connection)
        schema = f"bare_{uuid4().hex[:12]}"
        self.run(f"CREATE SCHEMA {schema}")
        self.run(f"SET search_path = {schema}; SET deskgym.call = 'on'")
        self.run(";\n".join(SLOT_DDL))
        for name in TABLES:
            for row in SHOP.get(name, ()):
                self.add(name, row)
        self.run("SAVEPOINT filled")

    def add(self, name: str, row: Any) -> None:
        marks = ", ".join(f"${place}" for place, _ in enumerate(row, 1))
        self.cursor.execute(f"INSERT INTO {name} VALUES ({marks})".encode(), tuple(row))

    def add_good(self, name: str, /, **different: Any) -> None:
        self.add(name, tuple({**GOOD[name], **different}.values()))

    def run(self, sql: str, *values: Any) -> None:
        self.cursor.execute(sql.encode(), values or None)

    def refused(self, kind: Any, sql: str, *values: Any) -> str:
        """What refuses the statement; it leaves nothing."""
        self.run("SAVEPOINT refused")
        with pytest.raises(kind) as caught:
            self.run(sql, *values)
        self.run("ROLLBACK TO refused")
        return str(caught.value)

    def refused_row(self, kind: Any, name: str, /, **different: Any) -> str:
        row = tuple({**GOOD[name], **different}.values())
        marks = ", ".join(f"${place}" for place, _ in enumerate(row, 1))
        return self.refused(kind, f"INSERT INTO {name} VALUES ({marks})", *row)


@pytest.fixture(scope="module")
def filled(postgres_url: str) -> Iterator[Shop]:
    shop = Shop(postgres_url)
    yield shop
    shop.connection.rollback()
    shop.connection.close()


@pytest.fixture
def shop(filled: Shop) -> Iterator[Shop]:
    yield filled
    filled.run("ROLLBACK TO filled")


INTEGRITY = psycopg.IntegrityError
CHECK = psycopg.errors.CheckViolation
UNIQUE = psycopg.errors.UniqueViolation
FOREIGN_KEY = psycopg.errors.ForeignKeyViolation


@pytest.mark.parametrize("name", GOOD)
def test_a_good_row_is_accepted_and_the_same_key_again_is_not(shop: Shop, name: str):
    shop.add_good(name)
    stored = shop.cursor.execute(f"SELECT * FROM {name}".encode()).fetchall()
    assert tuple(GOOD[name].values()) in stored
    shop.refused_row(UNIQUE, name)


def test_null_is_refused_in_every_column_but_four(shop: Shop):
    for name, row in GOOD.items():
        for column in row:
            if (name, column) not in NULLABLE:
                shop.refused_row(psycopg.errors.NotNullViolation, name, **{column: None})


@pytest.mark.parametrize(("name", "column"), sorted(NULLABLE))
def test_null_is_accepted_where_a_value_may_be_missing(shop: Shop, name: str, column: str):
    shop.add_good(name, **{column: None})


@pytest.mark.parametrize("value", ["many", 1.5, b"1"])
def test_an_integer_column_takes_integers_only(shop: Shop, value: object):
    for name, column in columns(integers=True):
        shop.refused_row(TYPE_ERRORS, name, **{column: value})


@pytest.mark.parametrize(("name", "column"), CLOSED_SETS)
def test_a_closed_set_takes_its_members_and_nothing_else(shop: Shop, name: str, column: str):
    for member, also in CLOSED_SETS[name, column].items():
        shop.run("SAVEPOINT one")
        shop.add_good(name, **{column: member}, **also)
        shop.run("ROLLBACK TO one")
        for stranger in (member.upper(), f"{member} ", member[:-1], ""):
            shop.refused_row(CHECK, name, **{column: stranger})


@pytest.mark.parametrize(("name", "column"), LOWEST)
def test_a_number_stops_at_its_lowest(shop: Shop, name: str, column: str):
    lowest = LOWEST[name, column]
    shop.refused_row(CHECK, name, **{column: lowest - 1})
    shop.add_good(name, **{column: lowest})


@pytest.mark.parametrize("what", BAD)
def test_the_schema_refuses(shop: Shop, what: str):
    name, different = BAD[what]
    shop.refused_row(INTEGRITY, name, **different)
    shop.add_good(name)


@pytest.mark.parametrize("what", TAKEN)
def test_a_second_live_row_is_refused_until_it_differs(shop: Shop, what: str):
    name, second, freed = TAKEN[what]
    shop.add_good(name)
    shop.refused_row(UNIQUE, name, **second)
    shop.add_good(name, **{**second, **freed})


def test_a_parent_in_use_can_neither_be_removed_nor_renamed(shop: Shop):
    shop.add("refunds", refund("R1", 1))
    for sql in (
        "DELETE FROM payments WHERE id = 'PAY1'",
        "UPDATE payments SET id = 'PAY7' WHERE id = 'PAY1'",
        "UPDATE payments SET order_id = 'O2' WHERE id = 'PAY1'",
        "DELETE FROM order_items WHERE id = 'I1'",
        "UPDATE orders SET id = 'O7' WHERE id = 'O1'",
        "DELETE FROM customers WHERE id = 'C1'",
    ):
        shop.refused(FOREIGN_KEY, sql)
    shop.run("DELETE FROM refunds")
    shop.run("UPDATE payments SET id = 'PAY7' WHERE id = 'PAY1'")


class TestGuards:
    def test_refunds_never_exceed_the_capture(self, shop: Shop):
        shop.add("refunds", refund("R1", 2400))
        shop.add("refunds", refund("R2", 2400, status="failed"))
        assert "refunds_within_capture" in shop.refused_row(CHECK, "refunds", amount_cents=2401)
        again = "UPDATE refunds SET amount_cents = 2401, status = 'pending' WHERE id = 'R2'"
        assert "refunds_within_capture" in shop.refused(CHECK, again)
        # A statement's second row is held against what its first one already is.
        both = "UPDATE refunds SET amount_cents = 2401, status = 'pending'"
        assert "refunds_within_capture" in shop.refused(CHECK, both)
        shop.run("UPDATE refunds SET status = 'pending'")
        lowered = "UPDATE payments SET captured_cents = 4799 WHERE id = 'PAY1'"
        assert "capture_covers_refunds" in shop.refused(CHECK, lowered)

    def test_replacements_never_exceed_the_order(self, shop: Shop):
        shop.add_good("replacements", quantity=2)
        other = {"id": "REP8", "idempotency_key": "other"}
        assert "replacements_within_order" in shop.refused_row(CHECK, "replacements", **other)
        shop.add_good("replacements", **other, status="cancelled")
        lowered = "UPDATE order_items SET quantity = 1 WHERE id = 'I1'"
        assert "item_covers_replacements" in shop.refused(CHECK, lowered)

    def test_purchases_never_exceed_the_budget(self, shop: Shop):
        shop.add_good("purchase_orders", quantity=11, cost_cents=9_900)
        second = {"id": "PO8", "quantity": 1, "unit_cost_cents": 101, "cost_cents": 101}
        assert "purchases_within_budget" in shop.refused_row(CHECK, "purchase_orders", **second)
        shop.add_good("purchase_orders", **{**second, "unit_cost_cents": 100, "cost_cents": 100})
        lowered = "UPDATE budgets SET limit_cents = 9999 WHERE id = 'B1'"
        assert "budget_covers_purchases" in shop.refused(CHECK, lowered)


def test_texts_compare_as_bytes_whatever_the_databases_locale(shop: Shop):
    collations = shop.cursor.execute(
        "SELECT DISTINCT collation_name FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND data_type = 'text'"
        " AND table_name <> 'deskgym_state'"
    ).fetchall()
    assert collations == [("C",)]


def test_the_tables_are_those_of_the_schema_and_their_copies(shop: Shop):
    found = shop.cursor.execute(
        "SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position)"
        " FROM information_schema.columns WHERE table_schema = current_schema()"
        " AND table_name <> 'deskgym_state' GROUP BY 1"
    ).fetchall()
    expected = {name: list(item.columns) for name, item in TABLES.items()}
    copies = {f"before_{name}": names for name, names in expected.items()}
    assert dict(found) == expected | copies
    assert not any(re.match("before_", name) for name in TABLES)
