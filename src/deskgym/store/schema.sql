-- The store that every suite runs on, in the SQL that SQLite and PostgreSQL share.
-- `schema.py` turns this one text into each engine's DDL and adds the guards, which are the
-- constraints that need to look at more than one row.
--
-- Ids are text. Amounts are integer minor units (cents) of the row's or its order's currency.
-- Times are UTC text in ISO 8601, `2026-03-01T09:30:00Z`, so that they sort as text.
-- Parents stand before children: rows are inserted in this order and removed in the opposite one.

CREATE TABLE settings (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE policies (
  name TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL,
  unit TEXT NOT NULL
);

CREATE TABLE customers (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE,
  address TEXT NOT NULL,
  note TEXT NOT NULL,
  created_at TEXT NOT NULL
);

CREATE TABLE products (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  product_type TEXT NOT NULL,
  note TEXT NOT NULL
);

CREATE TABLE variants (
  sku TEXT NOT NULL PRIMARY KEY,
  product_id TEXT NOT NULL REFERENCES products (id),
  name TEXT NOT NULL,
  size TEXT NOT NULL,
  color TEXT NOT NULL,
  price_cents INTEGER NOT NULL CHECK (price_cents >= 0)
);

CREATE TABLE inventory (
  sku TEXT NOT NULL PRIMARY KEY REFERENCES variants (sku),
  quantity INTEGER NOT NULL CHECK (quantity >= 0),
  threshold INTEGER NOT NULL CHECK (threshold >= 0),
  target INTEGER NOT NULL CHECK (target >= threshold),
  priority INTEGER NOT NULL,
  unit_cost_cents INTEGER NOT NULL CHECK (unit_cost_cents >= 0)
);

CREATE TABLE orders (
  id TEXT NOT NULL PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  status TEXT NOT NULL CHECK (
    status IN ('pending', 'confirmed', 'processing', 'shipped', 'delivered', 'cancelled')
  ),
  discount_cents INTEGER NOT NULL CHECK (discount_cents >= 0),
  tax_cents INTEGER NOT NULL CHECK (tax_cents >= 0),
  total_cents INTEGER NOT NULL CHECK (total_cents >= 0),
  currency TEXT NOT NULL CHECK (length(currency) = 3),
  shipping_address TEXT NOT NULL,
  placed_at TEXT NOT NULL
);
CREATE INDEX orders_by_customer ON orders (customer_id, placed_at, id);
CREATE INDEX orders_by_status ON orders (status, placed_at, id);
CREATE INDEX orders_by_time ON orders (placed_at, id);

CREATE TABLE order_items (
  id TEXT NOT NULL PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  sku TEXT NOT NULL REFERENCES variants (sku),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  unit_price_cents INTEGER NOT NULL CHECK (unit_price_cents >= 0),
  paid_cents INTEGER NOT NULL CHECK (paid_cents >= 0),
  UNIQUE (order_id, id)
);

CREATE TABLE payments (
  id TEXT NOT NULL PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  status TEXT NOT NULL CHECK (status IN ('authorized', 'captured', 'voided', 'failed')),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  captured_cents INTEGER NOT NULL CHECK (captured_cents >= 0 AND captured_cents <= amount_cents),
  processor_reference TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  UNIQUE (order_id, id),
  CHECK ((status = 'captured') = (captured_cents > 0))
);

CREATE TABLE shipments (
  id TEXT NOT NULL PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  status TEXT NOT NULL CHECK (
    status IN ('label_created', 'in_transit', 'delivered', 'lost', 'returned')
  ),
  carrier TEXT NOT NULL,
  tracking_number TEXT NOT NULL UNIQUE,
  shipped_at TEXT,
  expected_at TEXT,
  delivered_at TEXT,
  UNIQUE (order_id, id),
  CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
);

CREATE TABLE shipment_items (
  shipment_id TEXT NOT NULL REFERENCES shipments (id),
  item_id TEXT NOT NULL REFERENCES order_items (id),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (shipment_id, item_id)
);
CREATE INDEX shipment_items_by_item ON shipment_items (item_id);

CREATE TABLE cancellations (
  id TEXT NOT NULL PRIMARY KEY,
  order_id TEXT NOT NULL UNIQUE REFERENCES orders (id),
  reason TEXT NOT NULL,
  idempotency_key TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL
);

CREATE TABLE refunds (
  id TEXT NOT NULL PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  payment_id TEXT NOT NULL,
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  status TEXT NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
  reason TEXT NOT NULL,
  idempotency_key TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  FOREIGN KEY (order_id, payment_id) REFERENCES payments (order_id, id)
);
CREATE INDEX refunds_by_payment ON refunds (payment_id, id);
CREATE INDEX refunds_by_order ON refunds (order_id, payment_id);

CREATE TABLE returns (
  id TEXT NOT NULL PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  item_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'received', 'closed', 'cancelled')),
  reason TEXT NOT NULL,
  idempotency_key TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  UNIQUE (item_id, id),
  FOREIGN KEY (order_id, item_id) REFERENCES order_items (order_id, id)
);
CREATE UNIQUE INDEX returns_one_open_per_item ON returns (item_id) WHERE status = 'open';
CREATE INDEX returns_by_order ON returns (order_id, item_id);

CREATE TABLE replacements (
  id TEXT NOT NULL PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  item_id TEXT NOT NULL,
  return_id TEXT,
  sku TEXT NOT NULL REFERENCES variants (sku),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  status TEXT NOT NULL CHECK (status IN ('created', 'shipped', 'delivered', 'cancelled')),
  idempotency_key TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  FOREIGN KEY (order_id, item_id) REFERENCES order_items (order_id, id),
  FOREIGN KEY (item_id, return_id) REFERENCES returns (item_id, id)
);
CREATE INDEX replacements_by_item ON replacements (item_id);
CREATE INDEX replacements_by_order ON replacements (order_id, item_id);
CREATE INDEX replacements_by_return ON replacements (item_id, return_id);

CREATE TABLE delivery_intercepts (
  id TEXT NOT NULL PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  shipment_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('requested', 'stopped', 'missed')),
  idempotency_key TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  FOREIGN KEY (order_id, shipment_id) REFERENCES shipments (order_id, id)
);
CREATE UNIQUE INDEX delivery_intercepts_one_live_per_parcel
  ON delivery_intercepts (shipment_id) WHERE status = 'requested';
CREATE INDEX delivery_intercepts_by_order ON delivery_intercepts (order_id, shipment_id);

CREATE TABLE stock_notifications (
  id TEXT NOT NULL PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  order_id TEXT NOT NULL REFERENCES orders (id),
  sku TEXT NOT NULL REFERENCES variants (sku),
  status TEXT NOT NULL CHECK (status IN ('active', 'sent', 'cancelled')),
  idempotency_key TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX stock_notifications_one_live_per_sku
  ON stock_notifications (customer_id, sku) WHERE status = 'active';
CREATE INDEX stock_notifications_by_order ON stock_notifications (order_id);

CREATE TABLE threads (
  id TEXT NOT NULL PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  subject TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'pending', 'closed')),
  opened_at TEXT NOT NULL
);
CREATE INDEX threads_by_status ON threads (status, opened_at, id);
CREATE INDEX threads_by_time ON threads (opened_at, id);

CREATE TABLE messages (
  id TEXT NOT NULL PRIMARY KEY,
  thread_id TEXT NOT NULL REFERENCES threads (id),
  sender TEXT NOT NULL CHECK (sender IN ('customer', 'store')),
  body TEXT NOT NULL,
  sent_at TEXT NOT NULL
);
CREATE INDEX messages_by_thread ON messages (thread_id, id);

CREATE TABLE budgets (
  id TEXT NOT NULL PRIMARY KEY,
  limit_cents INTEGER NOT NULL CHECK (limit_cents >= 0),
  spent_cents INTEGER NOT NULL CHECK (spent_cents >= 0 AND spent_cents <= limit_cents)
);

CREATE TABLE purchase_orders (
  id TEXT NOT NULL PRIMARY KEY,
  budget_id TEXT NOT NULL REFERENCES budgets (id),
  sku TEXT NOT NULL REFERENCES variants (sku),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  unit_cost_cents INTEGER NOT NULL CHECK (unit_cost_cents >= 0),
  cost_cents INTEGER NOT NULL CHECK (cost_cents = quantity * unit_cost_cents),
  status TEXT NOT NULL CHECK (status IN ('open', 'received', 'cancelled')),
  created_at TEXT NOT NULL
);
CREATE INDEX purchase_orders_by_sku ON purchase_orders (sku, status);
CREATE INDEX purchase_orders_by_budget ON purchase_orders (budget_id);

-- The environment's own log. It lives in the world so that a rubric is SQL over rows, and
-- stands outside every "nothing else changed". `step` counts the episode's actions from 1.

CREATE TABLE env_need (
  tool TEXT NOT NULL,
  reads TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('order', 'sku')),
  PRIMARY KEY (tool, reads)
);

CREATE TABLE env_call (
  step INTEGER NOT NULL PRIMARY KEY,
  tool TEXT NOT NULL,
  kind TEXT NOT NULL,
  code TEXT NOT NULL,
  ok INTEGER NOT NULL CHECK (ok IN (0, 1)),
  changed INTEGER NOT NULL CHECK (changed IN (0, 1)),
  order_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  sku TEXT NOT NULL,
  amount_cents INTEGER NOT NULL
);

CREATE TABLE env_listed (
  step INTEGER NOT NULL,
  sku TEXT NOT NULL,
  PRIMARY KEY (step, sku)
);

CREATE TABLE env_choice (
  step INTEGER NOT NULL PRIMARY KEY,
  remedy TEXT NOT NULL,
  order_id TEXT NOT NULL,
  accepted INTEGER NOT NULL CHECK (accepted IN (0, 1))
);

CREATE TABLE env_grant (
  step INTEGER NOT NULL,
  tool TEXT NOT NULL,
  order_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  sku TEXT NOT NULL,
  amount_cents INTEGER NOT NULL,
  PRIMARY KEY (step, tool)
);

CREATE TABLE env_report (
  step INTEGER NOT NULL PRIMARY KEY,
  claim TEXT NOT NULL,
  order_id TEXT NOT NULL,
  supported INTEGER NOT NULL CHECK (supported IN (0, 1))
);

-- What a conversation is about, by names that the suite knows; a row of the fixture.
CREATE TABLE env_ticket (
  tier TEXT NOT NULL PRIMARY KEY,
  scenario TEXT NOT NULL,
  wording INTEGER NOT NULL
);

-- A reply that took a turn, and the intent declared with it, empty if none was; its words are the
-- agent's message of the same step.
CREATE TABLE env_turn (
  step INTEGER NOT NULL PRIMARY KEY,
  intent TEXT NOT NULL
);

CREATE TABLE env_message (
  step INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('agent', 'customer')),
  body TEXT NOT NULL,
  PRIMARY KEY (step, role)
);

-- What a case is about where only a customer's words say it: this item arrived broken, this parcel
-- never came. A row of the fixture; checks read it beside the records.
CREATE TABLE env_claim (
  thread_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('damaged', 'lost', 'duplicate', 'cancel', 'return')),
  order_id TEXT NOT NULL,
  item_id TEXT NOT NULL,
  quantity INTEGER NOT NULL CHECK (quantity >= 0),
  PRIMARY KEY (thread_id, kind, order_id, item_id)
);

-- What a reply must not give away, as normalised words.
CREATE TABLE env_secret (
  subject TEXT NOT NULL,
  words TEXT NOT NULL,
  PRIMARY KEY (subject, words)
);

-- A reply as its reader takes it in: its normalised words, and the facts found in them.
CREATE TABLE env_reply (
  step INTEGER NOT NULL PRIMARY KEY,
  thread_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  words TEXT NOT NULL
);

CREATE TABLE env_fact (
  step INTEGER NOT NULL,
  kind TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (step, kind, value)
);

CREATE TABLE env_submission (
  step INTEGER NOT NULL PRIMARY KEY,
  summary TEXT NOT NULL,
  words TEXT NOT NULL
);

CREATE TABLE env_change (
  table_name TEXT NOT NULL,
  row_key TEXT NOT NULL,
  operation TEXT NOT NULL CHECK (operation IN ('add', 'change', 'remove')),
  PRIMARY KEY (table_name, row_key)
);
