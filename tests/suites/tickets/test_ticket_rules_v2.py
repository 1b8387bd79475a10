"""`ticket-reward.v2`: what each tier pays, and the attacks which it must not pay."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.errors import UsageError
from deskgym.suites.tickets import rules_v2
from deskgym.suites.tickets.catalogue import SCENARIOS, scenario
from deskgym.suites.tickets.scenario import CATEGORIES, TIERS, TURNS, Intent, Scenario, Tier
from deskgym.suites.tickets.ticket import TICKETS

CRASH = scenario("crash_after_update")
DAMAGED = scenario("damaged_return")
RESET = scenario("reset_email_missing")
DUPLICATE = scenario("duplicate_charge")
DOOR = scenario("wrong_door")

LONGEST = 32_768
"""No longer message reaches the rules."""

FILLER = "All of this is for you to read in peace and quiet, whenever it suits you best today."
"""More than 80 characters without a keyword or an empathy word: worth the detail, 10 points."""


def points(tier: Tier, turn: int, one: Scenario, message: str, intent: Intent | None = None) -> int:
    """What a reply earns, in hundredths."""
    earned = rules_v2.score_turn(tier, turn, one, message, intent).points
    assert earned % 100 == 0
    return earned // 100


def keyword_points(one: Scenario, message: str) -> int:
    """What the keywords alone of a medium reply earn, in hundredths, what was lost taken off."""
    score = rules_v2.score_turn("medium", 0, one, f"{message} {FILLER}")
    return sum(part.points for part in score.parts if part.name.startswith("keywords")) // 100


# --- easy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("technical", 100),
        ("  TECHNICAL.  ", 100),
        ("This is a technical matter.", 100),
        ("tеchnісаl", 100),
        ("ｔｅｃｈｎｉｃａｌ", 100),
        ("tech\u200bnical", 100),
        ("technical technical", 100),
        ("shipping", 0),
        ("technical, shipping", 0),
        ("technical, not shipping", 0),
        (", ".join(CATEGORIES), 0),
        ("not technical", 0),
        ("It could be technical.", 0),
        ("technical?", 0),
        ('"technical"', 0),
        ("nontechnical", 0),
        ("technically", 0),
        ("glitch", 50),
        ("a bug, a glitch", 50),
        ("glitch, invoice", 0),
        ("glitch, shipping", 0),
        ("not a glitch", 0),
        ("", 0),
        ("hello", 0),
    ],
)
def test_easy_pays_the_one_category_and_half_for_a_clear_synonym(
    message: str, expected: int
) -> None:
    assert points("easy", 0, CRASH, message) == expected


def test_listing_every_category_is_worth_nothing_anywhere() -> None:
    for listing in (", ".join(CATEGORIES), "\n".join(CATEGORIES), " or ".join(CATEGORIES)):
        assert [points("easy", 0, one, listing) for one in SCENARIOS] == [0] * 15


# --- medium -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Please reinstall it.", 20),
        ("Please reinstall it and restart the tablet.", 40),
        ("Please reinstall it, restart the tablet, and get the hotfix.", 60),
        ("Our engineers say: reinstall it, restart the tablet, get the hotfix.", 80),
        ("Our engineers read diagnostics: reinstall it, restart it, get the hotfix.", 80),
        ("Please reinstall it. Reinstall it. We had it reinstalled.", 20),
        ("PLEASE REINSTALL IT.", 20),
        ("Please rеіnѕtаll it.", 20),
        ("Please rein\u200bstall it.", 20),
        ("Please rein\x00stall it.", 20),
        ("Please clear   the\n cache.", 20),
        ("If that fails, reinstall it.", 20),
        ("Preinstalled.", 0),
        ("It is reinstallable and unrestartable.", 0),
        ("You cannot reinstall it.", 0),
        ("We will not reinstall or restart it.", 0),
        ("Reinstalling is impossible.", 0),
        ("Reinstall? No.", 0),
        ("Reinstall it. No.", 0),
        ("We could reinstall it, or we might restart it.", 0),
        ("Would you reinstall it?", 0),
        ('You wrote "I will reinstall and restart".', 0),
        ("I never said that you should not reinstall it.", 0),
    ],
)
def test_a_keyword_pays_once_as_a_word_in_a_clause_that_asserts_it(
    message: str, expected: int
) -> None:
    assert keyword_points(CRASH, message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Our engineers say: reinstall, restart, get the hotfix.", 80),
        ("Our engineers say: reinstall, restart, get the hotfix. We refund you.", 60),
        ("Our engineers say: reinstall, restart, get the hotfix. We cannot refund you.", 80),
        ("Our engineers say: reinstall, restart, get the hotfix. We could refund you.", 80),
        ("Please reinstall it. We refund you.", 0),
        ("Our engineers say: reinstall, restart, get the hotfix. A reset link, the spam.", 40),
        ("Our engineers say: reinstall, restart, get the hotfix. Reset link. Downgrade.", 0),
    ],
)
def test_a_promise_from_another_category_takes_a_keyword_back_and_two_take_all(
    message: str, expected: int
) -> None:
    assert keyword_points(CRASH, message) == expected


def test_a_remedy_that_is_honest_here_too_counts_neither_way() -> None:
    assert keyword_points(DOOR, "The driver and the neighbours know. We refund you.") == 40
    assert keyword_points(DOOR, "We refund you.") == 0


def test_an_everyday_answer_in_plain_words_earns_the_keywords() -> None:
    message = (
        "I'm so sorry your order never arrived. I've processed a refund of $64.90, including the "
        "delivery fee, to your original payment method, and you should see it within 3-5 business "
        "days. You'll receive a confirmation email shortly."
    )
    assert points("medium", 0, scenario("never_delivered"), message) == 100


def test_a_reply_that_is_mostly_keywords_loses_them() -> None:
    listing = "reinstall, restart, hotfix, engineers"
    assert points("medium", 0, CRASH, listing) == 0
    assert points("medium", 0, CRASH, f"a {listing} b c d") == 0
    assert points("medium", 0, CRASH, f"a {listing} b c d e") == 80


def test_stuffing_every_keyword_is_worth_courtesy_and_length_and_no_more() -> None:
    names = ", ".join(dict.fromkeys(k.name for s in SCENARIOS for k in s.keywords))
    padded = " ".join(f"We see to the {name} for you." for name in names.split(", "))
    for listing in (f"Sorry: {names}.", f"Sorry. {padded}", f"Sorry. {names.upper()}"):
        assert [points("medium", 0, one, listing) for one in SCENARIOS] == [20] * 15


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Sorry.", 10),
        ("Apologies!", 10),
        ("I apologise, I am sorry, I understand.", 10),
        ("I am sorry that it could not be delivered.", 10),
        ("I am not sorry.", 0),
        ("I don't understand.", 0),
        ("I never really apologise.", 0),
        ("Do you understand?", 0),
        ("A sorrysome misunderstanding.", 0),
    ],
)
def test_empathy_pays_once_and_not_when_it_is_denied(message: str, expected: int) -> None:
    assert points("medium", 0, CRASH, message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("x" * 80, 0),
        ("x" * 81, 10),
        ("x" + " " * 200, 0),
        ("x" + "\u200b" * 200, 0),
        ("x" + "\x00" * 200, 0),
    ],
)
def test_detail_pays_for_more_than_eighty_characters_that_can_be_seen(
    message: str, expected: int
) -> None:
    assert points("medium", 0, CRASH, message) == expected


@pytest.mark.parametrize(
    ("message", "intent", "lost"),
    [
        ("", "escalate", 20),
        ("I will pass you to a colleague.", None, 20),
        ("I escalate this.", None, 20),
        ("My supervisor takes over.", "escalate", 20),
        ("There is no need to escalate this.", None, 0),
        ("We could escalate this.", None, 0),
        ("It was a human error.", None, 0),
        ("", "respond", 0),
    ],
)
def test_a_needless_escalation_costs_a_fifth_once(
    message: str, intent: Intent | None, lost: int
) -> None:
    earning = "Please reinstall it and restart the tablet. Then get the hotfix."
    assert points("medium", 0, CRASH, f"{earning} {message}", intent) % 10 == 0
    score = rules_v2.score_turn("medium", 0, CRASH, f"{earning} {message}", intent)
    assert score.parts[-1].name == "needless escalation"
    assert score.parts[-1].points == -100 * lost


def test_medium_is_held_at_zero() -> None:
    assert points("medium", 0, CRASH, "Sorry.", "escalate") == 0


# --- hard ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Which device do you use?", 100),
        ("Hello. Which DEVICE do you use?", 100),
        ("Could you send your order number?", 30),
        ("What now?", 30),
        ("Which device do you use.", 0),
        ("Tell me the device. What now?", 30),
        ("?", 0),
        ('You asked "which device?"', 0),
        ("Which device, and which invoice?", 30),
        ("Which devices123?", 30),
    ],
)
def test_turn_one_pays_a_question_and_more_for_this_tickets_topic(
    message: str, expected: int
) -> None:
    assert points("hard", 0, CRASH, message) == expected


def test_a_question_that_lists_every_topic_is_on_none() -> None:
    topics = ", ".join(dict.fromkeys(t for s in SCENARIOS for t in s.topics))
    assert [points("hard", 0, one, f"{topics}?") for one in SCENARIOS] == [30] * 15


def test_turn_two_pays_like_medium_without_the_escalation() -> None:
    message = f"Sorry. Please reinstall it. {FILLER}"
    assert points("hard", 1, CRASH, message) == 40
    assert points("hard", 1, CRASH, message, "escalate") == 40


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Thank you for your time.", 40),
        ("The reinstall is what cured it for you.", 60),
        ("The reinstall is what cured it. Thank you for your time.", 100),
        ("The reinstall is what cured it. Is there anything else I can do?", 100),
        ("The reinstall is what cured it. Thank you. And what is your name?", 0),
        ("Thank you. Is there anything else, and what is the number on the back of the card that "
         "you paid with last month?", 0),
        ("You should not reinstall it. Thank you for your time.", 40),
        ("The reinstall, the refund, and that is that. Thank you for your time.", 40),
        ("reinstall, thanks", 40),
        ("No thanks to you.", 0),
        ("ok", 0),
    ],
)  # fmt: skip
def test_turn_three_pays_a_close_and_the_solution_restated(message: str, expected: int) -> None:
    assert points("hard", 2, CRASH, message) == expected


def test_each_turn_is_judged_by_its_own_rule_only() -> None:
    question = "Which device do you use?"
    assert points("hard", 1, CRASH, question) == 0
    assert points("hard", 2, CRASH, question) == 0
    assert points("hard", 0, CRASH, "Thank you, the reinstall cured it, as it should be.") == 0


# --- the breakdown, and strange input -----------------------------------------------------------


def test_the_breakdown_says_what_was_earned_and_what_was_lost() -> None:
    message = "Sorry. Please reinstall it and then restart it. We refund you for it all."
    score = rules_v2.score_turn("medium", 0, CRASH, message)
    assert [str(part) for part in score.parts] == [
        "keywords 0.40 of 0.80: reinstall, restart",
        "keywords lost -0.20: refund (promises from another category)",
        "empathy 0.10 of 0.10: sorry",
        "detail 0.00 of 0.10 (73 characters)",
        "needless escalation 0.00",
    ]
    assert score.reward == 0.3


def test_the_breakdown_shows_the_beginning_of_a_question_and_no_more() -> None:
    score = rules_v2.score_turn("hard", 0, CRASH, "Which device " + "x" * 9_000 + "?")
    assert score.parts[0].words == ("which device " + "x" * 67,)


@given(
    st.text(st.characters(exclude_categories=())),
    st.sampled_from([(tier, turn) for tier in TIERS for turn in range(TURNS[tier])]),
    st.sampled_from(SCENARIOS),
)
def test_any_text_is_scored_between_nothing_and_one(
    message: str, where: tuple[Tier, int], one: Scenario
) -> None:
    score = rules_v2.score_turn(*where, one, message)
    assert 0 <= score.points <= 10_000
    assert score.points == max(0, sum(part.points for part in score.parts))


@given(st.lists(st.sampled_from([k.name for s in SCENARIOS for k in s.keywords]), max_size=12))
def test_no_reply_of_bare_keywords_earns_one(names: list[str]) -> None:
    for one in (CRASH, DAMAGED, RESET, DUPLICATE):
        assert points("medium", 0, one, ", ".join(names)) <= 10


@pytest.mark.parametrize("unit", ["", "x", "if ", "we refund you, and ", "\x00", "?", '"'])
def test_an_empty_and_an_enormous_message_is_scored(unit: str) -> None:
    message = unit * (LONGEST // max(1, len(unit)))
    for tier in TIERS:
        assert 0 <= points(tier, 0, DAMAGED, message) <= 100


def test_a_turn_a_tier_does_not_have_is_a_callers_mistake() -> None:
    with pytest.raises(UsageError, match="medium has 1 turn"):
        points("medium", 1, CRASH, "x")
    with pytest.raises(UsageError, match="hard has 3 turn"):
        points("hard", -1, CRASH, "x")


def test_the_customers_words_given_back_are_no_question_and_no_solution():
    """Parrots: what they copy is taken for a quotation, with quotation marks or without."""
    rewards: list[float] = []
    for ticket in TICKETS:
        opening, follow_up = ticket.wording.opening, ticket.wording.follow_up
        plain = re.sub(r"[?.!;:,\n]+", " ", f"{opening} {follow_up}")
        turns = (
            f"You wrote: {re.sub(r'[?.!;:]+', ' ', opening)}?",
            f"I am so sorry about this trouble. We take care of {plain} for you today.",
            f"Thank you. We take care of {plain} for you today.",
        )
        rewards.append(
            sum(
                rules_v2.score_turn("hard", turn, ticket.scenario, text).reward
                for turn, text in enumerate(turns)
            )
            / 3
        )
    assert sum(rewards) / len(rewards) < 0.35
