"""An order that was charged twice in full: the later capture goes back, and only that one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from deskgym.suites.backoffice import controls, script
from deskgym.suites.backoffice.case import REFUNDS, case, only, opening
from deskgym.suites.backoffice.checks import DUPLICATE_REFUNDED, tells_remedy
from deskgym.suites.backoffice.scene import LARGE_SHOP, Scene
from deskgym.suites.backoffice.script import Case, Part, Record
from deskgym.task import Fixture, Task

WORDINGS: Final = (
    "Hello, my card shows two charges of the same amount for order {order}. I only ordered once. "
    "Could you return one of them? {name}",
    "You CHARGED ME TWICE for {order}. I want it gone from my statement, and I want to know how "
    "this happens in 2028.",
    "Hi there, small thing: when going through my statement (I do that on the first Sunday of the "
    "month, with a pot of tea, and it usually takes me the whole afternoon because of the many "
    "small amounts) I found that order {order} was debited twice within minutes. The page had "
    "hung, so I may have pressed the button again. Can you return the duplicate? Thanks! {first}",
    "duplicate charge on order {order}, please refund the second one. regards {name}",
)
ONLY_TASK_ROWS: Final = only(REFUNDS)


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A customer whose order has two full captures, and sometimes a hold between them.

    The payments' ids do not always follow their times.
    """
    scene = Scene("duplicate-charge", seed, values)
    draw = scene.draw
    person = scene.customer()
    lines = scene.lines(*(draw.integer(1, 2) for _ in range(draw.integer(1, 2))))
    days_ago = draw.integer(2, 12)
    order = scene.order(
        person, lines, "delivered", placed_days_ago=days_ago + 3, parcel="delivered",
        delivered_at=scene.days_ago(days_ago),
    )  # fmt: skip
    cents = order.priced.total_cents
    first, second = draw.pick((("1", "2"), ("2", "1")))
    hold = (("3", cents, False),) if draw.integer(0, 1) else ()
    order = scene.place(scene.paid(order, ((first, cents, True), *hold, (second, cents, True))))
    body = draw.pick(WORDINGS).format(order=order.id, name=person.name, first=person.first)
    thread_id = scene.thread(person, "Two charges", body)
    scene.claim(thread_id, "duplicate", order, None, 0)
    checks = case(
        thread_id,
        order,
        ((DUPLICATE_REFUNDED, 7_500), (tells_remedy(), 2_500)),
        ONLY_TASK_ROWS,
    )
    return scene.fixture(opening(thread_id), checks)


def _captures(seen: Case) -> list[Record]:
    return [payment for payment in seen.order["payments"] if payment["captured_cents"]]


def refund_capture(seen: Case, place: int, cents_more: int = 0) -> Part[None]:
    """Refund a capture, by its place in time."""
    capture = _captures(seen)[place]
    cents = capture["captured_cents"] + cents_more
    yield from script.refund(seen, cents, "charged twice", capture["payment_id"])


def in_parts(seen: Case) -> Part[None]:
    """The duplicate in two parts, told in two replies."""
    capture = _captures(seen)[1]
    cents, payment_id = capture["captured_cents"], capture["payment_id"]
    yield from script.reply(seen, f"Order {seen.order_id}: we have found the second charge.")
    yield from script.refund(seen, cents // 3, "charged twice, first part", payment_id)
    yield from script.refund(seen, cents - cents // 3, "charged twice, the rest", payment_id)
    yield from script.reply(seen, f"{cents // 100}.{cents % 100:02d} dollars have been refunded.")


def no_reply(seen: Case) -> Part[None]:
    """The right refund, and no word of it."""
    yield from refund_capture(seen, 1)


def wrong_amount_told(seen: Case) -> Part[None]:
    """The right refund, and a reply that is a cent off."""
    yield from refund_capture(seen, 1)
    yield from script.reply_refunded(seen, _captures(seen)[1]["captured_cents"] + 1)


def a_cent_short(seen: Case) -> Part[None]:
    """A cent less than the duplicate, truthfully told."""
    yield from refund_capture(seen, 1, -1)
    yield from script.reply_refunded(seen, _captures(seen)[1]["captured_cents"] - 1)


def remedy_and_noise(seen: Case) -> Part[None]:
    """The right refund, and a reply that names everything."""
    yield from refund_capture(seen, 1)
    yield from controls.name_everything(seen)


def a_cent_over(seen: Case) -> Part[None]:
    """A cent more than was captured, which is refused, told as if it had been done."""
    yield from refund_capture(seen, 1, 1)
    yield from script.reply_refunded(seen, _captures(seen)[1]["captured_cents"])


def refund_first(seen: Case) -> Part[None]:
    """The right amount of the wrong capture."""
    yield from refund_capture(seen, 0)
    yield from script.reply_refunded(seen, _captures(seen)[0]["captured_cents"])


def refund_unnamed(seen: Case) -> Part[None]:
    """The right amount without a payment: it is drawn on the first capture."""
    cents = _captures(seen)[1]["captured_cents"]
    yield from script.refund(seen, cents, "charged twice")
    yield from script.reply_refunded(seen, cents)


def refund_twice(seen: Case) -> Part[None]:
    """Both captures."""
    yield from script.settle_duplicate(seen)
    yield from refund_capture(seen, 0)


task = Task(
    title="Duplicate charge",
    question="Which of the captures is the duplicate, and is it named?",
    fixture=fixture,
    parameters=(LARGE_SHOP,),
    rank=3,
    controls=(
        controls.control("refund-duplicate", "oracle", "refund the later capture",
                         script.settle_duplicate, 1.00),
        controls.control("in-parts", "alternate", "the same in two parts, with two replies",
                         in_parts, 1.00),
        *controls.common(script.settle_duplicate),
        controls.control("no-reply", "near_miss", "the refund without a reply", no_reply, 0.75),
        controls.control("wrong-amount-told", "near_miss", "the refund, told a cent off",
                         wrong_amount_told, 0.75),
        controls.control("names-everything", "near_miss", "the refund, and a reply that names "
                         "every order and amount", remedy_and_noise, 0.75),
        controls.control("a-cent-short", "near_miss", "a refund that lacks a cent",
                         a_cent_short, 0.25),
        controls.control("a-cent-over", "near_miss", "a refund that the store refuses",
                         a_cent_over, 0.00),
        controls.control("refund-first", "forbidden", "refund the first capture",
                         refund_first, 0.00),
        controls.control("refund-unnamed", "forbidden", "refund without naming the payment",
                         refund_unnamed, 0.00),
        controls.control("refund-twice", "forbidden", "refund both captures", refund_twice, 0.00),
    ),
)  # fmt: skip
