"""What the desk rewards: the state of the returns, and how it came about."""

from deskgym.rubric import COMMON_CEILINGS, Check, Need, Outcome, OutcomeRubric, Read, Write

NEEDS = (Need("open_return", "find_order", "order"),)
"""A return is opened after its order was looked up."""

RETURN_OPEN = Check(
    "return-open",
    "the item has one open return",
    """
    SELECT i.id, COUNT(r.id) AS returns FROM order_items i
    LEFT JOIN returns r ON r.item_id = i.id AND r.status = 'open'
    WHERE i.id = :item_id GROUP BY i.id HAVING COUNT(r.id) <> 1
    """,
)


def taken_back(order_id: str, item_id: str) -> Outcome:
    """A return is open for the item."""
    opened = Write("open_return", order_id, item_id, state=RETURN_OPEN.bind(item_id=item_id))
    return Outcome(
        "taken-back",
        "return opened",
        reports=(("return_opened", order_id),),
        writes=(opened,),
    )


def declined(order_id: str) -> Outcome:
    """Nothing changes, and the agent knows why: it has read the order, and says so."""
    return Outcome(
        "declined-as-late",
        "declined, on evidence",
        reports=(("too_late", order_id),),
        reads=(Read("find_order", order_id),),
    )


V1 = OutcomeRubric(
    version="returns-desk.v1",
    outcome_points=7_000,
    evidence_points=2_000,
    report_points=1_000,
    contradicted_report_points=3_000,
    refused_write_points=800,
    ceilings=COMMON_CEILINGS,
    deductions_last=True,
)
