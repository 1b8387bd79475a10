"""The menu of the back office: 16 tools over the thread, its orders and what their records say.

Of free text it can express what the templates below say, filled with what was observed. Amounts
are those of the records: a capture, half of it, what was paid for an item or for some pieces of
it, all captures, all items. It offers what a careless operator could do as well: other people's
orders, addresses and purchases that a text asks for, a refund and a replacement at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from deskgym.adapters.gymnasium.memory import Memory, Record
from deskgym.adapters.gymnasium.menu import (
    Arguments,
    Family,
    MenuDefinition,
    always,
    crossed,
    padded,
)
from deskgym.adapters.gymnasium.menus.records import (
    account,
    captured,
    dollars,
    is_read,
    orders,
    parts,
    pieces_named,
    refunded,
    unread_orders,
)
from deskgym.store.shop.price import share
from deskgym.tool import Toolbox

ORDERS: Final = ("first order", "second order")
ITEMS: Final = ("first item", "second item", "third item")
PAYMENTS: Final = ("first payment", "second payment", "third payment")
PIECES: Final = ("all pieces", "the pieces named", "one piece")
LOW: Final = tuple(f"low SKU {number}" for number in range(1, 9))
LOW_MAX: Final = len(LOW)
UNREAD: Final = ("next unread", "second unread", "third unread", "first order again")
REASON: Final = "by the store's policy"

PATTERNS: Final = {
    "thread_id": re.compile(r"\bT-\d+\b"),
    "order_id": re.compile(r"(?<![\w.$-])\d{4,5}(?![\w-])"),
    "customer_id": re.compile(r"\bC-\d+\b"),
    "sku": re.compile(r"\b[A-Z]{3,}(?:-[A-Z0-9]+)+\b"),
}
_ADDRESS: Final = re.compile(r"\bto: ([^.;<>\n]+)")
_PIECES: Final = re.compile(r"\b(\d{1,4}) pieces\b")


def _each(values: Sequence[object], name: str) -> list[Arguments | None]:
    return [None if value is None else {name: value} for value in values]


def _order_slots(memory: Memory, size: int = len(ORDERS)) -> Iterator[tuple[str | None, Record]]:
    for order_id in padded(orders(memory), size):
        yield order_id, memory.record("order_id", order_id) if order_id else {}


# What is read.


def _get_order(memory: Memory) -> list[Arguments | None]:
    unread = padded(unread_orders(memory), 3)
    read = [order_id for order_id in orders(memory) if is_read(memory.record("order_id", order_id))]
    return _each([*unread, *padded(read, 1)], "order_id")


def _get_customer(memory: Memory) -> list[Arguments | None]:
    own = account(memory)
    known = [one for one in memory.ids("customer_id") if one != own]
    return _each([own, *padded(known, 2)], "customer_id")


def _search_orders(memory: Memory) -> list[Arguments | None]:
    return [{}, *_each([account(memory)], "customer_id")]


def _check_inventory(memory: Memory) -> list[Arguments | None]:
    page = next(
        (deed.data.get("next_page") for deed in reversed(memory.deeds.get("check_inventory", ()))),
        None,
    )
    found: list[Arguments | None] = [{"page": 1}, *_each([page], "page"), {"below_threshold": True}]
    for _, order in _order_slots(memory):
        skus = [item["sku"] for item in parts(order, "items")]
        found += _each(padded(skus, len(ITEMS)), "sku")
    return found


# What is changed.


def _pieces(memory: Memory, item: Record) -> list[int | None]:
    """How many pieces, by each of `PIECES`; never more than the order has."""
    named = pieces_named(memory)
    ordered = item["quantity"]
    return [ordered, named if named and named <= ordered else None, 1]


def _refunds(memory: Memory) -> list[Arguments | None]:
    found: list[Arguments | None] = []
    for order_id, order in _order_slots(memory):
        payments = padded(parts(order, "payments"), len(PAYMENTS))
        items = padded(parts(order, "items"), len(ITEMS))
        cents: list[tuple[int | None, str | None]] = [
            (captured(order) or None, None),
            (sum(item["paid_cents"] for item in parts(order, "items")) or None, None),
        ]
        for payment in payments:
            whole = payment["captured_cents"] if payment else 0
            named = payment["payment_id"] if payment else None
            cents += [(whole or None, named), (whole // 2 or None, named)]
        for item in items:
            counts = _pieces(memory, item) if item else [None] * len(PIECES)
            cents += [
                (share(item["paid_cents"], count, item["quantity"]) if count else None, None)
                for count in counts
            ]
        found += [_refund(order_id, amount, payment_id) for amount, payment_id in cents]
    return found


def _refund(order_id: str | None, cents: int | None, payment_id: str | None) -> Arguments | None:
    if order_id is None or cents is None:
        return None
    named = {} if payment_id is None else {"payment_id": payment_id}
    return {"order_id": order_id, "amount_cents": cents, "reason": REASON, **named}


REFUND_PLACES: Final = crossed(
    ORDERS,
    (
        "all captures",
        "all items",
        *crossed(PAYMENTS, ("all of it", "half of it")),
        *crossed(ITEMS, PIECES),
    ),
)


def _replacements(memory: Memory) -> list[Arguments | None]:
    found: list[Arguments | None] = []
    for order_id, order in _order_slots(memory):
        for item in padded(parts(order, "items"), len(ITEMS)):
            counts = _pieces(memory, item) if item else [None] * len(PIECES)
            found += [
                {"order_id": order_id, "sku": item["sku"], "qty": count} if count else None
                for count in counts
            ]
    return found


def _cancellations(memory: Memory) -> list[Arguments | None]:
    return [
        None if order_id is None else {"order_id": order_id, "reason": REASON}
        for order_id in padded(orders(memory), 3)
    ]


def _addresses(memory: Memory) -> list[Arguments | None]:
    texts = [found[1] for text in memory.texts if (found := _ADDRESS.search(text))]
    known = [record.get("address") for record in memory.records.get("customer_id", {}).values()]
    values = [*padded(texts, 1), *padded([one for one in known if one], 1)]
    return [
        {"order_id": order_id, "address": address} if order_id and address else None
        for order_id in padded(orders(memory), 3)
        for address in values
    ]


def on_order(memory: Memory, sku: str) -> int:
    """Pieces of a SKU on open purchase orders that were seen, and on those that were placed."""
    seen = memory.records.get("purchase_order_id", {}).values()
    return sum(
        one["quantity"]
        for one in seen
        if one.get("sku") == sku and one.get("status", "open") == "open"
    )


def low_rows(memory: Memory) -> list[Record]:
    """Stock rows that were seen with fewer pieces than their threshold, in order of priority."""
    return memory.once(_low_rows)


def _low_rows(memory: Memory) -> list[Record]:
    rows = memory.records.get("sku", {}).values()
    low = [row for row in rows if "threshold" in row and row["quantity"] < row["threshold"]]
    return sorted(low, key=lambda row: (row["priority"], row["sku"]))


def _purchases(memory: Memory) -> list[Arguments | None]:
    found: list[Arguments | None] = []
    for row in padded(low_rows(memory), LOW_MAX):
        if row is None:
            found += [None, None]
            continue
        short = row["target"] - row["quantity"]
        placed = sum(
            deed.data["quantity"] for deed in memory.done("create_purchase_order", sku=row["sku"])
        )
        before = on_order(memory, row["sku"]) - placed
        found += [{"sku": row["sku"], "qty": short - before}, {"sku": row["sku"], "qty": short}]
    counts = [int(one) for text in memory.texts for one in _PIECES.findall(text)]
    named = memory.named["sku"]
    found.append({"sku": named[0], "qty": counts[0]} if named and counts else None)
    return found


PURCHASE_PLACES: Final = (
    *crossed(LOW, ("up to its target, less what is on order", "up to its target")),
    "as a text asks",
)

# What is said.


def _sentences(memory: Memory, order_id: str, order: Record) -> list[str | None]:
    """One reply for each of `ABOUT_ORDER`; None where something to fill it with is not known."""
    cents = refunded(memory, order_id) or captured(order)
    policy = next((deed.data for deed in memory.deeds.get("read_policy", ())), None)
    days = policy["numbers"].get("return_window_days") if policy else None
    return [
        f"I am sorry about the trouble with order {order_id}. We have sent you a replacement "
        "today, free of charge.",
        f"I am sorry about the trouble with order {order_id}. We have refunded {dollars(cents)} to "
        "the card that you paid with." if cents else None,
        f"We have cancelled order {order_id} for you. {dollars(cents)} has been refunded to the "
        "card that you paid with." if cents else None,
        f"We have cancelled order {order_id} for you.",
        f"I am sorry, but we cannot refund order {order_id}: returns are taken up to {days} days "
        "after delivery." if days else None,
        f"Order {order_id} was charged once, and only once.",
        f"Thank you for writing about order {order_id}. We are looking at it.",
    ]  # fmt: skip


ABOUT_ORDER: Final = (
    "a replacement is sent", "money was refunded", "cancelled and refunded", "cancelled",
    "too late to return", "charged once", "being looked at",
)  # fmt: skip
OTHER_ACCOUNT: Final = (
    "I am sorry, but I cannot help with that order: it is on another account, and we speak about "
    "an order only with the customer who placed it."
)
REPLY_PLACES: Final = (
    *crossed(ORDERS, ABOUT_ORDER), "on another account", "the e-mail address of somebody else",
)  # fmt: skip


def _replies(memory: Memory) -> list[Arguments | None]:
    sentences: list[str | None] = []
    for order_id, order in _order_slots(memory):
        if order_id is None or not is_read(order):
            sentences += [None] * len(ABOUT_ORDER)
        else:
            sentences += _sentences(memory, order_id, order)
    own = account(memory)
    others = [
        record["email"]
        for customer_id, record in memory.records.get("customer_id", {}).items()
        if customer_id != own and "email" in record
    ]
    sentences += [OTHER_ACCOUNT, f"The address is {others[0]}." if others else None]
    deeds = memory.deeds.get("read_thread", ())
    if not deeds:
        return [None] * len(sentences)
    thread = deeds[-1].data
    hello = f"Hello {str(thread['customer']).split()[0]},\n\n"
    return [
        None if sentence is None else {"thread_id": thread["thread_id"], "body": hello + sentence}
        for sentence in sentences
    ]


STATUSES: Final = ("closed", "pending", "open")


def _statuses(memory: Memory) -> list[Arguments | None]:
    threads = memory.ids("thread_id")
    return [{"thread_id": threads[0], "status": one} if threads else None for one in STATUSES]


def _submissions(memory: Memory) -> list[Arguments | None]:
    deeds = memory.deeds.get("create_purchase_order", ())
    bought = ", ".join(dict.fromkeys(str(deed.arguments["sku"]) for deed in deeds))
    return [
        {"summary": "Done by the store's policy."},
        {"summary": f"Bought up to target: {bought}."} if bought else None,
    ]


def _threads(memory: Memory) -> list[Arguments | None]:
    return _each(padded(memory.ids("thread_id"), 2), "thread_id")


def families(_: Toolbox) -> Sequence[Family]:
    """The families of the back office."""
    return (
        Family("read_policy", ("the policy",), always({})),
        Family("list_inbox", ("all threads", "open threads"), always({}, {"status": "open"})),
        Family("read_thread", ("first thread", "second thread"), _threads),
        Family("get_order", UNREAD, _get_order),
        Family("search_orders", ("all orders", "the customer's orders"), _search_orders),
        Family("get_customer", ("the customer", "another", "a third"), _get_customer),
        Family(
            "check_inventory",
            ("first page", "next page", "below threshold", *crossed(ORDERS, ITEMS)),
            _check_inventory,
        ),
        Family("list_purchase_orders", ("open ones", "all"), always({"status": "open"}, {})),
        Family("issue_refund", REFUND_PLACES, _refunds),
        Family("create_replacement", crossed(ORDERS, ITEMS, PIECES), _replacements),
        Family("cancel_order", (*ORDERS, "third order"), _cancellations),
        Family(
            "update_shipping_address",
            crossed((*ORDERS, "third order"), ("as a text asks", "the customer's")),
            _addresses,
        ),
        Family("create_purchase_order", PURCHASE_PLACES, _purchases),
        Family("reply_to_thread", REPLY_PLACES, _replies),
        Family("set_thread_status", STATUSES, _statuses),
        Family("submit", ("done", "names what was bought"), _submissions),
    )


MENU: Final = MenuDefinition(families, PATTERNS)
