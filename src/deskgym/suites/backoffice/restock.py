"""The building blocks of scripted agents that buy stock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from deskgym.suites.backoffice.script import Part, Record
from deskgym.trajectory import call


class Buy(NamedTuple):
    """A SKU to buy."""

    sku: str
    pieces: int
    unit_cost_cents: int

    @property
    def cost_cents(self) -> int:
        """What it costs in all."""
        return self.pieces * self.unit_cost_cents


class Plan(NamedTuple):
    """What is low, in order of priority, and the budget left.

    Attributes:
        low: by stock and open purchase orders together.
        low_alone: by the stock alone, as one who forgets the open purchase orders sees it.
    """

    low: tuple[Buy, ...]
    low_alone: tuple[Buy, ...]
    left_cents: int

    @property
    def covered(self) -> tuple[Buy, ...]:
        """The first of the low ones, as far as the budget goes."""
        return covered(self.low, self.left_cents)


def covered(low: Sequence[Buy], left_cents: int) -> tuple[Buy, ...]:
    """The first ones, each whole, until the budget does not cover the next."""
    chosen: list[Buy] = []
    for buy in low:
        left_cents -= buy.cost_cents
        if left_cents < 0:
            break
        chosen.append(buy)
    return tuple(chosen)


def pages(tool: str, **arguments: object) -> Part[list[Record]]:
    """All rows of a list, page by page."""
    rows: list[Record] = []
    page: int | None = 1
    while page is not None:
        found = yield call(tool, page=page, **arguments)
        rows += found.data["rows"]
        page = found.data["next_page"]
    return rows


def plan() -> Part[Plan]:
    """Read the policy, the stock, the open purchase orders and the budget."""
    yield call("read_policy")
    stock = yield from pages("check_inventory")
    first = yield call("list_purchase_orders", status="open")
    ordered: dict[str, int] = {}
    for purchase in first.data["rows"]:
        ordered[purchase["sku"]] = ordered.get(purchase["sku"], 0) + purchase["quantity"]
    stock.sort(key=lambda row: row["priority"])
    low = tuple(
        Buy(row["sku"], row["target"] - have, row["unit_cost_cents"])
        for row in stock
        if (have := row["quantity"] + ordered.get(row["sku"], 0)) < row["threshold"]
    )
    low_alone = tuple(
        Buy(row["sku"], row["target"] - row["quantity"], row["unit_cost_cents"])
        for row in stock
        if row["quantity"] < row["threshold"]
    )
    return Plan(low, low_alone, first.data["budget"]["left_cents"])


def buy(choices: Sequence[Buy]) -> Part[list[str]]:
    """Buy, and return the SKUs of what could be bought."""
    bought: list[str] = []
    for choice in choices:
        made = yield call("create_purchase_order", sku=choice.sku, qty=choice.pieces)
        if made.ok:
            bought.append(choice.sku)
    return bought


def hand_in(skus: Sequence[str]) -> Part[None]:
    """Submit, naming what was bought."""
    named = ", ".join(skus) if skus else "nothing"
    yield call("submit", summary=f"Bought up to target: {named}.")
