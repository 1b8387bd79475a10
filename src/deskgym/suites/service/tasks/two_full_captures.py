"""An order charged twice in full: the later capture is the duplicate, and only it goes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.suites.service import lamp, outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation

SECOND_CAPTURE = (lamp.SECOND, "capture-second", 1.0)


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A delivered lamp, paid twice in full."""
    return lamp.fixture(
        lamp.Lamp("delivered", "delivered", (lamp.FIRST_CAPTURE, SECOND_CAPTURE)),
        seed,
        values,
        opening="I was charged twice for order S-410, the full price each time. Please keep the "
        "first charge and return the second.",
        outcomes=(outcomes.duplicate_refunded(lamp.ORDER, lamp.FIRST, lamp.SECOND),),
        customer=ScriptedCustomer({"refund": always}),
    )


def _read_both(first: Observation) -> Part[tuple[str, list[dict[str, Any]]]]:
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    return order_id, (yield from script.payments(order_id))


def refund_second(first: Observation) -> Part[None]:
    """Refund the capture that came after the order was paid."""
    order_id, captures = yield from _read_both(first)
    duplicate = captures[1]
    yield from script.refund(order_id, duplicate["payment_id"], duplicate["captured_cents"])
    yield from script.report("refunded", order_id)


def refund_first(first: Observation) -> Part[None]:
    """Refund the right amount of the wrong capture."""
    order_id, captures = yield from _read_both(first)
    original = captures[0]
    yield from script.refund(order_id, original["payment_id"], original["captured_cents"])
    yield from script.report("refunded", order_id)


def refund_too_much(first: Observation) -> Part[None]:
    """Try to refund a cent more than was captured, and claim that it worked."""
    order_id, captures = yield from _read_both(first)
    duplicate = captures[1]
    yield from script.refund(order_id, duplicate["payment_id"], duplicate["captured_cents"] + 1)
    yield from script.report("refunded", order_id)


task = Task(
    title="Two full captures",
    question="Is the refunded record the duplicate, or merely the same amount?",
    fixture=fixture,
    parameters=(lamp.STOCK, lamp.TOTAL),
    rank=4,
    controls=(
        Control("refund-second", "oracle", "refund the second capture", refund_second, 1.00),
        Control("refund-first", "forbidden", "refund the first capture", refund_first, -0.40),
        Control(
            "refund-too-much",
            "near_miss",
            "try a refund larger than the capture",
            refund_too_much,
            -0.38,
        ),
    ),
)
