"""The figures of docs/training/learning.md: what `python -m examples.learn` wrote, as Markdown."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parent.parent / "examples" / "learn" / "figures" / "figures.json"


def agents() -> str:
    """Every agent's figures on the held-out seeds."""
    return _table("agent", _figures()["agents"])


def tasks() -> str:
    """The learnt policy's figures, task by task."""
    return _table("task", _figures()["learnt"])


def made_by() -> str:
    """Which command made them, when and by which versions."""
    found = _figures()
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    plan, trained = found["plan"], found["trained"]
    command = (
        f"python -m examples.learn --steps {plan['steps']} --seed {plan['seed']} "
        f"--seconds-max {plan['seconds_max']:g} --seeds {found['held_out_seeds']}"
    )
    return (
        f"By `{command}` on {found['date']}, with {versions} and Python {found['python']}: "
        f"{trained['steps']:,.0f} actions in {trained['seconds']:,.0f} seconds of training, "
        f"{found['held_out_seeds']} held-out seeds of each task."
    )


def _figures() -> dict[str, Any]:
    return json.loads(FIGURES.read_text("utf-8"))


def _table(first: str, rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"| {first} | mean reward | resolved | in a trap | forbidden checks broken |",
             "|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        traps = ", ".join(f"`{name}` {times}" for name, times in row["traps"].items()) or "none"
        lines.append(
            f"| `{row['agent']}` | {row['reward']:.3f} | {row['resolved']:.1%} "
            f"| {row['trapped']:.1%} | {traps} |"
        )
    return "\n".join(lines)
