"""`ticket-reward.v1`, row by row of the published tables, worked by hand; its faults too."""

import pytest

from deskgym.errors import UnknownName, UsageError
from deskgym.rubric.turns import mean_points
from deskgym.suites.tickets import rules_v1
from deskgym.suites.tickets.catalogue import SCENARIOS, scenario
from deskgym.suites.tickets.scenario import CATEGORIES, Intent, Scenario, Tier

CRASH = scenario("crash_after_update")
DAMAGED = scenario("damaged_return")


def points(tier: Tier, turn: int, one: Scenario, message: str, intent: Intent | None = None) -> int:
    """What a reply earns, in hundredths."""
    earned = rules_v1.score_turn(tier, turn, one, message, intent).points
    assert earned % 100 == 0
    return earned // 100


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("technical", 100),
        ("TECHNICAL!", 100),
        ("It looks like a glitch", 50),
        ("a bug, technical", 100),
        ("shipping", 0),
        ("", 0),
    ],
)
def test_easy_pays_the_category_half_for_a_partial_keyword_else_nothing(
    message: str, expected: int
) -> None:
    assert points("easy", 0, CRASH, message) == expected


def test_easy_falls_for_a_list_of_every_category() -> None:
    listing = ", ".join(CATEGORIES)
    assert [points("easy", 0, one, listing) for one in SCENARIOS] == [100] * 15


def test_easy_matches_inside_another_word_and_under_a_negation() -> None:
    assert points("easy", 0, CRASH, "nontechnical") == 100
    assert points("easy", 0, CRASH, "not technical") == 100


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("reinstall", 20),
        ("reinstall, restart", 40),
        ("reinstall, restart, hotfix", 60),
        ("reinstall, restart, hotfix, engineers", 80),
        ("reinstall, restart, hotfix, engineers, diagnostics", 80),
        ("reinstall reinstall reinstall", 20),
        ("reinstalled", 20),
        ("we cannot reinstall", 20),
        ("sorry", 10),
        ("I apologise", 10),
        ("I apologize", 10),
        ("I understand", 10),
        ("sorry, I understand", 10),
        ("x" * 80, 0),
        ("x" * 81, 10),
        ("sorry " + "x" * 80, 20),
        ("", 0),
    ],
)
def test_medium_pays_each_row_of_the_table(message: str, expected: int) -> None:
    assert points("medium", 0, CRASH, message) == expected


def test_medium_reaches_one_and_no_more() -> None:
    message = "sorry: reinstall, restart, hotfix, engineers, diagnostics" + "." * 40
    assert points("medium", 0, CRASH, message) == 100


def test_medium_takes_a_fifth_for_a_needless_escalation() -> None:
    assert points("medium", 0, CRASH, "reinstall, restart", "escalate") == 20
    assert points("medium", 0, CRASH, "reinstall, restart: I fetch a supervisor") == 20
    assert points("medium", 0, CRASH, "reinstall, restart: I fetch a human", "escalate") == 20
    assert points("medium", 0, CRASH, "reinstall, restart", "respond") == 40


def test_medium_is_held_at_zero() -> None:
    score = rules_v1.score_turn("medium", 0, CRASH, "sorry", "escalate")
    assert sum(part.points for part in score.parts) == -1_000
    assert score.points == 0


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Hm?", 30),
        ("Which device?", 40),
        ("Which device.", 0),
        ("?", 30),
    ],
)
def test_hard_turn_one_pays_a_question_and_its_topic(message: str, expected: int) -> None:
    assert points("hard", 0, CRASH, message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("reinstall", 20),
        ("sorry", 12),
        ("x" * 81, 8),
        ("sorry, reinstall", 32),
        ("reinstall, restart", 40),
        ("reinstall, restart, hotfix", 50),
        ("sorry, reinstall, restart" + "." * 80, 50),
    ],
)
def test_hard_turn_two_pays_up_to_a_half(message: str, expected: int) -> None:
    assert points("hard", 1, CRASH, message) == expected


def test_hard_turn_two_knows_no_escalation() -> None:
    assert points("hard", 1, CRASH, "reinstall", "escalate") == 20


@pytest.mark.parametrize(("message", "expected"), [("Thanks!", 30), ("Take care", 30), ("ok", 0)])
def test_hard_turn_three_pays_a_polite_close(message: str, expected: int) -> None:
    assert points("hard", 2, CRASH, message) == expected


def test_the_best_hard_episode_is_worth_two_fifths() -> None:
    turns = (
        rules_v1.score_turn("hard", 0, DAMAGED, "Is the packaging damaged?"),
        rules_v1.score_turn(
            "hard",
            1,
            DAMAGED,
            "Sorry! A refund, a prepaid label, and a courier to collect it." + "." * 60,
        ),
        rules_v1.score_turn("hard", 2, DAMAGED, "Thank you, and take care."),
    )
    assert [turn.reward for turn in turns] == [0.4, 0.5, 0.3]
    assert mean_points(turns, 3) == 4_000


def test_stuffing_wins_medium_everywhere() -> None:
    everything = "sorry " + ", ".join(k.name for s in SCENARIOS for k in s.keywords)
    assert [points("medium", 0, one, everything) for one in SCENARIOS] == [100] * 15


def test_the_breakdown_names_the_words_that_earned_each_part() -> None:
    score = rules_v1.score_turn("medium", 0, CRASH, "Sorry. Reinstall and restart.", "escalate")
    assert [str(part) for part in score.parts] == [
        "keywords 0.40 of 0.80: reinstall, restart",
        "empathy 0.10 of 0.10: sorry",
        "detail 0.00 of 0.10 (29 characters)",
        "needless escalation -0.20: intent escalate",
    ]
    assert score.reward == 0.3


def test_a_turn_a_tier_does_not_have_is_a_callers_mistake() -> None:
    with pytest.raises(UsageError, match="easy has 1 turn"):
        points("easy", 1, CRASH, "technical")
    with pytest.raises(UsageError, match="hard has 3 turn"):
        points("hard", 3, CRASH, "thanks")
    with pytest.raises(UnknownName, match=r"no task_name 'harder'.*did you mean"):
        points("harder", 0, CRASH, "thanks")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnknownName, match="no intent 'shout'"):
        points("easy", 0, CRASH, "x", "shout")  # pyright: ignore[reportArgumentType]
