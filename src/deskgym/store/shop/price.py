"""What an order's lines cost: discount spread over the lines, then tax, in whole cents.

A line's `paid_cents` is what the customer paid for it, so that the lines add up to the order's
total and a refund of a line is one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Line(NamedTuple):
    """One line before discount and tax."""

    sku: str
    quantity: int
    unit_price_cents: int


@dataclass(frozen=True, slots=True)
class Priced:
    """An order's amounts; `paid_cents` holds one amount a line."""

    discount_cents: int
    tax_cents: int
    paid_cents: tuple[int, ...]

    @property
    def total_cents(self) -> int:
        """What the customer pays in all."""
        return sum(self.paid_cents)


def share(cents: int, part: int, whole: int) -> int:
    """`cents * part / whole` to the nearest cent, half a cent up: what is paid for a part."""
    return (2 * cents * part + whole) // (2 * whole)


def spread(cents: int, weights: Sequence[int]) -> list[int]:
    """`cents` in whole cents over the weights, adding up exactly; the largest remainders first."""
    total = sum(weights)
    if total == 0:
        return [0 for _ in weights]
    parts = [cents * weight // total for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda at: (-(cents * weights[at] % total), at))
    for at in by_remainder[: cents - sum(parts)]:
        parts[at] += 1
    return parts


def price(lines: Sequence[Line], *, discount_percent: int, tax_basis_points: int) -> Priced:
    """The amounts of an order: a percentage off, spread over its lines, and tax on the rest."""
    gross = [line.quantity * line.unit_price_cents for line in lines]
    discount = share(sum(gross), discount_percent, 100)
    net = [cents - off for cents, off in zip(gross, spread(discount, gross), strict=True)]
    tax = [share(cents, tax_basis_points, 10_000) for cents in net]
    paid = tuple(cents + taxed for cents, taxed in zip(net, tax, strict=True))
    return Priced(discount, sum(tax), paid)
