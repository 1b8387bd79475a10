"""A played episode: exactly one of a reward, invalid, or an error of ours, and all around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from deskgym.desk import Ending
from deskgym.errors import InvalidReason
from deskgym.models.meter import Meter, Usage
from deskgym.recording import Recording, Status
from deskgym.rubric import Score

Termination = (
    Ending
    | InvalidReason
    | Literal["agent_stopped", "turn_limit", "round_limit", "unusable_output", "error"]
)
"""Why a run ended: as the environment has it; as an invalid run has it; the agent had nothing more
to do; it used up its turns with the customer or its rounds of calls in one; several of its turns
in a row held nothing that could be carried out; or an error of ours."""


@dataclass(frozen=True)
class PlayedEpisode:
    """One run, played to its end.

    Attributes:
        status: `reward`, `invalid` or `error`: exactly one of them.
        score: what it earned; None unless `status` is `reward`.
        termination: why it ended.
        detail: a sentence for people where it is invalid or an error, else empty. Names no key.
        recording: all of it, which replays without any model. None where our error left no
            episode to record.
        customer: who spoke for the customer.
        turns: how often the agent spoke to the customer.
        malformed_calls: calls that could not be read, so that nothing was done.
        agent_meter: the agent's model calls, with tokens, latencies and retries.
        customer_meter: the customer's.
        wall_s: how long it took.
    """

    status: Status
    score: Score | None
    termination: Termination
    detail: str
    recording: Recording | None
    customer: str
    turns: int
    malformed_calls: int
    agent_meter: Meter
    customer_meter: Meter
    wall_s: float

    @property
    def reward(self) -> float | None:
        """What it earned; None unless `status` is `reward`."""
        return None if self.score is None else self.score.reward

    @property
    def invalid(self) -> InvalidReason | None:
        """Why it cannot be judged; None where it can."""
        return self.termination if self.status == "invalid" else None  # pyright: ignore[reportReturnType]

    @property
    def usage(self) -> Usage:
        """The tokens of both roles; None where any are not known."""
        pairs = [meter.usage for meter in (self.agent_meter, self.customer_meter) if meter.calls]
        if not pairs:
            return Usage(0, 0, 0)
        return Usage(
            *(None if None in counts else sum(counts) for counts in zip(*pairs, strict=True))
        )

    @property
    def cost_usd(self) -> float | None:
        """What both roles cost; None where it is not known."""
        costs = [self.agent_meter.cost_usd, self.customer_meter.cost_usd]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    @property
    def retries(self) -> int:
        """How many attempts were made beside the first of each model call."""
        return self.agent_meter.retries + self.customer_meter.retries

    @property
    def latencies_s(self) -> tuple[float, ...]:
        """How long each of the agent's model calls took, in order."""
        return tuple(call.latency_s for call in self.agent_meter.calls)


def run_facts(
    *,
    termination: Termination,
    invalid: bool,
    detail: str,
    customer: str,
    turns: int,
    malformed_calls: int,
    transcript: list[dict[str, Any]],
    agent_meter: Meter,
    customer_meter: Meter,
) -> dict[str, Any]:
    """What a recording keeps of how a run went."""
    return {
        "termination": termination,
        "invalid": termination if invalid else None,
        "detail": detail,
        "customer": customer,
        "turns": turns,
        "malformed_calls": malformed_calls,
        "agent": agent_meter.to_dict(),
        "customer_model": customer_meter.to_dict(),
        "transcript": transcript,
    }
