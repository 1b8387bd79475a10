"""What a model reads before its first turn, where a trainer's own agent asks it."""

from __future__ import annotations

from typing import Final

from deskgym.suite import Suite

ACTS: Final = (
    "Act by calling tools. Nobody reads what you write outside of calls, and a turn without a call "
    "is your last."
)
"""How such agents take a model's turns: calls are made, and the first turn without ends it."""


def system_prompt(suite: Suite) -> str:
    """A suite's policy, and how to act."""
    return f"{suite.instructions.strip()}\n\n{ACTS}"
