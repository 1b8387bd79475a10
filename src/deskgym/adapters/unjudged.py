"""What a trainer gets in place of a reward where an episode cannot be judged."""

from __future__ import annotations

from collections.abc import Sequence

from deskgym.errors import DeskgymError


class Unjudged(DeskgymError):
    """An episode without a reward, by a failure that is not the agent's: a bug, a lost server."""

    @classmethod
    def by(cls, episode: str, failures: Sequence[Exception]) -> Unjudged:
        """The error for an episode, with the first thing that failed."""
        first = failures[0]
        return cls(f"{episode} cannot be judged: {type(first).__name__}: {first}")
