"""Draws and times for fixtures: the one place where chance enters, and it comes from the seed.

The draws are SHA-256 of the seed and a counter, so they are the same on every Python version.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, TypeVar

T = TypeVar("T")


class Draw:
    """A stream of draws, named by what it is for so that streams do not disturb each other."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._prefix: Final = f"{purpose}:{seed}:".encode()
        self._count = 0

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        self._count += 1
        digest = sha256(self._prefix + str(self._count).encode()).digest()
        # 64 bits over a small range: the bias is below one in 2**40, and the same everywhere.
        return low + int.from_bytes(digest[:8], "big") % (high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.integer(0, len(items) - 1)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a drawn order."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.integer(0, last)
            result[last], result[other] = result[other], result[last]
        return result


def shifted(time: str, *, days: int = 0, hours: int = 0, minutes: int = 0) -> str:
    """A time of the store (UTC, ISO 8601) moved by so much."""
    moved = datetime.fromisoformat(time) + timedelta(days=days, hours=hours, minutes=minutes)
    return moved.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
