"""Whether the TRL that is installed keeps a reward from the model."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from deskgym.errors import MissingExtra, UsageError

OLDEST: Final = (1, 8)
"""Earlier releases take `get_reward` for a tool, and would show the model its score."""


def require_trl() -> None:
    """Refuse to go on without TRL, or with one that would show a model its score.

    Raises:
        MissingExtra: TRL is not installed.
        UsageError: it is too old.
    """
    try:
        installed = version("trl")
    except PackageNotFoundError as error:
        raise MissingExtra("deskgym.adapters.trl", "trl") from error
    numbers = tuple(int(number) for number in re.findall(r"\d+", installed)[:2])
    if numbers < OLDEST:
        raise UsageError(
            f"TRL {installed} would show the model its reward as a tool; install 1.8 or later: "
            "pip install --upgrade trl"
        )
