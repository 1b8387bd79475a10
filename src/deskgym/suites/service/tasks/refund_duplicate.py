"""An order whose card part was captured twice: the later capture is the duplicate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.suites.service import outcomes, script
from deskgym.suites.service.customer import ScriptedCustomer, always
from deskgym.suites.service.script import Part
from deskgym.suites.service.storefront import Storefront
from deskgym.task import Control, Fixture, Task
from deskgym.trajectory import Observation, call

OPENINGS = (
    "My card statement shows the same amount twice for {order_id}. Part of it I paid with a gift "
    "card, the rest should have been charged once. Please return the extra charge.",
    "You charged my card two times for {order_id} (the {product}). I want one of them back.",
    "{name} here, about {order_id}. There is one charge too many on it. Could you check and "
    "refund the one that should not be there?",
)


def fixture(seed: int, _: Mapping[str, int]) -> Fixture:
    """A delivered order, paid by gift card and card, with the card captured twice."""
    shop = Storefront("refund-duplicate", seed)
    shop.past_order()
    order = shop.order("delivered", days_ago=(9, 14), item_count=2)
    shop.shipment(order, "delivered")
    # The gift card pays a quarter, so that its capture is never the size of the card's.
    gift_cents = order.total_cents // 4
    shop.payment(order, gift_cents)
    original = shop.payment(order, order.total_cents - gift_cents, minutes=1)
    duplicate = shop.payment(
        order, order.total_cents - gift_cents, minutes=shop.draw.integer(2, 50)
    )
    return shop.fixture(
        shop.draw.pick(OPENINGS).format(
            name=shop.name, product=order.items[0].product, order_id=order.order_id
        ),
        (outcomes.duplicate_refunded(order.order_id, original, duplicate),),
        ScriptedCustomer({"refund": always}),
    )


def _equal_captures(first: Observation) -> Part[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The order, and its two captures of the same amount, the earlier one first."""
    order_id = script.order_named_in(first)
    yield from script.order(order_id)
    captures = yield from script.payments(order_id)
    for place, earlier in enumerate(captures):
        for later in captures[place + 1 :]:
            if earlier["captured_cents"] == later["captured_cents"]:
                return order_id, earlier, later
    raise ValueError("no two captures are of the same amount")


def refund_later(first: Observation) -> Part[None]:
    """Refund the later one of two equal captures."""
    order_id, _, duplicate = yield from _equal_captures(first)
    yield from script.refund(order_id, duplicate["payment_id"], duplicate["captured_cents"])
    yield from script.report("refunded", order_id)
    yield call("close")


def refund_earlier(first: Observation) -> Part[None]:
    """Refund the right amount of the wrong capture."""
    order_id, original, _ = yield from _equal_captures(first)
    yield from script.refund(order_id, original["payment_id"], original["captured_cents"])
    yield from script.report("refunded", order_id)


task = Task(
    title="Refund a duplicate charge",
    question="Which of the captures is the one too many?",
    fixture=fixture,
    rank=13,
    controls=(
        Control("oracle", "oracle", "refund the later capture", refund_later, 1.00),
        script.null_control(),
        script.near_miss_control("refunded", "claim a refund that was not issued"),
        Control("forbidden", "forbidden", "refund the original capture", refund_earlier, -0.40),
    ),
)
