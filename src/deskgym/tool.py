"""Tools: a plain typed function with a docstring becomes a schema and a validator.

```python
@tool("write", codes=("order_cancelled", "order_not_found"))
def cancel_order(desk: Desk, order_id: Id, reason: Text) -> Result:
    \"\"\"Cancel an order that has not left the warehouse.

Args:
        order_id: the order.
        reason: why, in a few words.
    \"\"\"
```
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Final, Literal, NotRequired, cast, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic import create_model as create_pydantic_model
from typing_extensions import TypedDict

from deskgym.argument import ID_CHARACTERS_MAX, ID_FORMAT
from deskgym.desk import Result
from deskgym.errors import InvalidDefinition, UnknownName

Kind = Literal["read", "write", "talk", "end"]
"""What a tool is for: reads change nothing, writes change the store, talk is said to the customer
or the grader, end finishes the episode."""


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
class ToolSchema:
    """A tool as an agent is told of it.

    Attributes:
        name: the function's name.
        kind: what it is for.
        description: the docstring up to its arguments; an agent reads it.
        codes: every code that it answers with, beside the common ones.
        schema: the JSON Schema of its arguments.
        idempotent: whether the same call again changes no record further.
    """

    name: str
    kind: Kind
    description: str
    codes: tuple[str, ...]
    schema: Mapping[str, Any]
    idempotent: bool = field(default=False, kw_only=True)

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
                "idempotentHint": self.idempotent or self.kind in ("read", "end"),
                "openWorldHint": False,
            },
        }


@dataclass(frozen=True)
class Tool(ToolSchema):
    """A tool that an agent can call.

    Attributes:
        parameters: its arguments in order.
        function: what does the work.
        validate: checks arguments; raises ValidationError for those that do not fit.
    """

    parameters: tuple[Parameter, ...]
    function: Callable[..., Result]
    validate: Callable[[object], dict[str, Any]]

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


_STRICT: Final = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)
# A type that is made as the program runs is no business of a type checker.
_make_form: Final = cast(Callable[[str, dict[str, Any]], type], TypedDict)
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


def tool(
    kind: Kind, *, codes: Sequence[str], idempotent: bool = False
) -> Callable[[Callable[..., Result]], Tool]:
    """Make a tool of a function whose first parameter is the desk.

    Args:
        kind: what the tool is for.
        codes: every code that it answers with.
        idempotent: whether the same call again changes no record further; MCP clients are told.
            Reads are, and need not say so.

    Raises:
        InvalidDefinition: the function lacks a docstring, a type, or a sentence for an argument,
            or an argument's closed set holds anything but texts.
    """
    if kind not in get_args(Kind):
        raise InvalidDefinition(f"a tool's kind is one of {', '.join(get_args(Kind))}, not {kind}")

    def decorate(function: Callable[..., Result]) -> Tool:
        made = _make_tool(function, kind, tuple(codes))
        return replace(made, idempotent=True) if idempotent else made

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
    full_schema = create_pydantic_model(name, __config__=_STRICT, **fields).model_json_schema()
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
    run = _validator(name, fields)

    def validate(arguments: object) -> dict[str, Any]:
        try:
            return run(arguments)
        except ValidationError:
            spelt = _ids_as_text(arguments, ids)
            if spelt is None:
                raise
            return run(spelt)

    return Tool(name, kind, description, codes, schema, parameters, function, validate)


def _validator(name: str, fields: Mapping[str, Any]) -> Callable[[object], dict[str, Any]]:
    """What checks the arguments of a call. A typed dictionary costs half of what a model does."""
    kinds = {
        key: annotation if default is ... else NotRequired[annotation]
        for key, (annotation, default) in fields.items()
    }
    form = _make_form(name, kinds)
    run = TypeAdapter[Any](with_config(_STRICT)(form)).validator.validate_python
    defaults = {key: default for key, (_, default) in fields.items() if default not in (..., None)}
    return (lambda arguments: defaults | run(arguments)) if defaults else run


def _closed_sets_are_text(schema: Mapping[str, Any]) -> bool:
    parts = (schema, *schema.get("anyOf", ()))
    members = [item for part in parts for item in part.get("enum", [part.get("const", "")])]
    return all(isinstance(member, str) for member in members)


def _is_id(schema: Mapping[str, Any]) -> bool:
    return any(part.get("format") == ID_FORMAT for part in (schema, *schema.get("anyOf", ())))


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
