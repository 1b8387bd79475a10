from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym import Action, UsageError, load_suite
from deskgym.protocol import Parsed, Stream, parse

TOOLBOX = load_suite("service").toolbox
CALL = '<tool_call>{"name": "get_order", "arguments": {"order_id": "S-410"}}</tool_call>'
ORDER = Action("get_order", {"order_id": "S-410"})


def joined(parts: Iterable[Parsed]) -> Parsed:
    parts = list(parts)
    return Parsed(
        tuple(item for part in parts for item in part.items),
        "".join(part.visible for part in parts),
    )


def stream(pieces: Iterable[str], *, stopped: bool = False) -> Parsed:
    reading = Stream(TOOLBOX)

    def read() -> Iterator[Parsed]:
        for piece in pieces:
            yield reading.feed(piece)
        yield reading.finish(stopped=stopped)

    return joined(read())


TEXTS = [
    f"Hello. {CALL} Then <b>this</b>.\r\n",
    f"a\r\n  ```json\r\n{CALL}\r\n  ```\r\nb{CALL}",
    f"> ~~~~\n> {CALL}\n> ~~~~\nb",
    "\U0001f600 \ud800 \ud83d\ude00 \ude00\ud83d",
    '<tool_call>{"name": "message", "arguments": {"text": "\\ud83d </tool_call>"}}</tool_call>',
    f"<tool_{CALL}call> < tool_result > {CALL[:-12]}{CALL}",
    '<tool_call>{"name": "close", "arguments": {"a": [true, null, -0.5e+7, 01]}}</tool_call>x',
    "<Tool_Call>x</tool_call> y </tool_result z>\n<",
    CALL[:-12],
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("stopped", [True, False])
def test_a_stream_gives_what_the_whole_text_gives_wherever_it_is_cut(
    text: str, stopped: bool
) -> None:
    whole = parse(text, TOOLBOX, stopped=stopped)
    assert stream(text, stopped=stopped) == whole
    for cut in range(len(text) + 1):
        assert stream([text[:cut], text[cut:]], stopped=stopped) == whole


FRAGMENTS = st.sampled_from(
    [
        "<tool_call>", "</tool_call>", "<tool_error>", "<tool_", "call>", "<", ">", "```", "~~~",
        "\n", "\r\n", "\r", " ", "> ", "- ", '{"name": "close"', '"arguments": {}', "}", ",", '"',
        "\\u00e9", "\U0001f600", "\ud83d", "\ude00", "＜", "1e5", "-", CALL,
    ]
)  # fmt: skip


@given(
    st.lists(st.one_of(FRAGMENTS, st.text(max_size=2)), max_size=20).map("".join),
    st.lists(st.integers(0, 200), max_size=12),
    st.booleans(),
)
def test_a_stream_gives_what_the_whole_text_gives(
    text: str, cuts: list[int], stopped: bool
) -> None:
    bounds = sorted(min(cut, len(text)) for cut in cuts)
    pieces = [text[a:b] for a, b in zip([0, *bounds], [*bounds, len(text)], strict=True)]
    assert stream(pieces, stopped=stopped) == parse(text, TOOLBOX, stopped=stopped)
    assert stream(text, stopped=stopped) == parse(text, TOOLBOX, stopped=stopped)


def test_a_character_that_comes_as_two_code_units_is_put_together() -> None:
    assert stream(["a\ud83d", "\ude00b"]).visible == "a\U0001f600b"
    assert stream(["a\ud83d", "", "\ude00b"]).visible == "a\U0001f600b"
    assert stream(["a\ud83d", "b"]).visible == "a\ufffdb"
    assert stream(["a\ud83d"]).visible == "a\ufffd"


def test_visible_text_is_released_as_soon_as_it_is_safe() -> None:
    reading = Stream(TOOLBOX)
    fed = ["Hello", ", it is 3", " <", " 5", ". ", "<tool", "_call>"]
    seen = [reading.feed(piece).visible for piece in fed]
    assert seen == ["Hello", ", it is 3", "", " < 5", ".", "", ""]


def test_the_start_of_a_line_is_held_while_it_may_open_a_fence() -> None:
    reading = Stream(TOOLBOX)
    assert [reading.feed(piece).visible for piece in ["``", "x\n", " ~", "~", "~", "\nb"]] == [
        "",
        "``x",
        "",
        "",
        "",
        "",
    ]
    assert reading.finish().visible == ""


def test_a_call_is_returned_with_its_closing_tag() -> None:
    reading = Stream(TOOLBOX)
    assert reading.feed(CALL[:-1]).items == ()
    assert reading.feed(CALL[-1]).items == (ORDER,)
    assert reading.finish() == Parsed((), "")


def test_a_finished_stream_gives_nothing_more_and_takes_nothing() -> None:
    reading = Stream(TOOLBOX)
    reading.feed("a")
    reading.finish()
    assert reading.finish() == Parsed((), "")
    with pytest.raises(UsageError, match="finished"):
        reading.feed("b")


@pytest.mark.parametrize(
    "unit", ["<tool_call>", "```\n", '<tool_call>{"a":"', "<tool_", "9", " ", '<tool_call>{"a":9']
)
def test_a_large_text_in_single_characters_is_read(unit: str) -> None:
    text = unit * (50_000 // len(unit))
    assert stream(text) == parse(text, TOOLBOX)
