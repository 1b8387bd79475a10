"""The building blocks of scripted agents. They know what they have read, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from deskgym.suites.service.claims import Claim
from deskgym.task import Control
from deskgym.trajectory import Action, Observation, call

T = TypeVar("T")
Part = Generator[Action, Observation, T]

REASON = "as agreed with the customer"


def order_named_in(observation: Observation) -> str:
    """The order that the customer writes about."""
    found = re.search(r"\b[A-Z]+-\d+\b", observation.message)
    if found is None:
        raise ValueError(f"the customer names no order: {observation.message!r}")
    return found[0]


def order(order_id: str) -> Part[dict[str, Any]]:
    """Read an order."""
    return dict((yield call("get_order", order_id=order_id)).data)


def payments(order_id: str) -> Part[list[dict[str, Any]]]:
    """Read an order's payments, oldest first."""
    return (yield call("list_order_payments", order_id=order_id)).data["payments"]


def stock() -> Part[list[dict[str, Any]]]:
    """Read the whole stock."""
    return (yield call("search_inventory")).data["rows"]


def refund(order_id: str, payment_id: str, amount_cents: int) -> Part[None]:
    """Let the customer choose a refund, and issue it."""
    binds = {"order_id": order_id, "payment_id": payment_id, "amount_cents": amount_cents}
    yield call("propose", remedy="refund", **binds)
    yield call("issue_refund", **binds, reason=REASON)


def send_back(order_id: str, item_id: str) -> Part[str]:
    """Open a return; its id."""
    made = yield call("create_return", order_id=order_id, item_id=item_id, reason=REASON)
    return str(made.data.get("return_id", ""))


def replace(order_id: str, item_id: str, sku: str) -> Part[None]:
    """Let the customer choose a replacement, open the return and send it."""
    yield call("propose", remedy="replacement", order_id=order_id, item_id=item_id, sku=sku)
    return_id = yield from send_back(order_id, item_id)
    yield call(
        "create_replacement", order_id=order_id, item_id=item_id, replacement_sku=sku,
        return_id=return_id,
    )  # fmt: skip


def notify(order_id: str, sku: str) -> Part[None]:
    """Let the customer choose to wait, and note it."""
    yield call("propose", remedy="stock_notification", order_id=order_id, sku=sku)
    yield call("create_stock_notification", order_id=order_id, sku=sku)


def stop(order_id: str, shipment_id: str) -> Part[None]:
    """Let the customer choose an intercept, and request it."""
    binds = {"order_id": order_id, "shipment_id": shipment_id}
    yield call("propose", remedy="intercept", **binds)
    yield call("request_delivery_intercept", **binds)


def cancel(order_id: str) -> Part[None]:
    """Let the customer choose a cancellation, and carry it out."""
    yield call("propose", remedy="cancellation", order_id=order_id)
    yield call("cancel_order", order_id=order_id, reason=REASON)


def report(claim: Claim, order_id: str) -> Part[None]:
    """Report."""
    yield call("report", claim=claim, order_id=order_id)


def nothing(_: Observation) -> Part[None]:
    """Take no action at all."""
    yield from ()


def read_and_claim(claim: Claim) -> Callable[[Observation], Part[None]]:
    """Read the order and its payments, do nothing, and report success."""

    def play(first: Observation) -> Part[None]:
        order_id = order_named_in(first)
        yield call("get_order", order_id=order_id)
        yield call("list_order_payments", order_id=order_id)
        yield from report(claim, order_id)

    return play


def null_control() -> Control:
    """The control that does nothing: no read, no change, no reward."""
    return Control("null", "null", "do nothing", nothing, 0.00)


def near_miss_control(claim: Claim, title: str) -> Control:
    """The control that reads and then claims what it did not do: one contradicted report, 0.30."""
    return Control("near_miss", "near_miss", title, read_and_claim(claim), -0.30)
