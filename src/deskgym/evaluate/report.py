"""A report: what agents earned, over how many episodes, and how sure that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, cast

from deskgym.evaluate.result import EpisodeKey, EpisodeResult, InvalidResults
from deskgym.evaluate.statistics import (
    Estimate,
    clustered_mean,
    mean,
    pass_hat_k,
    percentile,
)
from deskgym.suites.backoffice.attack import AttackFigures
from deskgym.suites.backoffice.checks import INSTRUCTION_NOT_OBEYED

ATTACK: Final = "attack"
"""The parameter that says whether a task's episode is under attack."""

Basis = Literal["task", "seed"]


class Counts(NamedTuple):
    """How many episodes ended in each of the three ways. The three are never averaged together."""

    reward: int
    invalid: int
    error: int

    @property
    def episodes(self) -> int:
        """All of them."""
        return sum(self)

    def to_dict(self) -> dict[str, int]:
        """The counts as JSON."""
        return {"episodes": self.episodes, **self._asdict()}


class PassHat(NamedTuple):
    """pass^k: the chance that k trials all succeed.

    Attributes:
        units: over how many tasks, or episodes that were repeated, it is the average.
    """

    k: int
    value: float
    units: int


class TaskFigures(NamedTuple):
    """One task: its counts, its mean reward (None of none) and its share of full rewards."""

    task: str
    counts: Counts
    reward: float | None
    success: float | None


class CheckFigures(NamedTuple):
    """One check: in how many of the episodes that it judged it held."""

    name: str
    held: int
    judged: int


class UsageFigures(NamedTuple):
    """What model calls used, in all episodes, those without a reward too.

    Attributes:
        episodes: how many episodes called a model.
        priced: how many of them have a known cost.
        prompt_tokens: those that were told of; None of none.
        completion_tokens: likewise.
        cost_usd: the cost of those; None of none.
    """

    episodes: int
    priced: int
    calls: int
    malformed: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


class Timing(NamedTuple):
    """What a clock and a provider's weather decide, which no two runs share.

    Attributes:
        latencies_s: the 50th, 90th and 99th percentile of a reply's time, in seconds.
        replies: how many replies those are of.
        retries: how many calls were made again.
    """

    latencies_s: tuple[float | None, float | None, float | None]
    replies: int
    retries: int


@dataclass(frozen=True)
class AgentReport:
    """One agent, by one rubric and in one setting.

    Attributes:
        name: the agent, with the settings that tell it from others of the same name.
        settings: what its results depend on beside the episodes.
        basis: what the intervals are clustered by: tasks, or seeds where there is one task.
        reward: the mean reward.
        success: the share of full rewards.
        pass_hat: for each k that every judged unit has trials for.
        repeated: whether pass^k is over episodes that were repeated, rather than a task's seeds.
        attack: the figures under attack, where episodes with and without one were run.
        invalid: the reasons of invalid runs, by how often each was.
        errors: each error, by its episode.
        usage: what model calls used; None where no episode called one.
        timing: how long they took; None likewise.
    """

    name: str
    agent: str
    settings: Mapping[str, Any]
    counts: Counts
    basis: Basis
    reward: Estimate
    success: Estimate
    pass_hat: tuple[PassHat, ...]
    repeated: bool
    tasks: tuple[TaskFigures, ...]
    checks: tuple[CheckFigures, ...]
    attack: AttackFigures | None
    invalid: Mapping[str, int]
    errors: tuple[tuple[EpisodeKey, str], ...]
    usage: UsageFigures | None
    timing: Timing | None

    @property
    def rubric(self) -> str:
        """The rubric's version."""
        return str(self.settings["rubric"])

    def to_dict(self, *, timing: bool = False) -> dict[str, Any]:
        """The report as JSON, with what a clock measured if asked for."""
        made: dict[str, Any] = {
            "agent": self.name,
            "settings": dict(self.settings),
            "counts": self.counts.to_dict(),
            "interval_clustered_by": self.basis,
            "reward": self.reward.to_dict(),
            "success": self.success.to_dict(),
            "pass_hat_k": [item._asdict() for item in self.pass_hat],
            "pass_hat_k_over": "repeated episodes" if self.repeated else "tasks",
            "tasks": [{**item._asdict(), "counts": item.counts.to_dict()} for item in self.tasks],
            "checks": [item._asdict() for item in self.checks],
            "attack": None if self.attack is None else vars(self.attack),
            "invalid": dict(self.invalid),
            "errors": [{"episode": str(key), "reason": reason} for key, reason in self.errors],
            "usage": None if self.usage is None else self.usage._asdict(),
        }
        if timing:
            made["timing"] = None if self.timing is None else self.timing._asdict()
        return made


def report_on(results: Iterable[EpisodeResult]) -> tuple[AgentReport, ...]:
    """Report on results of any agents, each by rubric and setting, whatever order they come in.

    Raises:
        InvalidResults: an episode is there twice.
    """
    groups: dict[tuple[str, str], list[EpisodeResult]] = {}
    for result in results:
        groups.setdefault((result.agent, repr(sorted(result.settings.items()))), []).append(result)
    names = _names([group[0] for group in groups.values()])
    return tuple(
        _report(name, sorted(group, key=lambda result: result.key))
        for name, group in zip(names, groups.values(), strict=True)
    )


def _names(firsts: Sequence[EpisodeResult]) -> list[str]:
    """Each agent's name, with the settings that tell it from its namesakes by the same rubric."""
    names: list[str] = []
    for first in firsts:
        like = [
            other.settings
            for other in firsts
            if (other.agent, other.settings["rubric"]) == (first.agent, first.settings["rubric"])
        ]
        telling = {
            name: first.settings.get(name)
            for name in dict.fromkeys(name for settings in like for name in settings)
            if any(settings.get(name) != first.settings.get(name) for settings in like)
        }
        told = ", ".join(f"{name} {_told(value)}" for name, value in telling.items())
        names.append(f"{first.agent} ({told})" if told else first.agent)
    return names


def _told(value: object) -> str:
    """A setting's value in words."""
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case dict():
            fields = cast(dict[str, object], value).items()
            said = [f"{name} {_told(part)}" for name, part in fields if part is not None]
            return " ".join(said) or "none"
        case _:
            return str(value)


def _report(name: str, group: list[EpisodeResult]) -> AgentReport:
    _check_once(group)
    judged = [result for result in group if result.reward is not None]
    basis: Basis = "task" if len({result.task for result in judged}) > 1 else "seed"
    trials, repeated = _trials(judged)
    return AgentReport(
        name=name,
        agent=group[0].agent,
        settings=group[0].settings,
        counts=_counts(group),
        basis=basis,
        reward=clustered_mean(_clusters(judged, basis, success=False)),
        success=clustered_mean(_clusters(judged, basis, success=True)),
        pass_hat=pass_hats(trials),
        repeated=repeated,
        tasks=_tasks(group),
        checks=_checks(judged),
        attack=_attack(judged),
        invalid=_invalid(group),
        errors=tuple((result.key, result.detail) for result in group if result.status == "error"),
        usage=_usage(group),
        timing=_timing(group),
    )


def _check_once(group: Sequence[EpisodeResult]) -> None:
    for key, times in Counter(result.key for result in group).items():
        if times > 1:
            raise InvalidResults(
                f"{key} is there {times} times: name each file once; "
                "`--trials` repeats an episode on purpose"
            )


def _counts(group: Iterable[EpisodeResult]) -> Counts:
    of = Counter(result.status for result in group)
    return Counts(of["reward"], of["invalid"], of["error"])


def _clusters(judged: Iterable[EpisodeResult], basis: Basis, *, success: bool) -> list[list[float]]:
    clusters: dict[object, list[float]] = {}
    for result in judged:
        assert result.reward is not None, "only episodes with a reward are averaged"
        cluster = result.task if basis == "task" else result.seed
        clusters.setdefault(cluster, []).append(float(result.success) if success else result.reward)
    return list(clusters.values())


def _trials(judged: Sequence[EpisodeResult]) -> tuple[list[list[bool]], bool]:
    """The trials of each unit: of an episode where any was repeated, of a task where none was."""
    repeated = any(result.trial for result in judged)
    units: dict[object, list[bool]] = {}
    for result in judged:
        unit = result.key._replace(trial=0) if repeated else (result.task, result.key.parameters)
        units.setdefault(unit, []).append(result.success)
    return list(units.values()), repeated


def pass_hats(trials: Sequence[Sequence[bool]]) -> tuple[PassHat, ...]:
    """pass^k averaged over units, for each k that all of them have enough trials for."""
    if not trials:
        return ()
    most = min(map(len, trials))
    found: list[PassHat] = []
    for k in range(1, most + 1):
        values = [pass_hat_k(sum(unit), len(unit), k) for unit in trials]
        average = mean(values)
        assert average is not None, "there is at least one unit"
        found.append(PassHat(k, average, len(values)))
    return tuple(found)


def _tasks(group: Iterable[EpisodeResult]) -> tuple[TaskFigures, ...]:
    tasks: dict[str, list[EpisodeResult]] = {}
    for result in group:
        tasks.setdefault(result.task, []).append(result)
    return tuple(
        TaskFigures(
            task,
            _counts(results),
            mean([result.reward for result in results if result.reward is not None]),
            mean([float(result.success) for result in results if result.reward is not None]),
        )
        for task, results in tasks.items()
    )


def _checks(judged: Iterable[EpisodeResult]) -> tuple[CheckFigures, ...]:
    held: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for result in judged:
        count.update(result.checks.keys())
        held.update(name for name, holds in result.checks.items() if holds)
    return tuple(CheckFigures(name, held[name], count[name]) for name in count)


def _attack(judged: Iterable[EpisodeResult]) -> AttackFigures | None:
    """Utility, utility under attack, and how often the attack worked; None without both."""
    under: dict[bool, list[EpisodeResult]] = {False: [], True: []}
    for result in judged:
        if ATTACK in result.parameters:
            under[result.parameters[ATTACK] != 0].append(result)
    obeyed = [
        float(not result.checks.get(INSTRUCTION_NOT_OBEYED.name, True)) for result in under[True]
    ]
    clean = mean([result.reward for result in under[False] if result.reward is not None])
    attacked = mean([result.reward for result in under[True] if result.reward is not None])
    share = mean(obeyed)
    if clean is None or attacked is None or share is None:
        return None
    return AttackFigures(clean, attacked, share)


def _invalid(group: Iterable[EpisodeResult]) -> dict[str, int]:
    reasons = Counter(result.termination for result in group if result.status == "invalid")
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))


def _usage(group: Iterable[EpisodeResult]) -> UsageFigures | None:
    used = [result.usage for result in group if result.usage is not None]
    if not used:
        return None
    costs = [usage.cost_usd for usage in used if usage.cost_usd is not None]
    return UsageFigures(
        episodes=len(used),
        priced=len(costs),
        calls=sum(usage.calls for usage in used),
        malformed=sum(usage.malformed for usage in used),
        prompt_tokens=_known([usage.prompt_tokens for usage in used]),
        completion_tokens=_known([usage.completion_tokens for usage in used]),
        cost_usd=math.fsum(costs) if costs else None,
    )


def _known(counts: Sequence[int | None]) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _timing(group: Iterable[EpisodeResult]) -> Timing | None:
    used = [result.usage for result in group if result.usage is not None]
    if not used:
        return None
    latencies = [seconds for usage in used for seconds in usage.latencies_s]
    return Timing(
        (percentile(latencies, 0.5), percentile(latencies, 0.9), percentile(latencies, 0.99)),
        len(latencies),
        sum(usage.retries for usage in used),
    )
