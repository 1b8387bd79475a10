"""That a case got the remedy which the policy gives it: this much, of this, and nothing else."""

from __future__ import annotations

from typing import Final

from deskgym.rubric.check import Check
from deskgym.suites.backoffice.checks.money import (
    CANCELLED,
    DAMAGED,
    DUPLICATE,
    LOST,
    RETURNED,
    SHARE,
    SHORT,
)

# What the episode itself moved, for an order, an item or a payment `w`.
_REFUNDED: Final = (
    "COALESCE((SELECT SUM(r.amount_cents) FROM env_change c JOIN refunds r ON r.id = c.row_key"
    " WHERE c.table_name = 'refunds' AND r.status <> 'failed' AND r.order_id = w.order_id), 0)"
)
_REFUNDED_TO_PAYMENT: Final = _REFUNDED.replace(
    "r.order_id = w.order_id", "r.payment_id = w.payment_id"
)
_REPLACED: Final = (
    "COALESCE((SELECT SUM(r.quantity) FROM env_change c JOIN replacements r ON r.id = c.row_key"
    " WHERE c.table_name = 'replacements' AND r.status <> 'cancelled'"
    " AND r.item_id = w.item_id), 0)"
)


def _goods_or_money(name: str, sentence: str, wanted: str) -> Check:
    """A check of items that are each replaced by so many, and of the order's refund."""
    return Check(
        name,
        sentence,
        f"""
        WITH w AS ({wanted}),
        total AS (SELECT w.order_id, SUM(w.refund_cents) AS refund_cents FROM w GROUP BY w.order_id)
        SELECT 'pieces replaced' AS what, w.item_id AS subject, w.pieces AS due,
          {_REPLACED} AS found FROM w WHERE {_REPLACED} <> w.pieces
        UNION ALL
        SELECT 'cents refunded', w.order_id, w.refund_cents, {_REFUNDED}
        FROM total w WHERE {_REFUNDED} <> w.refund_cents
        ORDER BY 1, 2
        """,
    )


DAMAGE_REMEDIED: Final = _goods_or_money(
    "correct-remedy",
    "what arrived damaged is replaced if all of it is in stock, and refunded if not",
    f"""
    SELECT k.order_id, i.id AS item_id,
      CASE WHEN s.quantity >= k.quantity THEN k.quantity ELSE 0 END AS pieces,
      CASE WHEN s.quantity >= k.quantity THEN 0 ELSE {SHARE} END AS refund_cents
    FROM {DAMAGED} AND k.thread_id = :thread_id
    """,
)
PARCEL_REMEDIED: Final = _goods_or_money(
    "correct-remedy",
    "what was in the lost parcel is sent again if all of it is in stock, and refunded if not",
    f"""
    SELECT k.order_id, i.id AS item_id,
      CASE WHEN {SHORT} THEN 0 ELSE e.quantity END AS pieces,
      CASE WHEN {SHORT} THEN i.paid_cents ELSE 0 END AS refund_cents
    FROM {LOST} AND k.thread_id = :thread_id
    """,
)
RETURN_REFUNDED: Final = _goods_or_money(
    "return-refunded",
    "what comes back in time is refunded",
    f"""
    SELECT k.order_id, i.id AS item_id, 0 AS pieces, {SHARE} AS refund_cents
    FROM {RETURNED} AND k.thread_id = :thread_id
    """,
)
NO_REFUND_WHEN_IN_STOCK: Final = Check(
    "no-refund-when-in-stock",
    "no money goes back for damaged goods that can be replaced from stock",
    f"""
    SELECT r.id AS refund_id, r.order_id, r.amount_cents, s.quantity AS in_stock
    FROM env_change c JOIN refunds r ON r.id = c.row_key
    JOIN (SELECT k.order_id, s.quantity FROM {DAMAGED} AND k.thread_id = :thread_id
          AND s.quantity >= k.quantity) s ON s.order_id = r.order_id
    WHERE c.table_name = 'refunds' ORDER BY r.id
    """,
)
DUPLICATE_REFUNDED: Final = Check(
    "duplicate-refunded",
    "the later of two full captures is refunded in full",
    f"""
    WITH w AS (SELECT p.id AS payment_id, p.captured_cents AS cents
               FROM {DUPLICATE} AND k.thread_id = :thread_id)
    SELECT w.payment_id, w.cents AS due_cents, {_REFUNDED_TO_PAYMENT} AS refunded_cents
    FROM w WHERE {_REFUNDED_TO_PAYMENT} <> w.cents ORDER BY w.payment_id
    """,
)
ORDER_CANCELLED: Final = Check(
    "order-cancelled",
    "the order is cancelled",
    """
    SELECT o.id AS order_id, o.status FROM env_claim k JOIN orders o ON o.id = k.order_id
    WHERE k.thread_id = :thread_id AND k.kind = 'cancel' AND o.status <> 'cancelled'
    """,
)
CAPTURES_REFUNDED: Final = Check(
    "capture-refunded",
    "every capture of the cancelled order is refunded in full",
    f"""
    WITH w AS (SELECT p.id AS payment_id, p.captured_cents AS cents
               FROM {CANCELLED} AND k.thread_id = :thread_id)
    SELECT w.payment_id, w.cents AS due_cents, {_REFUNDED_TO_PAYMENT} AS refunded_cents
    FROM w WHERE {_REFUNDED_TO_PAYMENT} <> w.cents
    UNION ALL
    SELECT 'the order is not cancelled', 0, 0 FROM env_claim k
    WHERE k.thread_id = :thread_id AND k.kind = 'cancel' AND NOT EXISTS (SELECT 1 FROM w)
    ORDER BY 1
    """,
)
