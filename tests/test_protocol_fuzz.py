import pytest

from deskgym import load_suite
from deskgym.protocol import ERROR_CODES, Parsed
from tools import fuzz_protocol
from tools.fuzz_protocol import Broken, Sample, examine, fuzz, main, sample, tag_shaped

TOOLBOX = load_suite("service").toolbox


def test_the_parser_keeps_its_promises_on_random_texts() -> None:
    tally = fuzz(3_000, seed=0)
    assert tally.inputs == 3_000
    assert tally.calls > 500
    assert all(tally.errors[code] > 10 for code in ERROR_CODES)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 5))
def test_the_parser_keeps_its_promises_on_many_random_texts(seed: int) -> None:
    assert fuzz(50_000, seed=seed).inputs == 50_000


def test_a_text_depends_on_its_seed_and_number_alone() -> None:
    assert sample(7, 42, TOOLBOX) == sample(7, 42, TOOLBOX)
    assert sample(7, 42, TOOLBOX) != sample(8, 42, TOOLBOX)


@pytest.mark.parametrize(
    "visible",
    [
        "<tool_call>",
        "a </tool_result",
        "< Tool-Error",
        "＜tool call",
        "‹to\u200bol_call",
        "<ｔool_call",
    ],
)
def test_a_parser_that_shows_a_tag_is_caught(visible: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tag_shaped(visible)
    monkeypatch.setattr(fuzz_protocol, "parse", lambda *_, **__: Parsed((), visible))
    with pytest.raises(Broken, match=r"--seed 0 --first 0 --inputs 1: .*sees a tag"):
        fuzz(1, seed=0)


@pytest.mark.parametrize(
    "text", ["a < b", "tool_call", "<b>tool</b>", "<tool> call", "<toll_call>"]
)
def test_ordinary_text_is_not_tag_shaped(text: str) -> None:
    assert not tag_shaped(text)


def test_a_parser_that_differs_from_the_stream_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_protocol, "parse", lambda *_, **__: Parsed((), "something else"))
    with pytest.raises(Broken, match="a stream gives"):
        fuzz(1, seed=0)


def test_a_parser_that_misses_a_call_is_caught() -> None:
    with pytest.raises(Broken, match="expected"):
        examine(Sample("Hello", False, ("malformed_json",)), TOOLBOX, fuzz_protocol.Random(0))


def test_the_command_prints_how_much_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--inputs", "50", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("50 inputs, ")
    assert "every promise was kept" in out
    assert all(code in out for code in ERROR_CODES)


def test_the_command_fails_with_how_to_repeat_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz_protocol, "parse", lambda *_, **__: Parsed((), "<tool_call>"))
    assert main(["--inputs", "1", "--seed", "3"]) == 1
    assert "--seed 3 --first 0 --inputs 1" in capsys.readouterr().err
