"""A menu for any suite, worked out from its tools' schemas.

An argument with a closed set takes each member; one that names a record (`order_id`, `sku`) takes
the ids that were seen under that name, or in a text; a whole number takes the numbers that were
seen under its own name; free text is one sentence. Optional arguments are left out, unless they
have a closed set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, product
from math import prod
from typing import Any, Final

from deskgym.adapters.gymnasium.memory import Memory, is_key
from deskgym.adapters.gymnasium.menu import Arguments, Family, MenuDefinition, crossed, padded
from deskgym.tool import Parameter, Tool, Toolbox

SLOTS: Final = 4
PLACES_MAX: Final = 256
"""The most places of one tool; of more, only the first of each axis are offered."""
SENTENCE: Final = "as the records say"
_ID: Final = re.compile(r"\b[A-Z]{1,8}-\d+(?:-\d+)?\b|(?<![\w.$-])\d{4,6}(?![\w-])")

Axis = tuple[tuple[str, ...], Callable[[Memory], Sequence[Any]]]
"""What stands in the places of an argument, and their values."""


def _axis(parameter: Parameter, slots: int) -> Axis | None:
    """The axis of an argument; None if it is left out, or if the menu cannot fill it."""
    schema = parameter.schema
    closed = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if closed:
        values = tuple(str(one) for one in closed)
        return values, lambda _: values
    if not parameter.required:
        return None
    name = parameter.name
    places = tuple(f"{name} {number}" for number in range(1, slots + 1))
    if is_key(name):
        return places, lambda memory: padded(_ids(memory, name), slots)
    match schema.get("type"):
        case "integer":
            return places, lambda memory: padded(_numbers(memory, name), slots)
        case "boolean":
            return (f"{name} true", f"{name} false"), lambda _: (True, False)
        case "string":
            return (SENTENCE,), lambda _: (SENTENCE,)
        case _:
            return (f"{name} unknown",), lambda _: (None,)


def _ids(memory: Memory, name: str) -> list[str]:
    """Ids of the records of that name, then those in texts that are no other record's."""
    known = memory.ids(name)
    others = {one for key in memory.records if key != name for one in memory.records[key]}
    in_texts = memory.named.get(ANY_ID, ())
    return list(dict.fromkeys([*known, *(one for one in in_texts if one not in others)]))


def _numbers(memory: Memory, name: str) -> list[int]:
    """Whole numbers that records show under that name, the latest first."""
    seen = [
        record[name]
        for records in memory.records.values()
        for record in records.values()
        if type(record.get(name)) is int
    ]
    return list(dict.fromkeys(reversed(seen)))


def _family(tool: Tool) -> Family:
    slots = SLOTS
    axes = _axes(tool, slots)
    while slots > 1 and prod(len(places) for places, _ in axes.values()) > PLACES_MAX:
        slots -= 1
        axes = _axes(tool, slots)
    places = crossed(*(places for places, _ in axes.values())) if axes else ("the call",)
    return Family(tool.name, places[:PLACES_MAX], _filling(axes))


def _axes(tool: Tool, slots: int) -> dict[str, Axis]:
    axes = {one.name: _axis(one, slots) for one in tool.parameters}
    return {name: axis for name, axis in axes.items() if axis is not None}


def _filling(axes: Mapping[str, Axis]) -> Callable[[Memory], list[Arguments | None]]:
    def fill(memory: Memory) -> list[Arguments | None]:
        values = [values(memory) for _, values in axes.values()]
        found: list[Arguments | None] = []
        for chosen in islice(product(*values), PLACES_MAX):
            whole = all(value is not None for value in chosen)
            found.append(dict(zip(axes, chosen, strict=True)) if whole else None)
        return found

    return fill


def families(toolbox: Toolbox) -> Sequence[Family]:
    """A family for each tool."""
    return [_family(tool) for tool in toolbox.values()]


ANY_ID: Final = "id"
MENU: Final = MenuDefinition(families, {ANY_ID: _ID})
