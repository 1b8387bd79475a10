"""The store's one big promise: a world is its log, wherever and however often it was parked."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskgym.errors import StoreError
from deskgym.store import Base, Engine, Template, World
from deskgym.store.change import Row
from deskgym.store.schema import STORE_TABLES, TABLES
from tests.store.shop import SHOP, TIME

Statement = tuple[str, tuple[object, ...]]


class Op(NamedTuple):
    """What is done to which world: a call with its statements, or another kind of event."""

    world: int
    kind: str
    statements: tuple[Statement, ...] = ()


class Changed(Exception):
    """A tool's own error, after its statements."""


def statement(sql: str, *values: st.SearchStrategy[Any]) -> st.SearchStrategy[Statement]:
    return st.tuples(st.just(sql), st.tuples(*values))


def one(*values: object) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


NAME = one("currency", "a", "b")
CUSTOMER = one("C1", "C2", "C3")
EMAIL = one("ada@shop.example", "ben@shop.example", "x@shop.example")
REFUND = one("R1", "R2", "R3")
AMOUNT = one(0, 1, 2400, 2600, 4800, 4801)
STATUS = one("pending", "succeeded", "failed", "lost")
PAYMENT = one("PAY1", "PAY2", "PAY3")
ORDER = one("O1", "O2")
ITEM = one("I1", "I2", "I3")
RETURN = one("RET1", "RET2", "RET3")
KEY = one("k1", "k2", "k3")
PIECES = one(-1, 0, 1, 2, 3)

STATEMENTS = st.one_of(
    statement("INSERT INTO settings VALUES (?, ?)", NAME, KEY),
    statement("INSERT OR REPLACE INTO settings VALUES (?, ?)", NAME, KEY),
    statement("INSERT OR IGNORE INTO settings VALUES (?, ?)", NAME, KEY),
    statement("INSERT OR ROLLBACK INTO settings VALUES (?, ?)", NAME, KEY),
    statement("INSERT OR FAIL INTO settings SELECT id, '' FROM customers UNION SELECT ?, ''", NAME),
    statement("INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", NAME, KEY),
    statement("INSERT INTO settings VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value",
              NAME, KEY),
    statement("UPDATE settings SET value = ? WHERE name = ?", KEY, NAME),
    statement("UPDATE settings SET name = ? WHERE name = ?", NAME, NAME),
    statement("UPDATE settings SET value = 'USD'"),
    statement("DELETE FROM settings WHERE name = ?", NAME),
    statement("DELETE FROM settings"),
    statement("INSERT INTO customers VALUES (?, 'N', ?, '', '', '')", CUSTOMER, EMAIL),
    statement("INSERT OR REPLACE INTO customers VALUES (?, 'N', ?, '', '', '')", CUSTOMER, EMAIL),
    statement("UPDATE customers SET email = ? WHERE id = ?", EMAIL, CUSTOMER),
    statement("UPDATE OR REPLACE customers SET email = ? WHERE id = ?", EMAIL, CUSTOMER),
    statement("UPDATE customers SET id = ? WHERE id = ?", CUSTOMER, CUSTOMER),
    statement("UPDATE customers SET email = email || '!'"),
    statement("DELETE FROM customers WHERE id = ?", CUSTOMER),
    statement("UPDATE inventory SET quantity = quantity + ?", PIECES),
    statement("UPDATE OR IGNORE inventory SET quantity = quantity - 3"),
    statement("INSERT INTO payments VALUES (?, ?, 'captured', 5000, ?, ?, '')",
              PAYMENT, ORDER, AMOUNT, KEY),
    statement("UPDATE payments SET captured_cents = ? WHERE id = ?", AMOUNT, PAYMENT),
    statement("UPDATE payments SET processor_reference = ? WHERE id = ?", KEY, PAYMENT),
    statement("UPDATE payments SET id = ? WHERE id = ?", PAYMENT, PAYMENT),
    statement("DELETE FROM payments WHERE id = ?", PAYMENT),
    statement(f"INSERT INTO refunds VALUES (?, ?, ?, ?, ?, '', ?, '{TIME}')",
              REFUND, ORDER, PAYMENT, AMOUNT, STATUS, KEY),
    statement(f"INSERT OR REPLACE INTO refunds VALUES (?, ?, ?, ?, ?, '', ?, '{TIME}')",
              REFUND, ORDER, PAYMENT, AMOUNT, STATUS, KEY),
    statement("UPDATE refunds SET status = ? WHERE id = ?", STATUS, REFUND),
    statement("UPDATE refunds SET amount_cents = ?, status = ?", AMOUNT, STATUS),
    statement("UPDATE refunds SET idempotency_key = ? WHERE id = ?", KEY, REFUND),
    statement("UPDATE refunds SET id = ? WHERE id = ?", REFUND, REFUND),
    statement("DELETE FROM refunds WHERE id = ?", REFUND),
    statement("INSERT INTO order_items VALUES (?, ?, 'V1', ?, 0, 0)", ITEM, ORDER, PIECES),
    statement("DELETE FROM order_items WHERE id = ?", ITEM),
    statement("INSERT INTO returns VALUES (?, ?, ?, 'open', '', ?, '')", RETURN, ORDER, ITEM, KEY),
    statement("UPDATE returns SET status = 'open' WHERE id = ?", RETURN),
    statement("UPDATE returns SET status = 'closed'"),
    statement("DELETE FROM returns WHERE id = ?", RETURN),
    statement("UPDATE returns SET id = ? WHERE id = ?", RETURN, RETURN),
    statement("INSERT INTO replacements VALUES (?, ?, ?, ?, 'V1', ?, 'created', ?, '')",
              KEY, ORDER, ITEM, RETURN, PIECES, KEY),
    statement("UPDATE replacements SET quantity = ?", PIECES),
    statement("DELETE FROM replacements"),
    statement("INSERT INTO shipment_items VALUES (?, ?, ?)", one("S1", "S2"), ITEM, PIECES),
    statement("UPDATE shipment_items SET item_id = ?", ITEM),
    statement("DELETE FROM shipment_items"),
    statement("SELECT * FROM customers ORDER BY id"),
    statement("UPDATE nothing SET x = 1"),
    statement("SELECT 1; COMMIT"),
)  # fmt: skip

# Two rows trade a unique value within one call, which no order of single statements can replay.
TRADES = one(
    ("customers", "email", "C1", "C2"),
    ("payments", "processor_reference", "PAY1", "PAY2"),
    ("refunds", "idempotency_key", "R1", "R2"),
).map(
    lambda trade: tuple(
        (f"UPDATE {trade[0]} SET {trade[1]} = {value} WHERE id = ?", (key,))
        for value, key in (
            ("'held'", trade[2]),
            (f"(SELECT b.{trade[1]} FROM before.{trade[0]} b WHERE b.id = '{trade[2]}')", trade[3]),
            (f"(SELECT b.{trade[1]} FROM before.{trade[0]} b WHERE b.id = '{trade[3]}')", trade[2]),
        )
    )
)
CALLS = st.one_of(st.lists(STATEMENTS, min_size=1, max_size=4).map(tuple), TRADES)
WORLDS = st.integers(0, 2)
CALL_OPS = st.builds(Op, WORLDS, one("keep", "keep", "raise", "swallow", "interrupt"), CALLS)
OPS = st.one_of(
    CALL_OPS,
    CALL_OPS,
    CALL_OPS,
    st.builds(Op, WORLDS, one("park", "park", "settle", "reset", "close engine")),
)

REFUNDS = {
    "refunds": [
        ("R1", "O1", "PAY1", 2400, "succeeded", "", "k1", TIME),
        ("R2", "O1", "PAY1", 2400, "pending", "", "k2", TIME),
    ]
}
BASE = Base("shop", SHOP)
TEMPLATES = (
    Template(SHOP),
    Template({**SHOP, **REFUNDS}),
    Template({**REFUNDS, "settings": [("currency", "EUR")]}, BASE),
)


def call(world: World, op: Op) -> object:
    """What the call came to: its rows and changes, or how it failed."""

    def work() -> list[list[Row]]:
        found: list[list[Row]] = []
        for sql, bindings in op.statements:
            try:
                found.append(world.rows(sql, bindings))
            except StoreError:
                if op.kind != "swallow":
                    raise
        if op.kind in ("raise", "interrupt"):
            raise Changed if op.kind == "raise" else KeyboardInterrupt
        return found

    try:
        return world.atomic(work)
    except (StoreError, Changed, KeyboardInterrupt) as error:
        return type(error), str(error)


def perform(engine: Engine, world: World, op: Op) -> object:
    other: dict[str, Callable[[], None]] = {
        "park": world.park, "settle": world.settle, "reset": world.reset,
        "close engine": engine.close,
    }  # fmt: skip
    return other[op.kind]() if op.kind in other else call(world, op)


def full_diff(world: World) -> dict[Any, Any]:
    """Every row that differs between `before` and the world, found without its log."""
    found: dict[Any, list[Row | None]] = {}
    for name in STORE_TABLES:
        for place, (here, there) in enumerate((("before", "main"), ("main", "before"))):
            sql = f"SELECT * FROM {here}.{name} EXCEPT SELECT * FROM {there}.{name}"
            for row in world.rows(sql):
                found.setdefault((name, TABLES[name].key_of(row)), [None, None])[place] = row
    return {key: tuple(images) for key, images in found.items()}


def full_digest(world: World) -> str:
    rows = [(name, *row) for name, table in world.snapshot().items() for row in table]
    total = sum(int(sha256(orjson.dumps(row)).hexdigest(), 16) for row in rows)
    return f"{total % 2**256:064x}"


def assert_is_its_log(world: World) -> None:
    logged = {(name, key): images for name, key, *images in world.changes()}
    assert {key: tuple(images) for key, images in logged.items()} == full_diff(world)
    assert world.digest() == full_digest(world)


def assert_is_its_twin(world: World, twin: World) -> None:
    assert world.changes() == twin.changes()
    assert world.snapshot() == twin.snapshot()


def run(ops: list[Op], slots_max: int) -> None:
    """Three worlds take turns in the slots; each one's twin has an engine of its own."""
    engine = Engine(slots_max)
    engines = [Engine(1) for _ in TEMPLATES]
    worlds = [engine.open(template) for template in TEMPLATES]
    twins = [own.open(template) for own, template in zip(engines, TEMPLATES, strict=True)]
    try:
        for op in ops:
            world, twin = worlds[op.world], twins[op.world]
            outcome = perform(engine, world, op)
            if op.kind not in ("park", "close engine"):
                assert outcome == perform(engines[op.world], twin, op)
            assert_is_its_log(world)
        for world, twin in zip(worlds, twins, strict=True):
            assert_is_its_log(world)
            assert_is_its_twin(world, twin)
    finally:
        for used in (engine, *engines):
            used.close()


@given(ops=st.lists(OPS, min_size=1, max_size=14), slots_max=one(1, 2))
@settings(max_examples=25)
def test_a_world_is_its_log_whatever_was_done_and_wherever_it_was_parked(
    ops: list[Op], slots_max: int
):
    run(ops, slots_max)


@pytest.mark.long
@given(ops=st.lists(OPS, min_size=1, max_size=60), slots_max=one(1, 2))
@settings(max_examples=1_000)
def test_a_world_is_its_log_through_long_histories(ops: list[Op], slots_max: int):
    run(ops, slots_max)


def test_a_world_is_its_log_after_a_trade_a_renamed_row_and_a_lost_transaction():
    trade = Op(1, "keep", (
        ("UPDATE refunds SET idempotency_key = 'held' WHERE id = 'R1'", ()),
        ("UPDATE refunds SET idempotency_key = 'k1' WHERE id = 'R2'", ()),
        ("UPDATE refunds SET idempotency_key = 'k2' WHERE id = 'R1'", ()),
    ))  # fmt: skip
    renamed = Op(1, "keep", (("UPDATE refunds SET id = 'R3' WHERE id = 'R1'", ()),))
    lost = Op(1, "swallow", (
        ("UPDATE inventory SET quantity = 1", ()),
        ("INSERT OR ROLLBACK INTO settings VALUES ('currency', 'k1')", ()),
        ("INSERT INTO settings VALUES ('a', 'k1')", ()),
    ))  # fmt: skip
    ops = [trade, Op(1, "park"), renamed, Op(0, "settle"), lost, Op(2, "reset"), Op(1, "park")]
    run(ops, 1)
