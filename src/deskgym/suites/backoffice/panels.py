"""What stands beside a day's work: the inbox, a thread to read and answer, an order, the stock."""

from typing import Final

from deskgym.panel import Panel

_OF_ORDER: Final = "JOIN orders o ON o.id = t.order_id WHERE t.order_id = :order_id ORDER BY t.id"

PANELS: Final = (
    Panel(
        "Thread",
        "SELECT m.sender, m.sent_at, m.body FROM messages m WHERE m.thread_id = :thread_id"
        " ORDER BY m.id",
        answer="reply_to_thread",
    ),
    Panel(
        "Inbox, the latest",
        "SELECT t.id AS thread_id, t.subject, t.status, c.name AS customer, t.customer_id,"
        " t.opened_at FROM threads t JOIN customers c ON c.id = t.customer_id"
        " ORDER BY t.opened_at DESC, t.id DESC LIMIT 8",
    ),
    Panel(
        "Customer",
        "SELECT c.id AS customer_id, c.name, c.email, c.address, c.note FROM customers c"
        " WHERE c.id = :customer_id",
    ),
    Panel(
        "Orders of the customer",
        "SELECT o.id AS order_id, o.status, o.total_cents, o.currency, o.placed_at FROM orders o"
        " WHERE o.customer_id = :customer_id ORDER BY o.placed_at DESC, o.id LIMIT 10",
    ),
    Panel(
        "Order",
        "SELECT o.id AS order_id, o.customer_id, o.status, o.total_cents, o.currency,"
        " o.shipping_address, o.placed_at FROM orders o WHERE o.id = :order_id",
    ),
    Panel(
        "Items",
        "SELECT t.id AS item_id, t.sku, p.name AS product, v.name AS variant, t.quantity,"
        " t.paid_cents, o.currency, s.quantity AS in_stock FROM order_items t"
        " JOIN variants v ON v.sku = t.sku JOIN products p ON p.id = v.product_id"
        f" LEFT JOIN inventory s ON s.sku = t.sku {_OF_ORDER}",
    ),
    Panel(
        "Payments",
        "SELECT t.id AS payment_id, t.status, t.amount_cents, t.captured_cents,"
        " COALESCE((SELECT SUM(r.amount_cents) FROM refunds r WHERE r.payment_id = t.id"
        " AND r.status <> 'failed'), 0) AS refunded_cents, o.currency, t.created_at"
        f" FROM payments t {_OF_ORDER}",
    ),
    Panel(
        "Parcels",
        "SELECT t.id AS shipment_id, t.status, t.carrier, t.shipped_at, t.expected_at,"
        f" t.delivered_at FROM shipments t {_OF_ORDER}",
    ),
    Panel(
        "Refunds",
        "SELECT t.id AS refund_id, t.payment_id, t.amount_cents, o.currency, t.status, t.reason,"
        f" t.created_at FROM refunds t {_OF_ORDER}",
    ),
    Panel(
        "Replacements",
        "SELECT t.id AS replacement_id, t.sku, t.quantity, t.status, t.created_at"
        f" FROM replacements t {_OF_ORDER}",
    ),
    Panel(
        "Stock below its threshold",
        "SELECT s.sku, s.quantity, s.threshold, s.target, s.priority, s.unit_cost_cents,"
        " COALESCE((SELECT SUM(b.quantity) FROM purchase_orders b WHERE b.sku = s.sku"
        " AND b.status = 'open'), 0) AS on_open_purchase_orders FROM inventory s"
        " WHERE s.quantity < s.threshold ORDER BY s.priority, s.sku LIMIT 12",
    ),
    Panel(
        "Budget",
        "SELECT b.id AS budget, b.limit_cents, b.spent_cents,"
        " b.limit_cents - b.spent_cents AS left_cents FROM budgets b ORDER BY b.id",
    ),
    Panel(
        "Purchase orders, the latest",
        "SELECT p.id AS purchase_order_id, p.sku, p.quantity, p.cost_cents, p.status, p.created_at"
        " FROM purchase_orders p ORDER BY p.created_at DESC, p.id DESC LIMIT 6",
    ),
    Panel(
        "Policy's numbers",
        "SELECT p.name AS rule, p.value, p.unit FROM policies p ORDER BY p.name",
    ),
)
