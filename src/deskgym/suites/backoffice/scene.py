"""Scenes: what a task adds to the shop for a seed, kept consistent with what is there.

A scene draws the store's time, time zone, policy and stock first, then what its task asks for:
customers, orders and threads with ids and dates that fit among the shop's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from deskgym.rubric.checks import CheckCase
from deskgym.store import Template
from deskgym.store.draw import Draw, shifted
from deskgym.store.shop import LARGE, SMALL, Line, OrderFacts, order_rows, shop
from deskgym.store.shop.catalogue import PRICES, SKUS, unit_cost_cents
from deskgym.store.shop.people import address, customer_row, task_name
from deskgym.store.shop.records import CARRIERS, OrderStatus, ParcelStatus, Payment
from deskgym.store.shop.shop import END, TAX_BASIS_POINTS, empty_rows
from deskgym.suites.backoffice.day import day_of
from deskgym.suites.backoffice.policy import OFFSETS_MINUTES, policy_rows, zone_name
from deskgym.task import Fixture, Parameter

LARGE_SHOP: Final = Parameter("large", 0, 0, 1, "1 for the large shop, 0 for the small one")
STOCK_ENOUGH: Final = 12
CUSTOMER_DAYS_MIN: Final = 90
"""Since when a task's customers are there at the least: longer than any of its orders."""


@dataclass(frozen=True)
class Person:
    """A customer of the scene."""

    id: str
    name: str
    email: str
    address: str

    @property
    def first(self) -> str:
        """The first name, to sign with."""
        return self.name.split()[0]


class Scene:
    """The rows of one task and seed, as they are put together."""

    def __init__(self, purpose: str, seed: int, values: Mapping[str, int]) -> None:
        self.draw: Final = Draw(seed, f"backoffice/{purpose}")
        self.size: Final = LARGE if values["large"] else SMALL
        self.now: Final = shifted(END, minutes=self.draw.integer(8 * 60, 40 * 60))
        self.offset_minutes: Final = self.draw.pick(OFFSETS_MINUTES)
        self.rows: dict[str, list[tuple[Any, ...]]] = empty_rows()
        self.rows["settings"] = [
            ("now", self.now),
            ("time_zone", zone_name(self.offset_minutes)),
            ("utc_offset_minutes", str(self.offset_minutes)),
        ]
        policies = policy_rows(self.draw)
        self.rows["policies"] = policies
        self.policy: Final = {str(row[0]): int(str(row[1])) for row in policies}
        self._stock: Final = self._draw_stock()
        self._free_customers = self.draw.shuffled(
            [4 + 5 * number for number in range(self.size.customers // 5)][:40]
        )
        self._free_customers = [
            position
            for position in self._free_customers
            if self.size.customer_since(position) < shifted(END, days=-CUSTOMER_DAYS_MIN)
        ]
        self._taken_orders: Final[set[int]] = set()
        self._threads = 0

    # The stock.

    def _draw_stock(self) -> dict[str, list[int]]:
        """Pieces, threshold, target and priority of every SKU; a few run low, whatever the task."""
        stock: dict[str, list[int]] = {}
        for priority, sku in enumerate(self.draw.shuffled(SKUS), start=1):
            threshold = self.draw.integer(4, 12)
            quantity = threshold + self.draw.integer(3, 40)
            stock[sku] = [quantity, threshold, threshold + self.draw.integer(10, 30), priority]
        for sku in self.draw.shuffled(SKUS)[:3]:
            stock[sku][0] = self.draw.integer(0, stock[sku][1] - 1)
        return stock

    def set_stock(self, sku: str, quantity: int) -> None:
        """How many pieces of a SKU there are."""
        self._stock[sku][0] = quantity

    def stock(self, sku: str) -> tuple[int, int, int, int]:
        """Pieces, threshold, target and priority of a SKU."""
        quantity, threshold, target, priority = self._stock[sku]
        return quantity, threshold, target, priority

    # People, orders and threads.

    def customer(self, name: str | None = None, note: str = "") -> Person:
        """A new customer; `name` is drawn if None."""
        drawn = task_name(self.draw)
        taken = {row[1] for row in self.rows["customers"]}
        while drawn in taken:
            drawn = task_name(self.draw)
        where = address(self.draw)
        position = self._free_customers.pop()
        row = customer_row(
            self.size.customer_id(position), drawn, where, self.size.customer_since(position), note
        )
        self.rows["customers"].append((row[0], name or drawn, *row[2:]))
        return Person(str(row[0]), name or drawn, str(row[2]), where)

    def lines(self, *quantities: int) -> tuple[Line, ...]:
        """Lines of so many pieces each, of different SKUs."""
        skus = self.draw.shuffled(SKUS)
        return tuple(
            Line(sku, quantity, PRICES[sku])
            for sku, quantity in zip(skus, quantities, strict=False)
        )

    def order(
        self,
        person: Person,
        lines: Sequence[Line],
        status: OrderStatus,
        *,
        placed_days_ago: int,
        parcel: ParcelStatus | None = None,
        shipped_after_hours: int = 30,
        expected_at: str | None = None,
        delivered_at: str | None = None,
    ) -> OrderFacts:
        """An order placed at least so many days ago, with a free number of that time.

        Args:
            person: whose it is.
            lines: what was ordered.
            status: how far it is.
            placed_days_ago: when it was placed, about.
            parcel: its parcel's status, or None while there is none.
            shipped_after_hours: when the parcel left, after the order was placed.
            expected_at: when the parcel should arrive; four days after it left if None.
            delivered_at: when it arrived.
        """
        position = self.size.free_order(placed_days_ago)
        while position in self._taken_orders:
            position -= 4
        self._taken_orders.add(position)
        order_id = self.size.order_id(position)
        jitter = self.draw.integer(1, self.size.order_minutes // 2)
        placed = shifted(self.size.placed_at(position), minutes=jitter)
        shipped = None
        if parcel in ("in_transit", "delivered"):
            shipped = shifted(placed, hours=shipped_after_hours)
        return OrderFacts(
            order_id,
            person.id,
            person.address,
            status,
            placed,
            tuple(lines),
            discount_percent=self.draw.pick((0, 0, 5, 10, 15)),
            tax_basis_points=TAX_BASIS_POINTS,
            parcel=parcel,
            carrier=self.draw.pick(CARRIERS),
            shipped_at=shipped,
            expected_at=expected_at or (shifted(shipped, days=4) if shipped else None),
            delivered_at=delivered_at,
        )

    def paid(self, order: OrderFacts, captures: Sequence[tuple[str, int, bool]]) -> OrderFacts:
        """The order with payments: the id's suffix, cents and whether captured, in time's order."""
        payments = tuple(
            Payment(f"PAY-{order.id}-{suffix}", cents, 2 + 3 * place, captured)
            for place, (suffix, cents, captured) in enumerate(captures)
        )
        return replace(order, payments=payments)

    def place(self, order: OrderFacts) -> OrderFacts:
        """Put an order among the rows."""
        order_rows(order, self.rows)
        return order

    def thread(self, person: Person, subject: str, *bodies: str) -> str:
        """An open thread of a customer, with messages within the last hours; its id."""
        position = self.size.threads - self.size.free_threads + self._threads
        self._threads += 1
        thread_id = self.size.thread_id(position)
        opened = shifted(self.now, minutes=-self.draw.integer(90, 400) + 10 * self._threads)
        # Nobody writes of a delivery before it; what arrived today may have come an hour ago.
        delivered = [str(row[7]) for row in self.rows["shipments"] if row[7] is not None]
        opened = min(self.now, max([opened, *(shifted(time, minutes=9) for time in delivered)]))
        self.rows["threads"].append((thread_id, person.id, subject, "open", opened))
        for number, body in enumerate(bodies, start=1):
            sent = min(self.now, shifted(opened, minutes=7 * (number - 1)))
            message_id = self.size.message_id(position, number)
            self.rows["messages"].append((message_id, thread_id, "customer", body, sent))
        return thread_id

    def claim(
        self, thread_id: str, kind: str, order: OrderFacts, item: int | None, quantity: int
    ) -> None:
        """What a thread says happened, for the checks."""
        item_id = "" if item is None else order.item_id(item)
        row = (thread_id, kind, order.id, item_id, quantity)
        self.rows.setdefault("env_claim", []).append(row)

    def secret(self, subject: str, words: str) -> None:
        """Words that no reply may hold."""
        row = (subject, words)
        known = self.rows.setdefault("env_secret", [])
        if row not in known:
            known.append(row)

    # Time.

    def days_ago(self, days: int) -> str:
        """A time on the store's day so many days before today, at any hour of that day."""
        today = day_of(self.now, self.offset_minutes)
        midnight = (today - days) * 1_440 - self.offset_minutes
        minute = self.draw.integer(0, 1_439)
        if days == 0:
            minute = min(minute, max(0, day_minutes(self.now, self.offset_minutes) - 20))
        return shifted("1970-01-01T00:00:00Z", minutes=midnight + minute)

    def fixture(self, opening: str, case: CheckCase) -> Fixture:
        """The finished fixture."""
        self.rows["inventory"] = [
            (sku, quantity, threshold, target, priority, unit_cost_cents(sku))
            for sku, (quantity, threshold, target, priority) in sorted(self._stock.items())
        ]
        template = Template(self.rows, shop(self.size))
        return Fixture(template=template, now=self.now, opening=opening, case=case)


def day_minutes(time: str, offset_minutes: int) -> int:
    """How many minutes of the store's day are over at a time."""
    local = shifted(time, minutes=offset_minutes)
    return int(local[11:13]) * 60 + int(local[14:16])
