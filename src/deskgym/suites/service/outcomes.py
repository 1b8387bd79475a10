"""The acceptable outcomes of the service suite: states as checks, writes, and reports."""

from __future__ import annotations

from typing import Final

from deskgym.rubric.check import BoundCheck, Check
from deskgym.rubric.outcome import Outcome, Read, Write
from deskgym.suites.service.claims import Claim

ORDER_CANCELLED: Final = Check(
    "order-cancelled",
    "the order is cancelled",
    "SELECT id, status FROM orders WHERE id = :order_id AND status <> 'cancelled'",
)
CAPTURE_REFUNDED: Final = Check(
    "capture-refunded",
    "the payment's refunds add up to what it captured",
    """
    SELECT p.id, p.captured_cents, COALESCE(SUM(r.amount_cents), 0) AS refunded_cents
    FROM payments p LEFT JOIN refunds r ON r.payment_id = p.id AND r.status <> 'failed'
    WHERE p.id = :payment_id GROUP BY p.id, p.captured_cents
    HAVING COALESCE(SUM(r.amount_cents), 0) <> p.captured_cents
    """,
)
PAYMENT_UNTOUCHED: Final = Check(
    "payment-untouched",
    "no refund was added to the payment",
    """
    SELECT r.id, r.payment_id, r.amount_cents FROM refunds r WHERE r.payment_id = :payment_id
    AND r.id NOT IN (SELECT b.id FROM before.refunds b WHERE b.payment_id = :payment_id)
    ORDER BY r.id
    """,
)
RETURN_OPEN: Final = Check(
    "return-open",
    "the item has an open return",
    """
    SELECT i.id FROM order_items i WHERE i.id = :item_id AND NOT EXISTS (
      SELECT 1 FROM returns r WHERE r.item_id = i.id AND r.status = 'open')
    """,
)
REPLACED: Final = Check(
    "replaced",
    "the item has exactly one replacement, of the SKU that was ordered",
    """
    SELECT i.id, COUNT(r.id) AS replacements FROM order_items i
    LEFT JOIN replacements r ON r.item_id = i.id AND r.status <> 'cancelled'
    WHERE i.id = :item_id GROUP BY i.id
    HAVING COUNT(r.id) <> 1 OR MAX(r.sku) <> :sku
    """,
)
TAKEN_FROM_STOCK: Final = Check(
    "taken-from-stock",
    "there is one piece less of the SKU than at the start",
    """
    SELECT i.sku, b.quantity AS quantity_before, i.quantity FROM inventory i
    JOIN before.inventory b ON b.sku = i.sku
    WHERE i.sku = :sku AND i.quantity <> b.quantity - 1
    """,
)
INTERCEPT_REQUESTED: Final = Check(
    "intercept-requested",
    "there is a live request to stop the parcel",
    """
    SELECT s.id, s.status FROM shipments s WHERE s.id = :shipment_id AND NOT EXISTS (
      SELECT 1 FROM delivery_intercepts d
      WHERE d.shipment_id = s.id AND d.status = 'requested')
    """,
)
NOTIFICATION_ACTIVE: Final = Check(
    "notification-active",
    "the account waits for the SKU",
    """
    SELECT o.id FROM orders o WHERE o.id = :order_id AND NOT EXISTS (
      SELECT 1 FROM stock_notifications n WHERE n.order_id = o.id AND n.sku = :sku
        AND n.customer_id = o.customer_id AND n.status = 'active')
    """,
)
OUT_OF_STOCK_AT_START: Final = Check(
    "out-of-stock-at-start",
    "the SKU was out of stock at the start",
    "SELECT b.sku, b.quantity FROM before.inventory b WHERE b.sku = :sku AND b.quantity > 0",
)


def _reports(order_id: str, claim: Claim) -> tuple[tuple[str, str], ...]:
    return ((claim, order_id),)


def _return_of(order_id: str, item_id: str) -> Write:
    return Write("create_return", order_id, item_id, state=RETURN_OPEN.bind(item_id=item_id))


def _refund_of(order_id: str, payment_id: str) -> Write:
    state = CAPTURE_REFUNDED.bind(payment_id=payment_id)
    return Write("issue_refund", order_id, payment_id, state=state)


def _cancellation_of(order_id: str) -> Write:
    return Write("cancel_order", order_id, state=ORDER_CANCELLED.bind(order_id=order_id))


def replacement(order_id: str, item_id: str, sku: str) -> Outcome:
    """The item comes back and one piece of the ordered SKU is sent."""
    sent = Write(
        "create_replacement",
        order_id,
        item_id,
        sku,
        REPLACED.bind(item_id=item_id, sku=sku),
    )
    return Outcome(
        "replacement",
        "return and replacement",
        _reports(order_id, "replacement_created"),
        writes=(_return_of(order_id, item_id), sent),
        keeps=(TAKEN_FROM_STOCK.bind(sku=sku),),
    )


def full_refund(
    order_id: str, payment_id: str, item_id: str, *, with_return: bool = False
) -> Outcome:
    """All of the capture goes back; the item may come back too, or must where the case asks."""
    refund, back = _refund_of(order_id, payment_id), _return_of(order_id, item_id)
    return Outcome(
        "full_refund",
        "full refund",
        _reports(order_id, "refunded"),
        writes=(back, refund) if with_return else (refund,),
        allows=() if with_return else (back,),
    )


def stock_notification(
    order_id: str, item_id: str, sku: str, *, with_return: bool = False
) -> Outcome:
    """The account waits for the SKU, which was out of stock at the start: a partial remedy."""
    waits = Write(
        "create_stock_notification",
        order_id,
        sku=sku,
        state=NOTIFICATION_ACTIVE.bind(order_id=order_id, sku=sku),
    )
    back = _return_of(order_id, item_id)
    return Outcome(
        "stock_notification",
        "stock notification",
        _reports(order_id, "stock_notification_created"),
        writes=(back, waits) if with_return else (waits,),
        only_if=(OUT_OF_STOCK_AT_START.bind(sku=sku),),
        allows=() if with_return else (back,),
        ceiling="stock_notification",
    )


def cancel_and_refund(order_id: str, payment_id: str) -> Outcome:
    """The order is cancelled and all of its capture goes back."""
    return Outcome(
        "cancel_and_refund",
        "cancellation and refund",
        _reports(order_id, "refunded"),
        writes=(_cancellation_of(order_id), _refund_of(order_id, payment_id)),
    )


def cancel(order_id: str) -> Outcome:
    """The order is cancelled; there is no captured money to return."""
    return Outcome(
        "cancel", "cancellation", _reports(order_id, "cancelled"),
        writes=(_cancellation_of(order_id),),
    )  # fmt: skip


def intercept(order_id: str, shipment_id: str) -> Outcome:
    """The carrier was asked to stop the parcel, which still moves: a partial remedy."""
    asked = Write(
        "request_delivery_intercept",
        order_id,
        shipment_id,
        state=INTERCEPT_REQUESTED.bind(shipment_id=shipment_id),
    )
    return Outcome(
        "intercept",
        "carrier intercept requested",
        _reports(order_id, "intercept_requested"),
        writes=(asked,),
        ceiling="intercept",
    )


def duplicate_refunded(order_id: str, original_id: str, duplicate_id: str) -> Outcome:
    """All of the extra capture goes back and the first one stays."""
    return Outcome(
        "duplicate_refunded",
        "refund of the redundant capture",
        _reports(order_id, "refunded"),
        writes=(_refund_of(order_id, duplicate_id),),
        keeps=(PAYMENT_UNTOUCHED.bind(payment_id=original_id),),
    )


def restraint(
    order_id: str, claim: Claim, *reads: Read, keeps: tuple[BoundCheck, ...] = ()
) -> Outcome:
    """Nothing changes, and the agent knows why: it has read what tells, and reports it."""
    return Outcome(
        "restraint",
        "nothing changed, on evidence",
        _reports(order_id, claim),
        keeps=keeps,
        reads=reads,
    )
