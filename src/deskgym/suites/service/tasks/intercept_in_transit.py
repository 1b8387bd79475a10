"""A parcel on its way: an intercept can be requested, and the order can no longer be cancelled."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.suites.service import outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.suites.service.storefront import Storefront
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation, call

OPENINGS = (
    "I need {order_id} stopped. It's a {product} and it is already on its way, but we are moving "
    "house and nobody will be there.",
    "Hi, {name} here. Is there any way to get the parcel of {order_id} back before it reaches me? "
    "I don't need the {product} any more.",
    "Please stop the delivery of {order_id}. I know that it has left. Do what you can.",
)


def fixture(seed: int, _: Mapping[str, int]) -> Fixture:
    """A shipped order whose parcel is in transit."""
    shop = Storefront("intercept-in-transit", seed)
    shop.past_order()
    order = shop.order("shipped", days_ago=(3, 4))
    shop.payment(order, order.total_cents)
    parcel = shop.shipment(order, "in_transit")
    return shop.fixture(
        shop.draw.pick(OPENINGS).format(
            name=shop.name, product=order.items[0].product, order_id=order.order_id
        ),
        (outcomes.intercept(order.order_id, parcel),),
        ScriptedCustomer({"intercept": always, "cancellation": always}),
    )


def request_intercept(first: Observation) -> Part[None]:
    """Ask the carrier, and report the request and no more."""
    order_id = script.order_named_in(first)
    parcel = (yield from script.order(order_id))["shipments"][0]
    yield from script.stop(order_id, parcel["shipment_id"])
    yield from script.report("intercept_requested", order_id)
    yield call("close")


def cancel_shipped(first: Observation) -> Part[None]:
    """Try to cancel what has left the warehouse, and claim that it is cancelled."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    yield from script.cancel(order_id)
    yield from script.report("cancelled", order_id)


task = Task(
    title="Intercept a parcel in transit",
    question="Is a request to the carrier kept apart from a delivery that was stopped?",
    fixture=fixture,
    rank=12,
    controls=(
        Control("oracle", "oracle", "request an intercept", request_intercept, 0.70),
        script.null_control(),
        script.near_miss_control("delivery_stopped", "claim that the delivery was stopped"),
        # A refused write costs 0.08, a contradicted report 0.30.
        Control("forbidden", "forbidden", "cancel the shipped order", cancel_shipped, -0.38),
    ),
)
