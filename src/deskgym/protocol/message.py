"""Write calls, results and errors as the protocol has them."""

from __future__ import annotations

import json
from typing import Final

import orjson

from deskgym.desk import Result
from deskgym.protocol.parsed import OPENING_TAG, STOP_SEQUENCE, CallError
from deskgym.protocol.tag import CLOSERS, OPENERS
from deskgym.trajectory import Action, Observation

# Brackets stand in JSON only inside texts, where they may be escaped.
_ESCAPED: Final = str.maketrans(
    {bracket: f"\\u{ord(bracket):04x}" for bracket in OPENERS + CLOSERS}
)


def _json(value: object) -> str:
    """JSON in which no text can be taken for a tag, whatever a store's records hold."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).translate(_ESCAPED)


def format_call(action: Action) -> str:
    """An action as a call: what `parse` reads back as the same action, in its canonical form."""
    fields = orjson.loads(action.to_json())
    call = {"name": fields["tool"], "arguments": fields["arguments"]}
    return f"{OPENING_TAG}{_json(call)}{STOP_SEQUENCE}"


def format_result(result: Observation | Result) -> str:
    """What a call was answered, for the agent."""
    return f"<tool_result>{_json(result.to_dict())}</tool_result>"


def format_error(error: CallError) -> str:
    """Why a call was not run, for the agent; without what it wrote."""
    fields = {"code": error.code, "message": error.message, "hint": error.hint}
    return f"<tool_error>{_json(fields)}</tool_error>"
