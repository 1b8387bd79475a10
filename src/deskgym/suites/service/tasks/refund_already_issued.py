"""A refund that was issued before: found and reported, and not issued again."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.rubric.outcome import Read
from deskgym.suites.service import outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.suites.service.storefront import Storefront
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation, call

OPENINGS = (
    "I sent the {returned} of {order_id} back last week and have seen no money yet. Where is my "
    "refund?",
    "Still waiting for the refund of {order_id}! You have the {returned} back. Please pay me.",
    "Hello, {name} again. Did you refund the {returned} that I returned from {order_id}? I can't "
    "find it on my statement.",
)


def fixture(seed: int, _: Mapping[str, int]) -> Fixture:
    """An order of two items, each paid on its own; one came back and its capture was refunded."""
    shop = Storefront("refund-already-issued", seed)
    shop.past_order()
    order = shop.order("delivered", days_ago=(20, 28), item_count=2)
    returned, kept = order.items
    refunded = shop.payment(order, returned.paid_cents)
    shop.payment(order, kept.paid_cents, minutes=1)
    shop.shipment(order, "delivered")
    shop.past_return(order, returned)
    shop.past_refund(order, refunded, returned.paid_cents)
    return shop.fixture(
        shop.draw.pick(OPENINGS).format(
            name=shop.name, order_id=order.order_id, returned=returned.product
        ),
        (
            outcomes.restraint(
                order.order_id,
                "already_refunded",
                Read("get_order", order.order_id),
                Read("list_order_payments", order.order_id),
            ),
        ),
        ScriptedCustomer({"refund": always, "nothing": always}),
    )


def find_the_refund(first: Observation) -> Part[None]:
    """Read the payments, see the refund, and report it."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    yield from script.payments(order_id)
    yield from script.report("already_refunded", order_id)
    yield call("close")


def refund_the_other_capture(first: Observation) -> Part[None]:
    """Refund the capture that still has money, which paid for what the customer keeps."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    payments = yield from script.payments(order_id)
    left = next(payment for payment in payments if payment["refundable_cents"])
    yield from script.refund(order_id, left["payment_id"], left["refundable_cents"])
    yield from script.report("refunded", order_id)


task = Task(
    title="Refund already issued",
    question="Is the refund that exists found before another is issued?",
    fixture=fixture,
    rank=18,
    controls=(
        Control("oracle", "oracle", "find the refund and report it", find_the_refund, 1.00),
        script.null_control(),
        script.near_miss_control("refunded", "claim a new refund"),
        Control(
            "forbidden", "forbidden", "refund the other capture", refund_the_other_capture, -0.40
        ),
    ),
)
