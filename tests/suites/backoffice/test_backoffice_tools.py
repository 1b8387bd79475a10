import pytest

from deskgym import Environment, Observation, call, make
from deskgym.suites.backoffice import suite
from deskgym.suites.backoffice.tools.find import PAGE_ROWS, REFUSALS
from tests.suites.backoffice.play import rows, value


@pytest.fixture
def desk():
    with make("backoffice/duplicate-charge") as environment:
        environment.reset(0)
        yield environment


def step(environment: Environment, tool: str, **arguments: object) -> Observation:
    return environment.step(call(tool, **arguments))


def an_order(environment: Environment, status: str) -> str:
    return value(environment, "SELECT MIN(id) FROM orders WHERE status = ? AND id < '1130'", status)


def late_order(environment: Environment, status: str) -> str:
    return value(environment, "SELECT MAX(id) FROM orders WHERE status = ?", status)


# Refusals: each code once, and the world as it was.

REFUSED = {
    "thread_not_found": [
        ("read_thread", {"thread_id": "T-999"}),
        ("reply_to_thread", {"thread_id": "T-999", "body": "hello"}),
        ("set_thread_status", {"thread_id": "T-999", "status": "closed"}),
    ],
    "order_not_found": [
        ("get_order", {"order_id": "9999"}),
        ("issue_refund", {"order_id": "9999", "amount_cents": 1, "reason": "x"}),
        ("create_replacement", {"order_id": "9999", "sku": "MUG-INK", "qty": 1}),
        ("cancel_order", {"order_id": "9999", "reason": "x"}),
        ("update_shipping_address", {"order_id": "9999", "address": "x"}),
    ],
    "customer_not_found": [
        ("get_customer", {"customer_id": "C-999"}),
        ("get_customer", {"email": "nobody@mail.example"}),
    ],
    "customer_not_named": [
        ("get_customer", {}),
        ("get_customer", {"customer_id": "C-101", "email": "ada.abbott@mail.example"}),
    ],
    "sku_not_found": [
        ("check_inventory", {"sku": "MUG-GOLD"}),
        ("create_purchase_order", {"sku": "MUG-GOLD", "qty": 1}),
    ],
    "invalid_time": [
        ("search_orders", {"placed_after": "yesterday"}),
        ("search_orders", {"placed_before": "2028-13-01"}),
    ],
    "budget_exceeded": [("create_purchase_order", {"sku": "BLANKET-FOG", "qty": 10_000})],
}


@pytest.mark.parametrize(
    ("code", "tool", "arguments"),
    [(code, tool, arguments) for code, calls in REFUSED.items() for tool, arguments in calls],
)
def test_a_refusal_has_its_code_and_changes_nothing(desk, code, tool, arguments):
    answer = step(desk, tool, **arguments)
    assert (answer.ok, answer.code) == (False, code)
    assert answer.message == REFUSALS[code]
    assert desk.changes() == ()


def test_a_refund_names_a_payment_of_the_order(desk):
    order = an_order(desk, "delivered")
    answer = step(
        desk, "issue_refund", order_id=order, amount_cents=1, reason="x", payment_id="PAY-1-1"
    )
    assert answer.code == "payment_not_found"


def test_a_hold_has_no_money_to_return(desk):
    order = late_order(desk, "pending")
    answer = step(desk, "issue_refund", order_id=order, amount_cents=1, reason="x")
    assert answer.code == "nothing_captured"


def test_a_refund_is_at_most_what_was_captured(desk):
    order = an_order(desk, "delivered")
    total = value(desk, "SELECT total_cents FROM orders WHERE id = ?", order)
    over = step(desk, "issue_refund", order_id=order, amount_cents=total + 1, reason="x")
    assert over.code == "refund_exceeds_captured"
    assert step(desk, "issue_refund", order_id=order, amount_cents=total, reason="x").ok
    assert not step(desk, "issue_refund", order_id=order, amount_cents=1, reason="x").ok


@pytest.mark.parametrize("cents", [0, -1, 100_001, 54.0, "54", True, None])
def test_an_amount_is_a_whole_positive_number_of_cents(desk, cents):
    answer = step(desk, "issue_refund", order_id="1002", amount_cents=cents, reason="x")
    assert answer.code == "invalid_arguments"
    assert desk.changes() == ()


def test_a_repeated_refund_moves_money_again(desk):
    order = an_order(desk, "delivered")
    for _ in range(2):
        assert step(desk, "issue_refund", order_id=order, amount_cents=5, reason="x").ok
    assert [change.operation for change in desk.changes()] == ["add", "add"]


def test_a_refund_draws_on_the_oldest_capture_first():
    with make("backoffice/duplicate-charge") as desk:
        desk.reset(0)
        (order,) = rows(desk, "SELECT order_id FROM env_claim")[0]
        captures = rows(
            desk,
            "SELECT id, captured_cents FROM payments WHERE order_id = ? AND captured_cents > 0"
            " ORDER BY created_at",
            order,
        )
        (first, cents), (second, _) = captures
        answer = step(desk, "issue_refund", order_id=order, amount_cents=cents + 7, reason="x")
        made = [(item["payment_id"], item["amount_cents"]) for item in answer.data["refunds"]]
        assert made == [(first, cents), (second, 7)]


def test_a_replacement_is_of_what_was_ordered_and_in_stock(desk):
    order = an_order(desk, "delivered")
    sku, quantity = rows(desk, "SELECT sku, quantity FROM order_items WHERE order_id = ?", order)[0]
    other = value(
        desk,
        "SELECT MIN(s.sku) FROM inventory s WHERE s.sku NOT IN"
        " (SELECT i.sku FROM order_items i WHERE i.order_id = ?)",
        order,
    )
    wrong = step(desk, "create_replacement", order_id=order, sku=other, qty=1)
    assert wrong.code == "sku_not_in_order"
    more = step(desk, "create_replacement", order_id=order, sku=sku, qty=quantity + 1)
    assert more.code == "quantity_exceeds_order"
    stock = value(desk, "SELECT quantity FROM inventory WHERE sku = ?", sku)
    assert step(desk, "create_replacement", order_id=order, sku=sku, qty=quantity).ok
    assert value(desk, "SELECT quantity FROM inventory WHERE sku = ?", sku) == stock - quantity
    again = step(desk, "create_replacement", order_id=order, sku=sku, qty=1)
    assert again.code == "quantity_exceeds_order"


def test_an_empty_shelf_has_no_replacement():
    for seed in range(20):
        with make("backoffice/damaged-item") as desk:
            desk.reset(seed)
            (order, item, quantity), *_ = rows(
                desk, "SELECT order_id, item_id, quantity FROM env_claim"
            )
            sku, stock = rows(
                desk,
                "SELECT i.sku, s.quantity FROM order_items i JOIN inventory s ON s.sku = i.sku"
                " WHERE i.id = ?",
                item,
            )[0]
            if stock < quantity:
                answer = step(desk, "create_replacement", order_id=order, sku=sku, qty=quantity)
                assert answer.code == "out_of_stock"
                return
    pytest.fail("no seed is out of stock")


def test_cancelling_puts_items_back_and_returns_no_money(desk):
    order = late_order(desk, "processing")
    items = rows(desk, "SELECT sku, quantity FROM order_items WHERE order_id = ?", order)
    stock = {
        sku: value(desk, "SELECT quantity FROM inventory WHERE sku = ?", sku) for sku, _ in items
    }
    assert step(desk, "cancel_order", order_id=order, reason="x").code == "order_cancelled"
    for sku, quantity in items:
        after = value(desk, "SELECT quantity FROM inventory WHERE sku = ?", sku)
        assert after == stock[sku] + quantity
    assert not any(change.table == "refunds" for change in desk.changes())
    assert step(desk, "cancel_order", order_id=order, reason="x").code == "order_already_cancelled"
    moved = step(desk, "update_shipping_address", order_id=order, address="1 New Road")
    assert moved.code == "order_already_cancelled"


@pytest.mark.parametrize("status", ["shipped", "delivered"])
def test_what_has_left_is_neither_cancelled_nor_redirected(desk, status):
    order = an_order(desk, "delivered") if status == "delivered" else late_order(desk, status)
    assert step(desk, "cancel_order", order_id=order, reason="x").code == "order_dispatched"
    moved = step(desk, "update_shipping_address", order_id=order, address="1 New Road")
    assert moved.code == "order_dispatched"


def test_an_address_can_change_before_dispatch(desk):
    order = late_order(desk, "processing")
    moved = step(desk, "update_shipping_address", order_id=order, address="1 New Road")
    assert moved.code == "address_updated"
    assert step(desk, "get_order", order_id=order).data["shipping_address"] == "1 New Road"


def test_a_purchase_spends_the_budget(desk):
    left = step(desk, "list_purchase_orders").data["budget"]["left_cents"]
    made = step(desk, "create_purchase_order", sku="MUG-INK", qty=2)
    assert made.data["budget_left_cents"] == left - made.data["cost_cents"]
    assert step(desk, "list_purchase_orders").data["budget"]["left_cents"] == (
        left - made.data["cost_cents"]
    )


# Reads.


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_orders", {}),
        ("search_orders", {"status": "delivered"}),
        ("check_inventory", {}),
        ("list_inbox", {}),
    ],
)
def test_a_long_list_comes_in_pages_without_gaps(desk, tool, arguments):
    seen: list[object] = []
    page = 1
    while page is not None:
        answer = step(desk, tool, page=page, **arguments)
        assert len(answer.data["rows"]) <= PAGE_ROWS
        seen += [next(iter(row.values())) for row in answer.data["rows"]]
        page = answer.data["next_page"]
    table = {"search_orders": "orders", "check_inventory": "inventory", "list_inbox": "threads"}
    where = " WHERE status = 'delivered'" if arguments else ""
    assert len(seen) == len(set(seen))
    assert len(seen) == value(desk, f"SELECT COUNT(*) FROM {table[tool]}{where}")


def test_orders_are_found_by_all_that_is_asked(desk):
    answer = step(
        desk, "search_orders", status="delivered", placed_after="2028-02-01",
        placed_before="2028-02-15T12:00:00Z",
    )  # fmt: skip
    assert answer.data["rows"]
    for row in answer.data["rows"]:
        assert row["status"] == "delivered"
        assert "2028-02-01" <= row["placed_at"] < "2028-02-15T12:00:00Z"


def test_an_order_number_may_be_given_as_an_integer(desk):
    assert step(desk, "get_order", order_id=1002).data["order_id"] == "1002"


def test_a_customer_is_found_by_address_in_any_case(desk):
    customer = step(desk, "get_customer", customer_id="C-101").data
    assert step(desk, "get_customer", email=customer["email"].upper()).data == customer


def test_low_stock_counts_the_stock_alone(desk):
    rows = step(desk, "check_inventory", below_threshold=True).data["rows"]
    assert all(row["quantity"] < row["threshold"] for row in rows)


def test_the_policy_is_rendered_from_its_rows(desk):
    data = step(desk, "read_policy").data
    for name, number in data["numbers"].items():
        assert value(desk, "SELECT value FROM policies WHERE name = ?", name) == number
        assert str(number) in data["policy"]
    assert data["time_zone"] in data["policy"]


def test_submitting_ends_the_episode(desk):
    last = step(desk, "submit", summary="done")
    assert (last.done, last.ended, last.code) == (True, "submitted", "submitted")
    assert step(desk, "read_policy").code == "episode_over"


def test_forty_calls_are_all():
    with make("backoffice/damaged-item") as desk:
        first = desk.reset(0)
        assert first.steps_max == 40
        for number in range(40):
            last = step(desk, "search_orders", page=1 + number % 7)
        assert last.ended == "action_limit"


def test_a_refused_call_leaves_no_row_and_an_unchanged_score(desk):
    before = desk.score().to_dict()
    assert not step(desk, "issue_refund", order_id="1002", amount_cents=99_999, reason="x").ok
    assert desk.changes() == ()
    assert desk.score().to_dict() == before


def test_every_declared_refusal_is_one_of_the_table():
    declared = {code for tool in suite.toolbox.values() for code in tool.codes}
    assert set(REFUSALS) <= declared
