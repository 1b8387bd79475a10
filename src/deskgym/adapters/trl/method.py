"""A tool as a typed method with a Google-style docstring, as transformers reads schemas from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter as Argument
from inspect import Signature
from typing import Any, Final, Literal, Union

from deskgym.tool import Parameter, ToolSchema

_SIMPLE: Final[Mapping[str, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
    "null": None,
}


def method_of(tool: ToolSchema, call: Callable[[Any, Mapping[str, object]], str]) -> Any:
    """The method of a class that makes a call of a tool.

    It takes whatever a model wrote, so that a wrong call is an action of the episode as it is
    everywhere; its signature and its docstring say what would be right.

    Args:
        tool: the tool.
        call: makes the call: what it is bound to, and the arguments by name.
    """

    def method(self: Any, /, **arguments: object) -> str:
        return call(self, arguments)

    parameters = [item.name for item in _parameters(tool)]
    types = {item.name: _type_of(item.schema) for item in _parameters(tool)}
    defaults = {
        item.name: Argument.empty if item.required else item.schema.get("default")
        for item in _parameters(tool)
    }
    # Those with a default come last in a signature; a schema has no order that matters.
    parameters.sort(key=lambda name: defaults[name] is not Argument.empty)
    arguments = [
        Argument(
            name, Argument.POSITIONAL_OR_KEYWORD, default=defaults[name], annotation=types[name]
        )
        for name in parameters
    ]
    receiver = Argument("self", Argument.POSITIONAL_ONLY)
    method.__name__ = method.__qualname__ = tool.name
    method.__doc__ = docstring_of(tool)
    method.__annotations__ = {name: types[name] for name in parameters} | {"return": str}
    signature = Signature([receiver, *arguments], return_annotation=str)
    vars(method)["__signature__"] = signature
    return method


def docstring_of(tool: ToolSchema) -> str:
    """A tool's docstring, in Google's style, from what an agent is told of it."""
    lines = [tool.description]
    if parameters := _parameters(tool):
        lines += ["", "Args:"]
        lines += [f"    {item.name}: {_sentence(item.schema)}" for item in parameters]
    lines += ["", "Returns:", "    What came of it, as JSON."]
    return "\n".join(lines)


def _parameters(tool: ToolSchema) -> list[Parameter]:
    required = tool.schema.get("required", ())
    properties: Mapping[str, Any] = tool.schema.get("properties", {})
    return [Parameter(name, name in required, schema) for name, schema in properties.items()]


def _sentence(schema: Mapping[str, Any]) -> str:
    """What an argument is, with the limits of a number: a type hint cannot say them."""
    text = str(schema.get("description", ""))
    parts = [part for part in (schema, *schema.get("anyOf", ())) if "minimum" in part]
    if not parts:
        return text
    low, high = parts[0]["minimum"], parts[0].get("maximum")
    return f"{text} {f'At least {low}' if high is None else f'From {low} to {high}'}."


def _type_of(schema: Mapping[str, Any]) -> Any:
    """The type hint of a JSON Schema; what no hint says is any value, which the tool checks."""
    if "anyOf" in schema:
        return Union[tuple(_type_of(part) for part in schema["anyOf"])]  # noqa: UP007
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "const" in schema:
        return Literal[schema["const"]]
    if schema.get("type") == "array":
        items = schema.get("items")
        return list[_type_of(items)] if items else list
    return _SIMPLE.get(str(schema.get("type")), Any)
