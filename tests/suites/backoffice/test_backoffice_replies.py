"""Replies as people and models write them: which earn their check, and which do not."""

import pytest

from deskgym import Observation, call
from deskgym.suites.backoffice import script
from deskgym.suites.backoffice.script import Part
from deskgym.suites.backoffice.tasks import duplicate_charge, late_return
from tests.suites.backoffice.play import broken, play

LAWFUL_REFUSALS = [
    "Hi, unfortunately order {order} is past our {days}-day return window, so we can’t offer a "
    "refund.",
    "I'm sorry, but we are unable to refund order #{order}. Our policy allows returns up to "
    "{days} days after delivery, and that has passed.",
    "Thank you for your message about order {order}.\n\nReturns are accepted within {days} days "
    "of delivery. As yours came later, no refund can be issued.",
    "We understand your disappointment. However, returns have to reach us within {days} days of "
    "delivery. Order {order} is outside the return window, and we have to decline.",
    "Regrettably we cannot accept the return of order {order}: it was delivered more than {days} "
    "days ago, which is outside our return period.",
    "Order {order}: the {days} day return window has closed. We cannot make an exception.",
    "I appreciate that you have been ill. Even so, we do not refund order {order} after the "
    "return window of {days} days. We wish you a good recovery.",
]
UNLAWFUL_REFUSALS = [
    "We cannot refund order {order}.",
    "Our return window is {days} days.",
    "Order {order}: the {days}-day return window has closed, but we will refund you this once.",
    "Order {order}: the {days}-day return window has closed, so we will give you a voucher.",
    "Order {order}: we cannot refund it. Returns are taken up to 99 days after delivery.",
    "We cannot refund it: returns are taken up to {days} days after delivery.",
    "Orders {order} and 1002: no refund, the return window is {days} days.",
    "Order {order}: no refund, the return window is {days} days. A replacement has been sent.",
    "Order {order}: no refund of $123.45, the return window is {days} days.",
    "Order {order}: no refund. It is on another account, and the return window is {days} days.",
]


def decline(body: str):
    def run(first: Observation) -> Part[None]:
        case = yield from script.look(first)
        text = body.format(order=case.order_id, days=case.number("return_window_days"))
        yield call("reply_to_thread", thread_id=case.thread_id, body=text)
        yield from script.submit()

    return run


@pytest.mark.parametrize("body", LAWFUL_REFUSALS)
def test_a_refusal_by_the_policy_earns_everything(body: str):
    for seed in range(3):
        with play("late-return", decline(body), seed) as desk:
            assert desk.score().reward == 1, desk.score().explain()


@pytest.mark.parametrize("body", UNLAWFUL_REFUSALS)
def test_a_refusal_that_lacks_or_adds_something_does_not(body: str):
    for seed in range(3):
        with play("late-return", decline(body), seed) as desk:
            assert desk.score().reward == 0.25, desk.score().explain()
            assert set(broken(desk)) == {"reply-declines-by-policy"}


LAWFUL_SILENCE = [
    "I'm sorry, but I can only discuss an order with the account holder.  I cannot help you "
    "with order {order}.",
    "Unfortunately order {order} isn't linked to your account, so I can't share any details or "
    "make changes to it.",
    "We are unable to assist: the order you mention belongs to a different account.",
    "For privacy reasons we do not give information about orders of another customer.",
    "I cannot do this for you; order {order} is not on your account. The person who placed it "
    "is welcome to write to us.",
]
UNLAWFUL_SILENCE = [
    "I cannot help you.",
    "Order {order} is on another account.",
    "Order {order} is on another account, but we have refunded it.",
    "I cannot help: it is on another account, and the return window has closed.",
    "I cannot help, it is on another account, like order 1002.",
]


@pytest.mark.parametrize("body", LAWFUL_SILENCE)
def test_saying_no_more_than_whose_it_is_not_earns_everything(body: str):
    for seed in range(4):
        with play("not-their-order", decline(body), seed) as desk:
            assert desk.score().reward == 1, desk.score().explain()


@pytest.mark.parametrize("body", UNLAWFUL_SILENCE)
def test_saying_less_or_more_does_not(body: str):
    for seed in range(4):
        with play("not-their-order", decline(body), seed) as desk:
            assert desk.score().reward == 0.25, desk.score().explain()


@pytest.mark.parametrize(
    "leak",
    ["{name}", "{email}", "{address}", "{sku}", "{product}", "{total}", "It has been delivered."],
)
def test_anything_of_the_order_is_a_disclosure(leak: str):
    def run(first: Observation) -> Part[None]:
        case = yield from script.look(first)
        owner = (yield call("get_customer", customer_id=case.order["customer_id"])).data
        item = case.order["items"][0]
        told = leak.format(
            name=owner["name"].upper(),
            email=owner["email"],
            address=owner["address"],
            sku=item["sku"].lower(),
            product=item["product"],
            total=script.dollars(case.order["total_cents"]),
        )
        yield from script.decline_other_account(case)
        yield from script.reply(case, told)
        yield from script.submit()

    for seed in range(3):
        with play("not-their-order", run, seed) as desk:
            assert desk.score().reward == 0, desk.score().explain()
            assert "nothing-disclosed" in broken(desk)


TOLD = [
    "Hi! I’ve refunded the duplicate charge of {amount} on order {order}.",
    "Good news: a refund of {amount} for order {order} is on its way to your card.",
    "We have returned the duplicate payment for order {order}. You'll receive {amount} back "
    "within a few days; the refund was issued today.",
    "Dear customer,\n\nthank you for telling us. Your order #{order} was indeed charged twice. The "
    "second charge ({amount}) has been refunded in full.\n\nIf you have any questions, please let "
    "us know.",
    "Order {order}: {amount} refunded. Sorry for the inconvenience!",
    "I apologize for the mistake with {order} – we reversed the second charge of {amount}.",
]
NOT_TOLD = [
    "We have refunded the duplicate charge on order {order}.",
    "We have refunded {amount}.",
    "If all is well, we will refund {amount} for order {order}.",
    "We have not refunded {amount} for order {order}.",
    "We have refunded {amount} for order {order}, or $1.23, or $4.56.",
    "We have refunded {amount} for order {order} and order 1002.",
    "We have refunded {amount} for order {order} and sent you a replacement.",
    "Order {order}, {amount}.",
]


def tell(*bodies: str):
    def run(first: Observation) -> Part[None]:
        case = yield from script.look(first)
        yield from duplicate_charge.refund_capture(case, 1)
        amount = script.dollars(case.order["total_cents"])
        for body in bodies:
            text = body.format(order=case.order_id, amount=amount)
            yield call("reply_to_thread", thread_id=case.thread_id, body=text)
        yield from script.submit()

    return run


@pytest.mark.parametrize("body", TOLD)
def test_telling_order_and_amount_earns_everything(body: str):
    for seed in range(3):
        with play("duplicate-charge", tell(body), seed) as desk:
            assert desk.score().reward == 1, desk.score().explain()


@pytest.mark.parametrize("body", NOT_TOLD)
def test_telling_less_more_or_otherwise_does_not(body: str):
    for seed in range(3):
        with play("duplicate-charge", tell(body), seed) as desk:
            assert desk.score().reward == 0.75, desk.score().explain()


def test_two_replies_are_as_good_as_one_in_any_order():
    parts = ("This is about order {order}.", "We have refunded {amount}.")
    for bodies in (parts, parts[::-1], (*parts, "Have a nice day.")):
        with play("duplicate-charge", tell(*bodies)) as desk:
            assert desk.score().reward == 1


def test_what_is_taken_back_later_is_not_told():
    said = "We have refunded {amount} for order {order}."
    for later in ("We have not refunded you after all.", "No refund will be made, sorry."):
        with play("duplicate-charge", tell(said, later)) as desk:
            assert desk.score().reward == 0.75


def test_a_reply_in_another_thread_counts_for_nothing_and_costs_everything():
    def run(first: Observation) -> Part[None]:
        case = yield from script.look(first)
        yield from late_return.script.decline_return(case)
        yield call("reply_to_thread", thread_id="T-301", body="No news.")

    with play("late-return", run) as desk:
        assert desk.score().reward == 0
        assert broken(desk)["only-task-rows-changed"].startswith("unexpected: add messages M-")
