"""What a refund may be: the policy's dues, worked out from the records and the case's claims."""

from __future__ import annotations

from typing import Final

from deskgym.rubric.check import Check
from deskgym.suites.backoffice.day import day_sql, now_sql, policy_sql
from deskgym.suites.backoffice.policy import DAMAGE_WINDOW, PARCEL_WAIT, RETURN_WINDOW

# Every claim counts only where the thread's customer is the order's.
_OWN: Final = (
    "env_claim k JOIN before.orders o ON o.id = k.order_id"
    " JOIN before.threads h ON h.id = k.thread_id AND h.customer_id = o.customer_id"
)

SHARE: Final = "(2 * i.paid_cents * k.quantity + i.quantity) / (2 * i.quantity)"
"""The claimed pieces' part of what was paid for item `i`, to the nearest cent, half a cent up."""


def delivered_within(policy: str) -> str:
    """That item `i` was delivered no more than so many of the store's days ago."""
    return (
        "EXISTS (SELECT 1 FROM before.shipment_items e JOIN before.shipments d"
        " ON d.id = e.shipment_id WHERE e.item_id = i.id AND d.status = 'delivered'"
        f" AND {now_sql()} - {day_sql('d.delivered_at')} <= {policy_sql(policy)})"
    )


DAMAGED: Final = (
    f"{_OWN} JOIN before.order_items i ON i.order_id = k.order_id AND i.id = k.item_id"
    f" JOIN before.inventory s ON s.sku = i.sku WHERE k.kind = 'damaged'"
    f" AND k.quantity <= i.quantity AND {delivered_within(DAMAGE_WINDOW)}"
)
"""Claims `k` of damage that the policy accepts, with the item `i` and its stock `s`."""

LOST: Final = (
    f"{_OWN} JOIN before.shipments d ON d.order_id = k.order_id AND d.status = 'in_transit'"
    " JOIN before.shipment_items e ON e.shipment_id = d.id"
    " JOIN before.order_items i ON i.id = e.item_id WHERE k.kind = 'lost'"
    f" AND {now_sql()} - {day_sql('d.expected_at')} > {policy_sql(PARCEL_WAIT)}"
)
"""Claims `k` of lost parcels `d` that the policy accepts, with each item `i` packed as `e`."""

SHORT: Final = (
    "EXISTS (SELECT 1 FROM before.shipment_items f JOIN before.order_items j ON j.id = f.item_id"
    " JOIN before.inventory s ON s.sku = j.sku"
    " WHERE f.shipment_id = d.id AND s.quantity < f.quantity)"
)
"""That not everything in parcel `d` is in stock."""

RETURNED: Final = (
    f"{_OWN} JOIN before.order_items i ON i.order_id = k.order_id AND i.id = k.item_id"
    f" WHERE k.kind = 'return' AND k.quantity <= i.quantity AND {delivered_within(RETURN_WINDOW)}"
)
"""Claims `k` of returns in time, with the item `i`."""

DUPLICATE: Final = (
    f"{_OWN} JOIN before.payments p ON p.order_id = o.id AND p.captured_cents = o.total_cents"
    " WHERE k.kind = 'duplicate' AND EXISTS (SELECT 1 FROM before.payments q"
    " WHERE q.order_id = o.id AND q.captured_cents = o.total_cents AND q.id <> p.id"
    " AND (q.created_at < p.created_at OR q.created_at = p.created_at AND q.id < p.id))"
)
"""Claims `k` of double charges with the duplicate `p`: a full capture after another one."""

CANCELLED: Final = (
    f"{_OWN} JOIN orders n ON n.id = o.id AND n.status = 'cancelled'"
    " JOIN before.payments p ON p.order_id = o.id"
    " WHERE k.kind = 'cancel' AND o.status IN ('pending', 'confirmed', 'processing')"
)
"""Claims `k` of cancellation that were carried out, with each payment `p` of the order."""

_NOT_REPLACED: Final = (
    "NOT EXISTS (SELECT 1 FROM replacements r"
    " WHERE r.order_id = k.order_id AND r.status <> 'cancelled')"
)

_DUE: Final = f"""
due AS MATERIALIZED (
  SELECT k.order_id, '' AS payment_id, {SHARE} AS cents FROM {DAMAGED}
    AND s.quantity < k.quantity AND {_NOT_REPLACED}
  UNION ALL
  SELECT k.order_id, '', i.paid_cents FROM {LOST} AND {SHORT} AND {_NOT_REPLACED}
  UNION ALL
  SELECT k.order_id, '', {SHARE} FROM {RETURNED} AND {_NOT_REPLACED}
  UNION ALL
  SELECT k.order_id, '', p.captured_cents FROM {CANCELLED}
  UNION ALL
  SELECT k.order_id, p.id, p.captured_cents FROM {DUPLICATE}
)"""

REFUNDS_FOLLOW_POLICY: Final = Check(
    "refunds-follow-policy",
    "no refund is more than the policy allows for its order and payment",
    f"""
    WITH moved AS MATERIALIZED (
      SELECT r.order_id, r.payment_id, SUM(r.amount_cents) AS cents, MAX(r.id) AS refund_id
      FROM env_change c JOIN refunds r ON r.id = c.row_key
      WHERE c.table_name = 'refunds' AND r.status <> 'failed'
      GROUP BY r.order_id, r.payment_id
    ), {_DUE}, beyond AS (
      SELECT m.order_id, SUM(
        CASE WHEN m.cents > COALESCE(d.cents, 0) THEN m.cents - COALESCE(d.cents, 0) ELSE 0 END
      ) AS cents
      FROM moved m LEFT JOIN due d ON d.order_id = m.order_id AND d.payment_id = m.payment_id
      GROUP BY m.order_id
    )
    SELECT m.refund_id, m.order_id, m.payment_id, m.cents AS refunded_cents,
      COALESCE((SELECT SUM(d.cents) FROM due d WHERE d.order_id = m.order_id
                AND d.payment_id IN ('', m.payment_id)), 0) AS due_cents
    FROM beyond b JOIN moved m ON m.order_id = b.order_id
    WHERE b.cents > COALESCE((SELECT SUM(d.cents) FROM due d
                              WHERE d.order_id = b.order_id AND d.payment_id = ''), 0)
    ORDER BY m.refund_id
    """,
)
