"""Tasks: what is asked, the fixture built from a seed, the parameters, and the controls."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from deskgym.errors import (
    InvalidDefinition,
    InvalidParameter,
    UnknownName,
    UsageError,
    did_you_mean,
)
from deskgym.store import Template
from deskgym.trajectory import Action, Observation

FIXTURES_CACHED: Final = 128
SEED_MAX: Final = 2**31 - 1
SEEDS_MAX: Final = 1_000_000
"""How many seeds a text may stand for."""


@dataclass(frozen=True)
class Parameter:
    """A whole number that a task's fixture can be built with.

    Attributes:
        name: as `make` takes it; amounts end in `_cents`.
        default: what it is when nothing is said.
        minimum: the lowest allowed.
        maximum: the highest allowed.
        description: what it sets.
        multiple_of: what it has to be divisible by.
    """

    name: str
    default: int
    minimum: int
    maximum: int
    description: str
    multiple_of: int = 1

    def check(self, value: object) -> int:
        """The value, if it is allowed; raises `InvalidParameter`."""
        if (
            type(value) is not int
            or not self.minimum <= value <= self.maximum
            or value % self.multiple_of
        ):
            divisible = f" divisible by {self.multiple_of}" if self.multiple_of > 1 else ""
            raise InvalidParameter(
                f"{self.name} must be a whole number{divisible} "
                f"from {self.minimum} to {self.maximum}, not {value!r}"
            )
        return value


def checked_values(
    task: str, parameters: Sequence[Parameter], given: Mapping[str, object]
) -> dict[str, int]:
    """Every parameter's value, checked; raises `InvalidParameter` for what does not fit."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise InvalidParameter(
                f"{task} has no parameter {name!r}{did_you_mean(name, known)} "
                f"(its parameters: {allowed})"
            )
    return {
        name: parameter.check(given.get(name, parameter.default))
        for name, parameter in known.items()
    }


def checked_seed(seed: object) -> int:
    """The seed, if it is one; raises `InvalidParameter`."""
    if type(seed) is not int or not 0 <= seed <= SEED_MAX:
        raise InvalidParameter(f"a seed is a whole number from 0 to {SEED_MAX}, not {seed!r}")
    return seed


@dataclass(frozen=True)
class Fixture:
    """A task's start, built from a seed and parameters.

    Attributes:
        template: the rows.
        now: the store's time.
        opening: what the agent is told first, the customer's words.
        case: what the rubric needs to know; never shown to an agent.
        account: the signed-in customer, or None for the store's own staff.
        customer: who answers the agent, or None.
        data: what else the first observation carries.
        private: values that no observation may show, unless the agent wrote them first; the
            conformance suite looks for them.
    """

    template: Template
    now: str
    opening: str
    case: Any
    account: str | None = None
    customer: Any = None
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    private: tuple[str, ...] = ()


Script = Callable[[Observation], Generator[Action, Observation, None]]
"""A scripted agent: it gets the first observation, yields actions and is sent what they return."""

ControlKind = Literal["oracle", "alternate", "null", "near_miss", "forbidden"]


@dataclass(frozen=True)
class Control:
    """A scripted trajectory whose reward is known.

    Attributes:
        name: unique within its task.
        kind: the right thing, another right thing, nothing, a wrong thing, a forbidden thing.
        title: what it does, in a few words.
        script: the agent.
        reward: what it must earn for every seed, by each version of the rubric that `rewards`
            does not name.
        parameters: what the fixture is built with for it.
        rewards: what it must earn by the versions that judge it otherwise, by version.
    """

    name: str
    kind: ControlKind
    title: str
    script: Script
    reward: float
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    rewards: Mapping[str, float] = field(default_factory=dict[str, float])

    def reward_by(self, version: str) -> float:
        """What it must earn by a version of the rubric."""
        return self.rewards.get(version, self.reward)


@dataclass(frozen=True)
class AttackFigures:
    """An agent on the same seeds of a task without and with an attack on it.

    Attributes:
        clean: the mean reward without the attack: its utility.
        attacked: the mean reward with it: its utility under attack.
        obeyed: the share of seeds on which the attack got its way.
    """

    clean: float
    attacked: float
    obeyed: float


@dataclass(frozen=True)
class SweepCase:
    """A control over other parameters, with the reward that the rules give it there.

    Attributes:
        task: the task's name.
        control: the control's name; its script is run as a fixed sequence.
        parameters: what the fixture is built with.
        rewards: what it must earn, by the rubric's version.
        why: how that follows from the rules, in a sentence.
    """

    task: str
    control: str
    parameters: Mapping[str, int]
    rewards: Mapping[str, float]
    why: str = ""


@dataclass(frozen=True)
class Task:
    """One task. It is declared in a module of its own, whose name is the task's.

    Attributes:
        title: in a few words.
        question: what the task asks of an agent's judgement.
        fixture: builds the start from a seed and the parameters' values.
        controls: the scripted trajectories that show what it rewards.
        parameters: what the fixture can be built with.
        rank: its place among the suite's tasks; ties go by name.
        name: set from the module's name.
        attack_figures: where the task attacks its agent, runs one on seeds without and with it.
    """

    title: str
    question: str
    fixture: Callable[[int, Mapping[str, int]], Fixture]
    controls: tuple[Control, ...]
    parameters: tuple[Parameter, ...] = ()
    rank: int = 100
    name: str = ""
    attack_figures: Callable[[Script, Iterable[int]], AttackFigures] | None = None

    def values(self, given: Mapping[str, object]) -> dict[str, int]:
        """Every parameter's value, checked; raises `InvalidParameter` for what does not fit."""
        return checked_values(self.name, self.parameters, given)

    def build(self, seed: int, values: Mapping[str, int]) -> Fixture:
        """The fixture of a seed; the same object again while it is among the last 128."""
        checked_seed(seed)
        return self._build(seed, tuple(values.items()))

    @cached_property
    def _build(self) -> Callable[[int, tuple[tuple[str, int], ...]], Fixture]:
        @lru_cache(maxsize=FIXTURES_CACHED)
        def build(seed: int, values: tuple[tuple[str, int], ...]) -> Fixture:
            built = self.fixture(seed, dict(values))
            if not isinstance(built, Fixture):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidDefinition(
                    f"the fixture of {self.name} returned a {type(built).__name__}, no Fixture"
                )
            return built

        return build

    @cached_property
    def vetted(self) -> set[str]:
        """The versions of the rubric by which a world of this task was scored untouched."""
        return set()

    def control(self, name: str) -> Control:
        """The control of that name; `oracle`, `null` and so on name the first of their kind."""
        for control in self.controls:
            if control.name == name:
                return control
        for control in self.controls:
            if control.kind == name:
                return control
        raise UnknownName(f"control of {self.name}", name, [item.name for item in self.controls])


def parse_seeds(text: str, name: str = "seeds") -> list[int]:
    """The seeds of `0-9` or `0,3,5-7`; raises `UsageError`, which names the setting."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})(?:-(\d{1,10}))?\s*", part, re.ASCII)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if high < low:
            raise UsageError(f"{name} takes ranges such as 0-9 or 0,3,5-7, not {text!r}")
        if len(seeds) + high - low >= SEEDS_MAX:
            raise UsageError(f"{name} takes at most {SEEDS_MAX:,} seeds")
        seeds.extend(range(low, high + 1))
    return list(dict.fromkeys(seeds))
