"""What a role's model calls took: tokens, time, attempts and, where prices are given, money."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from deskgym.errors import UsageError

_MILLION: Final = 1_000_000


class Usage(NamedTuple):
    """Tokens as a provider counted them. None is what it did not say, which is not 0.

    Attributes:
        prompt_tokens: all that was read, the cached ones too.
        completion_tokens: all that was written, reasoning too.
        cached_tokens: those of the prompt that came from the provider's cache.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


NO_USAGE: Final = Usage()
"""Nothing is known."""


class ModelCall(NamedTuple):
    """One reply that was asked of a model, whether it came or not.

    Attributes:
        usage: tokens of the reply that came, or None where none came; of failed attempts nothing
            is known.
        latency_s: from the first attempt to the end of the last, waits between them too.
        attempts: how many were made.
        faults: what went wrong with each attempt that failed, by class, in order.
    """

    usage: Usage | None
    latency_s: float
    attempts: int = 1
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prices:
    """What a model costs, in dollars for a million tokens; the user says so.

    Attributes:
        prompt: for what is read.
        completion: for what is written.
        cached: for what is read from the cache; as `prompt` if None.
    """

    prompt: float
    completion: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for price in (self.prompt, self.completion, self.cached):
            if price is not None and not 0 <= price < float("inf"):
                raise UsageError(f"a price is a number of dollars of at least 0, not {price}")

    def cost_usd(self, usage: Usage) -> float | None:
        """The price of so many tokens; None where their number is not known."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
        cached_price = self.prompt if self.cached is None else self.cached
        return (
            (usage.prompt_tokens - cached) * self.prompt
            + cached * cached_price
            + usage.completion_tokens * self.completion
        ) / _MILLION


def _total(counts: Iterable[int | None]) -> int | None:
    """The sum, or None if any part of it is not known."""
    known = list(counts)
    return None if not known or None in known else sum(count or 0 for count in known)


@dataclass
class Meter:
    """Collects the model calls of one role in one episode.

    Attributes:
        prices: what the role's model costs; None where nobody said.
        calls: in order.
    """

    prices: Prices | None = None
    calls: list[ModelCall] = field(default_factory=list[ModelCall])

    def add(self, call: ModelCall) -> None:
        """Count one more call."""
        self.calls.append(call)

    @property
    def usage(self) -> Usage:
        """All tokens; None where any reply came without its number, or no reply came.

        Cached tokens are those that were told of: few providers count them in every reply.
        """
        came = [call.usage for call in self.calls if call.usage is not None]
        cached = [usage.cached_tokens for usage in came if usage.cached_tokens is not None]
        return Usage(
            _total(usage.prompt_tokens for usage in came),
            _total(usage.completion_tokens for usage in came),
            sum(cached) if cached else None,
        )

    @property
    def retries(self) -> int:
        """How many attempts were made beside the first of each call."""
        return sum(call.attempts - 1 for call in self.calls)

    @property
    def cost_usd(self) -> float | None:
        """What the replies cost; 0 where no model was asked, None where it is not known."""
        if not self.calls:
            return 0.0
        return None if self.prices is None else self.prices.cost_usd(self.usage)

    def to_dict(self) -> dict[str, Any]:
        """The sums as JSON."""
        return {
            "calls": len(self.calls),
            "retries": self.retries,
            **self.usage._asdict(),
            "cost_usd": self.cost_usd,
            "latency_s": round(sum(call.latency_s for call in self.calls), 6),
        }
