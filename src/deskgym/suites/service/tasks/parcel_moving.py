"""A parcel on its way: the carrier can be asked to stop it, and the answer is not known."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.suites.service import lamp, outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A lamp in transit, paid in one capture."""
    return lamp.fixture(
        lamp.Lamp("shipped", "in_transit", (lamp.FIRST_CAPTURE,)),
        seed,
        values,
        opening="Please stop the parcel of order S-410 if that is still possible. I will not be "
        "at home to take it.",
        outcomes=(outcomes.intercept(lamp.ORDER, lamp.PARCEL),),
        customer=ScriptedCustomer({"intercept": always, "cancellation": always}),
    )


def request_intercept(first: Observation) -> Part[None]:
    """Ask the carrier, and report the request and no more."""
    order_id = script.order_named_in(first)
    parcel = (yield from script.order(order_id))["shipments"][0]
    yield from script.stop(order_id, parcel["shipment_id"])
    yield from script.report("intercept_requested", order_id)


task = Task(
    title="Parcel already moving",
    question="Can a request be reported without inventing the carrier's answer?",
    fixture=fixture,
    parameters=(lamp.STOCK, lamp.TOTAL),
    rank=3,
    controls=(
        Control("request-intercept", "oracle", "request an intercept", request_intercept, 0.70),
    ),
)
