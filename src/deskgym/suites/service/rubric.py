"""`service-reward`, versions 2 and 3, as data over the one outcome evaluator.

Points are ten-thousandths of a reward. The two versions differ in one thing: version 2 takes the
deductions before the lowest ceiling, so that under a ceiling a lie is free; version 3 after it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from deskgym.rubric.ceiling import COMMON_CEILINGS, Ceiling
from deskgym.rubric.outcome import Need
from deskgym.rubric.outcome_rubric import OutcomeRubric

NEEDS: Final = (
    Need("cancel_order", "get_order", "order"),
    Need("request_delivery_intercept", "get_order", "order"),
    Need("create_return", "get_order", "order"),
    Need("issue_refund", "get_order", "order"),
    Need("issue_refund", "list_order_payments", "order"),
    Need("create_replacement", "get_order", "order"),
    Need("create_replacement", "search_inventory", "sku"),
    Need("create_stock_notification", "get_order", "order"),
    Need("create_stock_notification", "search_inventory", "sku"),
)
"""What a write needs to have been read before it: the order, or a listing of the SKU."""


CEILINGS: Final = (
    Ceiling("intercept", 7_000, "a carrier intercept was only requested; the parcel still moves"),
    Ceiling("stock_notification", 6_000, "a stock notification delivered nothing"),
    *COMMON_CEILINGS,
)

V3: Final = OutcomeRubric(
    version="service-reward.v3",
    outcome_points=7_000,
    evidence_points=2_000,
    report_points=1_000,
    contradicted_report_points=3_000,
    refused_write_points=800,
    ceilings=CEILINGS,
    deductions_last=True,
)
V2: Final = replace(V3, version="service-reward.v2", deductions_last=False)
