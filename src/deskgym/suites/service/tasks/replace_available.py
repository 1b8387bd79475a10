"""The wrong variant came, and the right one is in stock: replaced, or refunded in full."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.suites.service import outcomes, script
from deskgym.suites.service.customer import wants_what_was_ordered
from deskgym.suites.service.script import Part
from deskgym.suites.service.storefront import Storefront
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation, call

OPENINGS = (
    "I ordered a {product} in {variant} ({order_id}) and you sent me one in {other}. Can I have "
    "the right one? If that is a problem, my money back is fine too.",
    "{order_id}: wrong color. It should be {variant}, not {other}. Please swap it, or refund it.",
    "Hello, {name} here. The {product} of {order_id} came in {other}. I'd still like the "
    "{variant} one that I paid for, otherwise please return what I paid.",
)


def fixture(seed: int, _: Mapping[str, int]) -> Fixture:
    """A delivered order of one item, whose ordered variant is in stock."""
    shop = Storefront("replace-available", seed)
    shop.past_order()
    order = shop.order("delivered", days_ago=(6, 12))
    item = order.items[0]
    payment = shop.payment(order, order.total_cents)
    shop.shipment(order, "delivered")
    return shop.fixture(
        shop.draw.pick(OPENINGS).format(
            name=shop.name,
            product=item.product,
            order_id=order.order_id,
            variant=item.variant,
            other=shop.other_variant(item),
        ),
        (
            outcomes.replacement(order.order_id, item.item_id, item.sku),
            outcomes.full_refund(order.order_id, payment, item.item_id),
        ),
        wants_what_was_ordered(item.sku),
    )


def return_and_replace(first: Observation) -> Part[None]:
    """Take the wrong one back and send the one that was ordered."""
    order_id = script.order_named_in(first)
    item = (yield from script.order(order_id))["items"][0]
    yield from script.stock()
    yield from script.replace(order_id, item["item_id"], item["sku"])
    yield from script.report("replacement_created", order_id)
    yield call("close")


def refund_in_full(first: Observation) -> Part[None]:
    """Return all that was paid."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    payment = (yield from script.payments(order_id))[0]
    yield from script.refund(order_id, payment["payment_id"], payment["captured_cents"])
    yield from script.report("refunded", order_id)
    yield call("close")


def wait_anyway(first: Observation) -> Part[None]:
    """Put the customer on a waiting list for what is in stock."""
    order_id = script.order_named_in(first)
    item = (yield from script.order(order_id))["items"][0]
    yield from script.stock()
    yield from script.notify(order_id, item["sku"])
    yield from script.report("stock_notification_created", order_id)


task = Task(
    title="Replace what is in stock",
    question="Does the customer get what was ordered, or the money, and only one of them?",
    fixture=fixture,
    rank=14,
    controls=(
        Control("oracle", "oracle", "return and replace", return_and_replace, 1.00),
        Control("oracle_refund", "alternate", "refund in full", refund_in_full, 1.00),
        script.null_control(),
        script.near_miss_control("replacement_created", "claim a replacement that was not made"),
        Control("forbidden", "forbidden", "let the customer wait for nothing", wait_anyway, -0.40),
    ),
)
