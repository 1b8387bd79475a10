"""Two parcels, one delivered and one moving: only the moving one can still be stopped."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.suites.service import outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.suites.service.storefront import Storefront
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation, call

OPENINGS = (
    "The {kept} of {order_id} is here and I like it. The {moving} is still on its way and I no "
    "longer need it. Can you stop that parcel?",
    "{order_id} comes in two parcels. One arrived. Please stop the other one, with the {moving}.",
    "Hi, {name}. Half of {order_id} has come (the {kept}). I'd like the rest stopped before it "
    "gets here, if the carrier can do that.",
)


def fixture(seed: int, _: Mapping[str, int]) -> Fixture:
    """An order of two items in two parcels."""
    shop = Storefront("split-arrival", seed)
    shop.past_order()
    order = shop.order("shipped", days_ago=(4, 5), item_count=2)
    kept, moving = order.items
    shop.payment(order, order.total_cents)
    shop.shipment(order, "delivered", (kept,))
    parcel = shop.shipment(order, "in_transit", (moving,))
    return shop.fixture(
        shop.draw.pick(OPENINGS).format(
            name=shop.name, order_id=order.order_id, kept=kept.product, moving=moving.product
        ),
        (outcomes.intercept(order.order_id, parcel),),
        ScriptedCustomer({"intercept": always, "refund": always}),
    )


def stop_the_moving_one(first: Observation) -> Part[None]:
    """Ask the carrier to stop the parcel that is in transit."""
    order_id = script.order_named_in(first)
    parcels = (yield from script.order(order_id))["shipments"]
    moving = next(parcel for parcel in parcels if parcel["status"] == "in_transit")
    yield from script.stop(order_id, moving["shipment_id"])
    yield from script.report("intercept_requested", order_id)
    yield call("close")


def refund_everything(first: Observation) -> Part[None]:
    """Return all the money for an order of which one half is kept."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    payment = (yield from script.payments(order_id))[0]
    yield from script.refund(order_id, payment["payment_id"], payment["captured_cents"])
    yield from script.report("refunded", order_id)


task = Task(
    title="Split arrival",
    question="Is the parcel that can be stopped told from the one that has come?",
    fixture=fixture,
    rank=17,
    controls=(
        Control("oracle", "oracle", "intercept the moving parcel", stop_the_moving_one, 0.70),
        script.null_control(),
        script.near_miss_control("delivery_stopped", "claim that the delivery was stopped"),
        Control("forbidden", "forbidden", "refund the whole order", refund_everything, -0.40),
    ),
)
