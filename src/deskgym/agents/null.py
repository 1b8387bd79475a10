"""The agent that does nothing, which must earn nothing."""

from __future__ import annotations

from collections.abc import Generator

from deskgym.trajectory import Action, Observation


def null(_: Observation) -> Generator[Action, Observation, None]:
    """Take no action at all."""
    yield from ()
