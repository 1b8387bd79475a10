"""What a thread's task asks, put together: its checks, bound to its keys, and its permits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from deskgym.rubric.check import Check
from deskgym.rubric.checks import CheckCase, Required
from deskgym.rubric.permit import Permit, only_permitted
from deskgym.store.shop import OrderFacts
from deskgym.suites.backoffice.checks import REFUNDS_FOLLOW_POLICY

REPLIES: Final = (
    Permit("messages", "add", "t.thread_id = :thread_id AND t.sender = 'store'"),
    Permit("threads", "change", "t.id = :thread_id", ("status",)),
)
REFUNDS: Final = Permit("refunds", "add", "t.order_id = :order_id")
REPLACEMENTS: Final = (
    Permit("replacements", "add", "t.order_id = :order_id"),
    Permit(
        "inventory",
        "change",
        "t.sku IN (SELECT i.sku FROM before.order_items i WHERE i.order_id = :order_id)",
        ("quantity",),
    ),
)
_CLAIMED: Final = "SELECT k.item_id FROM env_claim k WHERE k.thread_id = :thread_id"
ITEM_REPLACED: Final = (
    Permit("replacements", "add", f"t.order_id = :order_id AND t.item_id IN ({_CLAIMED})"),
    Permit(
        "inventory",
        "change",
        f"t.sku IN (SELECT i.sku FROM before.order_items i WHERE i.id IN ({_CLAIMED}))",
        ("quantity",),
    ),
)
"""Replacements of the very item that the thread is about."""
CANCELLATION: Final = (
    Permit("orders", "change", "t.id = :order_id AND t.status = 'cancelled'", ("status",)),
    Permit("cancellations", "add", "t.order_id = :order_id"),
    REPLACEMENTS[1],
)


def only(*permits: Permit) -> Check:
    """The check that only replies to the thread and these rows changed."""
    return only_permitted((*REPLIES, *permits))


def case(
    thread_id: str,
    order: OrderFacts,
    required: Sequence[tuple[Check, int]],
    only_task_rows: Check,
    *forbidden: Check,
    **values: object,
) -> CheckCase:
    """A case of a thread and an order.

    Args:
        thread_id: the thread.
        order: what it is about.
        required: checks and their weights in ten-thousandths.
        only_task_rows: what may change, by `only`.
        *forbidden: more checks that cost everything.
        **values: more keys that the checks are bound to.
    """
    keys = {"thread_id": thread_id, "order_id": order.id, **values}
    return CheckCase(
        tuple(Required(check.bind(**keys), points) for check, points in required),
        tuple(check.bind(**keys) for check in (*forbidden, only_task_rows, REFUNDS_FOLLOW_POLICY)),
    )


def opening(thread_id: str) -> str:
    """What an agent is told first."""
    return (
        f"Handle thread {thread_id} of the inbox by the store's policy: read the policy first, do "
        "what it gives the customer, reply in the thread, and submit."
    )
