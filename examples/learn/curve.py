"""Draw the learning curve from the training's log and the evaluation's figures."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

from examples.learn.evaluation import Row

matplotlib.use("Agg")

from matplotlib import pyplot as plt

COLOURS = {"null": "#999999", "random": "#b07aa1", "eager": "#e15759", "careful": "#59a14f"}
LEARNT = "#4e79a7"


def read_log(path: Path) -> list[dict[str, float]]:
    """The log of a training."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def draw(log: Sequence[dict[str, float]], rows: Sequence[Row], path: Path) -> None:
    """Draw reward and traps over the actions taken, beside the other agents' figures."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    steps = [row["steps"] for row in log]
    for panel, name, title in zip(
        panels, ("reward", "traps"), ("mean reward", "share of episodes in a trap"), strict=True
    ):
        panel.plot(steps, [row[name] for row in log], color=LEARNT, label="learning")
        for row in rows:
            value = row.reward if name == "reward" else row.trapped
            if row.agent == "learnt":
                panel.plot(
                    steps[-1], value, "o", color=LEARNT, label="learnt, held-out seeds", zorder=5
                )
            else:
                panel.axhline(value, color=COLOURS[row.agent], linestyle="--", label=row.agent)
        panel.set_title(title)
        panel.set_xlabel("actions taken in training")
        panel.set_ylim(-0.03, 1.03)
        panel.grid(alpha=0.3)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    # Without the library's version in it, the same figures give the same file.
    options: dict[str, Any] = {"metadata": {"Software": None}}
    figure.savefig(path, dpi=110, **options)
    plt.close(figure)
