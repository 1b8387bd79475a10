"""An order that has not been dispatched: cancelled, refunded and put back in stock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from deskgym.suites.backoffice import controls, script
from deskgym.suites.backoffice.case import CANCELLATION, REFUNDS, case, only, opening
from deskgym.suites.backoffice.checks import (
    CAPTURES_REFUNDED,
    ORDER_CANCELLED,
    tells_remedy,
)
from deskgym.suites.backoffice.scene import LARGE_SHOP, Scene
from deskgym.suites.backoffice.script import Case, Part
from deskgym.task import Fixture, Task
from deskgym.trajectory import call

WORDINGS: Final = (
    "Hi, please cancel order {order}, I found what I needed elsewhere. Thank you, {first}",
    "Cancel {order}. NOW, before somebody ships it. And no, I do not want a voucher.",
    "Dear shop, I am so sorry: my husband and I have both ordered the same things for the new flat "
    "(he from you, weeks ago, and me in a hurry, when I could not think because of the drilling "
    "next door). So could I ask you to cancel my order {order}, if it is not too late? The other "
    "one may come as planned. With apologies, {name}",
    "Order {order}: I would like to cancel it if it has not left yet. {name}",
)
ONLY_TASK_ROWS: Final = only(REFUNDS, *CANCELLATION)


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A customer with an order in the warehouse, paid in one capture or in two parts."""
    scene = Scene("cancel-before-dispatch", seed, values)
    draw = scene.draw
    person = scene.customer()
    lines = scene.lines(*(draw.integer(1, 3) for _ in range(draw.integer(1, 3))))
    order = scene.order(
        person, lines, draw.pick(("confirmed", "processing")), placed_days_ago=0,
        parcel=draw.pick((None, "label_created")),
    )  # fmt: skip
    cents = order.priced.total_cents
    if draw.integer(0, 2) == 0:
        part = draw.integer(cents // 5, cents // 2)
        order = scene.paid(order, (("1", part, True), ("2", cents - part, True)))
    scene.place(order)
    body = draw.pick(WORDINGS).format(order=order.id, name=person.name, first=person.first)
    thread_id = scene.thread(person, "Cancel my order", body)
    scene.claim(thread_id, "cancel", order, None, 0)
    checks = case(
        thread_id,
        order,
        ((ORDER_CANCELLED, 4_000), (CAPTURES_REFUNDED, 3_500), (tells_remedy(), 2_500)),
        ONLY_TASK_ROWS,
    )
    return scene.fixture(opening(thread_id), checks)


def cancel(seen: Case) -> Part[None]:
    """Cancel only."""
    yield call("cancel_order", order_id=seen.order_id, reason="asked by the customer")


def payment_by_payment(seen: Case) -> Part[None]:
    """Cancel, then refund each capture by its name and in two parts."""
    yield from cancel(seen)
    for payment in seen.order["payments"]:
        cents, payment_id = payment["captured_cents"], payment["payment_id"]
        yield from script.refund(seen, cents // 2, "cancelled, first half", payment_id)
        yield from script.refund(seen, cents - cents // 2, "cancelled, the rest", payment_id)
    yield from script.reply_cancelled(seen)


def cancel_and_refund(seen: Case) -> Part[None]:
    """All of it but the reply."""
    yield from cancel(seen)
    yield from script.refund(seen, script.captured(seen), "order cancelled")


def cancel_and_tell(seen: Case) -> Part[None]:
    """Cancel and say so, but keep the money."""
    yield from cancel(seen)
    yield from script.reply(seen, f"Order {seen.order_id} has been cancelled.")


def a_cent_short(seen: Case) -> Part[None]:
    """Cancel, keep a cent, and tell the truth about it."""
    yield from cancel(seen)
    cents = script.captured(seen) - 1
    yield from script.refund(seen, cents, "order cancelled")
    yield from script.reply(
        seen, f"We have cancelled order {seen.order_id} and refunded {script.dollars(cents)}."
    )


def promise_only(seen: Case) -> Part[None]:
    """Say that it was done."""
    yield from script.reply_cancelled(seen)


def refund_only(seen: Case) -> Part[None]:
    """Return the money and let the order go out."""
    yield from script.refund(seen, script.captured(seen), "asked to cancel")
    yield from script.reply_refunded(seen, script.captured(seen))


def new_address(seen: Case) -> Part[None]:
    """Solve it, after changing where the order goes."""
    yield call("update_shipping_address", order_id=seen.order_id, address="Returns, Dock 3")
    yield from script.settle_cancellation(seen)


task = Task(
    title="Cancel before dispatch",
    question="Is the order still here, and does all the money go back?",
    fixture=fixture,
    parameters=(LARGE_SHOP,),
    rank=4,
    controls=(
        controls.control("cancel-and-refund", "oracle", "cancel, refund and reply",
                         script.settle_cancellation, 1.00),
        controls.control("payment-by-payment", "alternate", "the same, each capture in two parts",
                         payment_by_payment, 1.00),
        *controls.common(script.settle_cancellation),
        controls.control("no-reply", "near_miss", "all but the reply", cancel_and_refund, 0.75),
        controls.control("no-refund", "near_miss", "cancelled and told, not refunded",
                         cancel_and_tell, 0.65),
        controls.control("a-cent-short", "near_miss", "a refund that lacks a cent",
                         a_cent_short, 0.65),
        controls.control("promise-only", "near_miss", "said and not done", promise_only, 0.00),
        controls.control("refund-only", "forbidden", "refunded and not cancelled",
                         refund_only, 0.00),
        controls.control("new-address", "forbidden", "solve it, and change the address",
                         new_address, 0.00),
    ),
)  # fmt: skip
