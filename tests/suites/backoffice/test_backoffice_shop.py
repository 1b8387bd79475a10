import pytest

from deskgym import Environment, make
from deskgym.store import Template, default_engine
from deskgym.store.shop import LARGE, SMALL, Size, shop
from deskgym.suites.backoffice import suite

WORLDS = [(task.name, seed) for task in suite.tasks for seed in range(3)]

# Each query returns what is inconsistent.
CONSISTENT = {
    "an order's lines add up to its total": """
        SELECT o.id FROM orders o JOIN order_items i ON i.order_id = o.id
        GROUP BY o.id, o.total_cents HAVING SUM(i.paid_cents) <> o.total_cents""",
    "total is price less discount plus tax": """
        SELECT o.id FROM orders o JOIN order_items i ON i.order_id = o.id
        GROUP BY o.id, o.total_cents, o.discount_cents, o.tax_cents
        HAVING SUM(i.quantity * i.unit_price_cents) - o.discount_cents + o.tax_cents
          <> o.total_cents""",
    "lines have the catalogue's prices": """
        SELECT i.id FROM order_items i JOIN variants v ON v.sku = i.sku
        WHERE i.unit_price_cents <> v.price_cents""",
    "captures are the total, or the total twice": """
        SELECT o.id FROM orders o JOIN payments p ON p.order_id = o.id
        GROUP BY o.id, o.total_cents, o.status
        HAVING SUM(p.captured_cents) NOT IN (o.total_cents, 2 * o.total_cents)
          AND o.status <> 'pending'""",
    "every order has lines and a payment": """
        SELECT o.id FROM orders o WHERE NOT EXISTS (
          SELECT 1 FROM order_items i WHERE i.order_id = o.id)
        OR NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id)""",
    "a parcel is packed, and leaves after the order and arrives after that": """
        SELECT s.id FROM shipments s JOIN orders o ON o.id = s.order_id
        WHERE s.shipped_at <= o.placed_at OR s.delivered_at <= s.shipped_at
        OR s.expected_at <= s.shipped_at
        OR NOT EXISTS (SELECT 1 FROM shipment_items e WHERE e.shipment_id = s.id)""",
    "a delivered order has a delivered parcel, a waiting one none that left": """
        SELECT o.id FROM orders o LEFT JOIN shipments s ON s.order_id = o.id
        WHERE (o.status = 'delivered') <> (COALESCE(s.status, '') = 'delivered')
        OR (o.status = 'shipped') <> (COALESCE(s.status, '') = 'in_transit')""",
    "numbers follow dates": """
        SELECT id FROM (SELECT id, placed_at, LAG(placed_at) OVER (ORDER BY id) AS earlier
          FROM orders) WHERE earlier >= placed_at""",
    "nothing is later than now": """
        SELECT 'order' FROM orders WHERE placed_at > :now
        UNION ALL SELECT 'shipped' FROM shipments WHERE shipped_at > :now
        UNION ALL SELECT 'delivered' FROM shipments WHERE delivered_at > :now
        UNION ALL SELECT 'message' FROM messages WHERE sent_at > :now
        UNION ALL SELECT 'thread' FROM threads WHERE opened_at > :now
        UNION ALL SELECT 'purchase' FROM purchase_orders WHERE created_at > :now""",
    "no customer came after their order": """
        SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id
        WHERE c.created_at > :now""",
    "a thread's first message opened it": """
        SELECT t.id FROM threads t JOIN messages m ON m.thread_id = t.id
        GROUP BY t.id, t.opened_at HAVING MIN(m.sent_at) <> t.opened_at""",
    "a cancelled order got its money back": """
        SELECT o.id FROM orders o JOIN payments p ON p.order_id = o.id
        LEFT JOIN refunds r ON r.payment_id = p.id
        WHERE o.status = 'cancelled' AND COALESCE(r.amount_cents, 0) <> p.captured_cents""",
    "the budget is what was spent": """
        SELECT b.id FROM budgets b WHERE b.spent_cents <> (
          SELECT SUM(p.cost_cents) FROM purchase_orders p WHERE p.budget_id = b.id
          AND p.status <> 'cancelled')""",
    "the stock's targets are above its thresholds": """
        SELECT sku FROM inventory WHERE target <= threshold""",
    "priorities are unique": """
        SELECT priority FROM inventory GROUP BY priority HAVING COUNT(*) > 1""",
    "no two customers share a name": """
        SELECT name FROM customers GROUP BY name HAVING COUNT(*) > 1""",
}


def inconsistent(environment: Environment) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for name, sql in CONSISTENT.items():
        bindings = {"now": environment.fixture.now} if ":now" in sql else {}
        rows = environment.world.rows(sql, bindings)
        if rows:
            found[name] = list(rows[:3])
    return found


@pytest.mark.parametrize(("task", "seed"), WORLDS)
def test_a_world_is_consistent(task: str, seed: int):
    with make(f"backoffice/{task}") as desk:
        desk.reset(seed)
        assert inconsistent(desk) == {}


@pytest.mark.long
@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_two_hundred_worlds_are_consistent(task):
    with make(f"backoffice/{task.name}") as desk:
        for seed in range(200):
            desk.reset(seed)
            assert inconsistent(desk) == {}, seed


def test_the_large_shop_is_consistent():
    with make("backoffice/missing-parcel", large=1) as desk:
        desk.reset(1)
        assert inconsistent(desk) == {}


@pytest.mark.parametrize(
    ("size", "customers", "orders", "threads"),
    [(SMALL, 40, 120, 30), (LARGE, 2_000, 20_000, 990)],
    ids=["small", "large"],
)
def test_a_shop_is_as_large_as_it_says(size: Size, customers: int, orders: int, threads: int):
    rows = shop(size).rows
    assert len(rows["customers"]) == customers
    assert abs(len(rows["orders"]) - orders) <= 2
    assert len(rows["threads"]) == threads
    assert len(rows["variants"]) == 25
    for name in ("orders", "customers", "threads", "messages", "refunds", "purchase_orders"):
        assert len({len(str(row[0])) for row in rows[name]}) == 1, name


def test_the_small_shop_has_orders_of_every_status():
    statuses = {row[2] for row in shop(SMALL).rows["orders"]}
    assert statuses == {
        "pending", "confirmed", "processing", "shipped", "delivered", "cancelled",
    }  # fmt: skip


@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_a_seed_is_the_same_world_again(task):
    values = task.values({})
    first, second = task.fixture(7, values), task.fixture(7, values)
    assert first is not second
    assert first.template.id == second.template.id
    assert first.template.rows == second.template.rows
    assert first.opening == second.opening
    assert first.template.id != task.fixture(8, values).template.id


def test_the_digest_of_the_shop_is_the_one_known_everywhere():
    assert Template({}, shop(SMALL)).id == (
        "f541da8dbefc4e42b253ab6965b2a39f0d9fc879a29b1f2cd453748d7e52d93d"
    )
    task = suite.task("damaged-item")
    assert task.build(0, task.values({})).template.id == (
        "52d18a8c6a6eb75aab9b1f3d51bcd3b3c5754da4d710d57a122c9ae359782f2d"
    )


def test_a_seed_changes_who_writes_what_and_when():
    task = suite.task("damaged-item")
    fixtures = [task.build(seed, task.values({})) for seed in range(12)]
    for table, column in (("customers", 1), ("orders", 5), ("messages", 3)):
        assert len({fixture.template.rows[table][0][column] for fixture in fixtures}) > 8
    assert len({fixture.now for fixture in fixtures}) > 8
    assert len({fixture.template.rows["settings"][1] for fixture in fixtures}) > 2
    assert len({fixture.template.rows["policies"] for fixture in fixtures}) > 5


def test_seeds_share_one_base():
    task = suite.task("damaged-item")
    bases = {id(task.build(seed, task.values({})).template.base) for seed in range(5)}
    assert len(bases) == 1
    assert default_engine() is default_engine()


@pytest.mark.parametrize("large", [0, 1])
@pytest.mark.parametrize("task", [task.name for task in suite.tasks])
def test_nobody_orders_or_writes_before_they_joined_or_of_what_has_not_come(task: str, large: int):
    environment = make(f"backoffice/{task}", large=large)
    with environment:
        for seed in range(2 if large else 12):
            environment.reset(seed)
            assert not environment.world.rows(
                "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id"
                " WHERE o.placed_at < c.created_at"
                " UNION ALL SELECT t.id FROM threads t JOIN customers c ON c.id = t.customer_id"
                " WHERE t.opened_at < c.created_at"
                " UNION ALL SELECT m.id FROM messages m JOIN settings s ON s.name = 'now'"
                " WHERE m.sent_at > s.value"
            )
            if task == "damaged-item":
                assert not environment.world.rows(
                    "SELECT t.id FROM threads t JOIN env_claim k ON k.thread_id = t.id"
                    " JOIN shipments d ON d.order_id = k.order_id"
                    " WHERE t.opened_at <= d.delivered_at"
                )
