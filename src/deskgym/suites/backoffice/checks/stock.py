"""That exactly the low SKUs which the budget covers were bought, and said to be."""

from __future__ import annotations

from typing import Final

from deskgym.rubric.check import Check

LOW: Final = """
ordered AS (
  SELECT p.sku, SUM(p.quantity) AS quantity FROM before.purchase_orders p
  WHERE p.status = 'open' GROUP BY p.sku
), low AS (
  SELECT s.sku, s.target - s.quantity - COALESCE(o.quantity, 0) AS pieces,
    SUM((s.target - s.quantity - COALESCE(o.quantity, 0)) * s.unit_cost_cents)
      OVER (ORDER BY s.priority, s.sku) AS cost_so_far_cents
  FROM before.inventory s LEFT JOIN ordered o ON o.sku = s.sku
  WHERE s.quantity + COALESCE(o.quantity, 0) < s.threshold
), wanted AS (
  SELECT l.sku, l.pieces FROM low l JOIN before.budgets b ON b.id = 'main'
  WHERE l.cost_so_far_cents <= b.limit_cents - b.spent_cents
)"""
"""`wanted`: SKUs and pieces to buy. A running total passes the budget once and stays past it."""

BOUGHT: Final = """
bought AS (
  SELECT p.sku, SUM(p.quantity) AS pieces FROM env_change c
  JOIN purchase_orders p ON p.id = c.row_key
  WHERE c.table_name = 'purchase_orders' AND p.status = 'open' GROUP BY p.sku
)"""

LOW_STOCK_BOUGHT: Final = Check(
    "low-stock-bought",
    "each low SKU that the budget covers is bought up to its target, and no other",
    f"""
    WITH {LOW}, {BOUGHT}
    SELECT w.sku, w.pieces AS due, COALESCE(b.pieces, 0) AS found
    FROM wanted w LEFT JOIN bought b ON b.sku = w.sku WHERE COALESCE(b.pieces, 0) <> w.pieces
    UNION ALL
    SELECT b.sku, 0, b.pieces FROM bought b WHERE b.sku NOT IN (SELECT w.sku FROM wanted w)
    ORDER BY 1
    """,
)
WANTED_SKU: Final = f"t.sku IN (WITH {LOW} SELECT w.sku FROM wanted w)"
"""That row `t` is of a SKU to buy."""


def _words(sku: str) -> str:
    """A SKU as the words of a normalised text."""
    return f"' ' || replace(lower({sku}), '-', ' ') || ' '"


SUMMARY_NAMES_PURCHASES: Final = Check(
    "summary-names-purchases",
    "the summary handed in names every SKU that was bought, and no other",
    f"""
    WITH {BOUGHT}
    SELECT 'nothing was bought' AS problem, '' AS value WHERE NOT EXISTS (SELECT 1 FROM bought)
    UNION ALL
    SELECT 'no summary names it', b.sku FROM bought b WHERE NOT EXISTS (
      SELECT 1 FROM env_submission s
      WHERE replace(s.words, {_words("b.sku")}, '') <> s.words)
    UNION ALL
    SELECT 'the summary names it', v.sku FROM env_submission s
    JOIN before.inventory v ON replace(s.words, {_words("v.sku")}, '') <> s.words
    WHERE v.sku NOT IN (SELECT b.sku FROM bought b)
    ORDER BY 1, 2
    """,
)
