"""Two sets of results against each other, episode by episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from deskgym.errors import UsageError
from deskgym.evaluate.report import Basis
from deskgym.evaluate.result import EpisodeResult
from deskgym.evaluate.statistics import Estimate, clustered_mean, mean


class PairKey(NamedTuple):
    """What two episodes have in common that are compared: all but who acted."""

    task: str
    seed: int
    trial: int
    parameters: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        named = "".join(f", {name} {value}" for name, value in self.parameters)
        return f"{self.task} seed {self.seed}{f', trial {self.trial}' if self.trial else ''}{named}"


class Pair(NamedTuple):
    """Two episodes of the same task, seed, trial and parameters, both with a reward."""

    key: PairKey
    a: float
    b: float
    a_succeeded: bool
    b_succeeded: bool

    def to_dict(self) -> dict[str, Any]:
        """The pair as JSON."""
        key = {**self.key._asdict(), "parameters": dict(self.key.parameters)}
        return {**key, "a": self.a, "b": self.b}


class TaskDifference(NamedTuple):
    """One task: the means of both over its pairs, and B's less A's."""

    task: str
    pairs: int
    a: float
    b: float
    difference: float


@dataclass(frozen=True)
class Side:
    """One of the two: who it is, and which of its episodes have no partner.

    Attributes:
        reward: the mean reward over the pairs.
        unjudged: episodes that have a partner but no reward, by status.
        unmatched: episodes that the other side does not have.
    """

    name: str
    rubric: str
    reward: float
    unjudged: Mapping[str, int]
    unmatched: int

    def to_dict(self) -> dict[str, Any]:
        """The side as JSON."""
        return {**vars(self), "unjudged": dict(self.unjudged)}


@dataclass(frozen=True)
class Comparison:
    """B against A, over the episodes that both have a reward for.

    Attributes:
        difference: the mean of B's reward less A's, with its interval.
        basis: what the interval is clustered by.
        won: pairs that B solves and A does not.
        lost: pairs that A solves and B does not.
    """

    a: Side
    b: Side
    pairs: tuple[Pair, ...]
    difference: Estimate
    basis: Basis
    tasks: tuple[TaskDifference, ...]
    won: tuple[Pair, ...]
    lost: tuple[Pair, ...]

    @property
    def is_told_apart(self) -> bool:
        """Whether the interval leaves 0 out."""
        low, high = self.difference.low, self.difference.high
        return low is not None and high is not None and not low <= 0 <= high

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "pairs": len(self.pairs),
            "difference": self.difference.to_dict(),
            "interval_clustered_by": self.basis,
            "told_apart": self.is_told_apart,
            "tasks": [item._asdict() for item in self.tasks],
            "won": [pair.to_dict() for pair in self.won],
            "lost": [pair.to_dict() for pair in self.lost],
        }


def compare(a: Iterable[EpisodeResult], b: Iterable[EpisodeResult]) -> Comparison:
    """Compare two agents, or one agent in two settings, by task, seed, trial and parameters.

    Differences of pairs are averaged, and their interval is clustered by task: the seed makes both
    face the same case, so what is hard about it cancels out (Miller 2024, arXiv:2411.00640,
    section 4.2).

    Raises:
        UsageError: a side is of several agents or settings, the two are by different rubrics, or
            no episode of one has a partner.
    """
    left, right = _keyed(list(a), "A"), _keyed(list(b), "B")
    first, second = next(iter(left.values())), next(iter(right.values()))
    rubrics = [first.settings["rubric"], second.settings["rubric"]]
    if rubrics[0] != rubrics[1]:
        raise UsageError(
            f"A is by {rubrics[0]} and B by {rubrics[1]}: rewards of different rubrics cannot be "
            "compared; `deskgym replay FILE --rubric VERSION` scores recordings again"
        )
    shared = sorted(left.keys() & right.keys())
    if not shared:
        raise UsageError(
            f"A and B share no episode: A has {_range(left)}, and B has {_range(right)}; "
            "run both with the same tasks, seeds and parameters"
        )
    pairs = tuple(pair for key in shared if (pair := _pair(left[key], right[key], key)))
    if not pairs:
        raise UsageError("of the episodes that A and B share, none has a reward in both")
    basis: Basis = "task" if len({pair.key.task for pair in pairs}) > 1 else "seed"
    clusters: dict[object, list[float]] = {}
    for pair in pairs:
        cluster = pair.key.task if basis == "task" else pair.key.seed
        clusters.setdefault(cluster, []).append(pair.b - pair.a)
    return Comparison(
        a=_side(left, right, [pair.a for pair in pairs]),
        b=_side(right, left, [pair.b for pair in pairs]),
        pairs=pairs,
        difference=clustered_mean(clusters.values()),
        basis=basis,
        tasks=_tasks(pairs),
        won=tuple(pair for pair in pairs if pair.b_succeeded and not pair.a_succeeded),
        lost=tuple(pair for pair in pairs if pair.a_succeeded and not pair.b_succeeded),
    )


def _keyed(results: Sequence[EpisodeResult], side: str) -> dict[PairKey, EpisodeResult]:
    if not results:
        raise UsageError(f"{side} holds no results")
    agents = sorted({result.agent for result in results})
    if len(agents) > 1:
        raise UsageError(
            f"{side} holds results of {', '.join(agents)}; "
            f"--{side.lower()} {agents[0]} takes those of one"
        )
    for result in results:
        if result.settings != results[0].settings:
            raise UsageError(
                f"{side} holds results of {agents[0]} in more than one setting, such as "
                f"{result.settings} and {results[0].settings}; compare one at a time"
            )
    keyed = {
        PairKey(key.task, key.seed, key.trial, key.parameters): result
        for result in results
        for key in [result.key]
    }
    if len(keyed) < len(results):
        raise UsageError(f"{side} holds an episode more than once")
    return keyed


def _pair(a: EpisodeResult, b: EpisodeResult, key: PairKey) -> Pair | None:
    if a.reward is None or b.reward is None:
        return None
    return Pair(key, a.reward, b.reward, a.success, b.success)


def _side(
    own: Mapping[PairKey, EpisodeResult],
    other: Mapping[PairKey, EpisodeResult],
    rewards: Sequence[float],
) -> Side:
    first = next(iter(own.values()))
    average = mean(rewards)
    assert average is not None, "there is at least one pair"
    shared = [result for key, result in own.items() if key in other]
    statuses = [result.status for result in shared if result.reward is None]
    return Side(
        name=first.agent,
        rubric=str(first.settings["rubric"]),
        reward=average,
        unjudged={status: statuses.count(status) for status in sorted(set(statuses))},
        unmatched=len(own) - len(shared),
    )


def _tasks(pairs: Sequence[Pair]) -> tuple[TaskDifference, ...]:
    tasks: dict[str, list[Pair]] = {}
    for pair in pairs:
        tasks.setdefault(pair.key.task, []).append(pair)
    found: list[TaskDifference] = []
    for task, own in tasks.items():
        a, b = mean([pair.a for pair in own]), mean([pair.b for pair in own])
        assert a is not None, "a task is here because it has a pair"
        assert b is not None, "a task is here because it has a pair"
        found.append(TaskDifference(task, len(own), a, b, b - a))
    return tuple(found)


def _range(keyed: Mapping[PairKey, EpisodeResult]) -> str:
    first = next(iter(keyed))
    return str(first) if len(keyed) == 1 else f"{first} and {len(keyed) - 1} more"
