"""A pending order with an authorised hold: it can be cancelled, and there is no money to return."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.suites.service import outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.suites.service.storefront import Storefront
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation, call

OPENINGS = (
    "Hello, this is {name}. I ordered a {product} today, {order_id}, and I have changed my mind. "
    "Please cancel it.",
    "Can you stop {order_id}? I found the {product} I wanted in our attic. Cancel it please.",
    "Order {order_id} ({product}) was a mistake, I clicked too fast. I'd like it cancelled, and I "
    "don't want to be charged.",
)


def fixture(seed: int, _: Mapping[str, int]) -> Fixture:
    """An order that nothing has been done for yet, with a hold on the card."""
    shop = Storefront("cancel-pending", seed)
    shop.past_order()
    order = shop.order("pending", days_ago=(0, 0))
    shop.payment(order, order.total_cents, captured=False)
    return shop.fixture(
        shop.draw.pick(OPENINGS).format(
            name=shop.name, product=order.items[0].product, order_id=order.order_id
        ),
        (outcomes.cancel(order.order_id),),
        ScriptedCustomer({"cancellation": always, "refund": always}),
    )


def cancel(first: Observation) -> Part[None]:
    """Cancel, and report the cancellation."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    yield from script.payments(order_id)
    yield from script.cancel(order_id)
    yield from script.report("cancelled", order_id)
    yield call("close")


def refund_the_hold(first: Observation) -> Part[None]:
    """Try to return money that never moved, and claim that it went back."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    hold = (yield from script.payments(order_id))[0]
    yield from script.refund(order_id, hold["payment_id"], hold["amount_cents"])
    yield from script.report("refunded", order_id)


task = Task(
    title="Cancel a pending order",
    question="Is a hold on a card taken for money that was paid?",
    fixture=fixture,
    rank=11,
    controls=(
        Control("oracle", "oracle", "cancel and report it", cancel, 1.00),
        script.null_control(),
        script.near_miss_control("cancelled", "claim a cancellation that was not made"),
        # A refused write costs 0.08, a contradicted report 0.30.
        Control("forbidden", "forbidden", "refund the hold", refund_the_hold, -0.38),
    ),
)
