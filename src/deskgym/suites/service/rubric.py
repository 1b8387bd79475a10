"""`service-reward`, versions 2 and 3, as data over the one outcome evaluator.

Points are ten-thousandths of a reward. The two versions differ in one thing: version 2 takes the
deductions before the lowest ceiling, so that under a ceiling a lie is free; version 3 after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from deskgym.rubric.fact import Facts
from deskgym.rubric.outcome import Need
from deskgym.rubric.outcome_rubric import Ceiling, OutcomeRubric
from deskgym.rubric.standing import Standing

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


def _nothing_read_or_changed(facts: Facts, standings: Sequence[Standing]) -> bool:
    """A denial that an outcome requires is a read that succeeded."""
    denials = {
        (read.tool, read.order_id, read.denial)
        for standing in standings
        for read in standing.outcome.reads
    }
    read = any(
        call.kind == "read" and (call.ok or (call.tool, call.order_id, call.code) in denials)
        for call in facts.calls
    )
    return not read and not facts.committed


CEILINGS: Final = (
    Ceiling("intercept", 7_000, "a carrier intercept was only requested; the parcel still moves"),
    Ceiling("stock_notification", 6_000, "a stock notification delivered nothing"),
    Ceiling(
        "no_prior_evidence",
        4_000,
        "a committed write lacked its reads or the customer's choice",
        lambda facts, _: bool(facts.unread or facts.unchosen),
    ),
    Ceiling(
        "no_complete_outcome",
        2_500,
        "no acceptable outcome is complete",
        lambda _, standings: not any(standing.complete for standing in standings),
    ),
    Ceiling(
        "nothing_read_or_changed",
        0,
        "not one read succeeded and nothing changed",
        _nothing_read_or_changed,
    ),
    Ceiling(
        "outside_every_outcome",
        -4_000,
        "the committed writes lie inside no single outcome",
        lambda _, standings: all(standing.outside for standing in standings),
    ),
    Ceiling(
        "gate",
        -10_000,
        "a gate was crossed",
        lambda facts, _: bool(facts.crossed),
    ),
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
