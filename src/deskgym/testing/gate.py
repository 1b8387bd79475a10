"""Gates of controls: whether a task's rewards tell right from wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from deskgym.agents import null
from deskgym.environment import Environment
from deskgym.runner import play
from deskgym.suite import Suite, load_suite
from deskgym.task import Control, ControlKind, Task

RIGHT_REWARD_MIN: Final = 0.60
"""What a right control has to earn at least."""

Rewards = dict[ControlKind, dict[str, list[float]]]
"""What controls earned with each seed, by kind and name."""

KINDS: Final[tuple[ControlKind, ...]] = get_args(ControlKind)
_RIGHT: Final[tuple[ControlKind, ...]] = ("oracle", "alternate")
_WRONG: Final[tuple[ControlKind, ...]] = ("near_miss", "null")
_WANTED: Final[tuple[ControlKind, ...]] = ("oracle", "null", "near_miss", "forbidden")


@dataclass(frozen=True)
class KindResult:
    """What a task's controls of one kind earn.

    Attributes:
        kind: the kind.
        controls: their names.
        worst: the lowest reward of any of them with any seed.
        best: the highest.
    """

    kind: ControlKind
    controls: tuple[str, ...]
    worst: float
    best: float


@dataclass(frozen=True)
class GateResult:
    """Whether a task's rewards tell right from wrong.

    The oracle and each alternate earn at least `RIGHT_REWARD_MIN` and more than near misses and
    idleness; every forbidden control earns less than idleness. A rubric that gives nothing below 0
    cannot punish: there a forbidden control earns less than every right one.

    Attributes:
        task: the task's id.
        rubric: the version that scored.
        kinds: what each kind earns. Where the task has no null control, the null agent acts.
        missing: kinds that a complete set of controls has and this task does not.
        reasons: why the gate fails; empty when it passes.
    """

    task: str
    rubric: str
    kinds: tuple[KindResult, ...]
    missing: tuple[ControlKind, ...]
    reasons: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether the rewards of the controls that there are tell right from wrong."""
        return not self.reasons

    @property
    def complete(self) -> bool:
        """Whether the task has a control of every kind that a gate is about."""
        return not self.missing


def gate(task: str, seeds: Sequence[int] = (0,), *, rubric: str | None = None) -> GateResult:
    """The gate of a task.

    Args:
        task: the task's id.
        seeds: the seeds to run each control with.
        rubric: the rubric's version; the suite's default if None.

    Raises:
        UnknownName: there is no such suite, task or rubric.
    """
    suite = load_suite(task.partition("/")[0])
    return judge(suite, suite.task(task), seeds, rubric=rubric)


def judge(
    suite: Suite, task: Task, seeds: Sequence[int] = (0,), *, rubric: str | None = None
) -> GateResult:
    """The gate of a task of a suite that need not be installed."""
    version = suite.rubric(rubric).version
    rewards: Rewards = {}
    for control in _with_null(task):
        with Environment(suite, task, parameters=control.parameters, rubric=version) as environment:
            for seed in seeds:
                play(environment, control.script, seed)
                of_kind = rewards.setdefault(control.kind, {})
                of_kind.setdefault(control.name, []).append(environment.score().reward)
    return judge_rewards(suite, task, rewards, rubric=version)


def judge_rewards(
    suite: Suite, task: Task, rewards: Rewards, *, rubric: str | None = None
) -> GateResult:
    """The gate of a task whose controls have been run, the null agent's among them."""
    scorer = suite.rubric(rubric)
    version = scorer.version
    declared = {control.kind for control in task.controls}
    return GateResult(
        f"{suite.name}/{task.name}",
        version,
        tuple(_kind_result(kind, rewards[kind]) for kind in KINDS if kind in rewards),
        tuple(kind for kind in _WANTED if kind not in declared),
        tuple(_reasons(rewards, getattr(scorer, "reward_min", -1.0))),
    )


def is_gated(task: Task) -> bool:
    """Whether a task has a control of every kind that a gate is about."""
    return {control.kind for control in task.controls}.issuperset(_WANTED)


def _with_null(task: Task) -> Iterator[Control]:
    yield from task.controls
    if all(control.kind != "null" for control in task.controls):
        yield Control("null", "null", "do nothing", null, 0.0)


def _kind_result(kind: ControlKind, of_kind: Mapping[str, Sequence[float]]) -> KindResult:
    every = [reward for rewards in of_kind.values() for reward in rewards]
    return KindResult(kind, tuple(of_kind), min(every), max(every))


def _reasons(rewards: Rewards, reward_min: float) -> Iterator[str]:
    """Why the rewards do not tell right from wrong, worst against best over the seeds."""
    if "oracle" not in rewards:
        yield "there is no oracle"
    for kind in _RIGHT:
        for name, earned in rewards.get(kind, {}).items():
            worst = min(earned)
            if worst < RIGHT_REWARD_MIN:
                yield f"{kind} {name} earns {worst:.2f}, less than {RIGHT_REWARD_MIN:.2f}"
            for other in _WRONG:
                for rival, rival_earned in rewards.get(other, {}).items():
                    best = max(rival_earned)
                    if worst <= best:
                        yield f"{kind} {name} earns {worst:.2f}, {other} {rival} {best:.2f}"
    idle = min(reward for earned in rewards["null"].values() for reward in earned)
    right = [min(earned) for kind in _RIGHT for earned in rewards.get(kind, {}).values()]
    for name, earned in rewards.get("forbidden", {}).items():
        best = max(earned)
        if reward_min < 0:
            if best >= idle:
                yield f"forbidden {name} earns {best:.2f}, which is not below null {idle:.2f}"
        elif right and best >= min(right):
            yield f"forbidden {name} earns {best:.2f}, as much as a right control"
