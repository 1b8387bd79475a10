"""A parcel that never came, past the policy's waiting time: sent again, or refunded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from deskgym.suites.backoffice import controls, script
from deskgym.suites.backoffice.case import REFUNDS, REPLACEMENTS, case, only, opening
from deskgym.suites.backoffice.checks import PARCEL_REMEDIED, tells_remedy
from deskgym.suites.backoffice.policy import PARCEL_WAIT
from deskgym.suites.backoffice.scene import LARGE_SHOP, STOCK_ENOUGH, Scene
from deskgym.suites.backoffice.script import Case, Part
from deskgym.task import Fixture, Task

WORDINGS: Final = (
    "Hello, my order {order} has still not arrived, and the tracking has not moved for days. "
    "Could you look into it? {name}",
    "Where is my parcel?! Order {order}. I have been home every single evening. Your carrier is a "
    "joke and so is this shop if nobody picks up the phone.",
    "Good morning! I hope you are all well. I do not like to bother you, and I know that the roads "
    "were bad, what with the storm and then the bridge being closed (we had to drive around by the "
    "lake to see my mother, who is 84 and sends her regards). But order {order} never arrived, "
    "and by now I doubt that it will. Warm wishes, {first}",
    "Parcel for {order} missing. Not at the neighbours', not at the pick-up point. Please sort it.",
)
ONLY_TASK_ROWS: Final = only(REFUNDS, *REPLACEMENTS)


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A customer who waits for an order of two or three lines."""
    scene = Scene("missing-parcel", seed, values)
    draw = scene.draw
    person = scene.customer()
    overdue = scene.policy[PARCEL_WAIT] + draw.integer(1, 6)
    lines = scene.lines(*(draw.integer(1, 3) for _ in range(draw.integer(2, 3))))
    order = scene.place(
        scene.order(
            person, lines, "shipped", placed_days_ago=overdue + 6, parcel="in_transit",
            expected_at=scene.days_ago(overdue),
        )
    )  # fmt: skip
    for line in lines:
        scene.set_stock(line.sku, line.quantity + draw.integer(0, STOCK_ENOUGH))
    if draw.integer(0, 1):
        scarce = draw.pick(lines)
        scene.set_stock(scarce.sku, draw.integer(0, scarce.quantity - 1))
    body = draw.pick(WORDINGS).format(order=order.id, name=person.name, first=person.first)
    thread_id = scene.thread(person, "Where is my order?", body)
    scene.claim(thread_id, "lost", order, None, 0)
    checks = case(
        thread_id,
        order,
        ((PARCEL_REMEDIED, 7_500), (tells_remedy(), 2_500)),
        ONLY_TASK_ROWS,
    )
    return scene.fixture(opening(thread_id), checks)


def is_short(seen: Case) -> Part[bool]:
    """Whether anything in the parcel is out of stock."""
    short = False
    for item in seen.order["items"]:
        short |= (yield from script.in_stock(item["sku"])) < item["quantity"]
    return short


def total(seen: Case) -> int:
    """What was paid for the parcel."""
    return sum(item["paid_cents"] for item in seen.order["items"])


def remedy_only(seen: Case) -> Part[None]:
    """The right remedy, and no word of it."""
    if (yield from is_short(seen)):
        yield from script.refund(seen, total(seen), "parcel lost")
        return
    for item in seen.order["items"]:
        yield from script.replace_item(seen, item["sku"], item["quantity"])


def in_parts(seen: Case) -> Part[None]:
    """The right remedy piece by piece, or a refund for each item, and the order named apart."""
    if (yield from is_short(seen)):
        for item in seen.order["items"]:
            yield from script.refund(seen, item["paid_cents"], f"lost: {item['sku']}")
        yield from script.reply(seen, f"You have been refunded {total(seen) / 100:.2f} USD.")
    else:
        for item in seen.order["items"]:
            for _ in range(item["quantity"]):
                yield from script.replace_item(seen, item["sku"], 1)
        yield from script.reply(seen, "We’re sending everything again: a replacement is packed.")
    yield from script.reply(seen, f"This is about order #{seen.order_id}.")


def remedy_and_noise(seen: Case) -> Part[None]:
    """The right remedy, and a reply that names everything."""
    yield from remedy_only(seen)
    yield from controls.name_everything(seen)


def remedy_untold(seen: Case) -> Part[None]:
    """The right remedy, and a reply that does not say what was done."""
    yield from remedy_only(seen)
    yield from script.reply(seen, f"Your order {seen.order_id} is taken care of.")


def promise_only(seen: Case) -> Part[None]:
    """Promises without deeds."""
    yield from script.reply_refunded(seen, total(seen))


def both(seen: Case) -> Part[None]:
    """What can be sent again, and the money as well."""
    for item in seen.order["items"]:
        yield from script.replace_item(seen, item["sku"], item["quantity"])
    yield from script.refund(seen, total(seen), "parcel lost")


task = Task(
    title="Missing parcel",
    question="Is everything in the parcel in stock, so that it is sent again, or not?",
    fixture=fixture,
    parameters=(LARGE_SHOP,),
    rank=2,
    controls=(
        controls.control("resend-or-refund", "oracle", "send again if in stock, else refund",
                         script.settle_lost, 1.00),
        controls.control("in-parts", "alternate", "the same in parts, with two replies",
                         in_parts, 1.00),
        *controls.common(script.settle_lost),
        controls.control("no-reply", "near_miss", "the remedy without a reply", remedy_only, 0.75),
        controls.control("untold", "near_miss", "the remedy, and a reply that does not tell it",
                         remedy_untold, 0.75),
        controls.control("names-everything", "near_miss", "the remedy, and a reply that names "
                         "every order and amount", remedy_and_noise, 0.75),
        controls.control("promise-only", "near_miss", "a promise and no remedy",
                         promise_only, 0.00),
        controls.control("both", "forbidden", "goods and money", both, 0.00),
    ),
)  # fmt: skip
