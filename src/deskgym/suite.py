"""Suites: tasks that share tools, a policy and a rubric; found by name, ours or a package's."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol

from deskgym.aftermath import Ceilings, Objections, Reckoning
from deskgym.errors import InvalidDefinition, UnknownName
from deskgym.panel import Panel
from deskgym.rubric import Reader, Score
from deskgym.task import Script, SweepCase, Task
from deskgym.tool import Toolbox

ENTRY_POINT_GROUP: Final = "deskgym.suites"


class Rubric(Protocol):
    """A version of a suite's rubric.

    One that gives no reward below 0 has an attribute `reward_min` of 0, for the gates of controls.
    """

    @property
    def version(self) -> str:
        """What a score names it by, such as `service-reward.v3`."""
        ...

    def score(self, world: Reader, case: Any) -> Score:
        """The score of an episode, from its world and what the task accepts."""
        ...


class Speech(NamedTuple):
    """The tool that carries an agent's plain text to the customer, and its argument for it."""

    tool: str
    argument: str


@dataclass(frozen=True)
class Suite:
    """Tasks that share tools and a rubric.

    Attributes:
        name: the first part of its tasks' ids.
        title: in a few words.
        instructions: the policy that an agent is given before its first action.
        toolbox: what an agent can do.
        rubrics: the versions, the default one first.
        tasks: in order.
        steps_max: how many actions an episode has.
        sweep: controls over a grid of parameters, each with the reward that the rules give it.
        speech: how what an agent writes without a call reaches the customer; None where there is
            nobody to talk to.
        objections: what is wrong with how an episode stands, by plain rows and without the
            rubric's code; the audit's second opinion on every run that was paid. None if the suite
            has none; then no adversary may earn what a right control does.
        reckon: what an episode must earn, worked out a second time from the rules and without the
            rubric's code; the audit holds every mutant and every step of its searches against it.
            None if the suite has none.
        ceilings: which ceilings bind an episode, worked out a second time likewise; the audit holds
            the breakdown of every control against it. None if the suite has none.
        adversaries: agents by name that try to be paid for what is not right, in ways that the
            audit cannot know of; they work from observations alone.
        panels: the records that stand beside a case for a person; where there are none, the
            signed-in customer's rows of every table do.
    """

    name: str
    title: str
    instructions: str
    toolbox: Toolbox
    rubrics: tuple[Rubric, ...]
    tasks: tuple[Task, ...]
    steps_max: int
    sweep: tuple[SweepCase, ...] = ()
    speech: Speech | None = None
    objections: Objections | None = None
    reckon: Reckoning | None = None
    ceilings: Ceilings | None = None
    adversaries: Mapping[str, Script] = field(default_factory=dict[str, Script])
    panels: tuple[Panel, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a declaration that would fail later, and less clearly.

        Raises:
            InvalidDefinition: it names what is wrong.
        """
        if not re.fullmatch(r"[a-z0-9]+([-_][a-z0-9]+)*", self.name):
            raise InvalidDefinition(
                f"a suite's name is lower-case words such as returns-desk, not {self.name!r}"
            )
        if not self.rubrics:
            raise InvalidDefinition(f"the suite {self.name} has no rubric")
        if self.steps_max < 1:
            raise InvalidDefinition(f"the suite {self.name} allows {self.steps_max} actions")
        if self.speech is not None and (
            self.speech.tool not in self.toolbox
            or self.speech.argument not in self.toolbox[self.speech.tool].schema["properties"]
        ):
            raise InvalidDefinition(
                f"the suite {self.name} has no tool {self.speech.tool} with an argument "
                f"{self.speech.argument} to carry an agent's words"
            )
        for panel in self.panels:
            if panel.answer is not None and panel.answer not in self.toolbox:
                raise InvalidDefinition(
                    f"the suite {self.name} has no tool {panel.answer} to answer from the panel "
                    f"{panel.title!r}"
                )
        names = {
            "rubric": [rubric.version for rubric in self.rubrics],
            "task": [task.name for task in self.tasks],
        }
        for task in self.tasks:
            names[f"control of {task.name}"] = [control.name for control in task.controls]
        for what, found in names.items():
            if "" in found:
                raise InvalidDefinition(
                    f"the suite {self.name} has a {what} without a name; "
                    "tasks_in(package) names each task by its module"
                )
            twice = {name for name in found if found.count(name) > 1}
            if twice:
                raise InvalidDefinition(
                    f"the suite {self.name} has more than one {what} {', '.join(sorted(twice))}"
                )

    def rubric(self, version: str | None = None) -> Rubric:
        """The rubric of that version, or the default one; raises `UnknownName`."""
        if version is None:
            return self.rubrics[0]
        versions = {rubric.version: rubric for rubric in self.rubrics}
        if version not in versions:
            raise UnknownName(f"rubric of {self.name}", version, versions)
        return versions[version]

    def task(self, name: str) -> Task:
        """The task of that name, with or without the suite's; raises `UnknownName`."""
        short = name.removeprefix(f"{self.name}/")
        for task in self.tasks:
            if task.name == short:
                return task
        raise UnknownName("task", name, [f"{self.name}/{task.name}" for task in self.tasks])


def tasks_in(package: ModuleType) -> tuple[Task, ...]:
    """The tasks declared as `task` in the modules of a package, named by their modules.

    A module whose name starts with an underscore is none: tasks share what stands there.
    """
    found: list[Task] = []
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue  # what tasks share
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        task = getattr(module, "task", None)
        if not isinstance(task, Task):
            raise InvalidDefinition(f"{module.__name__} declares no `task`, an instance of Task")
        found.append(replace(task, name=info.name.replace("_", "-")))
    return tuple(sorted(found, key=lambda task: (task.rank, task.name)))


@cache
def _places() -> Mapping[str, str]:
    """Where each suite is declared: `module:attribute` by name, ours first."""
    ours = importlib.import_module("deskgym.suites")
    places = {
        info.name: f"{ours.__name__}.{info.name}" for info in pkgutil.iter_modules(ours.__path__)
    }
    places = {name: f"{module}:suite" for name, module in places.items()}
    # Imported here because it takes 25 ms, and only a suite that is looked for needs it.
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINT_GROUP):
        places.setdefault(point.name, point.value)
    return places


def suite_names() -> tuple[str, ...]:
    """The suites that can be loaded: those of this package, then those of others."""
    return tuple(_places())


@cache
def load_suite(name: str) -> Suite:
    """The suite of that name; raises `UnknownName`.

    A package of yours adds one with an entry point in the group `deskgym.suites` that names a
    `Suite`.
    """
    places = _places()
    if name not in places:
        raise UnknownName("suite", name, places)
    place = places[name]
    module, _, attribute = place.partition(":")
    try:
        suite = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise InvalidDefinition(
            f"the suite {name!r} is declared as {place}, and there is no module {error.name}"
        ) from error
    if not isinstance(suite, Suite):
        raise InvalidDefinition(f"the suite {name!r} is declared as {place}, which is no Suite")
    if suite.name != name:
        raise InvalidDefinition(
            f"the suite {name!r} is declared as {place}, which calls itself {suite.name!r}"
        )
    return suite


def find_tasks(names: Sequence[str] = ()) -> list[tuple[Suite, Task]]:
    """The tasks that ids (`service/damaged-lamp`) and suites' names stand for; all by default."""
    found: list[tuple[Suite, Task]] = []
    for name in names or suite_names():
        suite = load_suite(name.partition("/")[0])
        chosen = [suite.task(name)] if "/" in name else suite.tasks
        found.extend((suite, task) for task in chosen)
    return found
