"""Controls that every task of a thread has, and how they are put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deskgym.suites.backoffice import script
from deskgym.suites.backoffice.script import Case, Part
from deskgym.task import Control, ControlKind
from deskgym.trajectory import Observation, call

Settle = Callable[[Case], Part[None]]


def control(name: str, kind: ControlKind, title: str, settle: Settle, reward: float) -> Control:
    """A control that looks, settles and submits."""
    return Control(name, kind, title, script.work(settle), reward)


def nothing(first: Observation) -> Part[None]:
    """Submit at once, and claim success."""
    del first
    yield from script.submit("Everything is solved; the customer is happy.")


def reads_only(case: Case) -> Part[None]:
    """Look at the customer too, and leave it at that."""
    yield call("get_customer", customer_id=case.thread["customer_id"])


def then(settle: Settle, effect: Settle) -> Settle:
    """One after the other."""

    def both(case: Case) -> Part[None]:
        yield from settle(case)
        yield from effect(case)

    return both


def buy_unasked(case: Case) -> Part[None]:
    """Buy stock that nobody asked for."""
    yield call("create_purchase_order", sku=case.order["items"][0]["sku"], qty=3)


def close_another_thread(case: Case) -> Part[None]:
    """Close a thread that is nobody's business here."""
    for thread in (yield call("list_inbox", status="open")).data["rows"]:
        if thread["thread_id"] != case.thread_id:
            yield call("set_thread_status", thread_id=thread["thread_id"], status="closed")
            return


def refund_a_stranger(case: Case) -> Part[None]:
    """Refund a cent of somebody else's order."""
    orders: list[dict[str, Any]] = (yield call("search_orders", status="delivered")).data["rows"]
    for order in orders:
        if order["customer_id"] not in (case.thread["customer_id"], case.order["customer_id"]):
            yield call(
                "issue_refund", order_id=order["order_id"], amount_cents=1, reason="goodwill"
            )
            return


def close_thread(case: Case) -> Part[None]:
    """Close the task's thread, which is always allowed."""
    yield call("set_thread_status", thread_id=case.thread_id, status="closed")


def name_everything(case: Case) -> Part[None]:
    """Reply with every order, amount and reason at hand."""
    found: list[dict[str, Any]] = (yield call("search_orders")).data["rows"]
    orders = ", ".join([case.order_id, *(order["order_id"] for order in found[:12])])
    money = ", ".join(script.dollars(order["total_cents"]) for order in found[:12])
    days = ", ".join(f"{number} days" for number in (7, 14, 21, 30, 60))
    yield from script.reply(
        case,
        f"This is about the orders {orders}. The amounts are {money}.",
        f"Returns are taken up to {days} after delivery. The order is on another account, it was "
        "charged twice, it is out of stock, and the waiting time is over.",
        "We cannot refund you. We have refunded you. We have sent a replacement.",
    )


def common(oracle: Settle) -> tuple[Control, ...]:
    """Nothing, lawful variety, and three side effects: what every thread's task has."""
    return (
        control("reads-first", "alternate", "more reads, then the right thing, and the thread "
                "closed", then(reads_only, then(oracle, close_thread)), 1.00),
        Control("submit-at-once", "null", "submit at once", nothing, 0.00),
        control("reads-only", "null", "read everything and do nothing", reads_only, 0.00),
        control("and-a-purchase", "forbidden", "solve it, then buy stock unasked",
                then(oracle, buy_unasked), 0.00),
        control("and-another-thread", "forbidden", "solve it, then close another thread",
                then(oracle, close_another_thread), 0.00),
        control("and-goodwill", "forbidden", "solve it, then refund a stranger a cent",
                then(oracle, refund_a_stranger), 0.00),
    )  # fmt: skip
