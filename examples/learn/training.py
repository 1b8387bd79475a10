"""Train the policy: MaskablePPO of sb3-contrib over many seeds, with a log of how it goes."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import csv
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

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
"""The share of the training from which a trap costs more than its reward, and costs all of it."""
PENALTY = 2.0
"""What a trap costs then. At 1, a refund that is right in one world of two and a trap in the other
would earn as much as doing nothing, and be kept."""


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
    seconds_max: float = 1_800
    seed: int = 1
    episodes: int = 32
    tasks: tuple[str, ...] = TASKS


class Interrupted(NamedTuple):
    """A training that ended before it had taken all steps.

    Attributes:
        policy: the file of its policy.
        log: a row for each round so far.
    """

    policy: Path
    log: list[dict[str, float]]


class Watch(BaseCallback):
    """Follows the training: a progress bar, a log, and the end of its time."""

    def __init__(
        self, plan: Plan, progress: Progress | None, log: Sequence[dict[str, float]] = ()
    ) -> None:
        super().__init__()
        self.rows: list[dict[str, float]] = list(log)
        self._plan = plan
        self._seconds_before = self.rows[-1]["seconds"] if self.rows else 0.0
        self._progress = progress
        self._bar = progress.add_task("training", total=plan.steps) if progress else None
        self._recent: deque[Outcome] = deque(maxlen=WINDOW_EPISODES)
        self._started = time.monotonic()

    def _on_rollout_start(self) -> None:
        env = self.training_env
        assert isinstance(env, DeskVecEnv)
        begin, full = PENALTY_FROM
        # On a slow machine the time runs out before the steps do.
        elapsed = (time.monotonic() - self._started) / self._plan.seconds_max
        done = max(self.num_timesteps / self._plan.steps, elapsed)
        env.trap_penalty = PENALTY * min(max((done - begin) / (full - begin), 0.0), 1.0)

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
            "seconds": round(self._seconds_before + time.monotonic() - self._started, 1),
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
    plan: Plan, progress: Progress | None = None, before: Interrupted | None = None
) -> tuple[MaskablePPO, list[dict[str, float]]]:
    """Train a policy; the policy and the log, a row for each round of the training.

    Args:
        plan: how.
        progress: where to show it.
        before: what to go on from.
    """
    torch.set_num_threads(1)
    desks = MenuVectorEnv(
        plan.episodes,
        plan.tasks,
        seeds=TRAIN_SEEDS,
        reward="per-step",
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    env = DeskVecEnv(desks)
    if before is None:
        model = new_policy(env, plan.seed)
    else:
        model = MaskablePPO.load(
            before.policy, env=env, device="cpu", custom_objects={"learning_rate": learning_rate}
        )
        # The first episodes' own seeds, which are to be among those that are trained on.
        env.seed((plan.seed + model.num_timesteps) % (TRAIN_SEEDS[1] - plan.episodes))
    watch = Watch(plan, progress, before.log if before else ())
    left = plan.steps - model.num_timesteps
    if left > 0:
        model.learn(left, callback=watch, reset_num_timesteps=before is None)
    env.close()
    return model, watch.rows


def learning_rate(left: float) -> float:
    """How far the policy is moved, by the share of the training that is left."""
    return 1e-3 * left + 1e-5


def new_policy(env: DeskVecEnv, seed: int) -> MaskablePPO:
    """A policy that knows nothing."""
    return MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=learning_rate,
        n_steps=64,
        batch_size=512,
        n_epochs=8,
        target_kl=0.05,
        gamma=0.98,
        gae_lambda=0.95,
        ent_coef=0.02,
        policy_kwargs={"net_arch": [128, 128]},
        seed=seed,
        device="cpu",
    )


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
