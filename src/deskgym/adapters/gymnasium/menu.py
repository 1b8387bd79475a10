"""A finite menu of the next calls, each at a fixed place, built from what was observed.

A family is a tool with so many places; what stands in a place is worked out from a memory. A
place is empty where nothing fits, where the tool would not take the arguments, or where an earlier
place holds the same call. So the same index means the same kind of call in every episode ("refund
all of the first payment of the first order"), which is what lets a small policy learn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from deskgym.adapters.gymnasium.memory import Memory
from deskgym.errors import InvalidDefinition
from deskgym.suite import Suite
from deskgym.tool import Toolbox
from deskgym.trajectory import Action

Arguments = Mapping[str, object]
Fill = Callable[[Memory], Sequence[Arguments | None]]
"""Works out the calls of a tool: arguments, or None for an empty place."""

STOP: Final = 0
"""The place of "nothing more", which is never empty: the agent hands the episode back."""


class Family(NamedTuple):
    """The calls of one tool.

    Attributes:
        tool: its name.
        places: what stands in each place, in a few words.
        fill: works out the places, as many and in that order.
    """

    tool: str
    places: tuple[str, ...]
    fill: Fill


@dataclass(frozen=True)
class MenuDefinition:
    """How the menu of a suite is built.

    Attributes:
        families: for a toolbox, the families in order.
        patterns: how ids look in texts, by key (`order_id`).
    """

    families: Callable[[Toolbox], Sequence[Family]]
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])


class Menu:
    """The menu of a suite.

    Attributes:
        labels: what each place holds; the first one is to stop.
        patterns: how ids look in texts, by key.
    """

    def __init__(self, toolbox: Toolbox, definition: MenuDefinition) -> None:
        """Lay out the places.

        Raises:
            InvalidDefinition: a family names a tool that the suite does not have.
        """
        self._toolbox: Final = toolbox
        self._families: Final = tuple(definition.families(toolbox))
        for family in self._families:
            if family.tool not in toolbox:
                raise InvalidDefinition(f"a menu names the tool {family.tool}, and there is none")
        self.patterns: Final = definition.patterns
        places = [f"{one.tool}: {place}" for one in self._families for place in one.places]
        self.labels: Final = ("stop", *places)

    def __len__(self) -> int:
        return len(self.labels)

    def entries(self, memory: Memory) -> list[Action | None]:
        """What stands in each place now; None for an empty one, and for stopping."""
        found: list[Action | None] = [None]
        seen: set[tuple[object, ...]] = set()
        for family in self._families:
            filled = family.fill(memory)
            if len(filled) != len(family.places):
                raise InvalidDefinition(
                    f"the menu of {family.tool} has {len(family.places)} places, "
                    f"and {len(filled)} were filled"
                )
            found.extend(
                None if arguments is None else self._entry(family.tool, arguments, seen)
                for arguments in filled
            )
        return found

    def _entry(
        self, tool: str, arguments: Arguments, seen: set[tuple[object, ...]]
    ) -> Action | None:
        key = (tool, *arguments.items())
        if key in seen:
            return None
        seen.add(key)
        try:
            self._toolbox[tool].validate(arguments)
        except ValidationError:
            return None
        return Action(tool, dict(arguments))


def mask_of(entries: Sequence[Action | None]) -> npt.NDArray[np.bool_]:
    """Which places can be chosen."""
    mask = np.fromiter((entry is not None for entry in entries), np.bool_, len(entries))
    mask[STOP] = True
    return mask


OWN_MENUS: Final = ("backoffice", "service", "tickets")
"""Suites with a menu of their own, in the module of that name."""


def menu_of(suite: Suite, definition: MenuDefinition | None = None) -> Menu:
    """The menu of a suite: the given one, its own, or one worked out from its tools' schemas."""
    if definition is None:
        package = "deskgym.adapters.gymnasium.menus"
        name = suite.name if suite.name in OWN_MENUS else "schema"
        definition = import_module(f"{package}.{name}").MENU
    assert isinstance(definition, MenuDefinition), "a module of a menu holds its definition"
    return Menu(suite.toolbox, definition)


def crossed(*axes: Sequence[str]) -> tuple[str, ...]:
    """The names of places along several axes, the last one changing fastest."""
    names: tuple[str, ...] = ("",)
    for axis in axes:
        names = tuple(f"{name}, {part}" if name else part for name in names for part in axis)
    return names


def always(*arguments: Arguments) -> Fill:
    """The same calls whatever was observed."""
    return lambda memory: arguments


def padded(found: Sequence[Any], size: int) -> list[Any]:
    """So many of the values, with None where there are fewer."""
    return [*found[:size], *[None] * (size - len(found))]
