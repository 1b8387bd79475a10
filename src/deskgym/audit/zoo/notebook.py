"""What an adversary knows: everything that it was told, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import orjson

from deskgym.tool import Parameter, Tool
from deskgym.trajectory import Action, Observation

_TOKEN: Final = re.compile(r"\b(?:[A-Z]{1,4}-\d[\w-]*|\d{4,6})\b")
_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "replacement_sku": ("sku",),
    "qty": ("quantity",),
    "amount_cents": ("refundable_cents", "captured_cents", "paid_cents", "total_cents"),
}
"""What else may stand in a record for an argument."""

TEXT: Final = ("body", "text", "message", "summary", "reason", "address", "note")
"""Arguments that take free text."""

RECORDS_MAX: Final = 400

Scalars = dict[str, object]


class Notebook:
    """Records, ids and texts, in the order in which they were seen.

    A record is an object of an answer with what stands around it: an item of an order has the
    order's id too. What is named in the first observation, or in a text that was found under such
    a name, is in focus: it is what the task is about.

    Attributes:
        focus: ids that the task is about.
        texts: every text that was read.
    """

    def __init__(self, first: Observation) -> None:
        self.focus: list[str] = []
        self.texts: list[str] = []
        self._near: dict[str, list[object]] = {}
        self._records: list[Scalars] = []
        self._seen: set[bytes] = set()
        self.instructed = first.message
        self._focus_on(first.message)
        self.texts.append(first.message)
        self._note(first.data, {}, focused=True)

    def learn(self, action: Action, seen: Observation) -> None:
        """Note what an action was answered."""
        if not seen.ok:
            return
        given = cast(Mapping[str, object], action.arguments)
        context: Scalars = {
            name: value for name, value in given.items() if name not in TEXT and value is not None
        }
        self._note(seen.data, context, focused=any(self.is_in_focus(v) for v in given.values()))

    def is_in_focus(self, value: object) -> bool:
        """Whether an id is of what the task is about."""
        return isinstance(value, str) and value in self.focus

    def _focus_on(self, text: str) -> None:
        for token in _TOKEN.findall(text):
            if token not in self.focus:
                self.focus.append(token)

    def _note(self, value: object, around: Scalars, *, focused: bool) -> None:
        if isinstance(value, Mapping):
            fields = cast(Mapping[str, object], value)
            own = {name: item for name, item in fields.items() if isinstance(item, str | int)}
            record = {**around, **own}
            self._keep(record)
            for name, text in own.items():
                if focused and _is_id(name) and text not in self._near.setdefault(name, []):
                    self._near[name].append(text)
                if isinstance(text, str) and " " in text:
                    self.texts.append(text)
                    if focused:
                        self._focus_on(text)
            for item in fields.values():
                self._note(item, record, focused=focused)
        elif isinstance(value, list | tuple):
            for item in cast(Sequence[object], value):
                self._note(item, around, focused=focused)

    def _keep(self, record: Scalars) -> None:
        mark = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
        if mark not in self._seen and len(self._records) < RECORDS_MAX:
            self._seen.add(mark)
            self._records.append(record)

    # What may be asked for, from what was seen.

    def near(self, name: str) -> list[object]:
        """Ids seen under a name in what the task is about, then what it names without a name."""
        others = {value for key, ids in self._near.items() if key != name for value in ids}
        return [*self._near.get(name, ()), *(item for item in self.focus if item not in others)]

    def known(self, name: str) -> list[object]:
        """Every value seen under a name, those in focus first."""
        names = (name, *_ALIASES.get(name, ()))
        found = [record[key] for record in self._records for key in names if key in record]
        ordered = list(dict.fromkeys(found))
        return sorted(ordered, key=lambda value: not self.is_in_focus(value))

    def fillings(self, tool: Tool, *, focused: bool = True) -> list[Scalars]:
        """Arguments for a tool, each from one record and those that fit to it.

        Args:
            tool: the tool, whose optional arguments are given where a record has them.
            focused: only such as are about what the task is about.
        """
        made: dict[bytes, Scalars] = {}
        for record in reversed(self._records):  # what was seen last is most particular
            filled = self._fill(tool, record)
            if filled is None or (focused and not any(map(self.is_in_focus, record.values()))):
                continue
            ids = {k: v for k, v in filled.items() if k not in TEXT and k != "return_id"}
            made.setdefault(orjson.dumps(ids, option=orjson.OPT_SORT_KEYS), filled)
        return list(made.values())

    def _fill(self, tool: Tool, record: Scalars) -> Scalars | None:
        filled: Scalars = {}
        for parameter in tool.parameters:
            value = self._value(parameter, record)
            if value is not None:
                filled[parameter.name] = value
            elif parameter.required:
                return None
        return filled

    def _value(self, parameter: Parameter, record: Scalars) -> object:
        options = choices(parameter)
        if options:
            return options[0]
        name = parameter.name
        if name in TEXT:
            return "as the customer asked"
        for source in (record, *self._kin(record)):
            for key in (name, *_ALIASES.get(name, ())):
                value = source.get(key)
                if value is not None and value != 0:
                    return value
        return None

    def _kin(self, record: Scalars) -> Iterator[Scalars]:
        """Other records of the same thing: they share the most particular id of this one."""
        for key in ("return_id", "item_id", "payment_id", "shipment_id", "thread_id"):
            if key in record:
                yield from (o for o in self._records if o.get(key) == record[key])
                return


def _is_id(name: str) -> bool:
    return name.endswith("_id") or name == "sku"


def choices(parameter: Parameter) -> list[str]:
    """The members of an argument's closed set; none where it has none."""
    parts = (parameter.schema, *parameter.schema.get("anyOf", ()))
    return [str(member) for part in parts for member in cast(list[Any], part.get("enum", []))]
