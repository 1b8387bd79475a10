"""Tools: a plain typed function with a docstring becomes a schema, a validator and a dispatch.

```python
@tool("write", codes=("order_cancelled", "order_not_found"))
def cancel_order(desk: Desk, order_id: Id, reason: Text) -> Result:
    \"\"\"Cancel an order that has not left the warehouse.

Args:
        order_id: the order.
        reason: why, in a few words.
    \"\"\"
```

A call is atomic: it keeps all of its rows or none. What a tool refuses is a result, with a closed
set of codes; what it raises by mistake is a bug, and is told apart from both.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, cast, get_args

import orjson
from pydantic import ConfigDict, Field, StringConstraints, ValidationError
from pydantic import create_model as create_pydantic_model

from deskgym.errors import (
    ConstraintViolation,
    InvalidDefinition,
    Refusal,
    UnknownName,
)
from deskgym.store import RowChange, World
from deskgym.store.change import Row
from deskgym.store.slot import LogRow, Slot

Kind = Literal["read", "write", "talk", "end"]
"""What a tool is for: reads change nothing, writes change the store, talk is said to the customer
or the grader, end finishes the episode."""

Ending = Literal["closed", "submitted", "no_progress", "action_limit", "customer_done", "completed"]
"""Why an episode ended: the agent closed or submitted it, three identical observations in a row,
the last action allowed, a customer with nothing more to say, or a task that has run its course."""

COMMON_CODES: Final[Mapping[str, str]] = {
    "unknown_tool": "There is no such tool.",
    "invalid_arguments": "The arguments do not fit the tool's schema; nothing was done.",
    "conflict": "The store's records do not allow this; nothing was done.",
    "internal_error": "The tool failed, which is not your fault; nothing was done.",
    "episode_over": "The episode is over; nothing was done.",
}
"""Codes that any call can be answered with, beside those that its tool declares."""


# Argument types. Their constraints show in the JSON Schema; the sentences in it are product.

ID_CHARACTERS_MAX: Final = 64
TEXT_CHARACTERS_MAX: Final = 2_000
_ID_FORMAT: Final = "id"
AMOUNT_CENTS_MAX: Final = 100_000

_CONTROL: Final = r"\x00-\x1f\x7f-\x9f"
TEXT_PATTERN: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+$"
"""What free text is made of: anything but control characters, save line breaks and tabs."""

Id = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True,
        min_length=1,
        max_length=ID_CHARACTERS_MAX,
        pattern=rf"^[^{_CONTROL}]+$",
    ),
    Field(json_schema_extra={"format": _ID_FORMAT}),
]
"""An identifier: text of 1 to 64 characters without control characters; outer space is trimmed.

An integer means its decimal text, since models often send one.
"""

Text = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True,
        min_length=1,
        max_length=TEXT_CHARACTERS_MAX,
        pattern=TEXT_PATTERN,
    ),
]
"""Free text of 1 to 2,000 characters, without control characters but line breaks and tabs."""

Cents = Annotated[int, Field(ge=1, le=AMOUNT_CENTS_MAX)]
"""An amount of money: a whole number of cents, 1 to 100,000, and no other type of value."""


def compact_json(value: object) -> bytes:
    """Canonical JSON. orjson keeps a 4 KB block behind each result; the copy lets it go."""
    return bytes(memoryview(orjson.dumps(value)))


_NO_DATA: Final[Mapping[str, Any]] = MappingProxyType({})


class Result(NamedTuple):
    """What a tool answers: whether it did its work, a code, a sentence, and data."""

    ok: bool
    code: str
    message: str
    data: Mapping[str, Any] = _NO_DATA

    def to_dict(self) -> dict[str, object]:
        """The result as an agent sees it."""
        return {
            "ok": self.ok,
            "code": self.code,
            "message": self.message,
            "data": dict(self.data),
        }

    def to_json(self) -> bytes:
        """The result as canonical JSON; raises TypeError for data that JSON cannot hold."""
        return compact_json(self.to_dict())


class Desk:
    """What a tool's function works with: the store, who is signed in, and the episode's log.

    Attributes:
        account: the signed-in customer's id, or None where the agent is the store's own staff.
        step: the number of this action, from 1.
        now: the store's time, UTC in ISO 8601. It stands still within an episode.
        customer: who answers what the agent proposes or says; None where nobody does.
        log_rows: rows for the environment's own tables, kept if the call is.
    """

    __slots__ = ("_slot", "account", "customer", "ending", "log_rows", "now", "step")

    def __init__(
        self, slot: Slot, *, step: int, now: str, account: str | None, customer: Any = None
    ) -> None:
        self._slot: Final = slot
        self.log_rows: list[LogRow] = []
        self.step: Final = step
        self.now: Final = now
        self.account: Final = account
        self.customer: Final[Any] = customer
        self.ending: Ending | None = None

    def rows(self, sql: str, *bindings: object, **named: object) -> list[Row]:
        """Run one statement; its rows as tuples."""
        return self._slot.rows(sql, named or bindings)

    def records(self, sql: str, *bindings: object, **named: object) -> list[dict[str, Any]]:
        """Run one statement; its rows by column name."""
        return self._slot.records(sql, named or bindings)

    def record(self, sql: str, *bindings: object, **named: object) -> dict[str, Any] | None:
        """Run one statement; its first row by column name, or None."""
        found = self._slot.records(sql, named or bindings)
        return found[0] if found else None

    def value(self, sql: str, *bindings: object, **named: object) -> Any:
        """Run one statement; the first value of its first row, or None."""
        found = self._slot.rows(sql, named or bindings)
        return found[0][0] if found else None

    def next_id(self, table: str, prefix: str) -> str:
        """A fresh id for a table: `prefix`, then six digits, one above the highest there is.

        Every id of the table has that form, so that the highest text is the highest number.
        """
        highest = self.value(f"SELECT MAX(id) FROM {table}")
        return f"{prefix}{int(highest[len(prefix) :]) + 1 if highest else 1:06d}"

    def log(self, table: str, *values: object) -> None:
        """Add a row, its first value this step, to one of the environment's own tables.

        Kept only if the call is.
        """
        self.log_rows.append((table, (self.step, *values)))

    def logged(self, table: str) -> list[Row]:
        """The rows that earlier actions added to one of the environment's own tables, in order.

        SQL in a tool does not see them: they are written when a rubric first reads them.
        """
        world = self._slot.world
        return [row for name, row in world.log if name == table] if world is not None else []

    @property
    def touched(self) -> bool:
        """Whether the call has written to the store so far."""
        return self._slot.touched

    def end(self, reason: Ending) -> None:
        """End the episode with this action."""
        self.ending = reason


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool, as its JSON Schema has it."""

    name: str
    required: bool
    schema: Mapping[str, Any]

    def expectation(self) -> str:
        """What would be right, as the end of a sentence."""
        options = [part for part in self.schema.get("anyOf", ()) if part.get("type") != "null"]
        schema = options[0] if options else self.schema
        if "enum" in schema:
            return "must be one of " + ", ".join(schema["enum"])
        if "const" in schema:
            return f"must be {schema['const']}"
        kind = schema.get("type")
        if kind == "integer":
            low, high = schema.get("minimum"), schema.get("maximum")
            limits = f" from {low} to {high}" if high is not None else f" of at least {low}"
            return f"must be a whole number{'' if low is None else limits}, as a JSON integer"
        if kind == "boolean":
            return "must be true or false"
        longest = schema.get("maxLength")
        if kind == "string" and longest is not None:
            return f"must be text of 1 to {longest} characters without control characters"
        names = {"string": "text", "number": "a number", "array": "a JSON array"}
        return f"must be {names.get(str(kind), 'a JSON value as in the schema')}"


@dataclass(frozen=True)
class Tool:
    """A tool that an agent can call.

    Attributes:
        name: the function's name.
        kind: what it is for.
        description: the docstring up to its arguments; an agent reads it.
        parameters: its arguments in order.
        codes: every code that it answers with, apart from `COMMON_CODES`.
        schema: the JSON Schema of its arguments, an object without further properties.
    """

    name: str
    kind: Kind
    description: str
    parameters: tuple[Parameter, ...]
    codes: tuple[str, ...]
    schema: Mapping[str, Any]
    function: Callable[..., Result]
    validate: Callable[[object], dict[str, Any]]

    def openai(self) -> dict[str, Any]:
        """The tool for the Chat Completions API."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.schema,
        }
        return {"type": "function", "function": function}

    def anthropic(self) -> dict[str, Any]:
        """The tool for the Messages API."""
        return {"name": self.name, "description": self.description, "input_schema": self.schema}

    def mcp(self) -> dict[str, Any]:
        """The tool for the Model Context Protocol, with its annotations."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {
                "readOnlyHint": self.kind == "read",
                "destructiveHint": self.kind == "write",
                "openWorldHint": False,
            },
        }

    def problems(self, arguments: object, error: ValidationError) -> dict[str, str]:
        """What is wrong with the arguments and what would be right, by argument."""
        known = {parameter.name: parameter for parameter in self.parameters}
        takes = ", ".join(known) or "no arguments"
        if not isinstance(arguments, Mapping):
            return {"arguments": "must be a JSON object"}
        found: dict[str, str] = {}
        for detail in error.errors(include_url=False, include_input=False, include_context=False):
            name = str(detail["loc"][0]) if detail["loc"] else ""
            parameter = known.get(name)
            if parameter is None:
                found[name[:ID_CHARACTERS_MAX]] = f"is not an argument; {self.name} takes {takes}"
            elif name not in arguments:
                found[name] = f"is missing; it {parameter.expectation()}"
            else:
                found[name] = parameter.expectation()
        return found


def _documentation(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """The description and the arguments' sentences of a Google-style docstring."""
    text = inspect.getdoc(function)
    if not text:
        raise InvalidDefinition(f"tool {function.__name__}: a tool needs a docstring")
    description, _, rest = text.partition("\n\nArgs:\n")
    sentences: dict[str, str] = {}
    for match in re.finditer(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", rest, re.MULTILINE):
        sentences[match[1]] = " ".join(match[2].split())
    return description, sentences


_NOT_SHOWN: Final = ("title", "pattern", "format")


def _shown(schema: Any) -> Any:
    """A JSON Schema without what repeats the names or reads as noise to a model."""
    if isinstance(schema, dict):
        items: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
        return {
            key: _shown(value)
            for key, value in items.items()
            if key not in _NOT_SHOWN or not isinstance(value, str)
        }
    if isinstance(schema, list):
        parts: list[Any] = schema  # pyright: ignore[reportUnknownVariableType]
        return [_shown(value) for value in parts]
    return schema


def tool(kind: Kind, *, codes: Sequence[str]) -> Callable[[Callable[..., Result]], Tool]:
    """Make a tool of a function whose first parameter is the desk.

    Args:
        kind: what the tool is for.
        codes: every code that it answers with.

    Raises:
        InvalidDefinition: the function lacks a docstring, a type, or a sentence for an argument,
            or an argument's closed set holds anything but texts.
    """
    if kind not in get_args(Kind):
        raise InvalidDefinition(f"a tool's kind is one of {', '.join(get_args(Kind))}, not {kind}")

    def decorate(function: Callable[..., Result]) -> Tool:
        return _make_tool(function, kind, tuple(codes))

    return decorate


def _make_tool(function: Callable[..., Result], kind: Kind, codes: tuple[str, ...]) -> Tool:
    name = function.__name__
    description, sentences = _documentation(function)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(function, eval_str=True).parameters.values())[1:]:
        if parameter.annotation is inspect.Parameter.empty or parameter.name not in sentences:
            raise InvalidDefinition(
                f"tool {name}: argument {parameter.name} needs a type and a sentence under 'Args:'"
            )
        required = parameter.default is inspect.Parameter.empty
        fields[parameter.name] = (
            Annotated[parameter.annotation, Field(description=sentences[parameter.name])],
            ... if required else parameter.default,
        )
    model = create_pydantic_model(
        name,
        __config__=ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True),
        **fields,
    )
    full_schema = model.model_json_schema()
    ids = frozenset(
        key for key, value in full_schema.get("properties", {}).items() if _is_id(value)
    )
    schema = _shown(full_schema)
    schema.setdefault("properties", {})
    for key, value in schema["properties"].items():
        if not _closed_sets_are_text(value):
            raise InvalidDefinition(
                f"tool {name}: the closed set of argument {key} holds more than texts; "
                "use a range for numbers, since 1, 1.0 and true would be one member"
            )
    required_names = schema.get("required", [])
    parameters = tuple(
        Parameter(key, key in required_names, value) for key, value in schema["properties"].items()
    )
    run = model.__pydantic_validator__.validate_python

    def validate(arguments: object) -> dict[str, Any]:
        try:
            return run(arguments).__dict__
        except ValidationError:
            spelt = _ids_as_text(arguments, ids)
            if spelt is None:
                raise
            return run(spelt).__dict__

    return Tool(name, kind, description, parameters, codes, schema, function, validate)


def _closed_sets_are_text(schema: Mapping[str, Any]) -> bool:
    parts = (schema, *schema.get("anyOf", ()))
    members = [item for part in parts for item in part.get("enum", [part.get("const", "")])]
    return all(isinstance(member, str) for member in members)


def _is_id(schema: Mapping[str, Any]) -> bool:
    return any(part.get("format") == _ID_FORMAT for part in (schema, *schema.get("anyOf", ())))


def _ids_as_text(arguments: object, ids: frozenset[str]) -> dict[str, object] | None:
    """The arguments with ids that are integers as decimal text; None if there are none."""
    if not isinstance(arguments, dict):
        return None
    given = cast(dict[str, object], arguments)
    spelt = {key: str(value) for key, value in given.items() if key in ids and type(value) is int}
    return {**given, **spelt} if spelt else None


class Toolbox(Mapping[str, Tool]):
    """The tools of a suite, by name, in the order that an agent sees them."""

    def __init__(self, *tools: Tool) -> None:
        self._tools: Final = {item.name: item for item in tools}
        if len(self._tools) < len(tools):
            raise InvalidDefinition("two tools of a suite share a name")

    def __getitem__(self, name: str) -> Tool:
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownName("tool", name, self._tools) from None

    def get(self, name: str, default: Any = None) -> Any:
        """The tool of that name, or the default."""
        return self._tools.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tools' names."""
        return tuple(self._tools)


class Dispatched(NamedTuple):
    """One call, carried out or refused.

    Attributes:
        result_json: the result as canonical JSON.
        kind: the tool's kind; None for a tool that does not exist.
        arguments: as validated; None when they did not fit.
        changes: the net row changes that the call left.
        bug: what the tool raised by mistake; then the result is `internal_error`.
    """

    result: Result
    result_json: bytes
    kind: Kind | None
    arguments: Mapping[str, Any] | None = None
    changes: tuple[RowChange, ...] = ()
    bug: Exception | None = None


def dispatch(
    toolbox: Toolbox, world: World, desk: Desk, name: str, arguments: object
) -> Dispatched:
    """Carry out one call: all of it, or nothing and a refusal."""
    chosen = toolbox.get(name)
    if chosen is None:
        return _answered(_unknown_tool(toolbox), None)
    try:
        values = chosen.validate(arguments)
    except ValidationError as error:
        return _answered(_invalid_arguments(chosen, arguments, error), chosen.kind)
    try:
        kept = world.atomic(lambda: _checked(chosen, desk, chosen.function(desk, **values)))
    except Refusal as refusal:
        desk.log_rows.clear()
        try:
            return _answered(_refused(chosen, refusal), chosen.kind, values)
        except (InvalidDefinition, TypeError) as error:
            bug: Exception = error
    except ConstraintViolation:
        desk.log_rows.clear()
        return _answered(_common("conflict"), chosen.kind, values)
    except Exception as error:
        desk.log_rows.clear()
        bug = error
    else:
        return Dispatched(*kept.value, chosen.kind, values, kept.changes)
    return _answered(_common("internal_error"), chosen.kind, values, bug)


def _answered(
    result: Result,
    kind: Kind | None,
    arguments: Mapping[str, Any] | None = None,
    bug: Exception | None = None,
) -> Dispatched:
    return Dispatched(result, result.to_json(), kind, arguments, bug=bug)


def _refused(chosen: Tool, refusal: Refusal) -> Result:
    if refusal.code not in chosen.codes:
        raise InvalidDefinition(f"{chosen.name} refused with {refusal.code}, undeclared")
    return Result(False, refusal.code, refusal.sentence, refusal.data)


def _checked(chosen: Tool, desk: Desk, result: Result) -> tuple[Result, bytes]:
    """The result, if the tool kept to what it declares; runs before the call is kept."""
    if result.code not in chosen.codes:
        raise InvalidDefinition(f"{chosen.name} answered {result.code}, which it does not declare")
    if desk.touched and (chosen.kind != "write" or not result.ok):
        raise InvalidDefinition(f"{chosen.name} changed rows, which a {chosen.kind} must not")
    return result, result.to_json()


def _common(code: str) -> Result:
    return Result(False, code, COMMON_CODES[code])


def _unknown_tool(toolbox: Toolbox) -> Result:
    return Result(
        False,
        "unknown_tool",
        f"There is no such tool. The tools are: {', '.join(toolbox.names)}.",
    )


def _invalid_arguments(chosen: Tool, arguments: object, error: ValidationError) -> Result:
    problems = chosen.problems(arguments, error)
    sentence = "; ".join(f"`{name}` {problem}" for name, problem in problems.items())
    return Result(
        False, "invalid_arguments", f"Nothing was done: {sentence}.", {"problems": problems}
    )
