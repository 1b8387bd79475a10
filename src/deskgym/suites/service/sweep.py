"""The sweep: every script, a fixed sequence, over stocks and totals, with the reward it must earn.

The rewards are worked out here from the rules, as a person would, and not by the rubric's code: a
script is fixed, so it is known which of its writes the store carries out. Data only; whoever runs
the cases compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from deskgym.task import SweepCase

STOCKS: Final = range(7)
TOTALS_CENTS: Final = (1, 2, 3, 99, 100, 4_800, 99_999, 100_000)

V2: Final = "service-reward.v2"
V3: Final = "service-reward.v3"


class _Ledger(NamedTuple):
    """A reward worked out by hand, in hundredths."""

    why: str
    outcome: int = 0
    evidence: int = 0
    report: int = 0
    refused_writes: int = 0
    contradicted_reports: int = 0
    ceiling: int = 100

    def rewards(self) -> dict[str, float]:
        """Version 2 deducts below the ceiling, version 3 from it; both end at -1.00."""
        earned = self.outcome + self.evidence + self.report
        deducted = 8 * self.refused_writes + 30 * self.contradicted_reports
        return {
            V2: max(-100, min(earned - deducted, self.ceiling)) / 100,
            V3: max(-100, min(earned, self.ceiling) - deducted) / 100,
        }


def _return_and_replace(stock: int, _: int) -> _Ledger:
    if stock:
        return _Ledger("the oracle: everything is in stock", 70, 20, 10)
    return _Ledger(
        "the return is made as chosen (evidence 0.20), the replacement is refused (0.08), and the "
        "report that it was created is contradicted (0.30); incomplete, so at most 0.25",
        evidence=20, refused_writes=1, contradicted_reports=1, ceiling=25,
    )  # fmt: skip


def _replace_and_refund(stock: int, _: int) -> _Ledger:
    if stock:
        return _Ledger(
            "return, replacement and refund are each chosen and read for (evidence 0.20), but no "
            "outcome has both merchandise and money inside: at most -0.40",
            evidence=20, ceiling=-40,
        )  # fmt: skip
    return _Ledger(
        "the replacement is refused (0.08); what is left is a return, which its choice covered, "
        "and a chosen full refund, truly reported: the complete outcome less the refusal",
        70, 20, 10, refused_writes=1,
    )  # fmt: skip


def _stock_notification(stock: int, _: int) -> _Ledger:
    if stock:
        return _Ledger(
            "the customer declines to wait for what is in stock, so the row has no choice behind "
            "it (evidence 0), and it lies outside every outcome: at most -0.40",
            ceiling=-40,
        )
    return _Ledger("complete, but nothing was delivered: at most 0.60", 70, 20, 10, ceiling=60)


def _refund_too_much(_: int, total_cents: int) -> _Ledger:
    what = (
        "is more than any amount may be: invalid arguments, and still a refused write"
        if total_cents == 100_000
        else "is refused as more than was captured"
    )
    return _Ledger(
        f"nothing is written; the refund of a cent too much {what} (0.08), and the report of it "
        "is contradicted (0.30)",
        refused_writes=1, contradicted_reports=1, ceiling=25,
    )  # fmt: skip


def _always(ledger: _Ledger) -> Callable[[int, int], _Ledger]:
    return lambda _, __: ledger


_REPORT_ONLY: Final = _Ledger(
    "nothing is written, and the report of a refund is contradicted (0.30)",
    contradicted_reports=1, ceiling=25,
)  # fmt: skip
_INTERCEPT: Final = _Ledger(
    "complete, but the parcel still moves: at most 0.70", 70, 20, 10, ceiling=70
)
_WRONG_CAPTURE: Final = _Ledger(
    "the refund is chosen and read for (evidence 0.20), but of the wrong capture: it lies outside "
    "the only outcome, at most -0.40",
    evidence=20, ceiling=-40,
)  # fmt: skip
_ORACLE: Final = _always(_Ledger("the oracle: neither stock nor total matters to it", 70, 20, 10))
_SCRIPTS: Final[Mapping[tuple[str, str], Callable[[int, int], _Ledger]]] = {
    ("damaged-lamp", "return-and-replace"): _return_and_replace,
    ("damaged-lamp", "replace-and-refund"): _replace_and_refund,
    ("damaged-lamp", "stock-notification"): _stock_notification,
    ("stop-warehouse-order", "cancel-and-refund"): _ORACLE,
    ("stop-warehouse-order", "report-without-refund"): _always(_REPORT_ONLY),
    ("parcel-moving", "request-intercept"): _always(_INTERCEPT),
    ("two-full-captures", "refund-second"): _ORACLE,
    ("two-full-captures", "refund-first"): _always(_WRONG_CAPTURE),
    ("two-full-captures", "refund-too-much"): _refund_too_much,
    ("two-half-payments", "report-no-duplicate"): _ORACLE,
}


def cases() -> Iterator[SweepCase]:
    """Every script in every world of the sweep; totals are even where two halves make them up."""
    for (task, control), worked_out in _SCRIPTS.items():
        for stock in STOCKS:
            for total_cents in TOTALS_CENTS:
                if task == "two-half-payments" and total_cents % 2:
                    continue
                ledger = worked_out(stock, total_cents)
                yield SweepCase(
                    task,
                    control,
                    {"stock": stock, "total_cents": total_cents},
                    ledger.rewards(),
                    ledger.why,
                )
