"""The one owner of retries: which faults are tried again, how often, and after how long."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from time import perf_counter
from typing import Final

from deskgym.errors import RunInvalid
from deskgym.models.chat import ChatModel, ChatReply, ChatRequest, ModelFault
from deskgym.models.meter import Meter, ModelCall, Usage
from deskgym.models.options import RetryPolicy

_jitter: Final = random.SystemRandom()


async def ask(
    model: ChatModel, request: ChatRequest, *, policy: RetryPolicy, meter: Meter
) -> ChatReply:
    """A model's reply, asked for again where a fault may pass; counted in the meter either way.

    Raises:
        RunInvalid: there is none: the provider failed for good, would not take the request, or
            withheld the answer.
    """
    started = perf_counter()
    faults: list[ModelFault] = []
    usage: Usage | None = None
    try:
        reply = await _first_good(model, request, policy, faults)
        usage = reply.usage
    finally:
        # Also where the deadline of the episode cuts in.
        kinds = tuple(fault.kind for fault in faults)
        attempts = max(1, len(faults) + (usage is not None))
        meter.add(ModelCall(usage, perf_counter() - started, attempts, kinds))
    if reply.finish == "refused":
        raise RunInvalid("refused_output", "the provider or the model withheld its answer")
    return reply


async def _first_good(
    model: ChatModel, request: ChatRequest, policy: RetryPolicy, faults: list[ModelFault]
) -> ChatReply:
    """The first reply that comes; every attempt that failed is added to the faults."""
    while True:
        try:
            return await model.reply(request)
        except ModelFault as fault:
            faults.append(fault)
        wait_s = _wait_s(faults, policy)
        if wait_s is None:
            raise _invalid(faults)
        await asyncio.sleep(wait_s)


def _wait_s(faults: list[ModelFault], policy: RetryPolicy) -> float | None:
    """How long to wait before another attempt; None if there is to be none."""
    last = faults[-1]
    counts = Counter(fault.kind == "rate_limited" for fault in faults)
    if (
        last.kind == "rejected"
        or counts[False] >= policy.attempts_max
        or counts[True] >= policy.rate_limited_max
    ):
        return None
    if last.retry_after_s is not None:
        # The provider's own word, and a little more so that not all come back at once.
        return min(last.retry_after_s, policy.wait_max_s) + _jitter.uniform(0, policy.wait_s)
    longest = min(policy.wait_s * 2 ** (len(faults) - 1), policy.wait_max_s)
    return _jitter.uniform(longest / 2, longest)


def _invalid(faults: list[ModelFault]) -> RunInvalid:
    last = faults[-1]
    if last.kind == "rejected":
        return RunInvalid("provider_rejected", last.detail)
    times = "once" if len(faults) == 1 else f"{len(faults)} times"
    return RunInvalid("provider_failure", f"asked {times}, the last time: {last.detail}")
