"""What stands beside a case: the customer's records, and what was done for it."""

from typing import Final

from deskgym.panel import Panel

_OWN: Final = (
    "JOIN orders o ON o.id = t.order_id WHERE o.customer_id = :account ORDER BY o.placed_at DESC,"
)

PANELS: Final = (
    Panel(
        "Orders",
        "SELECT o.id AS order_id, o.status, o.total_cents, o.currency, o.placed_at FROM orders o"
        " WHERE o.customer_id = :account ORDER BY o.placed_at DESC, o.id",
    ),
    Panel(
        "Items",
        "SELECT t.id AS item_id, t.sku, p.name AS product, v.name AS variant, t.quantity,"
        " t.paid_cents, o.currency FROM order_items t JOIN variants v ON v.sku = t.sku"
        f" JOIN products p ON p.id = v.product_id {_OWN} t.id",
    ),
    Panel(
        "Payments",
        "SELECT t.id AS payment_id, t.order_id, t.status, t.amount_cents, t.captured_cents,"
        " COALESCE((SELECT SUM(r.amount_cents) FROM refunds r WHERE r.payment_id = t.id"
        " AND r.status <> 'failed'), 0) AS refunded_cents, o.currency, t.processor_reference,"
        f" t.created_at FROM payments t {_OWN} t.created_at, t.id",
    ),
    Panel(
        "Parcels",
        "SELECT t.id AS shipment_id, t.order_id, t.status, t.carrier, t.shipped_at, t.expected_at,"
        f" t.delivered_at FROM shipments t {_OWN} t.id",
    ),
    Panel(
        "Stock",
        "SELECT v.sku, p.name AS product, v.name AS variant, s.quantity FROM inventory s"
        " JOIN variants v ON v.sku = s.sku JOIN products p ON p.id = v.product_id"
        " WHERE v.product_id IN (SELECT w.product_id FROM order_items i"
        " JOIN orders o ON o.id = i.order_id JOIN variants w ON w.sku = i.sku"
        " WHERE o.customer_id = :account) ORDER BY s.priority, v.sku",
    ),
    Panel(
        "Refunds",
        "SELECT t.id AS refund_id, t.order_id, t.payment_id, t.amount_cents, o.currency, t.status,"
        f" t.reason, t.created_at FROM refunds t {_OWN} t.id",
    ),
    Panel(
        "Returns",
        "SELECT t.id AS return_id, t.item_id, t.status, t.reason, t.created_at"
        f" FROM returns t {_OWN} t.id",
    ),
    Panel(
        "Replacements",
        "SELECT t.id AS replacement_id, t.item_id, t.sku, t.quantity, t.status, t.return_id"
        f" FROM replacements t {_OWN} t.id",
    ),
    Panel(
        "Intercepts",
        "SELECT t.id AS intercept_id, t.shipment_id, t.status, t.created_at"
        f" FROM delivery_intercepts t {_OWN} t.id",
    ),
    Panel(
        "Cancellations",
        "SELECT t.id AS cancellation_id, t.order_id, t.reason, t.created_at"
        f" FROM cancellations t {_OWN} t.id",
    ),
    Panel(
        "Stock alerts",
        "SELECT t.id AS notification_id, t.sku, t.status, t.created_at"
        f" FROM stock_notifications t {_OWN} t.id",
    ),
)
