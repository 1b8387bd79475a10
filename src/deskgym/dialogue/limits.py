"""The budgets of a dialogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from deskgym.errors import UsageError

TURNS_MAX: Final = 8
ROUNDS_MAX: Final = 6
ATTEMPTS_MAX: Final = 3


@dataclass(frozen=True)
class Limits:
    """How long a dialogue may go on.

    Turns and rounds are counted where there is a customer to talk to; elsewhere the environment's
    own limit of actions is the only one. None of them hold for a script.

    Attributes:
        turns_max: how often the agent may speak to the customer, proposals included.
        rounds_max: how many times in a row it may call tools between two of them.
        attempts_max: how many turns in a row may hold nothing that can be carried out.
        episode_s: how long the whole may take, in seconds; None for as long as it takes.
    """

    turns_max: int = TURNS_MAX
    rounds_max: int = ROUNDS_MAX
    attempts_max: int = ATTEMPTS_MAX
    episode_s: float | None = None

    def __post_init__(self) -> None:
        if min(self.turns_max, self.rounds_max, self.attempts_max) < 1:
            raise UsageError("a dialogue's limits are at least 1")
        if self.episode_s is not None and not self.episode_s > 0:
            raise UsageError(f"an episode's deadline is more than 0 seconds, not {self.episode_s}")
