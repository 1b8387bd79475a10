"""The progress of a run, with running averages, where a person looks at it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from time import monotonic

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from deskgym.cli.console import err
from deskgym.evaluate import EpisodeResult
from deskgym.evaluate.flight import Finished


class Running:
    """Averages of the results so far, those of an earlier run too."""

    def __init__(self, done: Iterable[EpisodeResult] = ()) -> None:
        self._counts: Counter[str] = Counter()
        self._rewards = 0.0
        self._cost_usd = 0.0
        self._is_priced = False
        self._since = monotonic()
        self._new = 0
        for result in done:
            self._add(result)

    def add(self, result: EpisodeResult) -> None:
        """Count one more, which ended just now."""
        self._new += 1
        self._add(result)

    def _add(self, result: EpisodeResult) -> None:
        self._counts[result.status] += 1
        self._rewards += result.reward or 0.0
        if result.usage is not None and result.usage.cost_usd is not None:
            self._is_priced = True
            self._cost_usd += result.usage.cost_usd

    def __str__(self) -> str:
        judged = self._counts["reward"]
        reward = f"{self._rewards / judged:.3f}" if judged else "none"
        parts = [f"reward {reward} over {judged}"]
        parts += [f"{self._counts[name]} {name}" for name in ("invalid", "error")]
        parts += [f"${self._cost_usd:.4f}"] if self._is_priced else []
        elapsed_s = monotonic() - self._since
        parts += [f"{self._new / elapsed_s:.1f}/s"] if self._new and elapsed_s > 0 else []
        return ", ".join(parts)


def watched(
    episodes: Iterable[Finished], done: list[EpisodeResult], total: int
) -> Iterator[Finished]:
    """The episodes, with a progress bar on standard error if that is a terminal.

    Args:
        episodes: what is running.
        done: what an earlier run left.
        total: how many there will be, those included.
    """
    if not sys.stderr.isatty() or total < 2:
        yield from episodes
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    running = Running(done)
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(str(running), total=total, completed=len(done))
        for finished in episodes:
            running.add(finished.result)
            progress.update(task, advance=1, description=str(running))
            yield finished
