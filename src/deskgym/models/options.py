"""What a user says about a model: where it is, how it samples, how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from deskgym.errors import UsageError
from deskgym.models.meter import Prices

CALL_TIMEOUT_S: Final = 120.0
ATTEMPTS_MAX: Final = 3


@dataclass(frozen=True)
class Sampling:
    """How a model chooses its words. None leaves it to the provider.

    Attributes:
        temperature: as the provider takes it.
        top_p: as the provider takes it.
        max_tokens: how long one reply may be; Messages needs one and gets 4,096 if None.
        seed: for providers that sample by one; Messages knows none.
        extra: further fields of the request's body, which go over all others.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name, value in (("temperature", self.temperature), ("top_p", self.top_p)):
            if value is not None and not 0 <= value < float("inf"):
                raise UsageError(f"{name} is a number of at least 0, not {value}")
        if self.seed is not None and not -(2**63) <= self.seed < 2**63:
            raise UsageError(f"a sampling seed has 64 bits, unlike {self.seed}")


@dataclass(frozen=True)
class RetryPolicy:
    """How often a model is asked again, and how long is waited before.

    Only faults that may pass are tried again: a time-out, a dropped connection, half an answer,
    a status of 5xx, and 429, for which more attempts are made since the provider asks for them.
    A request that was refused is never sent again.

    Attributes:
        attempts_max: attempts for one reply.
        rate_limited_max: attempts for one reply that 429 answers.
        wait_s: before the second attempt; it doubles each time, and is drawn from its upper half.
        wait_max_s: the longest wait, one that the provider asks for too.
    """

    attempts_max: int = ATTEMPTS_MAX
    rate_limited_max: int = 8
    wait_s: float = 0.5
    wait_max_s: float = 60.0

    def __post_init__(self) -> None:
        if min(self.attempts_max, self.rate_limited_max) < 1:
            raise UsageError("a model is asked at least once")
        if not 0 <= self.wait_s <= self.wait_max_s:
            raise UsageError("a wait is at least 0 seconds, and at most the longest one")


@dataclass(frozen=True)
class ModelOptions:
    """Where a model is and how it is asked.

    Attributes:
        base_url: such as `http://localhost:8000/v1`; the provider's own address if None.
        api_key: the key; never shown. None sends none.
        sampling: how it chooses its words.
        prices: what it costs; None where that is not known.
        timeout_s: how long one attempt at a reply may take.
        retry: when it is asked again.
        stream: whether replies are read while they are written.
        connections_max: how many requests may be on their way at once.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    sampling: Sampling = Sampling()
    prices: Prices | None = None
    timeout_s: float = CALL_TIMEOUT_S
    retry: RetryPolicy = RetryPolicy()
    stream: bool = False
    connections_max: int = 256

    def __post_init__(self) -> None:
        if not self.timeout_s > 0:
            raise UsageError(f"a call's deadline is more than 0 seconds, not {self.timeout_s}")
