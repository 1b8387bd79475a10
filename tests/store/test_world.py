from __future__ import annotations

from collections.abc import Callable

import pytest

from deskgym.errors import ConstraintViolation, StoreError
from deskgym.store import Base, Engine, RowChange, Template, World
from deskgym.store.slot import Slot
from tests.store.shop import SHOP, TIME, insert, open_world, refund, write

STOCK = "SELECT quantity FROM inventory WHERE sku = 'V1'"
SELL = "UPDATE inventory SET quantity = quantity - 1"


@pytest.fixture
def world() -> World:
    return open_world()


def call(world: World, *statements: str) -> tuple[RowChange, ...]:
    def work() -> None:
        for sql in statements:
            world.rows(sql)

    return world.atomic(work).changes


def assert_untouched(world: World) -> None:
    """Nothing is logged, and the rows are the template's, even when read anew elsewhere."""
    fresh = open_world()
    assert world.changes() == ()
    assert world.snapshot() == fresh.snapshot()
    assert world.digest() == fresh.digest() == world.template.id


class TestAtomicCalls:
    def test_a_call_keeps_its_rows_and_returns_its_value(self, world: World):
        kept = world.atomic(lambda: world.rows(f"{SELL} RETURNING quantity"))
        row = ("V1", 5, 2, 6, 1, 900)
        sold = ("V1", 4, 2, 6, 1, 900)
        assert kept.value == [(4,)]
        assert kept.changes == (RowChange("inventory", ("V1",), row, sold),)
        assert world.changes() == kept.changes
        assert world.rows(STOCK) == [(4,)]

    @pytest.mark.parametrize("error", [ValueError("midway"), KeyboardInterrupt(), SystemExit()])
    def test_a_call_that_raises_midway_leaves_nothing(self, world: World, error: BaseException):
        def work() -> None:
            world.rows(SELL)
            world.rows("INSERT INTO settings VALUES ('a', '1')")
            raise error

        with pytest.raises(type(error)):
            world.atomic(work)
        assert_untouched(world)

    def test_a_later_call_keeps_its_rows_after_one_that_raised(self, world: World):
        self.test_a_call_that_raises_midway_leaves_nothing(world, ValueError("midway"))
        assert [str(change) for change in call(world, SELL)] == ["change inventory V1"]
        assert world.rows(STOCK) == [(4,)]

    def test_an_earlier_call_stays_when_a_later_one_raises(self, world: World):
        call(world, SELL)
        with pytest.raises(ConstraintViolation):
            call(world, SELL, "UPDATE inventory SET quantity = -1")
        assert world.rows(STOCK) == [(4,)]
        assert len(world.changes()) == 1

    def test_a_swallowed_constraint_error_undoes_the_whole_call(self, world: World):
        def work() -> str:
            world.rows(SELL)
            with pytest.raises(ConstraintViolation):
                world.rows("UPDATE inventory SET quantity = -1")
            return "all is well"

        with pytest.raises(ConstraintViolation, match="CHECK constraint failed"):
            world.atomic(work)
        assert_untouched(world)

    def test_a_call_is_over_at_its_first_failed_statement(self, world: World):
        def work() -> None:
            with pytest.raises(StoreError, match="no such table"):
                world.rows("SELECT * FROM missing")
            with pytest.raises(StoreError, match="no such table"):
                world.rows(STOCK)

        with pytest.raises(StoreError, match="no such table"):
            world.atomic(work)

    def test_a_failed_read_outside_a_call_does_not_stop_the_next_call(self, world: World):
        with pytest.raises(StoreError):
            world.rows("SELECT * FROM missing")
        assert call(world, SELL)

    def test_a_statement_that_fails_after_some_rows_leaves_none_of_them(self, world: World):
        # The first customer's row is written before the second one's email is found taken.
        with pytest.raises(ConstraintViolation):
            call(world, "UPDATE OR FAIL customers SET email = 'one@shop.example'")
        assert_untouched(world)

    @pytest.mark.parametrize("value", [object(), 2**63, "\ud800"])
    def test_a_value_that_the_store_cannot_hold_is_a_store_error(self, world: World, value: object):
        with pytest.raises(StoreError):
            write(world, "UPDATE settings SET value = ?", value)
        assert_untouched(world)

    def test_text_that_is_no_unicode_is_refused(self, world: World):
        with pytest.raises(StoreError):
            call(world, "UPDATE settings SET value = CAST(x'ff' AS TEXT)")
        assert_untouched(world)

    def test_a_call_inside_a_call_is_refused_and_undone_with_it(self, world: World):
        def work() -> None:
            world.rows(SELL)
            world.atomic(lambda: None)

        with pytest.raises(AssertionError, match="stands alone"):
            world.atomic(work)
        assert_untouched(world)

    def test_a_call_may_use_another_world_though_every_slot_is_taken(self):
        engine = Engine(slots_max=1)
        outer, inner = open_world(engine=engine), open_world(engine=engine)

        def work() -> None:
            outer.rows(SELL)
            call(inner, SELL, SELL)
            outer.rows(SELL)
            outer.rows(SELL)

        outer.atomic(work)
        assert (outer.rows(STOCK), inner.rows(STOCK)) == ([(2,)], [(3,)])

    def test_an_error_names_its_statement(self, world: World):
        with pytest.raises(StoreError, match=r"no such table: missing \(in: SELECT \* FROM"):
            world.rows("SELECT *\n  FROM missing")


class TestWhatAToolMayNot:
    @pytest.mark.parametrize(
        "sql",
        [
            "COMMIT",
            "END",
            "ROLLBACK",
            "BEGIN",
            "SAVEPOINT mine",
            "RELEASE call",
            "ROLLBACK TO call",
            "SELECT 1; COMMIT",
            "SELECT 1; ROLLBACK TO call",
            "SELECT 1; RELEASE call; SELECT 2",
            "PRAGMA foreign_keys = OFF",
            "PRAGMA user_version",
            "SELECT * FROM pragma_table_info('orders')",
            "ATTACH ':memory:' AS mine",
            "DETACH before",
            "VACUUM",
            "ANALYZE",
            "REINDEX",
            "CREATE TABLE mine (x)",
            "CREATE TEMP TABLE mine (x)",
            "CREATE VIEW mine AS SELECT 1",
            "CREATE TRIGGER mine AFTER UPDATE ON inventory BEGIN SELECT 1; END",
            "CREATE INDEX mine ON orders (status)",
            "CREATE VIRTUAL TABLE mine USING fts5 (x)",
            "ALTER TABLE orders RENAME TO mine",
            "DROP TABLE settings",
            "DROP TRIGGER refunds_within_capture_insert",
            "DROP INDEX orders_by_customer",
            "UPDATE sqlite_master SET sql = ''",
            "SELECT sql FROM sqlite_master",
            "SELECT pageno FROM dbstat",
            "INSERT INTO env_listed VALUES (1, 'V1')",
            "UPDATE env_call SET ok = 1",
            "DELETE FROM env_change",
            "SELECT COUNT(*) FROM env_call",
            "UPDATE before.inventory SET quantity = 9",
            "INSERT INTO before.settings VALUES ('a', '1')",
            "DELETE FROM before.settings",
            "SELECT random()",
            "SELECT hex(RandomBlob(4))",
            "SELECT CURRENT_TIMESTAMP",
            "SELECT current_date",
            "SELECT CURRENT_TIME",
            "SELECT date('now')",
            "SELECT time('now')",
            "SELECT datetime('now')",
            "SELECT julianday('now')",
            "SELECT unixepoch()",
            "SELECT strftime('%s', 'now')",
            "SELECT timediff('now', 'now')",
            "SELECT changes()",
            "SELECT total_changes()",
            "SELECT last_insert_rowid()",
            "SELECT sqlite_version()",
            "SELECT sqlite_source_id()",
            "SELECT sqlite_compileoption_get(0)",
            "SELECT sqlite_log(1, 'x')",
            "SELECT load_extension('x')",
            "SELECT * FROM orders ORDER BY random()",
            "UPDATE settings SET value = datetime('now')",
            "SELECT (SELECT COUNT(*) FROM (SELECT random()))",
        ],
    )
    def test_a_statement_outside_a_tools_reach_undoes_the_call(self, world: World, sql: str):
        with pytest.raises(StoreError):
            call(world, SELL, sql)
        assert_untouched(world)
        assert call(world, SELL)
        assert world.rows("SELECT quantity FROM before.inventory") == [(5,)]

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT b.quantity FROM before.inventory b JOIN inventory i ON i.sku = b.sku",
            "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5)"
            " SELECT MAX(x) FROM n",
            "SELECT COUNT(*) + 4 FROM policies",
            "SELECT value + 4 FROM json_each('[1]')",
            "SELECT length(upper('moss') || 'y')",
        ],
    )
    def test_what_a_tool_needs_is_allowed(self, world: World, sql: str):
        assert world.atomic(lambda: world.rows(sql)).value == [(5,)]

    def test_the_log_is_read_by_checks_and_not_by_tools(self, world: World):
        world.append([("env_listed", (1, "V1"))])
        world.settle()
        assert world.rows("SELECT sku FROM env_listed") == [("V1",)]
        with pytest.raises(StoreError, match="prohibited"):
            call(world, "SELECT step FROM env_listed")


class TestALostTransaction:
    LOSE = "INSERT OR ROLLBACK INTO settings VALUES ('currency', 'EUR')"

    def test_the_world_is_rebuilt_from_its_log(self, world: World):
        call(world, SELL)
        world.append([("env_listed", (1, "V1"))])
        world.settle()
        with pytest.raises(ConstraintViolation):
            call(world, SELL, self.LOSE)
        assert world.rows(STOCK) == [(4,)]
        world.settle()
        assert world.rows("SELECT * FROM env_listed") == [(1, "V1")]
        call(world, SELL)
        assert world.rows(STOCK) == [(3,)]

    @pytest.mark.parametrize("base", [Base("empty", {}), Base("shop", SHOP)])
    def test_what_a_tool_writes_after_it_reaches_no_other_world(self, base: Base):
        engine = Engine(slots_max=1)
        template = Template(SHOP, base)
        world = engine.open(template)

        def work() -> None:
            for sql in (self.LOSE, "INSERT INTO settings VALUES ('leak', '1')", SELL):
                with pytest.raises(StoreError):
                    world.rows(sql)

        with pytest.raises(ConstraintViolation):
            world.atomic(work)
        other = engine.open(Template({**SHOP, "products": []} if base.rows else {}, base))
        assert ("leak", "1") not in other.snapshot()["settings"]
        assert_untouched(world)


class TestReset:
    def test_it_restores_rows_digest_and_log(self, world: World):
        call(world, SELL, "DELETE FROM returns", "UPDATE customers SET name = 'Eve'")
        world.append([("env_listed", (1, "V1"))])
        world.settle()
        assert world.digest() != world.template.id
        world.reset()
        assert_untouched(world)
        assert [str(change) for change in call(world, "DELETE FROM settings")] == [
            str(change) for change in world.changes()
        ]
        world.reset()
        assert world.log == ()
        world.settle()
        assert world.rows("SELECT sku FROM env_listed UNION SELECT row_key FROM env_change") == []

    def test_a_fresh_template_and_a_repeated_one_start_alike(self):
        engine = Engine(slots_max=1)
        template = Template(SHOP)
        first = engine.open(template)
        call(first, SELL)
        repeated = engine.open(template)
        fresh = engine.open(Template(SHOP))
        assert repeated.snapshot() == fresh.snapshot() == open_world().snapshot()

    def test_a_template_does_not_leak_into_the_next_one_of_its_base(self):
        engine, base = Engine(slots_max=1), Base("shop", SHOP)
        changed = engine.open(Template({"settings": [("currency", "EUR"), ("a", "1")]}, base))
        assert changed.rows("SELECT * FROM settings") == [("a", "1"), ("currency", "EUR")]
        plain = engine.open(Template({}, base))
        assert plain.rows("SELECT * FROM settings") == [("currency", "USD")]
        assert plain.rows("SELECT * FROM before.settings") == [("currency", "USD")]


class TestManyWorldsOverFewSlots:
    @pytest.mark.parametrize("slots_max", [1, 2, 16])
    def test_interleaved_worlds_keep_apart(self, slots_max: int):
        engine, base = Engine(slots_max), Base("shop", SHOP)
        templates = [Template({"policies": [("number", n, "")]}, base) for n in range(3)]
        worlds = [engine.open(templates[n % 3]) for n in range(9)]
        for turn in range(4):
            for number, world in enumerate(worlds):
                write(world, "INSERT INTO settings VALUES (?, ?)", f"{number}/{turn}", str(turn))
        for number, world in enumerate(worlds):
            own = [(f"{number}/{turn}", str(turn)) for turn in range(4)]
            assert world.rows("SELECT * FROM settings") == [*own, ("currency", "USD")]
            assert world.rows("SELECT value FROM policies WHERE name = 'number'") == [(number % 3,)]

    def test_a_world_keeps_its_slot_while_there_is_room(self):
        engine = Engine(slots_max=2)
        worlds = [open_world(engine=engine) for _ in range(2)]
        slots = [world.seat() for world in worlds]
        assert slots[0] is not slots[1]
        assert [world.seat() for world in worlds] == slots

    def test_the_world_seated_longest_ago_gives_way(self):
        engine, template = Engine(slots_max=2), Template(SHOP)
        first, second, third = (engine.open(template) for _ in range(3))
        slot = first.seat()
        second.seat()
        assert third.seat() is slot
        assert first.seat() is not slot

    def test_a_closed_engine_seats_its_worlds_anew(self):
        engine = Engine(slots_max=2)
        world = open_world(engine=engine)
        call(world, SELL)
        engine.close()
        assert world.rows(STOCK) == [(4,)]

    def test_a_template_that_does_not_load_spoils_no_other(self):
        engine = Engine(slots_max=1)
        world = open_world(engine=engine)
        call(world, SELL)
        orphan = engine.open(Template({"settings": [("a", "1")], "returns": [
            ("RET1", "O8", "I8", "open", "", "k", TIME)]}))  # fmt: skip
        with pytest.raises(
            ConstraintViolation, match=r"a fixture's rows do not fit before\.returns"
        ):
            orphan.snapshot()
        assert world.rows(STOCK) == [(4,)]
        assert world.rows("SELECT name FROM settings") == [("currency",)]


SWAP_EMAILS = (
    "UPDATE customers SET email = 'held' WHERE id = 'C1'",
    "UPDATE customers SET email = 'ada@shop.example' WHERE id = 'C2'",
    "UPDATE customers SET email = 'ben@shop.example' WHERE id = 'C1'",
)
HISTORIES = {
    "rows that traded a unique value": SWAP_EMAILS,
    "a row that took the unique value of a removed one": (
        "DELETE FROM returns WHERE id = 'RET1'",
        f"INSERT INTO returns VALUES ('RET9', 'O1', 'I1', 'open', '', 'ret-1', '{TIME}')",
    ),
    "a row that took the unique value of a changed one": (
        "UPDATE customers SET email = 'new' WHERE id = 'C1'",
        "INSERT INTO customers VALUES ('C0', 'N', 'ada@shop.example', '', '', '')",
    ),
    "a capture that went up for a further refund": (
        "UPDATE payments SET captured_cents = 5000 WHERE id = 'PAY1'",
        f"INSERT INTO refunds VALUES ('R1', 'O1', 'PAY1', 5000, 'pending', '', 'k', '{TIME}')",
    ),
    "a new parent with its child, and an old pair removed": (
        "DELETE FROM inventory",
        "INSERT INTO products VALUES ('P0', 'N', 'n', '')",
        "INSERT INTO variants VALUES ('V0', 'P0', 'N', '', '', 1)",
        "INSERT INTO inventory VALUES ('V0', 1, 0, 0, 0, 0)",
    ),
    "parents that were removed with their children": (
        "DELETE FROM shipments WHERE id = 'S1'",
        "DELETE FROM returns",
        "DELETE FROM order_items",
        "DELETE FROM payments",
        "DELETE FROM shipments",
        "DELETE FROM orders",
    ),
    "a row whose key changed": ("UPDATE settings SET name = 'money'",),
    "a parent whose composite key changed under a new child": (
        "DELETE FROM returns",
        "UPDATE order_items SET order_id = 'O2' WHERE id = 'I1'",
        f"INSERT INTO returns VALUES ('RET0', 'O2', 'I1', 'open', '', 'k', '{TIME}')",
    ),
    "a row that REPLACE removed for its unique value": (
        "DELETE FROM orders WHERE id = 'none'",
        "INSERT OR REPLACE INTO returns VALUES ('RET9', 'O1', 'I1', 'open', '', 'ret-2', '')",
    ),
}


class TestSwapIn:
    @pytest.mark.parametrize("what", HISTORIES)
    def test_a_world_comes_back_with(self, world: World, what: str):
        call(world, *HISTORIES[what])
        changes, snapshot, digest = world.changes(), world.snapshot(), world.digest()
        assert changes
        world.park()
        assert world.snapshot() == snapshot
        assert (world.changes(), world.digest()) == (changes, digest)
        again = open_world()
        call(again, *HISTORIES[what])
        assert again.snapshot() == snapshot

    @pytest.mark.parametrize(
        ("statements", "whole"), [(SWAP_EMAILS, 1), ((SELL, "DELETE FROM returns"), 0)]
    )
    def test_rows_are_put_back_whole_only_where_they_must(
        self,
        world: World,
        monkeypatch: pytest.MonkeyPatch,
        statements: tuple[str, ...],
        whole: int,
    ):
        calls: list[object] = []
        as_images: Callable[..., None] = Slot._apply_as_images

        def counted(slot: Slot, changes: tuple[RowChange, ...]) -> None:
            calls.append(changes)
            as_images(slot, changes)

        monkeypatch.setattr(Slot, "_apply_as_images", counted)
        call(world, *statements)
        snapshot = world.snapshot()
        world.park()
        assert world.snapshot() == snapshot
        assert len(calls) == whole

    def test_foreign_keys_are_in_force_after_rows_were_put_back_whole(self, world: World):
        call(world, *SWAP_EMAILS)
        world.park()
        with pytest.raises(ConstraintViolation, match="FOREIGN KEY"):
            call(world, "DELETE FROM customers WHERE id = 'C1'")

    def test_the_log_comes_back_once(self, world: World):
        world.append([("env_listed", (1, "V1"))])
        for _ in range(2):
            world.settle()
            world.park()
        world.append([("env_listed", (2, "V1"))])
        world.settle()
        assert world.rows("SELECT * FROM env_listed") == [(1, "V1"), (2, "V1")]


class TestNetChanges:
    def changed(self, world: World, *statements: str) -> list[str]:
        call(world, *statements)
        return [str(change) for change in world.changes()]

    def test_a_row_updated_back_to_its_old_value_has_not_changed(self, world: World):
        back = "UPDATE inventory SET quantity = quantity + 1"
        assert self.changed(world, SELL, back) == []
        assert self.changed(world, SELL) == ["change inventory V1"]
        assert self.changed(world, back) == []
        assert_untouched(world)

    def test_a_row_removed_and_inserted_again_has_not_changed(self, world: World):
        again = "INSERT INTO settings VALUES ('currency', 'USD')"
        assert self.changed(world, "DELETE FROM settings", again) == []
        assert self.changed(world, "DELETE FROM settings") == ["remove settings currency"]
        assert self.changed(world, again) == []

    def test_a_row_removed_and_inserted_otherwise_is_one_change(self, world: World):
        other = "INSERT INTO settings VALUES ('currency', 'EUR')"
        assert self.changed(world, "DELETE FROM settings", other) == ["change settings currency"]

    def test_a_row_added_and_removed_again_leaves_no_trace(self, world: World):
        added = "INSERT INTO settings VALUES ('a', '1')"
        assert self.changed(world, added) == ["add settings a"]
        assert self.changed(world, "DELETE FROM settings WHERE name = 'a'") == []

    def test_a_changed_key_is_a_row_removed_and_one_added(self, world: World):
        assert self.changed(world, "UPDATE settings SET name = 'money'") == [
            "remove settings currency",
            "add settings money",
        ]
        assert self.changed(world, "UPDATE settings SET name = 'currency'") == []

    def test_replace_is_one_change_of_the_row_and_the_removal_of_what_it_clashed_with(
        self, world: World
    ):
        replace = "INSERT OR REPLACE INTO returns VALUES ('RET1','O1','I1','closed','','ret-2','')"
        assert self.changed(world, replace) == ["change returns RET1", "remove returns RET2"]

    def test_replace_by_the_same_row_is_no_change(self, world: World):
        same = "INSERT OR REPLACE INTO settings VALUES ('currency', 'USD')"
        assert self.changed(world, same) == []

    @pytest.mark.parametrize("action", ["NOTHING", "UPDATE SET value = excluded.value"])
    def test_an_upsert_that_finds_its_row_is_no_change(self, world: World, action: str):
        upsert = f"INSERT INTO settings VALUES ('currency', 'USD') ON CONFLICT DO {action}"
        assert self.changed(world, upsert) == []

    def test_a_call_reports_its_own_changes_and_the_world_the_net_ones(self, world: World):
        call(world, SELL)
        (second,) = call(world, SELL)
        (net,) = world.changes()
        assert second.before is not None
        assert net.before is not None
        assert (second.before[1], net.before[1]) == (4, 5)
        assert second.after == net.after == ("V1", 3, 2, 6, 1, 900)

    def test_changes_stand_in_the_schemas_order_then_by_key(self, world: World):
        insert(world, "messages", ("M2", "T1", "store", "b", TIME))
        insert(world, "refunds", refund("R2", 1))
        insert(world, "refunds", refund("R1", 1))
        insert(world, "messages", ("M1", "T1", "store", "a", TIME))
        insert(world, "shipment_items", ("S1", "I2", 1))
        insert(world, "shipment_items", ("S1", "I1", 1))
        assert [str(change) for change in world.changes()] == [
            "add shipment_items S1/I1", "add shipment_items S1/I2", "add refunds R1",
            "add refunds R2", "add messages M1", "add messages M2",
        ]  # fmt: skip

    def test_a_change_is_shown_by_column(self, world: World):
        (change,) = call(world, "DELETE FROM settings")
        assert change.operation == "remove"
        assert change.to_dict() == {
            "table": "settings",
            "key": ["currency"],
            "before": {"name": "currency", "value": "USD"},
            "after": None,
        }

    def test_the_net_changes_are_rows_for_checks(self, world: World):
        call(world, SELL, "DELETE FROM settings", "INSERT INTO shipment_items VALUES ('S1','I1',1)")
        world.settle()
        found = "SELECT * FROM env_change ORDER BY table_name"
        assert world.rows(found) == [
            ("inventory", "V1", "change"),
            ("settings", "currency", "remove"),
            ("shipment_items", "S1/I1", "add"),
        ]
        call(world, "UPDATE inventory SET quantity = 5")
        world.settle()
        assert [name for name, _, _ in world.rows(found)] == ["settings", "shipment_items"]


class TestRecords:
    def test_rows_are_read_by_column_name(self, world: World):
        sql = "SELECT name AS setting, value FROM settings WHERE name = ?"
        for _ in range(2):
            assert world.records(sql, ("currency",)) == [{"setting": "currency", "value": "USD"}]
        assert world.records(sql, ("none",)) == []

    def test_values_are_bound_by_name(self, world: World):
        sql = "SELECT value FROM settings WHERE name = :name"
        assert world.records(sql, {"name": "currency"}) == [{"value": "USD"}]

    def test_a_statement_without_columns_has_no_records(self, world: World):
        assert world.atomic(lambda: world.records(SELL)).value == []

    def test_columns_are_known_even_when_the_first_run_found_nothing(self, world: World):
        sql = "SELECT name FROM settings WHERE value = 'EUR'"
        assert world.records(sql) == []
        call(world, "UPDATE settings SET value = 'EUR'")
        assert world.records(sql) == [{"name": "currency"}]
