"""Results made by hand."""

from __future__ import annotations

from typing import Any

from deskgym.evaluate import EpisodeResult, Usage
from deskgym.recording import Status

TERMINATIONS: dict[Status, str] = {
    "reward": "agent_stopped", "invalid": "provider_failure", "error": "error",
}  # fmt: skip


def result(
    task: str, seed: int, reward: float | None, status: Status = "reward", **changes: Any
) -> EpisodeResult:
    fields: dict[str, Any] = {
        "task": task,
        "agent": "A",
        "seed": seed,
        "trial": 0,
        "parameters": {},
        "settings": {"rubric": "r.v1", "deskgym": "1"},
        "status": status,
        "reward": reward,
        "termination": TERMINATIONS[status],
        "detail": "" if status == "reward" else f"why seed {seed} failed",
        "verdict": None if reward is None else "partial",
        "reasons": [],
        "actions": 3,
        "checks": {},
        "usage": None,
    }
    return EpisodeResult(**{**fields, **changes})


def usage(**changes: Any) -> Usage:
    fields: dict[str, Any] = {
        "calls": 2,
        "retries": 1,
        "malformed": 0,
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost_usd": 0.25,
        "latencies_s": [1.0, 3.0],
    }
    return Usage(**{**fields, **changes})
