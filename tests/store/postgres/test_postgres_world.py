"""A world in PostgreSQL keeps the promises of one in SQLite: the same calls, the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from deskgym.errors import ConstraintViolation, StoreError
from deskgym.store import Base, Engine, RowChange, Template, World, WorldEngine
from deskgym.store.postgres.engine import PostgresEngine
from tests.store.shop import SHOP, TIME, insert, open_world, refund, write
from tests.store.test_world import HISTORIES, SELL, STOCK, call

# Only SQLite has REPLACE as a way out of a conflict.
SHARED_HISTORIES = {what: made for what, made in HISTORIES.items() if "REPLACE" not in what}
TEMPLATE = Template(SHOP)


@pytest.fixture
def world(postgres: PostgresEngine) -> Iterator[World]:
    world = postgres.open(TEMPLATE)
    yield world
    world.park()


@pytest.fixture(params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest, postgres: PostgresEngine) -> Iterator[World]:
    engine: WorldEngine = postgres if request.param == "postgres" else Engine(1)
    world = engine.open(TEMPLATE)
    yield world
    world.park()


def assert_untouched(world: World) -> None:
    fresh = open_world()
    assert world.changes() == ()
    assert world.snapshot() == fresh.snapshot()
    assert world.digest() == fresh.digest()


class TestCalls:
    def test_a_call_keeps_its_rows_and_tells_what_changed(self, either: World):
        kept = either.atomic(lambda: either.rows(f"{SELL} RETURNING quantity"))
        row, sold = ("V1", 5, 2, 6, 1, 900), ("V1", 4, 2, 6, 1, 900)
        assert kept.value == [(4,)]
        assert kept.changes == (RowChange("inventory", ("V1",), row, sold),)
        assert either.rows(STOCK) == [(4,)]

    @pytest.mark.parametrize("error", [ValueError("midway"), KeyboardInterrupt(), SystemExit()])
    def test_a_call_that_raises_midway_leaves_nothing(self, world: World, error: BaseException):
        def work() -> None:
            world.rows(SELL)
            world.rows("INSERT INTO settings VALUES ('a', '1')")
            raise error

        with pytest.raises(type(error)):
            world.atomic(work)
        assert_untouched(world)
        assert call(world, SELL)

    def test_a_swallowed_error_undoes_the_whole_call(self, either: World):
        def work() -> None:
            either.rows(SELL)
            with pytest.raises(ConstraintViolation):
                either.rows("UPDATE inventory SET quantity = -1")
            with pytest.raises(ConstraintViolation):
                either.rows(STOCK)

        with pytest.raises(ConstraintViolation, match="CHECK constraint failed"):
            either.atomic(work)
        assert_untouched(either)

    def test_an_earlier_call_stays_when_a_later_one_raises(self, world: World):
        call(world, SELL)
        with pytest.raises(ConstraintViolation):
            call(world, SELL, "UPDATE inventory SET quantity = -1")
        assert world.rows(STOCK) == [(4,)]
        assert len(world.changes()) == 1

    def test_nothing_stays_open_between_two_calls(self, world: World, postgres_url: str):
        call(world, SELL)
        world.settle()
        world.rows(STOCK)
        with pytest.raises(ConstraintViolation):
            call(world, SELL, "UPDATE inventory SET quantity = -1")
        open_ones = world._engine._slots[-1]._connection  # type: ignore[attr-defined]
        assert open_ones.info.transaction_status.name == "IDLE"

    def test_a_call_inside_a_call_is_refused_and_undone_with_it(self, world: World):
        def work() -> None:
            world.rows(SELL)
            world.atomic(lambda: None)

        with pytest.raises(AssertionError, match="stands alone"):
            world.atomic(work)
        assert_untouched(world)

    def test_a_call_may_use_another_world_though_every_slot_is_taken(self, own_database: str):
        engine = PostgresEngine(own_database, slots_max=1)
        outer, inner = engine.open(TEMPLATE), engine.open(TEMPLATE)

        def work() -> None:
            outer.rows(SELL)
            call(inner, SELL, SELL)
            outer.rows(SELL)

        outer.atomic(work)
        assert (outer.rows(STOCK), inner.rows(STOCK)) == ([(3,)], [(3,)])
        engine.close()

    @pytest.mark.parametrize("value", [object(), 2**63, -(2**63) - 1, "\ud800"])
    def test_a_value_that_the_store_cannot_hold_is_a_store_error(self, either: World, value: Any):
        with pytest.raises(StoreError):
            write(either, "UPDATE settings SET value = ?", value)
        assert_untouched(either)

    @pytest.mark.parametrize("value", ["many", "", 1.5, b"1"])
    def test_an_integer_column_takes_whole_numbers_only(self, either: World, value: Any):
        with pytest.raises(ConstraintViolation):
            write(either, "UPDATE policies SET value = ?", value)
        assert_untouched(either)

    def test_a_text_column_takes_no_bytes(self, either: World):
        with pytest.raises(ConstraintViolation):
            write(either, "UPDATE settings SET value = ?", b"text")
        assert_untouched(either)

    @pytest.mark.parametrize("value", [True, 2.0, 2**63 - 1, -(2**63)])
    def test_a_whole_number_is_stored_as_one(self, either: World, value: Any):
        write(either, "UPDATE policies SET value = ?", value)
        ((stored,),) = either.rows("SELECT value FROM policies")
        assert (stored, type(stored)) == (int(value), int)

    def test_text_comes_back_as_it_was(self, either: World):
        text = "100 % off: 'quotes', \"more\", \\n, $1, ?, :name, {}, \N{SNOWMAN}, \U0001f600\n"
        write(either, "UPDATE settings SET value = ?", text)
        assert either.rows("SELECT value FROM settings WHERE value = ?", (text,)) == [(text,)]
        ((change),) = either.changes()
        assert change.after == ("currency", text)


# What SQLite's authorizer refuses is refused here by what the text names, and so is what only
# PostgreSQL has.
DENIED = (
    "COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT mine", "SELECT 1; COMMIT", "SELECT 1; SELECT 2",
    "SET search_path = public", "SHOW search_path", "LISTEN x", "DO $$ BEGIN END $$",
    "COPY settings TO STDOUT", "LOCK TABLE settings", "TRUNCATE settings", "VACUUM", "ANALYZE",
    "CREATE TABLE mine (x INTEGER)", "CREATE TEMP TABLE mine (x INTEGER)", "DROP TABLE settings",
    "ALTER TABLE orders RENAME TO mine", "GRANT ALL ON settings TO PUBLIC", "TABLE settings",
    "SELECT * INTO mine FROM settings", "SELECT * FROM settings FOR UPDATE",
    "EXPLAIN SELECT 1", "PREPARE x AS SELECT 1", "EXECUTE x", "CALL x()",
    "INSERT INTO env_listed VALUES (1, 'V1')", "UPDATE env_call SET ok = 1",
    "DELETE FROM env_change", "SELECT COUNT(*) FROM env_call",
    "UPDATE before.inventory SET quantity = 9", "INSERT INTO before.settings VALUES ('a', '1')",
    "DELETE FROM before.settings", "UPDATE before_inventory SET quantity = 9",
    "WITH x AS (DELETE FROM before.settings RETURNING name) SELECT * FROM x",
    "SELECT COUNT(*), random() FROM settings", "SELECT COUNT(*), random() AS x FROM settings",
    "SELECT random()", "SELECT now()", "SELECT clock_timestamp()", "SELECT CURRENT_TIMESTAMP",
    "SELECT current_date", "SELECT LOCALTIME", "SELECT current_user", "SELECT pg_sleep(9)",
    "SELECT set_config('deskgym.call', 'off', false)", "SELECT pg_catalog.pg_sleep(9)",
    "SELECT current_setting('deskgym.call')", "SELECT nextval('x')", "SELECT txid_current()",
    "SELECT * FROM pg_class", "SELECT * FROM information_schema.tables",
    "SELECT ctid FROM orders", "SELECT xmin FROM orders", "SELECT tableoid FROM orders",
    "SELECT * FROM deskgym_state", "SELECT * FROM deskgym_worlds.slot",
    "SELECT * FROM public.mine", "SELECT 1 FROM settings, public.mine", "DELETE FROM public.mine",
    "SELECT * FROM settings TABLESAMPLE SYSTEM (50)", "SELECT 'a'::text", "SELECT E'\\x41'",
    "SELECT $1", "SELECT \"name\" FROM settings", "SELECT gen_random_uuid()",
    "SELECT query_to_xml('SELECT 1', true, true, '')", "SELECT lo_create(1)", "",
    "UPDATE settings SET value = now()", "SELECT (SELECT COUNT(*) FROM (SELECT random()) r)",
)  # fmt: skip


class TestWhatAToolMayNot:
    @pytest.mark.parametrize("sql", DENIED)
    def test_a_statement_outside_a_tools_reach_undoes_the_call(self, world: World, sql: str):
        with pytest.raises(StoreError):
            call(world, SELL, sql)
        assert world.changes() == ()
        assert world.rows(STOCK) == [(5,)]
        assert world.rows("SELECT quantity FROM before.inventory") == [(5,)]

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT b.quantity FROM before.inventory b JOIN inventory i ON i.sku = b.sku",
            "SELECT before.inventory.quantity FROM before.inventory",
            "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5)"
            " SELECT MAX(x) FROM n",
            "SELECT COUNT(*) + 4 FROM policies",
            "SELECT length(upper('moss') || 'y') -- a comment with a ? and a ;",
            "SELECT /* now() */ quantity FROM main.inventory;",
            "SELECT CAST('5 days' AS INTEGER) + CAST('x' AS INTEGER)",
            "SELECT SUM(quantity) FROM inventory",
        ],
    )
    def test_what_a_tool_needs_is_allowed(self, either: World, sql: str):
        ((found,),) = either.atomic(lambda: either.rows(sql)).value
        assert (found, type(found)) == (5, int)

    def test_the_log_is_read_by_checks_and_not_by_tools(self, either: World):
        either.append([("env_listed", (1, "V1"))])
        either.settle()
        assert either.rows("SELECT sku FROM env_listed") == [("V1",)]
        with pytest.raises(StoreError):
            call(either, "SELECT step FROM env_listed")

    def test_rows_are_written_in_calls_only(self, world: World):
        with pytest.raises(StoreError, match="in a call"):
            world.rows(SELL)
        assert_untouched(world)

    def test_what_looks_like_a_statement_in_a_text_is_text(self, either: World):
        sql = "SELECT 'now(); -- DROP TABLE ? :x before.orders' || ?"
        assert either.rows(sql, ("!",)) == [("now(); -- DROP TABLE ? :x before.orders!",)]

    def test_a_condition_is_a_number(self, either: World):
        assert either.rows("SELECT 1 = 1, 1 = 2, NULL = 1") == [(1, 0, None)]

    def test_values_are_bound_by_name_once_and_more_often(self, either: World):
        sql = "SELECT value FROM settings WHERE name = :name AND :name = name AND value <> :other"
        given = {"name": "currency", "other": "EUR", "unused": object()}
        assert either.records(sql, given) == [{"value": "USD"}]
        with pytest.raises(StoreError):
            either.rows("SELECT ?", (1, 2))


class TestReset:
    def test_it_restores_rows_digest_and_log(self, world: World):
        call(world, SELL, "DELETE FROM returns", "UPDATE customers SET name = 'Eve'")
        world.append([("env_listed", (1, "V1"))])
        world.settle()
        assert world.digest() != world.template.id
        world.reset()
        assert_untouched(world)
        world.settle()
        assert world.rows("SELECT sku FROM env_listed UNION SELECT row_key FROM env_change") == []

    def test_a_template_does_not_leak_into_the_next_one_of_its_base(self, postgres: PostgresEngine):
        base = Base("shop", SHOP)
        changed = postgres.open(Template({"settings": [("currency", "EUR"), ("a", "1")]}, base))
        assert changed.rows("SELECT * FROM settings ORDER BY name") == [
            ("a", "1"), ("currency", "EUR"),
        ]  # fmt: skip
        for _ in range(3):
            plain = postgres.open(Template({}, base))
            assert plain.rows("SELECT * FROM settings") == [("currency", "USD")]
            assert plain.rows("SELECT * FROM before.settings") == [("currency", "USD")]

    def test_a_log_row_of_the_template_stays(self, postgres: PostgresEngine):
        world = postgres.open(Template({**SHOP, "env_listed": [(0, "V2")]}))
        for _ in range(2):
            world.append([("env_listed", (1, "V1"))])
            world.settle()
            assert world.rows("SELECT * FROM env_listed ORDER BY step") == [(0, "V2"), (1, "V1")]
            world.reset()

    def test_a_template_that_does_not_fit_spoils_no_other(self, postgres: PostgresEngine):
        world = postgres.open(TEMPLATE)
        call(world, SELL)
        orphan = {"returns": [("RET1", "O8", "I8", "open", "", "k", TIME)]}
        spent = {**SHOP, "refunds": [refund("R1", 4801)]}
        for rows in (orphan, spent):
            with pytest.raises(ConstraintViolation, match="fit"):
                postgres.open(Template(rows)).snapshot()
        assert world.rows(STOCK) == [(4,)]
        assert world.rows("SELECT name FROM settings") == [("currency",)]


class TestTakingTurns:
    @pytest.mark.parametrize("what", SHARED_HISTORIES)
    def test_a_world_comes_back_with(self, postgres: PostgresEngine, what: str):
        worlds = [postgres.open(TEMPLATE) for _ in range(4)]
        twin = open_world()
        call(twin, *SHARED_HISTORIES[what])
        for world in worlds:
            call(world, *SHARED_HISTORIES[what])
        for world in worlds:
            assert world.changes() == twin.changes()
            assert world.digest() == twin.digest()
            assert world.snapshot() == twin.snapshot()

    def test_the_log_comes_back_once(self, postgres: PostgresEngine):
        worlds = [postgres.open(TEMPLATE) for _ in range(3)]
        for step in (1, 2):
            for world in worlds:
                world.append([("env_listed", (step, "V1"))])
                world.settle()
                assert len(world.rows("SELECT * FROM env_listed")) == step

    def test_the_net_changes_are_rows_for_checks(self, either: World):
        call(either, SELL, "DELETE FROM settings")
        either.settle()
        found = "SELECT * FROM env_change ORDER BY table_name"
        assert either.rows(found) == [
            ("inventory", "V1", "change"), ("settings", "currency", "remove"),
        ]  # fmt: skip
        call(either, "UPDATE inventory SET quantity = 5")
        insert(either, "settings", ("currency", "EUR"))
        either.settle()
        assert either.rows(found) == [("settings", "currency", "change")]
