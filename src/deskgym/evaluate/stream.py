"""Run many episodes and get each result as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from deskgym.agents.human import HUMAN
from deskgym.evaluate.episode import EpisodeSpec, open_stage
from deskgym.evaluate.flight import Finished, OpenStage, fly_here, fly_in_turn
from deskgym.evaluate.workers import spread

CONCURRENCY: Final = 16
"""How many episodes are run at once by default: most of a model's episode is waiting."""


def stream(
    specs: Sequence[EpisodeSpec],
    *,
    concurrency: int = CONCURRENCY,
    jobs: int = 1,
    stage: OpenStage = open_stage,
) -> Iterator[Finished]:
    """Run episodes and yield each as it ends, in whatever order that is.

    Ending the iteration early cancels what is still running. A person's episodes are run one
    after another.

    Args:
        specs: what to run.
        concurrency: how many are run at once, in all processes together.
        jobs: how many processes; one runs them here. More help where the work is ours; waiting for
            a model needs one.
        stage: opens what plays episodes; a function of a module.

    Raises:
        UsageError: what is asked for cannot be: no such task, agent or rubric, no key.
        WorkerLost: a process ended by itself.
    """
    if any(spec.agent == HUMAN for spec in specs):
        yield from fly_in_turn(specs, stage)
    elif jobs <= 1 or len(specs) <= 1:
        yield from fly_here(specs, stage, concurrency)
    else:
        yield from spread(specs, stage, concurrency, jobs)
