"""What an agent has been told in an episode: records, names in texts, what it did itself.

A memory is fed with actions and with what they were answered, and with nothing else. Menus and
numeric observations are built from it, so they cannot hold what was not observed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar, cast

from deskgym.trajectory import Action, Observation

Record = dict[str, Any]
T = TypeVar("T")

TOLD: Final = ("body", "subject", "note", "customer", "name")
"""The fields of a result that hold what people wrote."""


def is_key(name: str) -> bool:
    """Whether a field names a record, as `order_id` and `sku` do."""
    return name == "sku" or name.endswith("_id")


class Deed(NamedTuple):
    """A call that did its work, and what it was answered."""

    arguments: Mapping[str, Any]
    data: Mapping[str, Any]


class Memory:
    """What was observed since the last `start`.

    Attributes:
        records: by key (`order_id`) and id, in order of appearance; each with the fields that
            were shown last, and with the ids of the record that it stood in.
        named: ids that stand in texts, by key, in order of appearance.
        texts: what people wrote, in order of appearance.
        deeds: calls that did their work, by tool.
        tried: how often each tool was called.
        refused: the orders that a tool was asked for and refused, by tool.
        last: the last observation.
        last_tool: the tool that it answers; empty at the start.
        version: counts what was learnt: the same version means the same menu.
    """

    def __init__(self, patterns: Mapping[str, re.Pattern[str]] | None = None) -> None:
        """Remember nothing yet.

        Args:
            patterns: how ids look in texts, by key.
        """
        self._patterns: Final = dict(patterns or {})
        self.version = 0
        self._cached: Final[dict[Callable[[Memory], Any], Any]] = {}
        self._cached_version = -1
        self._clear()

    def _clear(self) -> None:
        self.records: dict[str, dict[str, Record]] = {}
        self.named: dict[str, list[str]] = {key: [] for key in self._patterns}
        self.texts: list[str] = []
        self.deeds: dict[str, list[Deed]] = {}
        self.tried: dict[str, int] = {}
        self.refused: dict[str, set[object]] = {}
        self.last: Observation | None = None
        self.last_tool = ""
        self.version += 1

    def start(self, opening: Observation) -> None:
        """Forget everything, and take in what is told first."""
        self._clear()
        self.last = opening
        self._hear(opening.message)
        self._take_in(opening.data, {})

    def take_in(self, action: Action, observation: Observation, *, speaks: bool = False) -> None:
        """Take in what came of an action.

        Args:
            action: what was done.
            observation: what it was answered.
            speaks: whether the sentence of the answer may be a customer's.
        """
        self.last, self.last_tool = observation, action.tool
        self.tried[action.tool] = self.tried.get(action.tool, 0) + 1
        if speaks:
            self._hear(observation.message)
        given = action.arguments
        arguments = cast(dict[str, Any], given) if isinstance(given, dict) else {}
        self._did(action.tool, arguments, observation)
        self._take_in(observation.data, {})

    def _did(self, tool: str, arguments: dict[str, Any], observation: Observation) -> None:
        if observation.ok:
            self.deeds.setdefault(tool, []).append(Deed(arguments, observation.data))
        else:
            self.refused.setdefault(tool, set()).add(arguments.get("order_id"))
        self.version += 1

    def _take_in(self, value: object, context: Mapping[str, Any]) -> None:
        if isinstance(value, Mapping):
            self._record(cast(Mapping[str, Any], value), context)
        elif isinstance(value, list):
            for item in cast(list[object], value):
                self._take_in(item, context)

    def _record(self, fields: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        ids = {name: value for name, value in fields.items() if value and is_key(name)}
        if ids:
            key, own = next(iter(ids.items()))
            kept = self.records.setdefault(key, {}).setdefault(str(own), {})
            told = {**context, **fields}
            if any(kept.get(name) != value for name, value in told.items()):
                kept.update(told)
                self.version += 1
        inner = {**context, **ids}
        for name, value in fields.items():
            if name in TOLD and isinstance(value, str):
                self._hear(value)
            elif isinstance(value, Mapping | list):
                self._take_in(cast(object, value), inner)

    def _hear(self, text: str) -> None:
        if text in self.texts:
            return
        self.texts.append(text)
        self.version += 1
        for key, pattern in self._patterns.items():
            known = self.named[key]
            for found in pattern.findall(text):
                if found not in known:
                    known.append(found)

    def once(self, work: Callable[[Memory], T]) -> T:
        """What a reading of this memory gives, worked out once until more is learnt."""
        if self._cached_version != self.version:
            self._cached.clear()
            self._cached_version = self.version
        if work not in self._cached:
            self._cached[work] = work(self)
        return self._cached[work]

    def ids(self, key: str) -> list[str]:
        """Every id of that key that was seen, those in texts first."""
        return list(dict.fromkeys([*self.named.get(key, ()), *self.records.get(key, ())]))

    def record(self, key: str, value: str) -> Record:
        """What was shown of a record; empty if nothing was."""
        return self.records.get(key, {}).get(value, {})

    def done(self, tool: str, **arguments: object) -> list[Deed]:
        """The calls of a tool that did their work with these arguments among theirs."""
        return [
            deed
            for deed in self.deeds.get(tool, ())
            if all(deed.arguments.get(name) == value for name, value in arguments.items())
        ]
