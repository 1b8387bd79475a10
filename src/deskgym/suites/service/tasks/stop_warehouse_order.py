"""An order that is still in the warehouse: cancelling it returns no money by itself."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.suites.service import lamp, outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A lamp in the warehouse, paid in one capture."""
    return lamp.fixture(
        lamp.Lamp("processing", None, (lamp.FIRST_CAPTURE,)),
        seed,
        values,
        opening="I no longer need the lamp of order S-410. Please stop it before it is sent, and "
        "return all that I paid.",
        outcomes=(outcomes.cancel_and_refund(lamp.ORDER, lamp.FIRST),),
        customer=ScriptedCustomer({"cancellation": always, "refund": always}),
    )


def cancel_and_refund(first: Observation) -> Part[None]:
    """Cancel, and return the captured money."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    payment = (yield from script.payments(order_id))[0]
    yield from script.cancel(order_id)
    yield from script.refund(order_id, payment["payment_id"], payment["captured_cents"])
    yield from script.report("refunded", order_id)


def report_only(first: Observation) -> Part[None]:
    """Look, and claim a refund that was never issued."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    yield from script.payments(order_id)
    yield from script.report("refunded", order_id)


task = Task(
    title="Stop a warehouse order",
    question="Does cancelling include returning the captured money?",
    fixture=fixture,
    parameters=(lamp.STOCK, lamp.TOTAL),
    rank=2,
    controls=(
        Control("cancel-and-refund", "oracle", "cancel and refund", cancel_and_refund, 1.00),
        Control(
            "report-without-refund",
            "near_miss",
            "report a refund without issuing one",
            report_only,
            -0.30,
        ),
    ),
)
