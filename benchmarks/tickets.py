"""The tickets suite: a conversation of three replies against the bare driver, and resets."""

from __future__ import annotations

from collections.abc import Iterator

import deskgym
from benchmarks.episode import episode, resets
from benchmarks.measure import Figure
from benchmarks.service import actions_of


def figures() -> Iterator[Figure]:
    """Measure the suite. Its rubric reads words, which the driver's floor has no part of."""
    environment = deskgym.make("tickets/hard")
    yield from episode("tickets/hard oracle", environment, actions_of(environment, "oracle"), "")
    yield from resets("tickets/hard")
