from __future__ import annotations

import decimal
import enum
import math
import uuid
from collections import OrderedDict, UserDict
from datetime import UTC, date, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym import Action, Observation, Result, Step, call
from deskgym.trajectory import DEPTH_MAX, TEXT_CHARACTERS_MAX


class Color(enum.Enum):
    RED = "red"


class Size(str, enum.Enum):  # noqa: UP042, an older way that agents' code still has
    LARGE = "large"


class Number(enum.IntEnum):
    ONE = 1


class Shout(str):
    def __str__(self) -> str:
        return self.upper()


class Id(int):
    pass


def recorded(**arguments: object) -> Any:
    return orjson.loads(Action("t", arguments).to_json())["arguments"]


def unsupported(what: str) -> dict[str, str]:
    return {"unsupported": what}


def nested(depth: int, leaf: object = 0) -> object:
    """A leaf within so many lists."""
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def test_an_action_is_compact_json_in_the_order_given():
    action = call("issue_refund", order_id="S-410", amount_cents=4800, reason=None)
    assert action.to_json() == (
        b'{"tool":"issue_refund","arguments":'
        b'{"order_id":"S-410","amount_cents":4800,"reason":null}}'
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [(4800, 4800.0), (4800, "4800"), (1, True), (0, False), (0, None), ("a", "a "), (0.0, -0.0)],
)
def test_values_that_python_or_people_confuse_are_recorded_apart(one: object, other: object):
    assert call("t", x=one).to_json() != call("t", x=other).to_json()


@pytest.mark.parametrize(
    "value",
    ["", "é\n\x00\u2028", 0, -1, 2**53, -(2**53), 1.5, -0.0, 1e300, True, False, None, [], {},
     [1, [2.5, {"a": None}]], {"a": {"b": ["null"]}}],
)  # fmt: skip
def test_a_json_value_is_recorded_as_it_is(value: object):
    assert recorded(x=value) == {"x": value}
    assert type(recorded(x=value)["x"]) is type(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, unsupported("not a finite number")),
        (math.inf, unsupported("not a finite number")),
        (-math.inf, unsupported("not a finite number")),
        (2**53 + 1, unsupported("a huge integer")),
        (-(10**30), unsupported("a huge integer")),
        (10**5000, unsupported("a huge integer")),
        ("\ud800", unsupported("not Unicode text")),
        ("x" * 32_769, unsupported("a text of 32769 characters")),
        (b"bytes", unsupported("a bytes")),
        ({1, 2}, unsupported("a set")),
        (frozenset(), unsupported("a frozenset")),
        (1j, unsupported("a complex")),
        (datetime(2026, 3, 1, tzinfo=UTC), unsupported("a datetime")),
        (date(2026, 3, 1), unsupported("a date")),
        (decimal.Decimal("48.00"), unsupported("a Decimal")),
        (uuid.UUID(int=0), unsupported("a UUID")),
        (Color.RED, unsupported("a Color")),
        (orjson.Fragment(b"{"), unsupported("a Fragment")),
        (len, unsupported("a builtin_function_or_method")),
        (Action("t", {}), ["t", {}]),
        ((1, "a"), [1, "a"]),
        (Size.LARGE, "large"),
        (Shout("quiet"), "quiet"),
        (Number.ONE, 1),
        (Id(7), 7),
        (OrderedDict(a=(1,)), {"a": [1]}),
        (UserDict({"a": 1}), {"a": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("beside", [0, None, 1.5])
def test_what_is_no_json_value_is_marked_whatever_stands_beside_it(
    value: object, expected: object, beside: object
):
    assert recorded(x=value, beside=beside) == {"x": expected, "beside": beside}
    assert recorded(x=[value]) == {"x": [expected]}


def test_a_text_of_the_greatest_length_is_kept():
    assert recorded(x="x" * TEXT_CHARACTERS_MAX) == {"x": "x" * 32_768}
    assert recorded(x="é" * TEXT_CHARACTERS_MAX) == {"x": "é" * 32_768}


@pytest.mark.parametrize("leaf", [0, None, "text"])
def test_nesting_stops_at_its_limit(leaf: object):
    # The arguments lie 0 deep, so the innermost of 16 lists lies 16 deep.
    assert recorded(x=nested(DEPTH_MAX, leaf)) == {"x": nested(16, leaf)}
    cut = nested(16, unsupported("nested too deep"))
    assert recorded(x=nested(DEPTH_MAX + 1, leaf)) == {"x": cut}
    assert recorded(x=nested(1_000, leaf)) == {"x": cut}


@pytest.mark.parametrize(
    ("leaf", "mark"),
    [
        (b"", "a bytes"),
        (2**60, "a huge integer"),
        (math.nan, "not a finite number"),
        ("\ud800", "not Unicode text"),
        ("x" * 40_000, "a text of 40000 characters"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_mark_that_would_be_too_deep_says_so(leaf: object, mark: str):
    assert recorded(x=nested(15, leaf)) == {"x": nested(15, unsupported(mark))}
    assert recorded(x=nested(16, leaf)) == {"x": nested(16, unsupported("nested too deep"))}


def test_a_list_within_itself_is_cut_off():
    endless: list[object] = []
    endless.append(endless)
    assert recorded(x=endless) == {"x": nested(16, unsupported("nested too deep"))}


@pytest.mark.parametrize("key", [1, None, (), "\ud800", "x" * 32_769, Color.RED])
def test_a_name_that_is_no_text_is_marked(key: object):
    action = Action("t", {key: 1, "a": 2})
    assert orjson.loads(action.to_json())["arguments"] == {"unsupported": 1, "a": 2}


@pytest.mark.parametrize(
    "name", [["t"], {}, 5, None, True, b"t", "\ud800", "x" * 32_769, Color.RED]
)
def test_a_tool_that_is_no_text_is_marked(name: Any):
    assert Action(name, {}).to_json() == b'{"tool":"unsupported","arguments":{}}'


def test_a_tools_name_may_be_a_text_of_another_class():
    assert Action(Size.LARGE, {}).to_json() == b'{"tool":"large","arguments":{}}'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"tool": "t", "arguments": {"x": 1}}, Action("t", {"x": 1})),
        ({"tool": "t"}, Action("t", {})),
        ({"arguments": [1]}, Action("", [1])),
        ({"tool": "t", "arguments": None, "more": 1}, Action("t", None)),
        ([1], Action("", [1])),
        ("close", Action("", "close")),
        (None, Action("", None)),
    ],
)
def test_any_json_is_read_as_an_action(value: object, expected: Action):
    assert Action.from_json(value) == expected


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),
    st.binary(),
    st.complex_numbers(),
    st.datetimes(),
    st.uuids(),
    st.decimals(),
    st.sets(st.integers()),
    st.sampled_from([*Color, *Size, *Number, Shout("a"), Id(2**60), object(), int, ...]),
    st.binary().map(orjson.Fragment),
)
OBJECTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(st.characters()) | st.integers() | st.none(), inner, max_size=4),
        st.dictionaries(st.text(), inner, max_size=4).map(UserDict),
        inner.map(lambda value: nested(14, value)),
    ),
    max_leaves=12,
)


@given(tool=OBJECTS, arguments=OBJECTS | st.dictionaries(st.text(), OBJECTS, max_size=4))
def test_whatever_an_agent_sent_is_recorded_and_read_back_the_same(tool: Any, arguments: object):
    encoded = Action(tool, arguments).to_json()
    again = Action.from_json(orjson.loads(encoded))
    assert type(again.tool) is str
    assert again.to_json() == encoded


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(arguments=st.dictionaries(st.text(), JSON, max_size=5))
def test_json_is_recorded_unchanged(arguments: dict[str, object]):
    assert orjson.loads(Action("t", arguments).to_json()) == {"tool": "t", "arguments": arguments}


def test_a_step_gives_its_action_and_result_back():
    result = Result(True, "found", "Found.", {"quantity": 5})
    step = Step(1, call("look", x=1), result.to_json(), (), None)
    assert step.action == call("look", x=1)
    assert step.result == result


def test_an_observation_is_json_with_and_without_data():
    result = Result(True, "closed", "Closed.")
    observation = Observation(*result, 2, 48, True, "closed")
    assert observation.to_json() == (
        b'{"ok":true,"code":"closed","message":"Closed.","data":{},'
        b'"step":2,"steps_max":48,"done":true,"ended":"closed"}'
    )
    full = Observation(True, "found", "Found.", {"n": 1}, 1, 48)
    assert full.to_dict()["data"] == {"n": 1}
    assert (full.done, full.ended) == (False, None)
