"""The text that teaches a model without native tool calling which tools there are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from deskgym.protocol.message import format_call
from deskgym.tool import Tool, Toolbox
from deskgym.trajectory import Action

_RULES: Final = """\
# Tools

You act by writing tool calls. A call is one JSON object between two tags:

{example}

- The object has the tool's `name` and its `arguments`, an object too; write {{}} for none.
- The JSON is strict: double quotes, each key once, no comments, \\n for a line break in a text.
- Write the tags exactly so, the closing one directly after the object.
- Text outside the tags is for the customer.
- Several calls in one message run in their order.
- A call in a fenced code block is an example: it is not run, and the customer does not see it.
- Each call is answered by <tool_result>…</tool_result>, or by <tool_error>…</tool_error> if it
  could not be read: then nothing was done, and the error says how to write the call right.
  Never write these two yourself.

These are the tools. The schema says what the arguments must be."""


def catalogue(toolbox: Toolbox) -> str:
    """How to call the tools of a toolbox, for a model's system prompt."""
    if not toolbox:
        return "# Tools\n\nThere are no tools."
    shown = next((item for item in toolbox.values() if item.parameters), None)
    shown = shown or next(iter(toolbox.values()))
    rules = _RULES.format(example=format_call(_example(shown)))
    return "\n\n".join([rules, *map(_entry, toolbox.values())])


def _entry(item: Tool) -> str:
    schema = json.dumps(item.schema, ensure_ascii=False)
    return f"## {item.name}\n\n{item.description}\n\nArguments: {schema}"


def _example(item: Tool) -> Action:
    """A call with what the tool requires, in placeholders."""
    required = [parameter for parameter in item.parameters if parameter.required]
    return Action(item.name, {each.name: _placeholder(each.name, each.schema) for each in required})


def _placeholder(name: str, schema: Mapping[str, Any]) -> object:
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    simple: dict[str, object] = {
        "integer": schema.get("minimum", 1),
        "number": schema.get("minimum", 1),
        "boolean": True,
        "array": [],
        "object": {},
    }
    return simple.get(schema.get("type", ""), name.upper())
