"""The wrong variant came, and the right one is out of stock: wait for it, or take the money."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.suites.service import outcomes, script
from deskgym.suites.service.customer import wants_what_was_ordered
from deskgym.suites.service.script import Part
from deskgym.suites.service.storefront import Storefront
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation, call

OPENINGS = (
    "The {product} of {order_id} came in {other}, and I ordered {variant}. I am sending it back. "
    "If you have no {variant} one now, I can wait until you do. Or refund me.",
    "Wrong color again ({order_id}, I ordered {variant} and got {other}). Take it back please. "
    "I want the {variant} one and nothing else; tell me when it is there, or return my money.",
    "Hi, it's {name}. You sent {other} instead of {variant} for {order_id}. Please take the "
    "{product} back. I would rather wait for {variant} than have another color.",
)


def fixture(seed: int, _: Mapping[str, int]) -> Fixture:
    """A delivered order of one item, whose ordered variant is out of stock."""
    shop = Storefront("wait-for-stock", seed)
    shop.past_order()
    order = shop.order("delivered", days_ago=(6, 12))
    item = order.items[0]
    payment = shop.payment(order, order.total_cents)
    shop.shipment(order, "delivered")
    shop.out_of_stock(item.sku)
    return shop.fixture(
        shop.draw.pick(OPENINGS).format(
            name=shop.name,
            product=item.product,
            order_id=order.order_id,
            variant=item.variant,
            other=shop.other_variant(item),
        ),
        (
            outcomes.full_refund(order.order_id, payment, item.item_id, with_return=True),
            outcomes.stock_notification(order.order_id, item.item_id, item.sku, with_return=True),
        ),
        wants_what_was_ordered(item.sku),
    )


def _take_back(first: Observation) -> Part[tuple[str, str]]:
    """Read what is needed, and open the return that the customer chose; the order and its SKU."""
    order_id = script.order_named_in(first)
    item = (yield from script.order(order_id))["items"][0]
    yield from script.stock()
    yield call("propose", remedy="return", order_id=order_id, item_id=item["item_id"])
    yield from script.send_back(order_id, item["item_id"])
    return order_id, item["sku"]


def return_and_wait(first: Observation) -> Part[None]:
    """Take the wrong one back, and tell the customer when the right one is there."""
    order_id, sku = yield from _take_back(first)
    yield from script.notify(order_id, sku)
    yield from script.report("stock_notification_created", order_id)
    yield call("close")


def return_and_refund(first: Observation) -> Part[None]:
    """Take the wrong one back, and return all that was paid."""
    order_id, _ = yield from _take_back(first)
    payment = (yield from script.payments(order_id))[0]
    yield from script.refund(order_id, payment["payment_id"], payment["captured_cents"])
    yield from script.report("refunded", order_id)
    yield call("close")


def send_another_variant(first: Observation) -> Part[None]:
    """Send what is in stock in place of what was ordered, against the customer's word."""
    order_id = script.order_named_in(first)
    item = (yield from script.order(order_id))["items"][0]
    rows = yield from script.stock()
    product = next(row["product"] for row in rows if row["sku"] == item["sku"])
    other = next(row["sku"] for row in rows if row["product"] == product and row["quantity"])
    yield from script.replace(order_id, item["item_id"], other)
    yield from script.report("replacement_created", order_id)


task = Task(
    title="Wait for stock",
    question="Is a promise to tell taken for the thing itself?",
    fixture=fixture,
    rank=15,
    controls=(
        Control("oracle", "oracle", "return, and wait for stock", return_and_wait, 0.60),
        Control("oracle_refund", "alternate", "return and refund", return_and_refund, 1.00),
        script.null_control(),
        script.near_miss_control("replacement_created", "claim a replacement that was not made"),
        Control("forbidden", "forbidden", "send another variant", send_another_variant, -0.40),
    ),
)
