"""Train the policy: MaskablePPO of sb3-contrib over many seeds, with a log of how it goes."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import csv
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from gymnasium.vector import AutoresetMode
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from deskgym.adapters.gymnasium import MenuVectorEnv
from examples.learn.vec_env import DeskVecEnv, Outcome

SUITE = "backoffice"
TASKS = tuple(
    f"{SUITE}/{task}"
    for task in (
        "damaged-item",
        "missing-parcel",
        "duplicate-charge",
        "cancel-before-dispatch",
        "late-return",
        "injected-instruction",
        "not-their-order",
    )
)
"""The tasks of a customer's thread. `restock-low-stock` is left out: it pays nothing before eight
or more right calls in a row, which a policy that starts from chance never finds."""
TRAIN_SEEDS = (0, 2_000)
WINDOW_EPISODES = 500
"""How many of the last episodes a point of the curve averages."""
PENALTY_FROM = (0.4, 0.6)
"""The share of the training from which a trap costs more than its reward, and costs all of 1."""


@dataclass(frozen=True)
class Plan:
    """How long and how to train.

    Attributes:
        steps: actions in all episodes together.
        seconds_max: the training ends after that many seconds, even if not all steps are done.
        seed: of the policy and of the draws of episodes.
        episodes: how many run side by side.
        tasks: what is trained on; all of `TASKS` by default.
    """

    steps: int = 300_000
    seconds_max: float = 600
    seed: int = 1
    episodes: int = 32
    tasks: tuple[str, ...] = TASKS


class Watch(BaseCallback):
    """Follows the training: a progress bar, a log, and the end of its time."""

    def __init__(self, plan: Plan, progress: Progress | None) -> None:
        super().__init__()
        self.rows: list[dict[str, float]] = []
        self._plan = plan
        self._progress = progress
        self._bar = progress.add_task("training", total=plan.steps) if progress else None
        self._recent: deque[Outcome] = deque(maxlen=WINDOW_EPISODES)
        self._started = time.monotonic()

    def _on_rollout_start(self) -> None:
        env = self.training_env
        assert isinstance(env, DeskVecEnv)
        begin, full = PENALTY_FROM
        done = self.num_timesteps / self._plan.steps
        env.trap_penalty = min(max((done - begin) / (full - begin), 0.0), 1.0)

    def _on_step(self) -> bool:
        return time.monotonic() - self._started < self._plan.seconds_max

    def _on_rollout_end(self) -> None:
        env = self.training_env
        assert isinstance(env, DeskVecEnv)
        self._recent.extend(env.take_outcomes())
        if not self._recent:
            return
        count = len(self._recent)
        row = {
            "steps": self.num_timesteps,
            "seconds": round(time.monotonic() - self._started, 1),
            "episodes": count,
            "reward": round(sum(one.reward for one in self._recent) / count, 4),
            "traps": round(sum(bool(one.traps) for one in self._recent) / count, 4),
        }
        self.rows.append(row)
        if self._progress is not None and self._bar is not None:
            self._progress.update(
                self._bar,
                completed=self.num_timesteps,
                description=f"reward {row['reward']:.2f}, in a trap {row['traps']:.0%}",
            )


def train(
    plan: Plan, progress: Progress | None = None
) -> tuple[MaskablePPO, list[dict[str, float]]]:
    """Train a policy; the policy and the log, a row for each round of the training."""
    torch.set_num_threads(1)
    desks = MenuVectorEnv(
        plan.episodes,
        plan.tasks,
        seeds=TRAIN_SEEDS,
        reward="per-step",
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    env = DeskVecEnv(desks)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=lambda left: 1e-3 * left + 1e-5,
        n_steps=64,
        batch_size=512,
        n_epochs=8,
        target_kl=0.05,
        gamma=0.98,
        gae_lambda=0.95,
        ent_coef=0.02,
        policy_kwargs={"net_arch": [128, 128]},
        seed=plan.seed,
        device="cpu",
    )
    watch = Watch(plan, progress)
    model.learn(plan.steps, callback=watch)
    env.close()
    return model, watch.rows


def progress_bar() -> Progress:
    """A bar for the terminal."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )


def write_log(rows: list[dict[str, Any]], path: Path) -> None:
    """The log as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
