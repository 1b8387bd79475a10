"""Days of the store, in Python and in SQL.

A day is a whole number: days since 1970-01-01 in the store's time zone, a fixed offset from UTC.
The SQL is integer arithmetic on the text of a time, which every engine does alike; SQLite's own
date functions would read the machine's clock for some texts and PostgreSQL has others.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

_EPOCH: Final = 2_440_588  # the Julian day number of 1970-01-01


def day_of(time: str, offset_minutes: int) -> int:
    """The store's day at a time (UTC, ISO 8601)."""
    moment = datetime.fromisoformat(time)
    minutes = int(moment.timestamp()) // 60 + offset_minutes
    return minutes // 1_440


def day_sql(time: str) -> str:
    """The same, as an SQL expression of a column and the `settings` row `utc_offset_minutes`."""

    def part(start: int, length: int) -> str:
        return f"CAST(substr({time}, {start}, {length}) AS INTEGER)"

    year, month, day = part(1, 4), part(6, 2), part(9, 2)
    hour, minute = part(12, 2), part(15, 2)
    # Fliegel and Van Flandern's formula; every division of integers cuts towards zero.
    julian = (
        f"{day} - 32075 + 1461 * ({year} + 4800 + ({month} - 14) / 12) / 4"
        f" + 367 * ({month} - 2 - ({month} - 14) / 12 * 12) / 12"
        f" - 3 * (({year} + 4900 + ({month} - 14) / 12) / 100) / 4"
    )
    offset = (
        "(SELECT CAST(z.value AS INTEGER) FROM before.settings z"
        " WHERE z.name = 'utc_offset_minutes')"
    )
    return f"((({julian}) - {_EPOCH}) * 1440 + {hour} * 60 + {minute} + {offset}) / 1440"


def now_sql() -> str:
    """The store's day now."""
    return day_sql("(SELECT z.value FROM before.settings z WHERE z.name = 'now')")


def policy_sql(name: str) -> str:
    """A number of the policy, as SQL."""
    return f"(SELECT p.value FROM before.policies p WHERE p.name = '{name}')"
