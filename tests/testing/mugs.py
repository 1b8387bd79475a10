"""A small suite of one task that keeps to the contract, for tests to plant a fault in."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from deskgym import (
    Action,
    Control,
    Desk,
    Fixture,
    Id,
    Observation,
    Parameter,
    Refusal,
    Result,
    Suite,
    Task,
    Template,
    Toolbox,
    call,
)
from deskgym.rubric import COMMON_CEILINGS, Case, Check, Grant, Need, Outcome, OutcomeRubric, Write
from deskgym.tool import tool

Moves = Generator[Action, Observation, None]
NOW = "2026-03-16T09:00:00Z"
OPENING = "My mug of order M-1 came cracked. Please take it back."
NEEDS = (Need("open_return", "find_order", "order"),)

RETURN_OPEN = Check(
    "return-is-open",
    "the item has an open return",
    "SELECT i.id FROM order_items i WHERE i.id = :item_id AND NOT EXISTS ("
    " SELECT 1 FROM returns r WHERE r.item_id = i.id AND r.status = 'open')",
)


@tool("read", codes=("order_found", "order_not_found"))
def find_order(desk: Desk, order_id: Id) -> Result:
    """Look up an order and its items.

    Args:
        order_id: the order.
    """
    order = desk.record("SELECT id AS order_id, status FROM orders WHERE id = ?", order_id)
    if order is None:
        raise Refusal("order_not_found", "There is no such order.")
    order["items"] = desk.records(
        "SELECT id AS item_id, sku FROM order_items WHERE order_id = ? ORDER BY id", order_id
    )
    return Result(True, "order_found", "The order.", order)


@tool("write", codes=("return_opened", "item_not_found", "return_already_open"))
def open_return(desk: Desk, order_id: Id, item_id: Id) -> Result:
    """Open a return for an item of an order.

    Args:
        order_id: the order.
        item_id: the item.
    """
    if not desk.rows("SELECT 1 FROM order_items WHERE order_id = ? AND id = ?", order_id, item_id):
        raise Refusal("item_not_found", "The order has no such item.")
    if desk.rows("SELECT 1 FROM returns WHERE item_id = ? AND status = 'open'", item_id):
        raise Refusal("return_already_open", "The item already has an open return.")
    return_id = desk.next_id("returns", "RET-")
    desk.rows(
        "INSERT INTO returns VALUES (?, ?, ?, 'open', 'cracked', ?, ?)",
        return_id, order_id, item_id, return_id, desk.now,
    )  # fmt: skip
    return Result(True, "return_opened", "The return is open.", {"return_id": return_id})


@tool("talk", codes=("reported",))
def report(desk: Desk, order_id: Id) -> Result:
    """Say that the order's item is taken back.

    Args:
        order_id: the order.
    """
    true = bool(desk.rows("SELECT 1 FROM returns WHERE order_id = ?", order_id))
    desk.log("env_report", "return_created", order_id, int(true))
    return Result(True, "reported", "It is noted.")


@tool("end", codes=("closed",))
def close(desk: Desk) -> Result:
    """Close the case."""
    desk.end("closed")
    return Result(True, "closed", "The case is closed.")


def case() -> Case:
    """What the task accepts: a return of the first item."""
    taken = Write("open_return", "M-1", "M-1-1", state=RETURN_OPEN.bind(item_id="M-1-1"))
    outcome = Outcome("mug_taken_back", "return", (("return_created", "M-1"),), writes=(taken,))
    return Case((outcome,), needs=NEEDS)


def rows(seed: int) -> dict[str, list[dict[str, Any]]]:
    """The shop: one order of three mugs."""
    return {
        "customers": [
            {"id": "C-1", "name": f"Customer {seed}", "email": "one@demo.example",
             "address": "1 Alder Lane", "note": "", "created_at": NOW},
        ],
        "products": [{"id": "MUG", "name": "Mug", "product_type": "mug", "note": ""}],
        "variants": [
            {"sku": f"MUG-{number}", "product_id": "MUG", "name": "Mug", "size": "", "color": "",
             "price_cents": 900} for number in (1, 2, 3)
        ],
        "orders": [
            {"id": "M-1", "customer_id": "C-1", "status": "delivered", "discount_cents": 0,
             "tax_cents": 0, "total_cents": 2_700, "currency": "USD",
             "shipping_address": "1 Alder Lane", "placed_at": NOW},
        ],
        "order_items": [
            {"id": f"M-1-{number}", "order_id": "M-1", "sku": f"MUG-{number}", "quantity": 1,
             "unit_price_cents": 900, "paid_cents": 900} for number in (1, 2, 3)
        ],
    }  # fmt: skip


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A delivered order whose customer asks for a return."""
    accepted = case()
    chosen = (Grant("open_return", "M-1", "M-1-1"),)
    shop = rows(seed)
    shop["orders"][0]["total_cents"] = values["total_cents"]
    return Fixture(
        Template({**shop, **accepted.log_rows(OPENING, chosen)}),
        now=NOW,
        opening=OPENING,
        case=accepted,
        private=("one@demo.example",),
    )


def take_back(_: Observation) -> Moves:
    """Do what was asked."""
    order = (yield call("find_order", order_id="M-1")).data
    yield call("open_return", order_id="M-1", item_id=order["items"][0]["item_id"])
    yield call("report", order_id="M-1")
    yield call("close")


def only_say_so(_: Observation) -> Moves:
    """Claim it without doing it."""
    yield call("find_order", order_id="M-1")
    yield call("open_return", order_id="M-1", item_id="M-9")
    yield call("report", order_id="M-1")


def take_another_back(_: Observation) -> Moves:
    """Open the return of another item."""
    yield call("find_order", order_id="M-1")
    yield call("open_return", order_id="M-1", item_id="M-1-3")


RUBRIC = OutcomeRubric(
    version="mugs.v1",
    outcome_points=7_000,
    evidence_points=2_000,
    report_points=1_000,
    contradicted_report_points=3_000,
    refused_write_points=800,
    ceilings=COMMON_CEILINGS,
    deductions_last=True,
)

TASK = Task(
    title="Cracked mug",
    question="Is the return opened?",
    fixture=fixture,
    controls=(
        Control("take-back", "oracle", "open the return", take_back, 1.0),
        Control("only-say-so", "near_miss", "only say so", only_say_so, -0.38),
        Control("another-item", "forbidden", "another item", take_another_back, -0.4),
    ),
    parameters=(Parameter("total_cents", 2_700, 1, 10_000, "the order's total"),),
    name="cracked",
)

SUITE = Suite(
    name="mugs",
    title="Mugs",
    instructions="Take back what is cracked.",
    toolbox=Toolbox(find_order, open_return, report, close),
    rubrics=(RUBRIC,),
    tasks=(TASK,),
    steps_max=40,
)


def suite(*tools: object, rubric: object = None, **changes: Any) -> Suite:
    """The suite with other tools of the same names, another rubric, or a changed task."""
    by_name: dict[str, Any] = {**SUITE.toolbox, **{item.name: item for item in tools}}  # type: ignore[attr-defined]
    rubrics: Any = SUITE.rubrics if rubric is None else (rubric,)
    task = replace(TASK, **changes)
    return replace(SUITE, toolbox=Toolbox(*by_name.values()), rubrics=rubrics, tasks=(task,))
