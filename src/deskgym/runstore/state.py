"""An episode's state: its row, for lists and for the trainer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

import orjson

from deskgym.runstore.log import EpisodeRow

EpisodeStatus = Literal["live", "ended", "closed", "expired"]


@dataclass(frozen=True)
class EpisodeState:
    """What is stored of an episode, beside its actions. It is the trainer's: it has the reward.

    Attributes:
        id: the episode's id.
        task: its task's id, such as `service/damaged-lamp`.
        parameters: every parameter's value.
        agent: who acts.
        holder: whose it is, or None.
        status: `live`; `ended` by its own rules; `closed` by its caller; `expired` when idle.
        steps: how many actions are stored.
        ended: why the episode ended by its rules, or None.
        outcome: `reward`, or `error` where a tool of ours failed; None while it is live.
        reward: the final one; None while it is live.
        digest: that of the final world; None while it is live.
        version: the deskgym that made it.
        created_ms: milliseconds since 1970.
        ended_ms: the same; None while it is live.
    """

    id: str
    task: str
    seed: int
    parameters: dict[str, int]
    rubric: str
    agent: str
    holder: str | None
    status: EpisodeStatus
    steps: int
    ended: str | None
    outcome: str | None
    reward: float | None
    digest: str | None
    version: str
    created_ms: int
    ended_ms: int | None

    @property
    def live(self) -> bool:
        """Whether it takes further actions."""
        return self.status == "live"

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON."""
        return asdict(self)


def state_of(row: EpisodeRow, steps: int) -> EpisodeState:
    """The state that a row shows, with so many steps stored."""
    return EpisodeState(
        id=row.id,
        task=f"{row.suite}/{row.task}",
        seed=row.seed,
        parameters=orjson.loads(row.parameters),
        rubric=row.rubric,
        agent=row.agent,
        holder=row.holder,
        status=cast(EpisodeStatus, row.status),
        steps=steps,
        ended=row.ended,
        outcome=row.outcome,
        reward=row.reward,
        digest=row.digest,
        version=row.version,
        created_ms=row.created_ms,
        ended_ms=row.ended_ms,
    )
