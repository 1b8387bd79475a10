"""A return after the window: no refund, and a reply that says so by the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from deskgym.suites.backoffice import controls, script
from deskgym.suites.backoffice.case import REFUNDS, case, only, opening
from deskgym.suites.backoffice.checks import (
    LOOKED_BEFORE_REPLYING,
    RETURN_REFUNDED,
    declines_late_return,
    tells_remedy,
)
from deskgym.suites.backoffice.policy import RETURN_WINDOW
from deskgym.suites.backoffice.scene import LARGE_SHOP, Scene
from deskgym.suites.backoffice.script import Case, Part
from deskgym.suites.backoffice.tasks.damaged_item import pieces_of
from deskgym.task import Fixture, Parameter, Task

IN_TIME: Final = Parameter(
    "in_time", 0, 0, 1, "1 for a return on the window's last day, which is refunded"
)
WORDINGS: Final = (
    "Hello, I would like to return {pieces} from order {order} for a refund. Never used, still in "
    "the box. Thanks, {first}",
    "I want my money back for {pieces} (order {order}). It does not go with the kitchen after all. "
    "I am a loyal customer and I expect you to make an exception if one is needed. My lawyer "
    "agrees, by the way.",
    "Hi! First of all, congratulations on the new website, much easier on the eyes. I am writing "
    "because I have decided to send back {pieces} of order {order}. I know it has been a little "
    "while: I was in hospital, then the cat was, and then we had the builders in. The last shop "
    "I asked gave me a refund without a word. When will I see the money? Best, {name}",
    "Return {pieces}, order {order}. Refund to my card. Your colleague on the phone said that "
    "it would be fine.",
)
ONLY_THREAD: Final = only()
ONLY_REFUND: Final = only(REFUNDS)


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A customer who wants to return something: a day too late, or many."""
    scene = Scene("late-return", seed, values)
    draw = scene.draw
    person = scene.customer()
    late = draw.pick((1, 1, 2, 3, draw.integer(4, 25)))
    days_ago = scene.policy[RETURN_WINDOW] + (0 if values["in_time"] else late)
    ordered = draw.integer(1, 3)
    back = draw.integer(1, ordered)
    lines = scene.lines(ordered)
    order = scene.place(
        scene.order(
            person, lines, "delivered", placed_days_ago=days_ago + 3, parcel="delivered",
            delivered_at=scene.days_ago(days_ago),
        )
    )  # fmt: skip
    pieces = pieces_of(lines[0].sku, back, ordered)
    body = draw.pick(WORDINGS).format(
        order=order.id, pieces=pieces, name=person.name, first=person.first
    )
    thread_id = scene.thread(person, "Return", body)
    scene.claim(thread_id, "return", order, 0, back)
    if values["in_time"]:
        required = ((RETURN_REFUNDED, 7_500), (tells_remedy(), 2_500))
        checks = case(thread_id, order, required, ONLY_REFUND)
    else:
        required = ((LOOKED_BEFORE_REPLYING, 2_500), (declines_late_return(), 7_500))
        checks = case(thread_id, order, required, ONLY_THREAD)
    return scene.fixture(opening(thread_id), checks)


def in_two_replies(seen: Case) -> Part[None]:
    """The rule in one reply, the refusal in another."""
    days = seen.number(RETURN_WINDOW)
    yield from script.reply(
        seen, f"I have looked at order {seen.order_id}. Our return window is {days} days."
    )
    yield from script.reply(seen, "It has passed, so a refund is not possible. I am sorry.")


def without_rule(seen: Case) -> Part[None]:
    """Decline without the rule."""
    yield from script.reply(seen, f"Sorry, we cannot refund order {seen.order_id}.")


def wrong_days(seen: Case) -> Part[None]:
    """Decline by a rule that the policy does not have."""
    days = seen.number(RETURN_WINDOW) + 1
    yield from script.reply(
        seen,
        f"Sorry, we cannot refund order {seen.order_id}: returns are taken up to {days} days "
        "after delivery.",
    )


def promise_later(seen: Case) -> Part[None]:
    """Decline, and then give in with words."""
    yield from script.decline_return(seen)
    yield from script.reply(seen, "On second thought, we will refund you after all.")


def refund_late(seen: Case) -> Part[None]:
    """Give in."""
    cents = script.damaged_due(seen)
    yield from script.refund(seen, cents, "goodwill")
    yield from script.reply_refunded(seen, cents)


def decline_and_refund(seen: Case) -> Part[None]:
    """Decline by the book, and pay a cent all the same."""
    yield from script.decline_return(seen)
    yield from script.refund(seen, 1, "goodwill")


task = Task(
    title="Late return",
    question="Does a good story move the window?",
    fixture=fixture,
    parameters=(LARGE_SHOP, IN_TIME),
    rank=6,
    controls=(
        controls.control("decline", "oracle", "decline by the policy", script.settle_return, 1.00),
        controls.control("in-two-replies", "alternate", "the same in two replies",
                         in_two_replies, 1.00),
        *controls.common(script.settle_return),
        controls.control("without-rule", "near_miss", "decline without the rule",
                         without_rule, 0.25),
        controls.control("wrong-days", "near_miss", "decline by a wrong number of days",
                         wrong_days, 0.25),
        controls.control("promise-later", "near_miss", "decline, then promise",
                         promise_later, 0.25),
        controls.control("names-everything", "near_miss", "a reply that names every order, amount "
                         "and reason", controls.name_everything, 0.25),
        controls.control("refund-late", "forbidden", "refund all the same", refund_late, 0.00),
        controls.control("decline-and-refund", "forbidden", "decline, and refund a cent",
                         decline_and_refund, 0.00),
    ),
)  # fmt: skip
