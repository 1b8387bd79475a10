"""The building blocks of scripted agents. They know what they have read, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from deskgym.store.shop.price import share
from deskgym.suites.backoffice.day import day_of
from deskgym.trajectory import Action, Observation, call

T = TypeVar("T")
Part = Generator[Action, Observation, T]
Record = dict[str, Any]

NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_ORDER = re.compile(r"(?<![\w.$-])\d{4,5}(?![\w-])")
_SOME_OF = re.compile(r"\b(one|two|three|four|five|six|\d) of the\b")


@dataclass(frozen=True)
class Case:
    """What an agent knows once it has read the policy, a thread and the order that it is about."""

    policy: Record
    thread: Record
    order: Record

    @property
    def thread_id(self) -> str:
        """The thread."""
        return self.thread["thread_id"]

    @property
    def order_id(self) -> str:
        """The order."""
        return self.order["order_id"]

    @property
    def words(self) -> str:
        """All that the customer wrote, in lower case."""
        bodies = [item["body"] for item in self.thread["messages"] if item["sender"] == "customer"]
        return " ".join(bodies).lower().replace("’", "'")

    @property
    def own(self) -> bool:
        """Whether the order is on the account of the thread's customer."""
        return self.order["customer_id"] == self.thread["customer_id"]

    @property
    def item(self) -> Record:
        """The item that the customer writes about; the first one if none is named."""
        for item in self.order["items"]:
            if item["product"].lower().split()[-1] in self.words:
                return item
        return self.order["items"][0]

    @property
    def quantity(self) -> int:
        """How many pieces of the item: "two of the three", or all of them."""
        found = _SOME_OF.search(self.words)
        if found is None:
            return self.item["quantity"]
        return NUMBERS.get(found[1]) or int(found[1])

    def days_since(self, time: str) -> int:
        """How many of the store's days ago something was."""
        hours, minutes = self.policy["time_zone"][3:].split(":")
        offset = int(hours) * 60 + int(minutes) * (-1 if hours.startswith("-") else 1)
        return day_of(self.policy["now"], offset) - day_of(time, offset)

    def number(self, name: str) -> int:
        """A number of the policy."""
        return self.policy["numbers"][name]


def thread_named_in(observation: Observation) -> str | None:
    """The thread that the task is about, if it is about one."""
    found = re.search(r"\bT-\d+\b", observation.message)
    return found and found[0]


def look(first: Observation) -> Part[Case]:
    """Read the policy, the thread, and the order: the customer's own if several are named."""
    policy = dict((yield call("read_policy")).data)
    thread_id = thread_named_in(first)
    thread = dict((yield call("read_thread", thread_id=thread_id)).data)
    orders: list[Record] = []
    bodies = " ".join(message["body"] for message in thread["messages"])
    for order_id in dict.fromkeys(_ORDER.findall(bodies)):
        found = yield call("get_order", order_id=order_id)
        if found.ok:
            orders.append(dict(found.data))
            if found.data["customer_id"] == thread["customer_id"]:
                break
    own = [order for order in orders if order["customer_id"] == thread["customer_id"]]
    return Case(policy, thread, (own or orders)[0])


def in_stock(sku: str) -> Part[int]:
    """How many pieces of a SKU are in stock."""
    return (yield call("check_inventory", sku=sku)).data["rows"][0]["quantity"]


def replace_item(case: Case, sku: str, quantity: int) -> Part[None]:
    """Send pieces again."""
    yield call("create_replacement", order_id=case.order_id, sku=sku, qty=quantity)


def refund(case: Case, cents: int, reason: str, payment_id: str | None = None) -> Part[None]:
    """Return money of the case's order."""
    named = {} if payment_id is None else {"payment_id": payment_id}
    yield call("issue_refund", order_id=case.order_id, amount_cents=cents, reason=reason, **named)


def reply(case: Case, *sentences: str) -> Part[None]:
    """Answer the customer in the thread."""
    name = case.thread["customer"].split()[0]
    body = " ".join(sentences)
    yield call("reply_to_thread", thread_id=case.thread_id, body=f"Hello {name},\n\n{body}")


def submit(summary: str = "Done by the policy.") -> Part[None]:
    """Hand the work in."""
    yield call("submit", summary=summary)


def dollars(cents: int) -> str:
    """`$54.00` for 5400."""
    return f"${cents // 100:,}.{cents % 100:02d}"


# What each kind of case takes, once it was looked at.


def damaged_due(case: Case) -> int:
    """What the damaged pieces cost."""
    item = case.item
    return share(item["paid_cents"], case.quantity, item["quantity"])


def settle_damage(case: Case) -> Part[None]:
    """Replace the damaged pieces if they are in stock, refund them if not, and say so."""
    item, quantity = case.item, case.quantity
    if (yield from in_stock(item["sku"])) >= quantity:
        yield from replace_item(case, item["sku"], quantity)
        yield from reply_replaced(case)
    else:
        yield from refund(case, damaged_due(case), "damaged on arrival, out of stock")
        yield from reply_refunded(case, damaged_due(case))


def reply_replaced(case: Case) -> Part[None]:
    """Say that a replacement is coming."""
    yield from reply(
        case,
        f"I am sorry about the trouble with order {case.order_id}.",
        "We have sent you a replacement today, free of charge.",
    )


def reply_refunded(case: Case, cents: int) -> Part[None]:
    """Say how much was refunded."""
    yield from reply(
        case,
        f"I am sorry about the trouble with order {case.order_id}.",
        f"We have refunded {dollars(cents)} to the card that you paid with.",
    )


def settle_lost(case: Case) -> Part[None]:
    """Send everything again if all of it is in stock, refund it if not, and say so."""
    short = False
    for item in case.order["items"]:
        short |= (yield from in_stock(item["sku"])) < item["quantity"]
    if short:
        due = sum(item["paid_cents"] for item in case.order["items"])
        yield from refund(case, due, "parcel lost, not all of it in stock")
        yield from reply_refunded(case, due)
    else:
        for item in case.order["items"]:
            yield from replace_item(case, item["sku"], item["quantity"])
        yield from reply_replaced(case)


def duplicate_of(case: Case) -> Mapping[str, Any] | None:
    """The later of two captures of the whole total."""
    full = [
        payment
        for payment in case.order["payments"]
        if payment["captured_cents"] == case.order["total_cents"]
    ]
    return full[1] if len(full) > 1 else None


def settle_duplicate(case: Case) -> Part[None]:
    """Refund the duplicate, and say so."""
    duplicate = duplicate_of(case)
    if duplicate is None:
        yield from reply(case, f"Order {case.order_id} was charged once, and only once.")
        return
    cents = duplicate["captured_cents"]
    yield from refund(case, cents, "charged twice", duplicate["payment_id"])
    yield from reply_refunded(case, cents)


def captured(case: Case) -> int:
    """What the order's payments captured in all."""
    return sum(payment["captured_cents"] for payment in case.order["payments"])


def settle_cancellation(case: Case) -> Part[None]:
    """Cancel the order, refund what was captured, and say so."""
    yield call("cancel_order", order_id=case.order_id, reason="asked by the customer")
    yield from refund(case, captured(case), "order cancelled before dispatch")
    yield from reply_cancelled(case)


def reply_cancelled(case: Case) -> Part[None]:
    """Say that the order is cancelled and how much was refunded."""
    yield from reply(
        case,
        f"We have cancelled order {case.order_id} for you.",
        f"{dollars(captured(case))} has been refunded to the card that you paid with.",
    )


def settle_return(case: Case) -> Part[None]:
    """Refund a return that is in time; decline a late one by the policy."""
    delivered = case.order["shipments"][0]["delivered_at"]
    if case.days_since(delivered) <= case.number("return_window_days"):
        yield from refund(case, damaged_due(case), "returned in time")
        yield from reply_refunded(case, damaged_due(case))
    else:
        yield from decline_return(case)


def decline_return(case: Case) -> Part[None]:
    """Decline, and give the rule."""
    yield from reply(
        case,
        f"I am sorry, but we cannot refund order {case.order_id}:",
        f"returns are taken up to {case.number('return_window_days')} days after delivery.",
    )


def decline_other_account(case: Case) -> Part[None]:
    """Say no more than that the order is on another account."""
    yield from reply(
        case,
        "I am sorry, but I cannot help with that order: it is on another account, and we speak "
        "about an order only with the customer who placed it.",
    )


def work(settle: Callable[[Case], Part[None]]) -> Callable[[Observation], Part[None]]:
    """Look, settle, submit."""

    def script(first: Observation) -> Part[None]:
        case = yield from look(first)
        yield from settle(case)
        yield from submit()

    return script
