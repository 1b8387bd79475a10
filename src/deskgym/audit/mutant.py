"""Mutants: a right run, changed in one place by rule.

Each rule is one way in which a run can go wrong, or only look otherwise: a step dropped, doubled or
moved, an argument that is another one of its kind, a write that nobody asked for. The rules know
tools by their schemas and ids by the tables that they are keys of, so they fit any suite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Final, NamedTuple, cast

import orjson

from deskgym.aftermath import Record, Records
from deskgym.tool import Parameter, Tool, Toolbox
from deskgym.trajectory import Action

KEYS: Final[Mapping[str, tuple[str, str]]] = {
    "order_id": ("orders", "id"),
    "payment_id": ("payments", "id"),
    "item_id": ("order_items", "id"),
    "shipment_id": ("shipments", "id"),
    "return_id": ("returns", "id"),
    "thread_id": ("threads", "id"),
    "customer_id": ("customers", "id"),
    "sku": ("inventory", "sku"),
    "replacement_sku": ("inventory", "sku"),
}
"""Arguments that are keys, and of which table."""

OTHERS_MAX: Final = 2
"""How many other ids of each nearness take an id's place."""
EXTRA_ORDERS_MAX: Final = 3
PLAIN_TEXTS: Final = {"address": "1 Other Street, Elsewhere", "reason": "another reason"}
"""What a free text may say without meaning anything; `QUIET` for all others."""
QUIET: Final = "Thank you for writing."


class Mutant(NamedTuple):
    """A changed run.

    Attributes:
        rule: which rule made it.
        change: what is otherwise than in the right run.
        actions: what it does.
        neutral: whether the change cannot matter, by what the rule is; the reward must stay.
    """

    rule: str
    change: str
    actions: tuple[Action, ...]
    neutral: bool = False


class Original:
    """A right run, and what is around it in its world.

    Attributes:
        actions: what it does.
        toolbox: the suite's tools.
        before: the store's rows at the start.
    """

    def __init__(self, actions: Sequence[Action], toolbox: Toolbox, before: Records) -> None:
        self.actions: Final = tuple(actions)
        self.toolbox: Final = toolbox
        self.before: Final = before

    def tool(self, place: int) -> Tool | None:
        """The tool of a step, if there is such a tool."""
        return self.toolbox.get(self.actions[place].tool)

    def kind(self, place: int) -> str:
        """The kind of a step's tool."""
        tool = self.tool(place)
        return tool.kind if tool is not None else "unknown"

    def arguments(self, place: int) -> dict[str, Any]:
        """A copy of a step's arguments."""
        return dict(cast(Mapping[str, Any], self.actions[place].arguments))

    @cached_property
    def end(self) -> int:
        """Where the run's closing action stands, or would."""
        last = len(self.actions) - 1
        return last if self.actions and self.kind(last) == "end" else last + 1

    @cached_property
    def first_write(self) -> int:
        """Where the first write stands; the end if there is none."""
        writes = (place for place in range(self.end) if self.kind(place) == "write")
        return next(writes, self.end)

    @cached_property
    def orders(self) -> tuple[str, ...]:
        """The orders that the run names, in order."""
        named = [self.arguments(place).get("order_id") for place in range(len(self.actions))]
        return tuple(dict.fromkeys(str(item) for item in named if item is not None))

    @cached_property
    def skus(self) -> tuple[str, ...]:
        """The SKUs that the run names, and the next one of the same product."""
        named = [
            str(value)
            for place in range(len(self.actions))
            for name, value in self.arguments(place).items()
            if name in ("sku", "replacement_sku")
        ]
        products = {row["sku"]: row["product_id"] for row in self.before["variants"]}
        others = [
            row["sku"]
            for row in self.before["inventory"]
            for sku in named[:1]
            if row["sku"] != sku and products[row["sku"]] == products.get(sku)
        ]
        return tuple(dict.fromkeys((*named[:OTHERS_MAX], *others[:1])))

    @cached_property
    def _owners(self) -> dict[str, str]:
        return {row["id"]: row["customer_id"] for row in self.before["orders"]}

    @cached_property
    def _own(self) -> set[str]:
        return {self._owners[order] for order in self.orders if order in self._owners}

    def nearness(self, table: str, row: Record) -> int:
        """0 for what belongs to an order that the run names, 1 to its customer, 2 for the rest."""
        order = row.get("order_id", row["id"] if table == "orders" else None)
        if order in self.orders:
            return 0
        if table == "inventory":
            items = self.before["order_items"]
            near = any(item["sku"] == row["sku"] and item["order_id"] in self.orders
                       for item in items)  # fmt: skip
            return 0 if near else 2
        customer = row.get("customer_id", self._owners.get(str(order)))
        return 1 if customer in self._own else 2

    def others(self, name: str, value: object, each: int = OTHERS_MAX) -> list[str]:
        """Other keys of the argument's table, the nearest first, and one that does not exist."""
        table, column = KEYS[name]
        ranks: dict[int, list[str]] = {}
        for row in self.before[table]:
            if row[column] != value:
                ranks.setdefault(self.nearness(table, row), []).append(row[column])
        chosen = [item for rank in sorted(ranks) for item in ranks[rank][:each]]
        missing = f"{value}0"
        return [*chosen, missing] if missing not in chosen else chosen


def mutants(original: Original) -> Iterator[Mutant]:
    """Every mutant of a run, each once; none is the run itself."""
    known = {_bytes(original.actions)}
    for mutant in _all(original):
        code = _bytes(mutant.actions)
        if code not in known:
            known.add(code)
            yield mutant


def _bytes(actions: Sequence[Action]) -> bytes:
    return b"\n".join(action.to_json() for action in actions)


def _all(original: Original) -> Iterator[Mutant]:
    yield from _dropped(original)
    yield from _doubled(original)
    yield from _moved(original)
    for place in range(len(original.actions)):
        yield from _changed(original, place)
    yield from _extra(original)
    yield from _second_words(original)
    yield from _early(original)
    yield from _elsewhere(original)


def _name(original: Original, place: int) -> str:
    return f"step {place + 1} {original.actions[place].tool}"


def _dropped(original: Original) -> Iterator[Mutant]:
    actions = original.actions
    for place in range(len(actions)):
        rule = {"read": "skip a read", "talk": "drop a word", "write": "drop a write"}.get(
            original.kind(place), "drop a step"
        )
        rest = (*actions[:place], *actions[place + 1 :])
        yield Mutant(rule, f"without {_name(original, place)}", rest)
    reads = [place for place in range(len(actions)) if original.kind(place) == "read"]
    for tool in dict.fromkeys(actions[place].tool for place in reads):
        rest = tuple(action for action in actions if action.tool != tool)
        yield Mutant("skip a read", f"without any {tool}", rest)


def _doubled(original: Original) -> Iterator[Mutant]:
    actions = original.actions
    for place in range(original.end):
        kind = original.kind(place)
        again = (*actions[: place + 1], actions[place], *actions[place + 1 :])
        rule = "double a read" if kind == "read" else "double a step"
        yield Mutant(rule, f"{_name(original, place)} twice", again, neutral=kind == "read")
        late = (*actions[: original.end], actions[place], *actions[original.end :])
        change = f"{_name(original, place)} again at the end"
        yield Mutant(rule, change, late, neutral=kind == "read")


def _moved(original: Original) -> Iterator[Mutant]:
    actions, end = original.actions, original.end
    for place in range(end):
        rest = [*actions[:place], *actions[place + 1 :]]
        for target, where in ((0, "first"), (end - 1, "last"), (place + 1, "one later")):
            moved = (*rest[:target], actions[place], *rest[target:])
            yield Mutant("reorder", f"{_name(original, place)} {where}", moved)


def _second_words(original: Original) -> Iterator[Mutant]:
    """Something else said as well: each other report or remedy, before the right one and last."""
    actions = original.actions
    for place in range(original.end):
        tool = original.tool(place)
        if tool is None or tool.kind != "talk":
            continue
        given = original.arguments(place)
        for parameter in tool.parameters:
            for choice in _choices(parameter.schema):
                if parameter.name not in given or choice == given[parameter.name]:
                    continue
                other = Action(tool.name, {**given, parameter.name: choice})
                for at, where in ((place, "before it"), (original.end, "last")):
                    more = (*actions[:at], other, *actions[at:])
                    change = f"{_name(original, place)}: also {choice} {where}"
                    yield Mutant("say something else too", change, more)


def _early(original: Original) -> Iterator[Mutant]:
    """The customer asked only once all is written, and a report made before it."""
    actions = original.actions
    asked = [at for at in range(original.end) if actions[at].tool == "propose"]
    if asked:
        rest = [actions[at] for at in range(len(actions)) if at not in asked]
        last = max(at for at, action in enumerate(rest) if _is_write(original, action)) + 1
        late = (*rest[:last], *(actions[at] for at in asked), *rest[last:])
        yield Mutant("act before the choice", "every proposal after the writes", late)
        silent = tuple(rest)
        yield Mutant("act before the choice", "no proposal at all", silent)


def _is_write(original: Original, action: Action) -> bool:
    tool = original.toolbox.get(action.tool)
    return tool is not None and tool.kind == "write"


# Arguments.


def _changed(original: Original, place: int) -> Iterator[Mutant]:
    tool = original.tool(place)
    if tool is None:
        return
    actions = original.actions
    given = original.arguments(place)
    for parameter in tool.parameters:
        if parameter.name not in given or given[parameter.name] is None:
            continue
        value = given[parameter.name]
        for rule, other, neutral in _alternatives(original, parameter, value):
            action = Action(tool.name, {**given, parameter.name: other})
            change = (
                f"{_name(original, place)}: {parameter.name} {_shown(value)} is {_shown(other)}"
            )
            yield Mutant(
                rule, change, (*actions[:place], action, *actions[place + 1 :]), neutral=neutral
            )
        if not parameter.required:
            fewer = {name: item for name, item in given.items() if name != parameter.name}
            action = Action(tool.name, fewer)
            change = f"{_name(original, place)}: no {parameter.name}"
            yield Mutant("leave an argument out", change,
                         (*actions[:place], action, *actions[place + 1 :]))  # fmt: skip


def _elsewhere(original: Original) -> Iterator[Mutant]:
    """All of another capture, from the proposal to the refund, in place of each that is named."""
    pair = {"payment_id", "amount_cents"}
    given = [original.arguments(place) for place in range(len(original.actions))]
    named = dict.fromkeys(item["payment_id"] for item in given if pair <= item.keys())
    for payment_id in named:
        for row in _other_captures(original, payment_id):
            other = {"payment_id": row["id"], "amount_cents": row["captured_cents"]}
            swapped = tuple(
                Action(action.tool, {**item, **other})
                if pair <= item.keys() and item["payment_id"] == payment_id
                else action
                for action, item in zip(original.actions, given, strict=True)
            )
            change = f"{row['id']} throughout, with all it captured"
            yield Mutant("another payment_id", change, swapped)


def _other_captures(original: Original, payment_id: object) -> Iterator[Record]:
    """The other payments of the run's orders that took money: each could be refunded in full."""
    for row in original.before["payments"]:
        near = original.nearness("payments", row) == 0
        if near and row["id"] != payment_id and row["captured_cents"]:
            yield row


def _shown(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}…"


def _alternatives(
    original: Original, parameter: Parameter, value: Any
) -> Iterator[tuple[str, object, bool]]:
    """Rule, value and whether it means the same, for each other value of an argument."""
    if parameter.name in KEYS:
        for other in original.others(parameter.name, value):
            yield f"another {parameter.name}", other, False
        yield "white space", f"  {value}\t", True
        if value.swapcase() != value:
            yield "other case", value.swapcase(), False
    elif isinstance(value, int):
        for other in dict.fromkeys((value - 1, value + 1, value // 2, 2 * value, 1)):
            if other != value:
                yield f"another {parameter.name}", other, False
        yield "another type", str(value), False
        yield "another type", float(value), False
    elif choices := _choices(parameter.schema):
        for other in choices:
            if other != value:
                yield f"another {parameter.name}", other, False
    elif isinstance(value, str):
        yield from _texts(parameter.name, value)


def _choices(schema: Mapping[str, Any]) -> list[object]:
    found = list(schema.get("enum", ()))
    for part in schema.get("anyOf", ()):
        found.extend(part.get("enum", ()))
    return found


_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_WHOLE_NUMBER: Final = re.compile(r"\d+")
SPOKEN: Final = ("body", "summary", "text", "message")
"""Arguments that somebody reads."""


def _texts(name: str, value: str) -> Iterator[tuple[str, object, bool]]:
    yield "white space", f"\n  {value}  ", True
    if name not in SPOKEN:
        yield "another text", PLAIN_TEXTS.get(name, QUIET), name == "reason"
        return
    yield "white space", value.replace(" ", "  "), True
    yield "other case", value.upper(), True
    yield "another text", QUIET, False
    sentences = _SENTENCE.split(value)
    for at in range(len(sentences)):
        if len(sentences) > 1:
            rest = " ".join((*sentences[:at], *sentences[at + 1 :]))
            yield "drop a sentence", rest, False
            yield "one sentence only", sentences[at], False
    for match in _WHOLE_NUMBER.finditer(value):
        number = f"{int(match[0]) + 1:0{len(match[0])}d}"
        yield "another number", value[: match.start()] + number + value[match.end() :], False


# Writes that nobody asked for.


def _extra(original: Original) -> Iterator[Mutant]:
    """Each possible extra write, before the first one and after everything."""
    actions = original.actions
    for tool in original.toolbox.values():
        if tool.kind != "write":
            continue
        for arguments in _fitting(original, tool):
            action = Action(tool.name, arguments)
            shown = " ".join(_shown(value) for value in arguments.values())
            for at, where in ((original.first_write, "first"), (original.end, "last")):
                more = (*actions[:at], action, *actions[at:])
                yield Mutant("an extra write", f"{tool.name} {shown} {where}", more)


def _fitting(original: Original, tool: Tool) -> Iterator[dict[str, object]]:
    """Arguments that fit a tool: for the run's orders, one more of its customer's, a stranger's."""
    names = [parameter.name for parameter in tool.parameters]
    if "order_id" not in names:
        pools = [_pool(original, parameter, None) for parameter in tool.parameters]
        yield from (dict(zip(names, values, strict=True)) for values in product(*pools))
        return
    for order in _orders(original):
        pools = [
            [order] if parameter.name == "order_id" else _pool(original, parameter, order)
            for parameter in tool.parameters
        ]
        for values in product(*pools):
            given = dict(zip(names, values, strict=True))
            yield {name: value for name, value in given.items() if value is not None}


def _orders(original: Original) -> list[str]:
    ranks: dict[int, list[str]] = {}
    for row in original.before["orders"]:
        ranks.setdefault(original.nearness("orders", row), []).append(row["id"])
    near = ranks.get(0, [])[:EXTRA_ORDERS_MAX]
    return near + ranks.get(1, [])[:1] + ranks.get(2, [])[:1]


def _pool(original: Original, parameter: Parameter, order: str | None) -> list[object]:
    """A few values of an argument, those of an order's own rows where it has some."""
    name = parameter.name
    absent: list[object] = [] if parameter.required else [None]
    if name in KEYS:
        table, column = KEYS[name]
        rows = original.before["order_items" if table == "inventory" else table]
        if order is not None:
            rows = tuple(row for row in rows if row.get("order_id", order) == order)
        rows = sorted(rows, key=lambda row: original.nearness(table, row))
        found = list(dict.fromkeys(row[column] for row in rows))[:OTHERS_MAX]
        if table == "inventory":
            found = list(dict.fromkeys((*found, *original.skus)))
        return absent + (found or ["RET-000001" if name == "return_id" else "none"])
    if name.endswith("_cents"):
        paid = [row["captured_cents"] for row in original.before["payments"]
                if row["order_id"] == order and row["captured_cents"]]  # fmt: skip
        return [1, *paid[:1]]
    if choices := _choices(parameter.schema):
        return list(choices)[:2]
    if parameter.schema.get("type") == "integer":
        return [1]
    return [PLAIN_TEXTS.get(name, QUIET)]
