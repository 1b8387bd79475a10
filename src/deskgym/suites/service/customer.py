"""The scripted customer: it knows what a customer knows and answers what is proposed to it.

It cannot tell which of two charges is the duplicate, so it accepts what sounds like its remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from deskgym.desk import Desk

Remedy = Literal[
    "refund", "replacement", "return", "cancellation", "intercept", "stock_notification", "nothing"
]
REMEDIES: tuple[Remedy, ...] = get_args(Remedy)


class Proposal(NamedTuple):
    """A remedy put to the customer, with what it binds."""

    remedy: Remedy
    order_id: str
    subject: str
    sku: str
    amount_cents: int


Condition = Callable[[Desk, Proposal], bool]


def always(_: Desk, __: Proposal) -> bool:
    """Accept it whatever its details."""
    return True


def in_finish(*skus: str) -> Condition:
    """Accept it in these finishes only."""
    return lambda _, proposal: proposal.sku in skus


def while_out_of_stock(*skus: str) -> Condition:
    """Accept to wait for one of these finishes, but only while it is out of stock."""

    def accepts(desk: Desk, proposal: Proposal) -> bool:
        stock = desk.value("SELECT quantity FROM inventory WHERE sku = ?", proposal.sku)
        return proposal.sku in skus and stock == 0

    return accepts


@dataclass(frozen=True)
class ScriptedCustomer:
    """A customer who accepts some remedies, each under a condition, and declines all others."""

    accepts: Mapping[Remedy, Condition]
    yes: str = "Yes, please do that."
    no: str = "No, that is not what I want."

    def answer(self, desk: Desk, proposal: Proposal) -> bool:
        """Whether the customer accepts. It is never done before the agent closes."""
        condition = self.accepts.get(proposal.remedy)
        return condition is not None and condition(desk, proposal)


def wants_what_was_ordered(sku: str) -> ScriptedCustomer:
    """One who wants the SKU that was ordered, or the money, and waits for it only if need be."""
    return ScriptedCustomer(
        {
            "replacement": in_finish(sku),
            "refund": always,
            "return": always,
            "stock_notification": while_out_of_stock(sku),
        }
    )
