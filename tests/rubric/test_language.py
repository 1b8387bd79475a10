"""Reading a reply: folding, words, and which clauses assert something."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deskgym.rubric.language import Phrasebook, clauses, fold, normalise, words

ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""Every code point there is, lone surrogates and controls included."""

BOOK = Phrasebook([("refund", "refund"), ("refunded", "refund"), ("reinstall", "reinstall")])


def asserted(text: str) -> set[str]:
    return {m.name for c in clauses(text) if c.asserted for m in BOOK.find(c.words)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  A\t B \n\n c ", "a b c"),
        ("won’t", "won't"),
        ("“so”", '"so"'),
        ("ｒｅｆｕｎｄ", "refund"),
        ("𝐫𝐞𝐟𝐮𝐧𝐝", "refund"),
        ("re\u200bf\u00adu\u2060nd", "refund"),
        ("re\x00fu\x07nd", "refund"),
        ("rе\u0301fund", "refund"),
        ("ВІLLІΝG", "billing"),
        ("ΑCCOUNΤ", "account"),
        ("асcоunt", "account"),
        ("ΝΟ νο", "no vo"),
        ("STRASSE ß", "strasse ss"),
        ("a\u00a0b\u3000c", "a b c"),
        ("x\ud800y", "xy"),
    ],
)
def test_normalise_leaves_what_a_reader_sees(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_words_keep_an_apostrophe_and_part_at_a_hyphen() -> None:
    assert words("I won’t re-install it, O'Neil's way") == (
        *("i", "won't", "re", "install", "it", "o'neil's", "way"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "We refund you.",
        "WE REFUND YOU!",
        "We will refund the whole sum today.",
        "If it does not turn up, we refund you.",
        "If not, we refund you.",
        "We refund you if it does not turn up.",
        "I am sorry that it never came, so we have refunded you.",
        "I could not find it, but we have refunded you.",
        "I cannot say why it failed. We have refunded you.",
        "No problem, we refund you.",
        "No, we have refunded you already.",
        "Don't worry: we have refunded you.",
        "Not only did we refund you, we also apologise.",
        "We have refunded you without delay.",
        "Instead of a credit, we refund you.",
        "On 4 May we refund you.",
        "We have refunded you. No action is needed from you.",
    ],
)
def test_a_plain_promise_is_asserted(text: str) -> None:
    assert asserted(text) == {"refund"}


@pytest.mark.parametrize(
    "text",
    [
        "We cannot refund you.",
        "We can not refund you.",
        "We can’t refund you.",
        "We won't refund you.",
        "We wont refund you.",
        "I will not refund you.",
        "There is no refund.",
        "I am unable to refund you.",
        "We refuse to refund you.",
        "We failed to refund you.",
        "Neither a refund nor a credit.",
        "It is too late to refund you.",
        "A refund is impossible.",
        "A refund is out of the question.",
        "A refund is something we cannot give.",
        "This is a non-refund case.",
    ],
)
def test_a_negated_keyword_is_not_asserted(text: str) -> None:
    assert asserted(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "I do not think that, having looked at it for a long while, we refund you.",
        "I do not believe, to be honest, we refund you.",
        "I cannot - refund you.",
        "I cannot (as you know) refund you.",
        "We will not be able, if you ask, to refund you.",
        "We cannot, sadly (I checked), offer a refund.",
        "We cannot - I checked - offer a refund.",
        "I will not. Refund you.",
        "I am unable to: refund you.",
        'I "cannot" refund you.',
        "I cannot\nrefund you.",
        "I cannot\n\nrefund you.",
        "I cannot\n> hm\nrefund you.",
    ],
)
def test_a_negation_reaches_over_what_is_put_between(text: str) -> None:
    assert asserted(text) == set()


@pytest.mark.parametrize(
    "text",
    ["We refund you. No.", "Refund - no.", "A refund, I think not.", "A refund. Just kidding!"],
)
def test_what_is_taken_back_is_not_asserted(text: str) -> None:
    assert asserted(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "I am not unwilling to refund you.",
        "I cannot not refund you.",
        "We never said no to a refund.",
    ],
)
def test_a_double_negation_promises_nothing(text: str) -> None:
    assert asserted(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "We could refund you.",
        "We might refund you.",
        "You may be able to get a refund.",
        "We would refund you.",
        "I'd refund you.",
        "Perhaps we refund you.",
        "If we could, we would refund you.",
        "I wish we refunded you.",
    ],
)
def test_a_hedged_promise_is_not_asserted(text: str) -> None:
    assert asserted(text) == set()


@pytest.mark.parametrize(
    "text",
    ["Do you want a refund?", "Refund? No.", "A refund ?! Sure.", "refund？"],
)
def test_a_question_asserts_nothing(text: str) -> None:
    assert asserted(text) == set()


def test_the_condition_is_not_asserted_and_what_hangs_on_it_is() -> None:
    assert asserted("If you want a refund, reinstall.") == {"reinstall"}
    assert asserted("Reinstall if you want a refund.") == {"reinstall"}
    assert asserted("If that fails then reinstall.") == {"reinstall"}
    assert asserted("If that fails, reinstall.") == {"reinstall"}
    assert asserted("Without a refund, reinstall.") == {"reinstall"}


def test_a_turn_ends_a_negation_in_both_directions() -> None:
    assert asserted("We cannot refund you, but please reinstall.") == {"reinstall"}
    assert asserted("We refund you, but we will not reinstall it.") == {"refund"}


@pytest.mark.parametrize(
    "text",
    [
        'You wrote "I want a refund".',
        "You wrote «refund».",
        "You wrote “give me a refund. Now!” today.",
        "> I want a refund\nWe will look at it.",
    ],
)
def test_quoted_words_are_not_the_writers_own(text: str) -> None:
    assert asserted(text) == set()


def test_an_odd_quotation_mark_hides_nothing() -> None:
    assert asserted('A 24" screen: we refund you.') == {"refund"}


@pytest.mark.parametrize(
    "text", ["Refundable.", "We prerefund you.", "refund_me", "refundß", "xrefund", "refund's"]
)
def test_a_keyword_inside_another_word_is_no_match(text: str) -> None:
    assert asserted(text) == set()


def test_a_dot_in_a_version_or_an_address_ends_no_sentence() -> None:
    assert [c.sentence for c in clauses("Get 8.2.1 from our.site.example. Then reinstall.")] == [
        *(0, 1),
    ]


def test_the_longest_phrase_is_taken_and_matches_do_not_overlap() -> None:
    book = Phrasebook([("new email", "short"), ("new email address", "long"), ("address", "a")])
    assert [m.name for m in book.find(words("new email address, new email"))] == ["long", "short"]


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.long)])
def test_folding_a_folded_character_changes_nothing(step: int) -> None:
    every = (chr(code) for code in range(0, 0x110000, step))
    assert [c for c in every if (once := fold(c)) != fold(once)] == []


@given(ANY_TEXT)
@example("\ud800\udfff\x00\u200b")
@example('"' * 3 + "\n>\n\n" + "?" * 3)
def test_no_text_makes_reading_raise_and_folding_is_stable(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    read = clauses(text)
    assert all(clause.words for clause in read)
    assert [c.sentence for c in read] == sorted(c.sentence for c in read)


@given(ANY_TEXT)
def test_every_word_is_read_once_but_those_of_quoted_lines(text: str) -> None:
    if not any(line.lstrip(" ").startswith(">") for line in fold(text).split("\n")):
        assert sum(len(c.words) for c in clauses(text)) == len(words(text))


MARKS_AND_WORDS = (
    "not", "if", "we", "could", "refund", ",", ".", "?", '"', "-", "(", "and", "but", "no", "that",
)  # fmt: skip


@given(st.lists(st.sampled_from(MARKS_AND_WORDS)))
def test_a_question_is_never_asserted(parts: list[str]) -> None:
    read = clauses(" ".join(parts))
    assert not any(clause.asserted and clause.question for clause in read)


@pytest.mark.parametrize(
    "unit",
    ["a", "if ", "not ", "no. ", "no - ", "a'", ".a", "- ", "\n ", "\n>", '"', "\u0301\u0316",
     "\u200b", "\x00", "\ud800", "\ufdfa", "we refund you, and ", "instead of "],
)  # fmt: skip
@pytest.mark.parametrize("length", [32_768, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_very_long_text_is_read_whole(unit: str, length: int) -> None:
    text = unit * (length // len(unit)) + " we refund you"
    read = clauses(text)
    quoted_to_the_end = unit == "\n>"
    expected = 0 if quoted_to_the_end else len(words(text))
    assert sum(len(clause.words) for clause in read) == expected
