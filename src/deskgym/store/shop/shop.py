"""The base of a shop: what is there whatever the task and its seed.

A task adds rows of its own. Every fourth order number, every fifth customer number and the
last thread numbers are left free for them, so that what a task adds stands among the others by
number and date.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from deskgym.store.change import Row
from deskgym.store.draw import Draw, shifted
from deskgym.store.shop.catalogue import PRICES, SKUS, catalogue_rows, unit_cost_cents
from deskgym.store.shop.chat import thread_texts
from deskgym.store.shop.people import address, base_name, customer_row
from deskgym.store.shop.price import Line
from deskgym.store.shop.records import (
    CARRIERS,
    OrderFacts,
    OrderStatus,
    Payment,
    Purchase,
    RowLists,
    order_rows,
)
from deskgym.store.template import Base

END: Final = "2028-03-08T00:00:00Z"
"""The base knows nothing later; a task's time is up to two days after it."""
BUDGET: Final = "main"
TAX_BASIS_POINTS: Final = 725
_TABLES: Final = (
    "customers", "products", "variants", "inventory", "orders", "order_items", "payments",
    "shipments", "shipment_items", "cancellations", "refunds", "threads", "messages", "budgets",
    "purchase_orders",
)  # fmt: skip


@dataclass(frozen=True)
class Size:
    """How much there is in a shop: numbers of each kind, free ones included, and their first."""

    name: str
    customers: int
    first_customer: int
    orders: int
    first_order: int
    order_minutes: int
    threads: int
    first_thread: int
    free_threads: int

    def customer_id(self, position: int) -> str:
        """A customer's id; every fifth is free."""
        return f"C-{self.first_customer + position}"

    def customer_since(self, position: int) -> str:
        """When that customer came: over three years, in the order of the ids."""
        return shifted(END, minutes=-(self.customers - position) * (1_576_800 // self.customers))

    def order_id(self, position: int) -> str:
        """An order's id; every fourth is free."""
        return str(self.first_order + position)

    def placed_at(self, position: int) -> str:
        """When the order of that number was placed, give or take."""
        return shifted(END, minutes=-(self.orders - position) * self.order_minutes)

    def thread_id(self, position: int) -> str:
        """A thread's id; the last few are free."""
        return f"T-{self.first_thread + position}"

    def message_id(self, position: int, number: int) -> str:
        """A message's id: up to nine a thread, from 1."""
        return f"M-{(position + 1) * 10 + number:06d}"

    def free_order(self, days_back: int) -> int:
        """The position of a free order that was placed at least so long before the end."""
        position = self.orders - days_back * 1_440 // self.order_minutes - 1
        return position - (position - 3) % 4


SMALL: Final = Size("small", 50, 101, 160, 1_001, 1_080, 40, 301, 10)
LARGE: Final = Size("large", 2_500, 1_001, 26_664, 10_001, 39, 1_000, 3_001, 10)


def empty_rows() -> RowLists:
    """An empty list for every table that a shop fills."""
    return {name: [] for name in _TABLES}


@cache
def shop(size: Size) -> Base:
    """The base of that size; the same object again, so that pooled worlds share it."""
    rows = empty_rows()
    rows.update(catalogue_rows())
    addresses: dict[str, str] = {}
    for position in range(size.customers):
        if position % 5 != 4:
            customer_id = size.customer_id(position)
            where = address(Draw(position, f"shop/{size.name}/customer"))
            addresses[customer_id] = where
            since = size.customer_since(position)
            rows["customers"].append(customer_row(customer_id, base_name(position), where, since))
    customers = tuple(addresses)
    for position in range(size.orders):
        if position % 4 != 3:
            draw = Draw(position, f"shop/{size.name}/order")
            customer_id = _customer_at(size, draw, customers, size.placed_at(position))
            _order(size, position, customer_id, addresses[customer_id], draw, rows)
    for position in range(size.threads - size.free_threads):
        _thread(size, position, Draw(position, f"shop/{size.name}/thread"), customers, rows)
    _purchases(rows)
    return Base(f"shop/{size.name}", rows)


def _customer_at(size: Size, draw: Draw, customers: tuple[str, ...], time: str) -> str:
    """One of the customers who were there at a time."""
    while True:
        customer_id = draw.pick(customers)
        if size.customer_since(int(customer_id[2:]) - size.first_customer) <= time:
            return customer_id


def _order(
    size: Size, position: int, customer_id: str, where: str, draw: Draw, rows: RowLists
) -> None:
    """One order, as far along as its age says."""
    placed = shifted(size.placed_at(position), minutes=draw.integer(0, size.order_minutes // 2))
    count = draw.pick((1, 1, 1, 2, 2, 3))
    lines = tuple(
        Line(sku, draw.pick((1, 1, 1, 2, 3)), PRICES[sku])
        for sku in dict.fromkeys(draw.pick(SKUS) for _ in range(count))
    )
    age_days = (size.orders - position) * size.order_minutes // 1_440
    order_id = size.order_id(position)
    status: OrderStatus
    waiting: tuple[OrderStatus, ...] = ("pending", "confirmed", "processing")
    if age_days < 4:
        status = waiting[position % 3]
    elif age_days < 7:
        status = "shipped"
    else:
        status = draw.pick(("delivered",) * 14 + ("cancelled",))
    shipped = shifted(placed, hours=draw.integer(20, 44)) if age_days >= 4 else None
    sent = shipped is not None and status != "cancelled"
    delivered = (
        shifted(shipped, hours=draw.integer(26, 90))
        if shipped is not None and status == "delivered"
        else None
    )
    order = OrderFacts(
        order_id, customer_id, where, status, placed, lines,
        discount_percent=draw.pick((0, 0, 0, 0, 10, 15)),
        tax_basis_points=TAX_BASIS_POINTS,
        parcel=None if not sent else "delivered" if delivered else "in_transit",
        carrier=draw.pick(CARRIERS),
        shipped_at=shipped if sent else None,
        expected_at=shifted(shipped, days=4) if shipped is not None and sent else None,
        delivered_at=delivered,
    )  # fmt: skip
    if status == "pending":
        hold = Payment(f"PAY-{order_id}-1", order.priced.total_cents, captured=False)
        order = replace(order, payments=(hold,))
    order_rows(order, rows)
    if status == "cancelled":
        _cancelled(order, rows)


def _cancelled(order: OrderFacts, rows: RowLists) -> None:
    """A cancelled order got its money back within the hour."""
    when = shifted(order.placed_at, minutes=50)
    number = len(rows["cancellations"]) + 1
    payment = f"PAY-{order.id}-1"
    rows["cancellations"].append(
        (f"CAN-{number:06d}", order.id, "changed their mind", f"{order.id}:cancel", when)
    )
    rows["refunds"].append(
        (f"R-{number:06d}", order.id, payment, order.priced.total_cents, "succeeded",
         "order cancelled", f"{order.id}:{payment}:1", when)
    )  # fmt: skip


def _thread(
    size: Size, position: int, draw: Draw, customers: tuple[str, ...], rows: RowLists
) -> None:
    """A thread of small talk: nothing in it asks for a change of any record."""
    count = size.threads - size.free_threads
    opened = shifted(END, hours=-(count - position) * 26, minutes=draw.integer(0, 600))
    subject, question, answer = thread_texts(draw)
    recent = position >= count * 3 // 4
    status = draw.pick(("open", "open", "pending", "closed")) if recent else "closed"
    thread_id = size.thread_id(position)
    customer_id = _customer_at(size, draw, customers, opened)
    rows["threads"].append((thread_id, customer_id, subject, status, opened))
    rows["messages"].append((size.message_id(position, 1), thread_id, "customer", question, opened))
    if status != "open":
        sent = shifted(opened, minutes=draw.integer(35, 700))
        rows["messages"].append((size.message_id(position, 2), thread_id, "store", answer, sent))


def _purchases(rows: RowLists) -> None:
    """A dozen purchase orders, the last three open, and a budget that they fit in."""
    spent = 0
    for number in range(1, 13):
        draw = Draw(number, "shop/purchase")
        sku = SKUS[(number * 7) % len(SKUS)]
        purchase = Purchase(
            f"PO-{number:06d}", sku, draw.integer(2, 8) * 5, unit_cost_cents(sku),
            "open" if number > 9 else "received", shifted(END, days=-(13 - number) * 6, hours=9),
        )  # fmt: skip
        spent += purchase.cost_cents
        rows["purchase_orders"].append(purchase.row(BUDGET))
    budget: Row = (BUDGET, spent + 400_000, spent)
    rows["budgets"].append(budget)
