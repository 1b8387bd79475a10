"""From the JSON object between the tags to the action that it asks for."""

from __future__ import annotations

import difflib
import json
import math
from typing import Any, Final, cast

from deskgym.argument import ID_CHARACTERS_MAX
from deskgym.protocol.parsed import CALL_CHARACTERS_MAX, CallError, call_error
from deskgym.tool import Toolbox
from deskgym.trajectory import Action

SHAPE: Final = 'Write {"name": "TOOL", "arguments": {…}}'


class _Repeated(Exception):
    """An object has a key twice, so that readers differ in what it says."""


class _TooLarge(Exception):
    """A number is larger than a float holds."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _Repeated
    return fields


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _TooLarge
    return value


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def read_call(body: str, toolbox: Toolbox) -> Action | CallError:
    """The action of a call.

    Args:
        body: one JSON object that the scanner found complete and within its limits.
        toolbox: the tools that there are.
    """
    try:
        fields = json.loads(body, object_pairs_hook=_object, parse_float=_float)
    except _Repeated:
        return call_error("malformed_json", "Give each key of an object once.")
    except _TooLarge:
        return call_error("limit_exceeded", "Write a number that a 64-bit float holds.")
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        return call_error("missing_name", f"{SHAPE}, with the name of a tool as text.")
    if name not in toolbox:
        return call_error("unknown_tool", nearest(name, toolbox))
    return _with_arguments(name, fields)


def nearest(name: str, toolbox: Toolbox) -> str:
    """Which tool was probably meant, or which there are."""
    spelt = name[:ID_CHARACTERS_MAX].strip().lower()
    near = difflib.get_close_matches(spelt, toolbox.names, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"The tools are: {', '.join(toolbox.names) or 'none'}."


def _with_arguments(name: str, fields: dict[str, Any]) -> Action | CallError:
    given = [key for key in ("arguments", "input") if key in fields]
    if len(given) > 1:
        return call_error("malformed_arguments", "Give `arguments` alone, without `input`.")
    if not given and len(fields) > 1:
        return call_error("malformed_arguments", f"{SHAPE}: the arguments go inside `arguments`.")
    arguments: object = fields[given[0]] if given else {}
    if isinstance(arguments, str):
        return call_error("malformed_arguments", f"{SHAPE}: an object, not its text.")
    if not isinstance(arguments, dict):
        return call_error("malformed_arguments", f"{SHAPE}: an object, {{}} for no arguments.")
    return Action(name, cast(dict[str, object], arguments))


def read_native_call(name: str, arguments: str, toolbox: Toolbox) -> Action | CallError:
    """The action of a native tool call, held to the same rules as one in the text.

    Args:
        name: the tool's, as the model wrote it.
        arguments: JSON as the model wrote it, which may be anything; nothing at all means none.
        toolbox: the tools that there are.
    """
    if not name:
        return call_error("missing_name", "Call one of the tools by its name.")
    if name not in toolbox:
        return call_error("unknown_tool", nearest(name, toolbox))
    if len(arguments) > CALL_CHARACTERS_MAX:
        return call_error("limit_exceeded", "Write a shorter call.")
    try:
        value = json.loads(
            arguments.strip() or "{}",
            object_pairs_hook=_object,
            parse_float=_float,
            parse_constant=_constant,
        )
    except _Repeated:
        return call_error("malformed_json", "Give each key of an object once.")
    except (_TooLarge, RecursionError):
        return call_error("limit_exceeded", "Write a flatter call, with shorter numbers.")
    except ValueError:
        return call_error("malformed_json", "Give the arguments as one strict JSON object.")
    if isinstance(value, dict):
        return Action(name, cast(dict[str, object], value))
    hint = "Give the arguments as an object, {} for none"
    text = ", not as its text." if isinstance(value, str) else "."
    return call_error("malformed_arguments", hint + text)
