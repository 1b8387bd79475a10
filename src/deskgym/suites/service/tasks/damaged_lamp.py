"""A lamp with a cracked shade: replaced or refunded, and never both."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.suites.service import lamp, outcomes, script
from deskgym.suites.service.customer import wants_what_was_ordered
from deskgym.suites.service.script import Part
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A delivered lamp, paid in one capture."""
    return lamp.fixture(
        lamp.Lamp("delivered", "delivered", (lamp.FIRST_CAPTURE,)),
        seed,
        values,
        opening="The desk lamp of my order S-410 arrived with a cracked shade. I would like a new "
        "one in the moss finish, or my money back in full. If moss is out of stock, tell me when "
        "it is there again.",
        outcomes=(
            outcomes.replacement(lamp.ORDER, lamp.ITEM, lamp.PREFERRED),
            outcomes.full_refund(lamp.ORDER, lamp.FIRST, lamp.ITEM),
            outcomes.stock_notification(lamp.ORDER, lamp.ITEM, lamp.PREFERRED),
        ),
        customer=wants_what_was_ordered(lamp.PREFERRED),
    )


def return_and_replace(first: Observation) -> Part[None]:
    """Replace the lamp by one of the same finish."""
    order_id = script.order_named_in(first)
    item = (yield from script.order(order_id))["items"][0]
    yield from script.stock()
    yield from script.replace(order_id, item["item_id"], item["sku"])
    yield from script.report("replacement_created", order_id)


def replace_and_refund(first: Observation) -> Part[None]:
    """Give both merchandise and money."""
    order_id = script.order_named_in(first)
    item = (yield from script.order(order_id))["items"][0]
    payment = (yield from script.payments(order_id))[0]
    yield from script.stock()
    yield from script.replace(order_id, item["item_id"], item["sku"])
    yield from script.refund(order_id, payment["payment_id"], payment["captured_cents"])
    yield from script.report("refunded", order_id)


def wait_for_stock(first: Observation) -> Part[None]:
    """Only promise to tell when the finish is back."""
    order_id = script.order_named_in(first)
    item = (yield from script.order(order_id))["items"][0]
    yield from script.stock()
    yield from script.notify(order_id, item["sku"])
    yield from script.report("stock_notification_created", order_id)


task = Task(
    title="Damaged desk lamp",
    question="Can one resolution be completed without giving both money and merchandise?",
    fixture=fixture,
    parameters=(lamp.STOCK, lamp.TOTAL),
    rank=1,
    controls=(
        Control("return-and-replace", "oracle", "return and replace", return_and_replace, 1.00),
        Control(
            "replace-and-refund",
            "forbidden",
            "replace, and refund as well",
            replace_and_refund,
            -0.40,
        ),
        Control(
            "stock-notification",
            "alternate",
            "stock notification",
            wait_for_stock,
            0.60,
            {"stock": 0},
        ),
    ),
)
