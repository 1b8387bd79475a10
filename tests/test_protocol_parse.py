import json
import string
import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from deskgym import Action, Toolbox, load_suite
from deskgym.protocol import (
    CALL_CHARACTERS_MAX,
    DEPTH_MAX,
    ERROR_CODES,
    NUMBER_CHARACTERS_MAX,
    CallError,
    Parsed,
    format_call,
    parse,
)
from deskgym.protocol.tag import CLOSERS, OPENERS
from tools.fuzz_protocol import tag_shaped

TOOLBOX = load_suite("service").toolbox
ORDER = Action("get_order", {"order_id": "S-410"})
CALL = '<tool_call>{"name": "get_order", "arguments": {"order_id": "S-410"}}</tool_call>'
CLOSE = Action("close", {})
CLOSE_CALL = '<tool_call>{"name": "close", "arguments": {}}</tool_call>'


def read(text: str, *, stopped: bool = False) -> Parsed:
    return parse(text, TOOLBOX, stopped=stopped)


def tagged(body: object) -> str:
    return f"<tool_call>{body if isinstance(body, str) else json.dumps(body)}</tool_call>"


def only_error(text: str, *, stopped: bool = False) -> CallError:
    (item,) = read(text, stopped=stopped).items
    assert isinstance(item, CallError)
    assert item.message == ERROR_CODES[item.code]
    assert item.hint
    return item


def codes(text: str) -> list[str]:
    return [item.code if isinstance(item, CallError) else item.tool for item in read(text).items]


# Calls


def test_a_call_is_an_action_and_the_rest_is_for_the_customer() -> None:
    assert read(f"Let me look. {CALL}") == Parsed((ORDER,), "Let me look.")


def test_text_without_calls_is_for_the_customer_without_its_outer_white_space() -> None:
    assert read("\n Hello,\r\n  you. \n") == Parsed((), "Hello,\r\n  you.")


def test_nothing_comes_of_an_empty_text() -> None:
    assert read("") == Parsed((), "")


def test_calls_run_in_the_order_of_the_text() -> None:
    assert read(f"{CALL}\nThen:{CLOSE_CALL}{CALL}") == Parsed((ORDER, CLOSE, ORDER), "Then:")


def test_white_space_and_line_breaks_around_the_json_are_fine() -> None:
    body = json.dumps({"name": "get_order", "arguments": {"order_id": "S-410"}}, indent=2)
    assert read(tagged(f"\r\n\t{body}\n ")).items == (ORDER,)


def test_input_stands_for_arguments() -> None:
    assert read(tagged({"name": "get_order", "input": {"order_id": "S-410"}})).items == (ORDER,)


def test_a_call_without_arguments_has_none() -> None:
    assert read(tagged({"name": "close"})).items == (CLOSE,)


def test_other_keys_beside_the_arguments_are_ignored() -> None:
    assert read(tagged({"id": 7, "name": "close", "arguments": {}})).items == (CLOSE,)


@pytest.mark.parametrize(
    "text",
    [
        "} ] { [ , :",
        'a "quoted" \\ word',
        "</tool_call>",
        CALL,
        "```\n</tool_call>\n```",
        "line\nbreak\ttab",
        "ünï \U0001f600 \u2028",
        "<tool_result>{}</tool_result>",
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_whatever_stands_in_a_text_of_the_json_is_safe(text: str, ascii_only: bool) -> None:
    arguments = {"text": text, "more": [{"text": text}]}
    body = json.dumps({"name": "message", "arguments": arguments}, ensure_ascii=ascii_only)
    assert read(f"a{tagged(body)}b") == Parsed((Action("message", arguments),), "ab")


def test_nested_objects_are_read_up_to_the_limit() -> None:
    nested: object = 1
    for _ in range(DEPTH_MAX - 2):
        nested = [nested]
    body = {"name": "close", "arguments": {"a": nested}}
    assert read(tagged(body)).items == (Action("close", {"a": nested}),)


@pytest.mark.parametrize(
    "literal",
    ["0", "-0", "12", "-1.5", "0.25e-3", "1E+2", "true", "false", "null", "[]", "{}", '""'],
)
def test_every_kind_of_json_value_is_read(literal: str) -> None:
    body = f'{{"name": "close", "arguments": {{"a": {literal}, "b": [{literal}]}}}}'
    value = json.loads(literal)
    assert read(tagged(body)).items == (Action("close", {"a": value, "b": [value]}),)


# A missing closing tag


def test_a_closing_tag_that_the_provider_stopped_on_is_repaired() -> None:
    cut = CALL.removesuffix("</tool_call>")
    assert read(cut, stopped=True).items == (ORDER,)
    assert read(f"{CLOSE_CALL}{cut}\n", stopped=True).items == (CLOSE, ORDER)


def test_a_missing_closing_tag_is_an_error_where_the_provider_did_not_stop_on_it() -> None:
    assert only_error(CALL.removesuffix("</tool_call>")).code == "unclosed_tag"


@pytest.mark.parametrize(
    "text",
    [CALL[:length] for length in range(len("<tool_call"), len(CALL))] + [CALL[:-12] + " And now?"],
)
def test_a_call_that_breaks_off_is_unclosed(text: str) -> None:
    assert read(text).visible == ""
    assert only_error(text).code == "unclosed_tag"


def test_json_that_the_stop_sequence_cut_is_malformed() -> None:
    error = only_error('<tool_call>{"name": "message", "arguments": {"text": "', stopped=True)
    assert error.code == "malformed_json"
    assert "\\u003c" in error.hint


def test_json_with_something_after_it_is_malformed_where_the_provider_stopped() -> None:
    cut = CALL.removesuffix("</tool_call>")
    assert only_error(cut + "}", stopped=True).code == "malformed_json"


@pytest.mark.parametrize("text", ["Hello", f"```\n{CALL[:-12]}", "", "<tool_result>"])
def test_a_stop_outside_a_call_means_nothing(text: str) -> None:
    assert read(text, stopped=True) == read(text)
    assert read(text).items == ()


def test_a_call_that_follows_an_unclosed_one_directly_is_run() -> None:
    assert codes(f"{CALL.removesuffix('</tool_call>')}\n{CLOSE_CALL}") == ["unclosed_tag", "close"]


# Errors


@pytest.mark.parametrize(
    "body",
    [
        "",
        "get_order(S-410)",
        "[]",
        '"close"',
        "7",
        "{'name': 'close'}",
        "{name: close}",
        '{"name": "close",}',
        '{"name" "close"}',
        '{"name": "close"',
        '{"name": "close"}}',
        '{"name": "close"} {"name": "close"}',
        '{"name": "close", "arguments": {"a": [1,]}}',
        '{"name": "close", "arguments": {"a": [1}}',
        '{"name": "close", "arguments": {"a": "line\nbreak"}}',
        '{"name": "close", "arguments": {"a": "\\x41"}}',
        '{"name": "close", "arguments": {"a": "\\u12g4"}}',
        '{"name": "close", "arguments": {"a": tru}}',
        '{"name": "close", /* now */ "arguments": {}}',
        '```json\n{"name": "close"}\n```',
        '{"name": "close", "name": "close"}',
        '{"name": "close", "arguments": {"a": 1, "a": 1}}',
        *(
            f'{{"name": "close", "arguments": {{"a": {number}}}}}'
            for number in (
                "NaN",
                "Infinity",
                "-Infinity",
                "01",
                "1.",
                ".5",
                "+1",
                "1e",
                "0x1",
                "--1",
                "١",
            )
        ),
    ],
)
def test_what_is_not_one_strict_json_object_is_malformed(body: str) -> None:
    text = f"a{tagged(body)}b"
    assert only_error(text).code == "malformed_json"
    assert read(text).visible == "ab"


@pytest.mark.parametrize(
    "body", [{}, {"arguments": {}}, {"name": ""}, {"name": None}, {"name": 7}, {"name": ["close"]}]
)
def test_a_call_without_a_name_is_an_error(body: object) -> None:
    assert only_error(tagged(body)).code == "missing_name"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("get_ordre", "Did you mean get_order?"),
        ("GET_ORDER", "Did you mean get_order?"),
        (" get_order ", "Did you mean get_order?"),
        ("zzz", f"The tools are: {', '.join(TOOLBOX.names)}."),
        ("\ud800" * 30_000, f"The tools are: {', '.join(TOOLBOX.names)}."),
    ],
)
def test_an_unknown_tool_is_answered_with_the_nearest_name_or_all(name: str, hint: str) -> None:
    error = only_error(tagged({"name": name, "arguments": {}}))
    assert (error.code, error.hint) == ("unknown_tool", hint)


def test_a_toolbox_without_tools_says_so() -> None:
    (error,) = parse(CALL, Toolbox()).errors
    assert (error.code, error.hint) == ("unknown_tool", "The tools are: none.")


@pytest.mark.parametrize(
    "rest",
    [
        {"arguments": []},
        {"arguments": None},
        {"arguments": 7},
        {"arguments": '{"order_id": "S-410"}'},
        {"input": []},
        {"arguments": {}, "input": {}},
        {"order_id": "S-410"},
    ],
)
def test_arguments_that_are_no_object_are_an_error(rest: dict[str, object]) -> None:
    assert only_error(tagged({"name": "get_order", **rest})).code == "malformed_arguments"


@pytest.mark.parametrize(
    "value",
    [
        "[" * DEPTH_MAX + "]" * DEPTH_MAX,
        "1" * (NUMBER_CHARACTERS_MAX + 1),
        "1e999",
        "-1e999",
        '"' + "a" * CALL_CHARACTERS_MAX + '"',
    ],
)
def test_a_call_beyond_the_limits_is_an_error_and_ends_where_it_should(value: str) -> None:
    body = f'{{"name": "close", "arguments": {{"a": {value}}}}}'
    text = f"a{tagged(body)}b{CLOSE_CALL}"
    assert codes(text) == ["limit_exceeded", "close"]
    assert read(text).visible == "ab"


@pytest.mark.parametrize(
    "tag",
    [
        "<Tool_Call>",
        "<TOOL_CALL>",
        "< tool_call >",
        "<tool_call >",
        '<tool_call id="1">',
        "<tool-call>",
        "<toolcall>",
        "<tool_calls>",
        "<|tool_call|>",
        "<tool_\ncall>",
        "<tool\u200b_call>",
        "<tool\x00_call>",
        "<ｔｏｏｌ_call>",
        "＜tool_call＞",
        "‹tool_call›",
        "⟨tool_call⟩",
        "<tool_call\n",
        "<tool_call",
    ],
)
def test_an_opening_tag_that_is_not_exact_is_an_error_and_hides_the_call(tag: str) -> None:
    text = f'a{tag}{{"name": "close"}}</tool_call>b'
    assert only_error(text).code == "malformed_tag"
    assert read(text).visible == "ab"


@pytest.mark.parametrize(
    "tag", ["</Tool_Call>", "</tool_call >", "< /tool_call>", "＜/tool_call＞"]
)
def test_a_closing_tag_that_is_not_exact_is_an_error(tag: str) -> None:
    text = f'a<tool_call>{{"name": "close"}}{tag}b'
    assert only_error(text).code == "malformed_tag"
    assert read(text).visible == "ab"


def test_errors_and_calls_keep_their_order() -> None:
    text = f"{CALL}{tagged('oops')}{CLOSE_CALL}{tagged({})}"
    assert codes(text) == ["get_order", "malformed_json", "close", "missing_name"]


@pytest.mark.parametrize(
    "body",
    [
        f'{{"name": "message", "arguments": {{"text": "as in {CALL[:-12]}',
        f"oops {CALL[:-12]}",
        '{"name": "close"} and then <tool_call>{"name": "close"}',
        "<tool_call>" * 3,
    ],
)
def test_nothing_runs_that_stands_inside_a_malformed_call(body: str) -> None:
    assert codes(tagged(body)) == ["malformed_json"]


def test_a_closing_tag_in_a_text_does_not_end_json_that_goes_wrong_later() -> None:
    text = 'a<tool_call>{"name": "</tool_call>", oops}</tool_call>b'
    assert read(text).visible == "ab"


# Fenced code blocks


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("fence", ["```", "~~~", "`````", "~~~~"])
@pytest.mark.parametrize("indent", ["", " ", "   "])
def test_a_call_in_a_fenced_block_is_not_run_and_not_shown(
    end: str, fence: str, indent: str
) -> None:
    block = f"{indent}{fence}json{end}{CALL}{end}{indent}{fence}  {end}"
    assert read(f"Look:{end}{block}{CLOSE_CALL}Done") == Parsed((CLOSE,), f"Look:{end}Done")


@pytest.mark.parametrize(
    "inner",
    [
        "```",
        "~~~",
        "~~~~~",
        "````json",
        "    ````",
        "x ````",
        "> ````",
        "```\n```",
        "<tool_call>",
    ],
)
def test_a_fence_ends_with_its_own_kind_and_length_alone(inner: str) -> None:
    text = f"a\n````\n{inner}\n{CALL}\n````\n{CLOSE_CALL}b"
    assert read(text) == Parsed((CLOSE,), "a\nb")


def test_a_longer_fence_closes_too() -> None:
    assert read(f"```\n{CALL}\n`````\n{CLOSE_CALL}").items == (CLOSE,)


@pytest.mark.parametrize(
    "opening", ["```", "~~~ text ~~~", "````\n```", "```\n    ```", "```\n~~~"]
)
def test_an_unclosed_fence_lasts_to_the_end(opening: str) -> None:
    assert read(f"a\n{opening}\n{CALL}\nb") == Parsed((), "a")


@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [
        ("> ", "> ", "> "),
        (">", ">", ">"),
        ("- ", "  ", "  "),
        ("12. ", "    ", "    "),
        ("1) > * ", "   >   ", "   >   "),
        ("   > ", "> ", "> "),
        ("1. Look:\n\n    ", "    ", "    "),
        ("- Look:\n\n\t", "\t", "\t"),
        ("- Look:\n  - So:\n\n      ", "      ", "    "),
    ],
)
def test_a_fence_in_a_quote_or_list_is_one_too(before: str, inside: str, after: str) -> None:
    text = f"{before}```\n{inside}{CALL}\n{after}```\n{CLOSE_CALL}b"
    shown = before[: before.rfind("\n") + 1] + "b"
    assert read(text) == Parsed((CLOSE,), shown)


@pytest.mark.parametrize(
    ("before", "inside"),
    [("> ", "```"), ("> ", ">    ```"), ("> ", ">> ```"), ("- ", "> ```"), ("- ", "      ```")],
)
def test_a_fence_in_a_quote_or_list_ends_in_the_same_place_alone(before: str, inside: str) -> None:
    assert read(f"{before}```\n{inside}\n{CALL}") == Parsed((), "")


@pytest.mark.parametrize("code", [f"```{CALL}```", f"  ``` {CALL} ``` is how"])
def test_a_line_that_opens_and_closes_a_fence_is_a_block(code: str) -> None:
    assert read(f"a\n{code}\n{CLOSE_CALL}b") == Parsed((CLOSE,), "a\nb")


@pytest.mark.parametrize(
    "line",
    ["    ```", "\t```", "x ```", "``", "`` `", "~~", "1.```", "-```", "1234567890. ```", "#```"],
)
def test_what_opens_no_fence_leaves_the_call_after_it_alone(line: str) -> None:
    assert read(f"a\n{line}\n{CALL}") == Parsed((ORDER,), f"a\n{line}")


def test_a_call_in_inline_code_is_a_call() -> None:
    assert read(f"`{CALL}`").items == (ORDER,)


LINES = st.sampled_from(
    [
        "```", "````", "~~~", "~~~~~", "```json", "~~~ a ~~~", " ```", "   ~~~", "    ```", "```  ",
        "text", "", "`` ` ``", "call", "call", "call",
    ]
)  # fmt: skip


@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_calls_that_run_are_those_that_commonmark_has_outside_fences(
    lines: list[str], end: str
) -> None:
    numbered = [
        format_call(Action("close", {"n": number})) if line == "call" else line
        for number, line in enumerate(lines)
    ]
    text = end.join(numbered)
    tokens = MarkdownIt("commonmark").parse(text)
    fenced = "".join(token.content for token in tokens if token.type == "fence")
    outside = [line for line in numbered if line.startswith("<") and line not in fenced]
    assert [format_call(action) for action in read(text).calls] == outside


# What the customer sees


@pytest.mark.parametrize(
    "tag",
    [
        "</tool_call>",
        "<tool_result>",
        "</tool_result>",
        "<tool_error>",
        "</tool_error>",
        "<TOOL_RESULT/>",
        "< / tool result >",
        '<tool_result id="7">',
        "＜tool_result＞",
        "⟨/tool_error⟩",
        "<<tool_result>",
        "<tool_<tool_result>",
        "<tool_</tool_call>",
    ],
)
def test_a_tag_without_a_call_is_left_out(tag: str) -> None:
    assert read(f"a{tag}b") == Parsed((), "ab")


@pytest.mark.parametrize(
    "text",
    [
        "<tool_<tool_call>call>",
        f"<tool_{CALL}call>",
        f"<{CALL}tool_call>",
        "<tool_</tool_call>call>",
        "<tool_<tool_</tool_result>result>result>",
        "<to\n```\n```\nol_call>",
        "<\n```\nx\n```\ntool_call>",
        "<" * 100 + "tool_result>" * 100,
        "<tool_result",
        "<tool_resul",
    ],
)
def test_no_tag_forms_of_what_is_left(text: str) -> None:
    assert not tag_shaped(read(text).visible)
    assert not tag_shaped(read(text + "call>").visible)


@pytest.mark.parametrize(
    "text",
    [
        "3 < 5, and 7 > 2",
        "I <3 tools",
        "1 << 2 <<< 3",
        "<tool_<b>bold</b>",
        "<b>tool</b> call",
        "«Bonjour»",
        "tool_call",
        "a <- b",
        "<",
        "1. one\n2. two\n> three\n- four",
        "<too",
        "line\r\n\r\n  line",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert read(text) == Parsed((), text)


@pytest.mark.parametrize("cut", [CALL, "<tool_error>", "</tool_call>", f"\n```\n{CALL}\n```\n"])
def test_the_beginning_of_a_tag_goes_with_what_is_cut_out_behind_it(cut: str) -> None:
    text = f"a <tool_{cut}call>b"
    assert read(text).visible == "a call>b"
    assert read(text).errors == ()


def test_a_tag_that_breaks_off_is_left_out_once_its_first_word_is_there() -> None:
    assert read("Hello <tool").visible == "Hello"
    assert read("Hello <tool_erro").visible == "Hello"


def test_a_tag_that_its_line_does_not_close_takes_the_rest_of_the_line() -> None:
    assert read("a<tool_result b\nc").visible == "a\nc"


def test_lone_surrogates_become_replacement_characters() -> None:
    assert read("a\ud800b\udfff").visible == "a\ufffdb\ufffd"


def test_surrogate_pairs_become_the_character_they_stand_for() -> None:
    assert read("\ud83d\ude00").visible == "\U0001f600"


def test_every_bracket_that_unicode_makes_of_an_ascii_one_is_known() -> None:
    for brackets, plain in ((OPENERS, "<"), (CLOSERS, ">")):
        every = map(chr, range(0x110000))
        made = {each for each in every if plain in unicodedata.normalize("NFKD", each)}
        assert made <= set(brackets)


# Whatever the text


HUGE = 1_000_000


@pytest.mark.parametrize(
    "unit",
    [
        "<tool_call>",
        "</tool_call>",
        "<tool_call>{",
        '<tool_call>{"a":',
        '{"a":',
        "[",
        "```",
        "```\n",
        "~~~ ",
        "<",
        "< ",
        "<tool_",
        "> ",
        "1. ",
        "\\",
        '"',
        "\x00",
        "\ud800",
        "\r",
        " ",
    ],
)
@pytest.mark.parametrize("prefix", ["", '<tool_call>{"name": ', '<tool_call>{"name": "'])
def test_a_large_text_of_anything_is_read(unit: str, prefix: str) -> None:
    text = prefix + unit * (HUGE // 20 // len(unit))
    for stopped in (True, False):
        parsed = read(text, stopped=stopped)
        assert parsed.calls == ()
        assert not tag_shaped(parsed.visible)


@pytest.mark.parametrize("unit", ["<tool_call>", "```", '{"a":'])
def test_a_megabyte_is_read(unit: str) -> None:
    assert read(unit * (HUGE // len(unit))).calls == ()


def test_a_megabyte_of_nesting_is_one_call_beyond_the_limits() -> None:
    depth = HUGE // 6
    body = '{"name": "close", "arguments": ' + '{"a":' * depth + "1" + "}" * depth + "}"
    assert codes(tagged(body) + CLOSE_CALL) == ["limit_exceeded", "close"]


FRAGMENTS = st.sampled_from(
    [
        "<tool_call>", "</tool_call>", "<tool_result>", "<tool_", "call>", "<", ">", "```", "~~~",
        "\n", "\r\n", " ", '{"name": "close"', '"arguments": {}', "}", ",", '"', "\\", "＜",
        "tool", "/", CALL,
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(),
    st.text(st.characters(codec=None)),
    st.text(st.sampled_from('<>/toolcaresu_ `~\n\r{}"\\:')),
    st.lists(st.one_of(FRAGMENTS, st.text(max_size=3)), max_size=25).map("".join),
)


@given(TEXTS, st.booleans())
def test_no_text_raises_and_none_shows_a_tag(text: str, stopped: bool) -> None:
    parsed = read(text, stopped=stopped)
    assert not tag_shaped(parsed.visible)
    parsed.visible.encode()
    assert {error.code for error in parsed.errors} <= ERROR_CODES.keys()
    assert all(call.tool in TOOLBOX for call in parsed.calls)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
ACTIONS = st.builds(
    Action, st.sampled_from(TOOLBOX.names), st.dictionaries(st.text(), JSON_VALUES, max_size=4)
)
# Prose: no bracket, and no line that could open a fence.
PROSE = st.text(st.sampled_from(string.ascii_letters + string.digits + " .,;!?äß\U0001f600\n"))


def canonical(action: Action) -> Action:
    return Action.from_json(json.loads(action.to_json()))


@given(st.lists(st.tuples(PROSE, ACTIONS), max_size=4), PROSE)
def test_every_call_that_is_formatted_is_read_back_in_any_prose(
    parts: Iterable[tuple[str, Action]], end: str
) -> None:
    parts = list(parts)
    text = "".join(prose + format_call(action) for prose, action in parts) + end
    shown = "".join(prose for prose, _ in parts) + end
    calls = tuple(canonical(action) for _, action in parts)
    assert read(text) == Parsed(calls, shown.strip())


@given(ACTIONS)
def test_a_formatted_call_in_a_fence_is_never_run(action: Action) -> None:
    assert read(f"```\n{format_call(action)}\n```\nb") == Parsed((), "b")
