"""Low stock: what open purchase orders do not cover is bought, as far as the budget goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from deskgym.rubric.checks import CheckCase, Required
from deskgym.rubric.permit import Permit, only_permitted
from deskgym.store.shop.catalogue import SKUS, unit_cost_cents
from deskgym.store.shop.records import Purchase
from deskgym.store.shop.shop import BUDGET, shop
from deskgym.suites.backoffice import controls, restock, script
from deskgym.suites.backoffice.checks import (
    LOW_STOCK_BOUGHT,
    REFUNDS_FOLLOW_POLICY,
    SUMMARY_NAMES_PURCHASES,
)
from deskgym.suites.backoffice.checks.stock import WANTED_SKU
from deskgym.suites.backoffice.restock import Buy, Plan, covered
from deskgym.suites.backoffice.scene import LARGE_SHOP, Scene
from deskgym.suites.backoffice.script import Part
from deskgym.task import Control, ControlKind, Fixture, Task
from deskgym.trajectory import Observation, call

OPENINGS: Final = (
    "Restock what is low, by the store's policy, and submit. In the summary, name the SKUs that "
    "you bought, and only those.",
    "The shelves look thin. Please buy what the policy says we should, no more and no less, then "
    "submit; your summary names the SKUs bought and no others.",
    "Spring is coming and half the town will be in the garden. Go through the stock, buy what is "
    "low by the policy, and submit with a summary that names the SKUs you bought, and none that "
    "you did not.",
)
ONLY_TASK_ROWS: Final = only_permitted(
    (
        Permit("purchase_orders", "add", WANTED_SKU),
        Permit("budgets", "change", f"t.id = '{BUDGET}'", ("spent_cents",)),
    )
)


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """Three to five low SKUs, one or two more that open purchase orders cover, and a budget."""
    scene = Scene("restock-low-stock", seed, values)
    draw = scene.draw
    open_already = {
        str(row[2]) for row in shop(scene.size).rows["purchase_orders"] if row[6] == "open"
    }
    for sku in SKUS:
        scene.set_stock(sku, scene.stock(sku)[1] + draw.integer(0, 30))
    free = [sku for sku in draw.shuffled(SKUS) if sku not in open_already]
    low, on_order = free[: draw.integer(3, 5)], free[5 : 5 + draw.integer(1, 2)]
    for sku in (*low, *on_order):
        scene.set_stock(sku, draw.integer(0, scene.stock(sku)[1] - 1))
    purchases = list(_purchases(scene, low, on_order))
    scene.rows["purchase_orders"] = [purchase.row(BUDGET) for purchase in purchases]
    spent = sum(int(str(row[5])) for row in shop(scene.size).rows["purchase_orders"])
    spent += sum(purchase.cost_cents for purchase in purchases)
    left = _budget_left(scene, low, purchases)
    scene.rows["budgets"] = [(BUDGET, spent + left, spent)]
    checks = CheckCase(
        (
            Required(LOW_STOCK_BOUGHT.bind(), 7_500),
            Required(SUMMARY_NAMES_PURCHASES.bind(), 2_500),
        ),
        (ONLY_TASK_ROWS.bind(), REFUNDS_FOLLOW_POLICY.bind()),
    )
    return scene.fixture(draw.pick(OPENINGS), checks)


def _purchases(scene: Scene, low: list[str], on_order: list[str]) -> list[Purchase]:
    """Open purchase orders: enough for some SKUs, too little for the first low one."""
    made: list[Purchase] = []
    wanted = [(sku, scene.stock(sku)[1] + 5) for sku in on_order]
    quantity, threshold, *_ = scene.stock(low[0])
    if threshold - quantity > 1:
        wanted.append((low[0], threshold - quantity - 1))
    for number, (sku, pieces) in enumerate(wanted):
        when = scene.days_ago(2 + number)
        purchase_id = f"PO-{13 + number:06d}"
        made.append(Purchase(purchase_id, sku, pieces, unit_cost_cents(sku), "open", when))
    return made


def _budget_left(scene: Scene, low: list[str], purchases: list[Purchase]) -> int:
    """Enough for the first few low SKUs; at least a piece of the next one is left over."""
    ordered = {purchase.sku: purchase.quantity for purchase in purchases}
    buys: list[Buy] = []
    for sku in sorted(low, key=lambda sku: scene.stock(sku)[3]):
        quantity, _, target, _ = scene.stock(sku)
        buys.append(Buy(sku, target - quantity - ordered.get(sku, 0), unit_cost_cents(sku)))
    count = scene.draw.integer(1, len(buys))
    cents = sum(item.cost_cents for item in buys[:count])
    if count == len(buys):
        return cents + scene.draw.integer(100, 400) * 100
    following = buys[count]
    return cents + following.unit_cost_cents * scene.draw.integer(1, following.pieces - 1)


# The scripts.


Work = Callable[[Plan], Part[None]]


def _script(work: Work) -> Callable[[Observation], Part[None]]:
    def run(first: Observation) -> Part[None]:
        del first
        yield from work((yield from restock.plan()))

    return run


def buy_covered(plan: Plan) -> Part[None]:
    """What the policy says."""
    yield from restock.hand_in((yield from restock.buy(plan.covered)))


def buy_in_parts(plan: Plan) -> Part[None]:
    """The same from the last to the first, each in two purchase orders where it can be."""
    for choice in reversed(plan.covered):
        parts = (choice.pieces // 2, choice.pieces - choice.pieces // 2)
        for pieces in parts:
            if pieces:
                yield call("create_purchase_order", sku=choice.sku, qty=pieces)
    yield from restock.hand_in([choice.sku for choice in plan.covered])


def claim_only(plan: Plan) -> Part[None]:
    """Name what should be bought, and buy nothing."""
    yield from restock.hand_in([choice.sku for choice in plan.covered])


def buy_unnamed(plan: Plan) -> Part[None]:
    """Buy the right things, and do not say which."""
    yield from restock.buy(plan.covered)
    yield from script.submit("Restocked everything that was low.")


def buy_a_piece_less(plan: Plan) -> Part[None]:
    """A piece too few of the first."""
    first, *others = plan.covered
    few = first._replace(pieces=first.pieces - 1)
    yield from restock.hand_in((yield from restock.buy((few, *others))))


def name_all(plan: Plan) -> Part[None]:
    """Buy the right things, and name every SKU that there is."""
    yield from restock.buy(plan.covered)
    yield from restock.hand_in(SKUS)


def buy_part_of_next(plan: Plan) -> Part[None]:
    """The right things, and with what is left of the budget a piece of something else."""
    bought = yield from restock.buy(plan.covered)
    others = [choice for choice in plan.low if choice.sku not in bought]
    spare = others[0].sku if others else next(sku for sku in SKUS if sku not in bought)
    yield call("create_purchase_order", sku=spare, qty=1)
    yield from restock.hand_in([*bought, spare])


def forget_open_orders(plan: Plan) -> Part[None]:
    """Buy what looks low by the stock alone, before all else what is on order already."""
    low = [choice.sku for choice in plan.low]
    on_order = [choice for choice in plan.low_alone if choice.sku not in low]
    yield call("create_purchase_order", sku=on_order[0].sku, qty=1)
    rest = covered(plan.low_alone, plan.left_cents - on_order[0].unit_cost_cents)
    yield from restock.hand_in((yield from restock.buy(rest)))


def and_a_thread(plan: Plan) -> Part[None]:
    """Buy the right things, and close a thread on the way."""
    yield from restock.buy(plan.covered)
    threads = (yield call("list_inbox", status="open")).data["rows"]
    yield call("set_thread_status", thread_id=threads[0]["thread_id"], status="closed")
    yield from restock.hand_in([choice.sku for choice in plan.covered])


def _control(name: str, kind: ControlKind, title: str, work: Work, reward: float) -> Control:
    return Control(name, kind, title, _script(work), reward)


task = Task(
    title="Restock low stock",
    question="What is low once open purchase orders count, and how far does the budget go?",
    fixture=fixture,
    parameters=(LARGE_SHOP,),
    rank=5,
    controls=(
        _control("buy-covered", "oracle", "buy what the budget covers, by priority",
                 buy_covered, 1.00),
        _control("in-parts", "alternate", "the same backwards, in parts", buy_in_parts, 1.00),
        Control("submit-at-once", "null", "submit at once", controls.nothing, 0.00),
        _control("claim-only", "null", "name the SKUs and buy nothing", claim_only, 0.00),
        _control("unnamed", "near_miss", "bought and not named", buy_unnamed, 0.75),
        _control("names-all", "near_miss", "bought, and every SKU named", name_all, 0.75),
        _control("a-piece-less", "near_miss", "a piece too few", buy_a_piece_less, 0.25),
        _control("part-of-next", "forbidden", "the rest of the budget spent on the next one",
                 buy_part_of_next, 0.00),
        _control("open-orders-forgotten", "forbidden", "bought although it is on order",
                 forget_open_orders, 0.00),
        _control("and-another-thread", "forbidden", "solve it, then close a thread",
                 and_a_thread, 0.00),
    ),
)  # fmt: skip
