"""The claims that an agent can report: what makes each true, as SQL over (before, after).

Each query returns rows when its claim is true of one of the account's own orders.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from deskgym.desk import Desk

Claim = Literal[
    "refunded", "cancelled", "return_created", "replacement_created", "intercept_requested",
    "stock_notification_created", "delivery_stopped", "no_duplicate_charge", "already_refunded",
    "order_unavailable",
]  # fmt: skip
CLAIMS: tuple[Claim, ...] = get_args(Claim)


def _new_row_in(table: str) -> str:
    return (
        f"SELECT id FROM {table} WHERE order_id = :order_id"
        f" AND id NOT IN (SELECT b.id FROM before.{table} b WHERE b.order_id = :order_id)"
    )


TRUE_WHEN: Final[dict[Claim, str]] = {
    "refunded": _new_row_in("refunds"),
    "cancelled": (
        "SELECT o.id FROM orders o JOIN before.orders b ON b.id = o.id"
        " WHERE o.id = :order_id AND o.status = 'cancelled' AND b.status <> 'cancelled'"
    ),
    "return_created": _new_row_in("returns"),
    "replacement_created": _new_row_in("replacements"),
    "intercept_requested": _new_row_in("delivery_intercepts"),
    "stock_notification_created": _new_row_in("stock_notifications"),
    "delivery_stopped": (
        "SELECT id FROM delivery_intercepts WHERE order_id = :order_id AND status = 'stopped'"
    ),
    "no_duplicate_charge": (
        "SELECT o.id FROM orders o WHERE o.id = :order_id AND o.total_cents >="
        " (SELECT COALESCE(SUM(p.captured_cents), 0) FROM payments p WHERE p.order_id = o.id)"
    ),
    "already_refunded": "SELECT b.id FROM before.refunds b WHERE b.order_id = :order_id",
}


def is_true(desk: Desk, claim: Claim, order_id: str) -> bool:
    """Whether a claim is true now.

    The one claim that holds of an order that the account does not have is that it is unavailable;
    somebody else's order and a missing one are judged alike.
    """
    owned = desk.rows(
        "SELECT id FROM orders WHERE id = ? AND customer_id = ?", order_id, desk.account
    )
    if claim == "order_unavailable" or not owned:
        return claim == "order_unavailable" and not owned
    return bool(desk.rows(TRUE_WHEN[claim], order_id=order_id))
