"""The scripted customer: it knows what a customer knows and answers what is proposed to it.

It cannot tell which of two charges is the duplicate, so it accepts what sounds like its remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from deskgym.desk import CustomerReply, Desk

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


@dataclass(frozen=True)
class Condition:
    """When a remedy is accepted.

    Attributes:
        holds: whether it is, as the records are now.
        words: the same as the end of a sentence, for whoever speaks for the customer; empty for
            one that always holds.
    """

    holds: Callable[[Desk, Proposal], bool]
    words: str = ""


always: Final = Condition(lambda _, __: True)
"""Accept it whatever its details."""


def in_finish(*skus: str) -> Condition:
    """Accept it in these finishes only."""
    return Condition(lambda _, proposal: proposal.sku in skus, f" by {' or '.join(skus)} only")


def while_out_of_stock(*skus: str) -> Condition:
    """Accept to wait for one of these finishes, but only while it is out of stock."""

    def accepts(desk: Desk, proposal: Proposal) -> bool:
        stock = desk.value("SELECT quantity FROM inventory WHERE sku = ?", proposal.sku)
        return proposal.sku in skus and stock == 0

    names = " or ".join(skus)
    return Condition(accepts, f" for {names}, once you were told that it is out of stock")


_REMEDIES: Final[Mapping[Remedy, str]] = {
    "refund": "a refund",
    "replacement": "a replacement",
    "return": "that they take the item back",
    "cancellation": "that they cancel the order",
    "intercept": "that they ask the carrier to stop the parcel",
    "stock_notification": "a message when the item is back in stock",
    "nothing": "that everything is left as it is",
}


@dataclass(frozen=True)
class ScriptedCustomer:
    """A customer who accepts some remedies, each under a condition, and declines all others."""

    accepts: Mapping[Remedy, Condition]
    yes: str = "Yes, please do that."
    no: str = "No, that is not what I want."

    def answer(self, desk: Desk, proposal: Proposal) -> bool:
        """Whether the customer accepts. It is never done before the agent closes."""
        condition = self.accepts.get(proposal.remedy)
        return condition is not None and condition.holds(desk, proposal)

    @property
    def goal(self) -> str:
        """What the customer wants, for whoever speaks for it instead; private."""
        wishes = [f"{_REMEDIES[remedy]}{when.words}" for remedy, when in self.accepts.items()]
        return (
            f"Your first message says what you want. Accept {'; '.join(wishes)}. Decline every "
            "other proposal. You cannot look into the shop's records: you do not know which of "
            "two charges is the wrong one, and you believe what you are told of them."
        )

    def reply(self, desk: Desk, proposal: Proposal) -> CustomerReply:
        """The answer to a proposal, in words."""
        accepts = self.answer(desk, proposal)
        return CustomerReply(self.yes if accepts else self.no, accepts)


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
