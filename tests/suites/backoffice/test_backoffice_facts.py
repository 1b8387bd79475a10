import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.suites.backoffice.facts import Fact, amounts, facts, normalised


def of(kind: str, text: str) -> set[str]:
    return {fact.value for fact in facts(text) if fact.kind == kind}


@pytest.mark.parametrize(
    "text",
    [
        "$54", "$54.00", "$ 54", "US$54", "USD 54.00", "54 USD", "54.00 USD", "54 dollars",
        "54-dollar refund", "54 US dollars", "5400 cents", "＄５４．００", "$\u200b54.00",
        "54\u00a0dollars", "We refunded $54.", "($54)", "**$54.00**", "54.00",
    ],
)  # fmt: skip
def test_an_amount_is_one_however_it_is_written(text: str):
    assert amounts(text) == {5_400}


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("$1,054.30", {105_430}),
        ("$0.01", {1}),
        ("$10 and $13", {1_000, 1_300}),
        ("order 1013", set()),
        ("version 1.2.3", set()),
        ("10", set()),
        ("$54.5", {5_450}),
        ("$0", {0}),
        ("12.345", set()),
    ],
)
def test_amounts(text: str, cents: set[int]):
    assert amounts(text) == cents


@given(st.integers(0, 99_999_999))
def test_an_amount_is_found_again_in_every_form(cents: int):
    whole, part = divmod(cents, 100)
    for text in (
        f"${whole}.{part:02d}", f"${whole:,}.{part:02d}", f"{whole}.{part:02d} USD",
        f"{whole}.{part:02d} dollars", f"a refund of ${whole}.{part:02d}, today",
    ):  # fmt: skip
        assert amounts(text) == {cents}


@given(st.integers(1_001, 99_999))
def test_a_number_is_no_part_of_another(number: int):
    for text in (f"order {number}", f"#{number}.", f"({number})", f"no. {number}, thanks"):
        assert of("number", text) == {str(number)}
    for text in (f"1{number}", f"{number}9", f"a{number}", f"${number}", f"{number}.50"):
        assert str(number) not in of("number", text)


@pytest.mark.parametrize(
    "text", ["order １０１３", "order 10\u200b13", "order\u00a01013", "“1013”", "Order #1013’s"]
)
def test_a_number_is_found_whatever_it_is_typed_with(text: str):
    assert of("number", text) == {"1013"}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("within 30 days", {"30"}),
        ("our 30-day window", {"30"}),
        ("thirty days", {"30"}),
        ("twenty-one days", {"21"}),
        ("fourteen calendar days", {"14"}),
        ("some days", set()),
        ("30 items", set()),
    ],
)
def test_days(text: str, days: set[str]):
    assert of("days", text) == days


@pytest.mark.parametrize(
    "text",
    [
        "We have refunded $54.00 for order 1013.",
        "I've refunded you.",
        "A refund of $54 has been issued.",
        "You will receive a refund.",
        "Your refund is on its way.",
        "Refunded!",
        "As you asked, we have refunded the duplicate.",
        "We are refunding you today",
        "Your money back has been sent.",
        "We have refunded $54; if you need anything else, write to us.",
        "If you look at your statement, we have refunded you.",
        "As it is out of stock we cannot send a replacement, so we have refunded $54.00.",
    ],
)
def test_a_refund_that_is_promised(text: str):
    assert "refund" in of("promises", text)
    assert "refund" in of("says", text)


@pytest.mark.parametrize(
    "text",
    [
        "We cannot refund order 1013.",
        "We have not refunded you.",
        "No refund will be issued.",
        "We would refund you if we could.",
        "If you send it back, we will refund you.",
        "We will refund you if you send it back.",
        "You will be refunded if it comes back.",
        "Unless it turns up, a refund will be issued.",
        "Have we refunded you?",
        "We received your refund request.",
        "Our refund policy has changed.",
        "Unfortunately a refund is not possible.",
        "You asked for a refund.",
        "Refunds are only given within 30 days.",
        'You wrote "we will refund you".',
    ],
)
def test_a_refund_that_is_not_promised(text: str):
    assert "refund" not in of("promises", text)


@pytest.mark.parametrize(
    "text",
    [
        "We cannot refund order 1013.",
        "I'm afraid a refund isn’t possible.",
        "We are unable to refund you.",
        "We have to decline the refund.",
        "The return window has closed.",
        "It is outside our 30-day return window.",
        "We can no longer accept this return, we do not take it.",
    ],
)
def test_a_refund_that_is_declined(text: str):
    assert "refund" in of("denies", text)


@pytest.mark.parametrize(
    "text",
    [
        "We will not refuse your refund.",
        "We have refunded you.",
        "Can you not refund me?",
        "Thank you for writing.",
    ],
)
def test_what_declines_nothing(text: str):
    assert "refund" not in of("denies", text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Returns are taken up to 30 days after delivery.", "return_window"),
        ("The return window is 30 days.", "return_window"),
        ("It is on another account.", "other_account"),
        ("The order isn’t linked to your account.", "other_account"),
        ("We speak only with the customer who placed it.", "other_account"),
        ("You were charged twice.", "duplicate_charge"),
        ("It is out of stock.", "out_of_stock"),
    ],
)
def test_reasons(text: str, reason: str):
    assert of("reason", text) == {reason}


@pytest.mark.parametrize(
    ("text", "matter"),
    [
        ("We have sent you a replacement.", "replacement"),
        ("A new one is on its way, we are sending you a new kettle.", "replacement"),
        ("We have cancelled order 1013 for you.", "cancellation"),
    ],
)
def test_other_promises(text: str, matter: str):
    assert matter in of("promises", text)


def test_an_address_is_found_folded():
    assert of("email", "It is Ada.Abbott@Mail.Example.") == {"ada.abbott@mail.example"}


def test_normalised_words_are_found_whole():
    assert normalised("Gooseneck-Kettle, “black”") == " gooseneck kettle black "


@given(st.text(max_size=300))
def test_no_text_raises_and_facts_are_short(text: str):
    for fact in facts(text):
        assert isinstance(fact, Fact)
        assert len(fact.value) <= 400
    assert facts(text) == facts(text)


@given(st.text(alphabet="$0123456789., adyUSD’\u200b", max_size=80))
def test_white_space_and_invisible_characters_do_not_matter(text: str):
    assert facts(f"  {text}\u200b ") == facts(text.strip())


def test_a_long_reply_costs_no_more_a_character():
    assert of("number", "order 1013 " * 20_000) == {"1013"}
