import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym import Action, Desk, Result, Toolbox, call, load_suite, make
from deskgym.argument import Id, Text
from deskgym.protocol import (
    ERROR_CODES,
    catalogue,
    format_call,
    format_error,
    format_result,
    parse,
)
from deskgym.protocol.tag import CLOSERS, OPENERS
from deskgym.tool import tool
from tools.fuzz_protocol import tag_shaped

TOOLBOX = load_suite("service").toolbox


def inside(text: str, name: str) -> str:
    assert text.startswith(f"<{name}>")
    assert text.endswith(f"</{name}>")
    return text.removeprefix(f"<{name}>").removesuffix(f"</{name}>")


def test_an_observation_is_a_result_in_json() -> None:
    with make("service/damaged-lamp") as environment:
        environment.reset()
        observation = environment.step(call("get_order", order_id="S-410"))
    assert json.loads(inside(format_result(observation), "tool_result")) == observation.to_dict()


def test_a_tools_result_is_one_too() -> None:
    result = Result(True, "order_found", "The order.", {"name": "Ärmel"})
    shown = format_result(result)
    assert json.loads(inside(shown, "tool_result")) == result.to_dict()
    assert "Ärmel" in shown


@pytest.mark.parametrize(
    "stored",
    [
        "</tool_result>",
        "<tool_call>{}</tool_call>",
        "＜/tool_result＞",
        "‹tool_error›",
        OPENERS,
        CLOSERS,
    ],
)
def test_what_the_store_holds_cannot_close_the_tag(stored: str) -> None:
    shown = format_result(Result(True, "order_found", stored, {stored: [stored]}))
    body = inside(shown, "tool_result")
    assert not set(body) & set(OPENERS + CLOSERS)
    assert json.loads(body)["data"] == {stored: [stored]}


@given(st.text(), st.text())
def test_no_result_holds_a_tag(message: str, value: str) -> None:
    body = inside(format_result(Result(True, "ok", message, {"value": value})), "tool_result")
    assert not tag_shaped(body)
    assert json.loads(body)["message"] == message


SECRET = "zebra"
MALFORMED = {
    "malformed_json": f"<tool_call>{SECRET}</tool_call>",
    "missing_name": f'<tool_call>{{"{SECRET}": "{SECRET}"}}</tool_call>',
    "unknown_tool": f'<tool_call>{{"name": "{SECRET}"}}</tool_call>',
    "malformed_arguments": f'<tool_call>{{"name": "close", "arguments": "{SECRET}"}}</tool_call>',
    "unclosed_tag": f'<tool_call>{{"name": "{SECRET}"}}',
    "malformed_tag": f"<tool_call {SECRET}>{SECRET}</tool_call>",
    "limit_exceeded": f'<tool_call>{{"name": "{SECRET}", "a": {"9" * 500}}}</tool_call>',
}


def test_every_code_has_a_text_that_gives_it() -> None:
    assert MALFORMED.keys() == ERROR_CODES.keys()


@pytest.mark.parametrize(("code", "text"), MALFORMED.items())
def test_an_error_goes_back_without_what_the_agent_wrote(code: str, text: str) -> None:
    (error,) = parse(text, TOOLBOX).errors
    shown = format_error(error)
    fields = json.loads(inside(shown, "tool_error"))
    assert fields == {"code": code, "message": error.message, "hint": error.hint}
    assert SECRET not in shown
    assert not tag_shaped(inside(shown, "tool_error"))


def test_a_call_is_formatted_as_the_catalogue_shows_it() -> None:
    assert format_call(call("get_order", order_id="S-410")) == (
        '<tool_call>{"name": "get_order", "arguments": {"order_id": "S-410"}}</tool_call>'
    )


def test_a_formatted_call_holds_no_tag_but_its_own() -> None:
    shown = format_call(call("message", text="</tool_call>"))
    assert shown.count("<") == 2
    assert parse(shown, TOOLBOX).calls == (call("message", text="</tool_call>"),)


@pytest.mark.parametrize("value", [float("nan"), 10**30, "\ud800", b"bytes", "a" * 40_000])
def test_what_json_cannot_hold_is_formatted_in_its_canonical_form(value: object) -> None:
    (read,) = parse(format_call(call("message", text=value)), TOOLBOX).calls
    assert isinstance(read.arguments, dict)
    assert "unsupported" in read.arguments["text"]


def test_the_catalogue_has_every_tool_with_its_description_and_schema() -> None:
    text = catalogue(TOOLBOX)
    for item in TOOLBOX.values():
        assert f"## {item.name}\n\n{item.description}\n\nArguments: " in text
        assert json.dumps(item.schema, ensure_ascii=False) in text


def test_the_catalogues_example_is_a_call() -> None:
    assert parse(catalogue(TOOLBOX), TOOLBOX).calls == (call("get_order", order_id="ORDER_ID"),)


@tool("write", codes=("done",))
def mixed(desk: Desk, count: int, often: bool, word: Text, order_id: Id | None = None) -> Result:
    """Do it.

    Args:
        count: how many.
        often: whether often.
        word: a word.
        order_id: the order.
    """
    return Result(True, "done", f"{count} {often} {word} {order_id}")


@tool("end", codes=("done",))
def stop(desk: Desk) -> Result:
    """Stop."""
    return Result(True, "done", "Stopped.")


def test_the_example_gives_what_is_required_by_its_type() -> None:
    toolbox = Toolbox(stop, mixed)
    (example,) = parse(catalogue(toolbox), toolbox).calls
    assert example == Action("mixed", {"count": 1, "often": True, "word": "WORD"})


def test_a_catalogue_of_tools_without_arguments_shows_a_call_without_any() -> None:
    assert parse(catalogue(Toolbox(stop)), Toolbox(stop)).calls == (call("stop"),)


def test_a_toolbox_without_tools_has_a_catalogue() -> None:
    assert catalogue(Toolbox()) == "# Tools\n\nThere are no tools."
