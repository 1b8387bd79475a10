"""What goes into an episode and what comes out: actions, observations, and the ordered steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import orjson

from deskgym.desk import CustomerReply, Ending, Result, compact_json
from deskgym.store import RowChange

TEXT_CHARACTERS_MAX: Final = 32_768
DEPTH_MAX: Final = 16
_SAFE_INTEGER: Final = 2**53
_UNSUPPORTED: Final = "unsupported"


class Action(NamedTuple):
    """One tool call. Whatever an agent sent is an action, however malformed.

    Attributes:
        tool: the tool's name.
        arguments: a mapping by argument name, if the agent got it right.
    """

    tool: str
    arguments: object

    @classmethod
    def from_json(cls, value: object) -> Action:
        """An action from `{"tool": …, "arguments": {…}}`; what is missing is left empty."""
        if not isinstance(value, dict):
            return cls("", value)
        fields = cast(dict[str, object], value)
        return cls(cast(str, fields.get("tool", "")), fields.get("arguments", {}))

    def to_json(self) -> bytes:
        """The action as canonical JSON, as it is recorded."""
        return compact_json(self.canonical().to_dict())

    def canonical(self) -> Action:
        """The action as it is carried out: in plain JSON values that are nobody else's.

        A value that JSON cannot hold (NaN, a lone surrogate, bytes), an integer beyond 2**53, a
        text beyond 32,768 characters and a container nested deeper than 16 become
        `{"unsupported": …}`, which no tool accepts. So does whatever is no JSON value by type,
        even where an encoder would take it (a UUID, an enumeration's member).
        """
        tool, arguments = self
        # Texts and whole numbers side by side are the rule; all else is looked at closely.
        if type(tool) is str and type(arguments) is dict:
            fields = cast(dict[str, object], arguments)
            if _is_flat(tool, fields):
                return Action(tool, fields.copy())
        name = _plain(tool, 0)
        plain = {
            "tool": name if isinstance(name, str) else _UNSUPPORTED,
            "arguments": _plain(self.arguments, 0),
        }
        return Action.from_json(orjson.loads(orjson.dumps(plain)))

    def to_dict(self) -> dict[str, Any]:
        """The action as JSON."""
        return {"tool": self.tool, "arguments": self.arguments}


def call(tool: str, /, **arguments: object) -> Action:
    """An action: `call("get_order", order_id="S-410")`."""
    return Action(tool, arguments)


def _is_flat(tool: str, fields: dict[str, object]) -> bool:
    """Whether they are plain texts, whole numbers, truth values and None, within the limits."""
    texts = tool
    for name, value in fields.items():
        if type(name) is not str:
            return False
        texts += name
        if type(value) is str:
            texts += value
        elif type(value) is int:
            if not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
                return False
        elif value is not None and type(value) is not bool:
            return False
    return len(texts) <= TEXT_CHARACTERS_MAX and (texts.isascii() or _encodes(texts))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _marked(what: str, depth: int) -> object:
    # A mark is an object too. Where one would be too deep it says so, or reading it back and
    # recording it again would change it.
    return {_UNSUPPORTED: what if depth <= DEPTH_MAX else "nested too deep"}


def _plain(value: object, depth: int) -> object:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= _SAFE_INTEGER else _marked("a huge integer", depth)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _marked("not a finite number", depth)
    if isinstance(value, str):
        # The text itself: `str()` of an enumeration's member would be its name.
        text = str.__str__(value)
        if len(text) > TEXT_CHARACTERS_MAX:
            return _marked(f"a text of {len(text)} characters", depth)
        return text if _encodes(text) else _marked("not Unicode text", depth)
    if depth > DEPTH_MAX:
        return _marked("nested too deep", depth)
    if isinstance(value, Mapping):
        items = cast(Mapping[object, object], value).items()
        return {
            name if isinstance(name := _plain(key, 0), str) else _UNSUPPORTED: _plain(
                item, depth + 1
            )
            for key, item in items
        }
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in cast(list[object], value)]
    return _marked(f"a {type(value).__name__}", depth)


class Observation(NamedTuple):
    """What an agent sees after an action: the tool's result and how the episode stands.

    Attributes:
        ok: whether the call did its work.
        code: what happened, from the tool's closed set.
        message: a sentence for the agent.
        data: what a read found, what a write made.
        step: how many actions were used.
        steps_max: how many there are.
        done: whether the episode is over.
        ended: why, if it is.
    """

    ok: bool
    code: str
    message: str
    data: Mapping[str, Any]
    step: int
    steps_max: int
    done: bool = False
    ended: Ending | None = None

    def to_dict(self) -> dict[str, Any]:
        """The observation as JSON."""
        return {**self._asdict(), "data": dict(self.data)}

    def to_json(self) -> bytes:
        """The observation as canonical JSON: the same bytes wherever the same run is made."""
        # A result without data holds a read-only empty mapping, which orjson does not know.
        return orjson.dumps(self.to_dict(), dict)


class Step(NamedTuple):
    """One action of a trajectory, kept small: thousands of episodes lie in memory at once.

    Attributes:
        number: from 1.
        action: what was carried out.
        result_json: the result, as canonical JSON.
        changes: the net row changes that it left.
        ended: why the episode ended with it, if it did.
        reply: what a customer who is no script said to it, if it asked one.
    """

    number: int
    action: Action
    result_json: bytes
    changes: tuple[RowChange, ...]
    ended: Ending | None
    reply: CustomerReply | None = None

    @property
    def action_json(self) -> bytes:
        """The action as canonical JSON."""
        return compact_json(self.action.to_dict())

    @property
    def result(self) -> Result:
        """What it was answered."""
        return Result(**orjson.loads(self.result_json))
