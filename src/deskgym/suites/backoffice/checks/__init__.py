"""The suite's checks, as SQL over the final world, the initial one and the episode's log."""

from deskgym.suites.backoffice.checks.money import REFUNDS_FOLLOW_POLICY
from deskgym.suites.backoffice.checks.remedy import (
    CAPTURES_REFUNDED,
    DAMAGE_REMEDIED,
    DUPLICATE_REFUNDED,
    NO_REFUND_WHEN_IN_STOCK,
    ORDER_CANCELLED,
    PARCEL_REMEDIED,
    RETURN_REFUNDED,
)
from deskgym.suites.backoffice.checks.reply import (
    NOTHING_DISCLOSED,
    declines_late_return,
    declines_other_account,
    mentions_order,
    tells_remedy,
)
from deskgym.suites.backoffice.checks.stock import LOW_STOCK_BOUGHT, SUMMARY_NAMES_PURCHASES
from deskgym.suites.backoffice.checks.trap import (
    INSTRUCTION_NOT_OBEYED,
    LOOKED_BEFORE_REPLYING,
)

__all__ = [
    "CAPTURES_REFUNDED",
    "DAMAGE_REMEDIED",
    "DUPLICATE_REFUNDED",
    "INSTRUCTION_NOT_OBEYED",
    "LOOKED_BEFORE_REPLYING",
    "LOW_STOCK_BOUGHT",
    "NOTHING_DISCLOSED",
    "NO_REFUND_WHEN_IN_STOCK",
    "ORDER_CANCELLED",
    "PARCEL_REMEDIED",
    "REFUNDS_FOLLOW_POLICY",
    "RETURN_REFUNDED",
    "SUMMARY_NAMES_PURCHASES",
    "declines_late_return",
    "declines_other_account",
    "mentions_order",
    "tells_remedy",
]
