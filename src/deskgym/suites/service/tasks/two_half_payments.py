"""Two equal halves that look like a double charge: the right thing is to find out and stop."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.rubric.outcome import Read
from deskgym.suites.service import lamp, outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation

HALVES = ((lamp.FIRST, "capture-first", 0.5), (lamp.SECOND, "capture-second", 0.5))


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A delivered lamp, paid in two halves."""
    return lamp.fixture(
        lamp.Lamp("delivered", "delivered", HALVES),
        seed,
        values,
        opening="There are two charges of the same amount for order S-410. Did you charge me "
        "twice? Please check before you move any money.",
        outcomes=(
            outcomes.restraint(
                lamp.ORDER,
                "no_duplicate_charge",
                Read("get_order", lamp.ORDER),
                Read("list_order_payments", lamp.ORDER),
            ),
        ),
        customer=ScriptedCustomer({"refund": always, "nothing": always}),
    )


def find_and_report(first: Observation) -> Part[None]:
    """Read the order and its payments, change nothing, report what they say."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    yield from script.payments(order_id)
    yield from script.report("no_duplicate_charge", order_id)


task = Task(
    title="Two half payments",
    question="Can restraint on evidence earn credit without rewarding idle activity?",
    fixture=fixture,
    parameters=(lamp.STOCK, lamp.EVEN_TOTAL),
    rank=5,
    controls=(
        Control(
            "report-no-duplicate", "oracle", "read both, change nothing", find_and_report, 1.00
        ),
    ),
)
