"""An order as rows: its lines, payments and parcel, consistent with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deskgym.store.change import Row
from deskgym.store.draw import shifted
from deskgym.store.shop.price import Line, Priced, price

RowLists = dict[str, list[Row]]
OrderStatus = Literal["pending", "confirmed", "processing", "shipped", "delivered", "cancelled"]
ParcelStatus = Literal["label_created", "in_transit", "delivered"]

CARRIERS = ("Northline", "Parcelway", "Swiftpost")


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment of an order, so many minutes after it was placed; `captured` or a mere hold."""

    id: str
    amount_cents: int
    minutes: int = 2
    captured: bool = True


@dataclass(frozen=True, slots=True)
class OrderFacts:
    """What an order is made of.

    Attributes:
        tax_basis_points: 725 is 7.25 %.
        parcel: the parcel's status, or None while there is none.
        shipped_at: when the parcel left, if it did.
        expected_at: when it should arrive.
        delivered_at: when it did.
        payments: None is one capture of the total, two minutes after the order was placed.
    """

    id: str
    customer_id: str
    address: str
    status: OrderStatus
    placed_at: str
    lines: tuple[Line, ...]
    discount_percent: int = 0
    tax_basis_points: int = 0
    parcel: ParcelStatus | None = None
    carrier: str = CARRIERS[0]
    shipped_at: str | None = None
    expected_at: str | None = None
    delivered_at: str | None = None
    payments: tuple[Payment, ...] | None = None

    @property
    def priced(self) -> Priced:
        """The order's amounts."""
        return price(
            self.lines,
            discount_percent=self.discount_percent,
            tax_basis_points=self.tax_basis_points,
        )

    def item_id(self, position: int = 0) -> str:
        """The id of a line, by its place."""
        return f"{self.id}-{position + 1}"


@dataclass(frozen=True, slots=True)
class Purchase:
    """A purchase order as a row."""

    id: str
    sku: str
    quantity: int
    unit_cost_cents: int
    status: Literal["open", "received", "cancelled"]
    created_at: str

    @property
    def cost_cents(self) -> int:
        """What it costs in all."""
        return self.quantity * self.unit_cost_cents

    def row(self, budget_id: str) -> Row:
        """The row."""
        return (
            self.id, budget_id, self.sku, self.quantity, self.unit_cost_cents, self.cost_cents,
            self.status, self.created_at,
        )  # fmt: skip


def order_rows(order: OrderFacts, rows: RowLists) -> None:
    """Add an order's rows, children included."""
    priced = order.priced
    rows["orders"].append(
        (order.id, order.customer_id, order.status, priced.discount_cents, priced.tax_cents,
         priced.total_cents, "USD", order.address, order.placed_at)
    )  # fmt: skip
    for position, line in enumerate(order.lines):
        rows["order_items"].append(
            (order.item_id(position), order.id, line.sku, line.quantity, line.unit_price_cents,
             priced.paid_cents[position])
        )  # fmt: skip
    payments = order.payments
    if payments is None:
        payments = (Payment(f"PAY-{order.id}-1", priced.total_cents),)
    for payment in payments:
        captured = payment.amount_cents if payment.captured else 0
        rows["payments"].append(
            (payment.id, order.id, "captured" if payment.captured else "authorized",
             payment.amount_cents, captured, f"ch_{payment.id[4:].replace('-', '_')}",
             shifted(order.placed_at, minutes=payment.minutes))
        )  # fmt: skip
    if order.parcel is not None:
        parcel = f"SHP-{order.id}-1"
        tracking = f"{order.carrier[:2].upper()}{int(order.id) * 7_919 % 10**9:09d}"
        rows["shipments"].append(
            (parcel, order.id, order.parcel, order.carrier, tracking, order.shipped_at,
             order.expected_at, order.delivered_at)
        )  # fmt: skip
        rows["shipment_items"].extend(
            (parcel, order.item_id(position), line.quantity)
            for position, line in enumerate(order.lines)
        )
