"""Tickets played through the one `Environment`, as an agent meets them."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

import deskgym
from deskgym import Environment, Observation, call
from deskgym.evaluate import run_controls
from deskgym.rubric.language import Phrasebook, words
from deskgym.suites.tickets import agents
from deskgym.suites.tickets.catalogue import SCENARIOS
from deskgym.suites.tickets.scenario import CATEGORIES, INTENTS, TIERS, TURNS, tier_of
from deskgym.suites.tickets.ticket import TICKETS, recognise, ticket_of

SUITE = deskgym.load_suite("tickets")
V1, V2 = "ticket-reward.v1", "ticket-reward.v2"
CONTROLS = [(task.name, control.name) for task in SUITE.tasks for control in task.controls]
SEEDS = range(len(TICKETS))


def play(environment: Environment, control: str, seed: int) -> list[Observation]:
    """Every observation of a control's run."""
    seen = [environment.reset(seed)]
    moves = environment.task.control(control).script(seen[0])
    try:
        action = next(moves)
        while not environment.done:
            seen.append(environment.step(action))
            action = moves.send(seen[-1])
    except StopIteration:
        pass
    return seen


@pytest.fixture(params=TIERS)
def environment(request: pytest.FixtureRequest) -> Iterator[Environment]:
    with deskgym.make(f"tickets/{request.param}") as made:
        yield made


def test_the_suite_has_a_task_for_each_tier_in_order_and_one_tool() -> None:
    assert [task.name for task in SUITE.tasks] == list(TIERS)
    assert SUITE.toolbox.names == ("respond",)
    assert [rubric.version for rubric in SUITE.rubrics] == [V2, V1]
    assert SUITE.steps_max == 10


@pytest.mark.parametrize(("task", "control"), CONTROLS, ids=lambda name: name)
def test_each_control_earns_what_it_must_on_every_ticket_by_both_versions(
    task: str, control: str
) -> None:
    expected = SUITE.task(task).control(control)
    with deskgym.make(f"tickets/{task}") as environment:
        for seed in SEEDS:
            play(environment, control, seed)
            assert environment.bugs == []
            got = {version: environment.score(version).reward for version in (V1, V2)}
            assert got == {version: expected.reward_by(version) for version in (V1, V2)}, seed


@pytest.mark.parametrize(("task", "control"), CONTROLS, ids=lambda name: name)
def test_no_control_changes_the_store_and_all_that_reply_end_completed(
    task: str, control: str
) -> None:
    with deskgym.make(f"tickets/{task}") as environment:
        seen = play(environment, control, 7)
        assert environment.changes() == ()
        if environment.task.control(control).kind != "null":
            assert environment.ended == seen[-1].ended == "completed"
            assert len(environment.steps) == TURNS[tier_of(task)]


def test_the_controls_command_expects_of_each_version_what_it_gives() -> None:
    runs = list(run_controls(["tickets"], seeds=(0, 31)))
    assert len(runs) == len(CONTROLS) * 2 * 2
    assert all(run.holds for run in runs)
    assert {run.expected for run in runs if run.control.name == "conversation"} == {1.0, 0.4}


# --- seeds --------------------------------------------------------------------------------------


def test_every_ticket_has_a_seed_and_neighbours_differ_in_category_and_scenario() -> None:
    assert len({ticket_of(seed) for seed in SEEDS}) == 45 == len(TICKETS)
    for start in SEEDS:
        near = [ticket_of(seed).scenario for seed in range(start, start + 5)]
        assert start % 5 or {one.category for one in near} == set(CATEGORIES)
        fifteen = {ticket_of(seed).scenario.name for seed in range(start, start + 15)}
        assert len(fifteen) == 15


def test_a_high_seed_starts_a_ticket_too(environment: Environment) -> None:
    observation = environment.reset(2**31 - 1)
    assert recognise(observation.message) == ticket_of(2**31 - 1)


def test_an_opening_that_no_ticket_has_is_recognised_as_none() -> None:
    with pytest.raises(deskgym.UsageError, match="no ticket opens with 'Good day'"):
        recognise("Good day")


# --- what an agent sees -------------------------------------------------------------------------


def test_the_hard_customer_follows_up_and_acknowledges_whatever_is_said() -> None:
    with deskgym.make("tickets/hard") as environment:
        wording = ticket_of(4).wording
        assert environment.reset(4).message == wording.opening
        seen = [environment.step(call("respond", message=text)) for text in ("a", "b", "c")]
    assert [each.message for each in seen[:2]] == [wording.follow_up, wording.acknowledgement]
    assert [each.code for each in seen] == ["customer_replied"] * 2 + ["ticket_completed"]
    assert [each.data["turn"] for each in seen] == [2, 3, 3]
    assert [each.done for each in seen] == [False, False, True]


def test_the_conversation_and_what_it_is_about_are_rows_of_the_world() -> None:
    with deskgym.make("tickets/hard") as environment:
        environment.reset(4)
        environment.step(call("respond", message="Why?", intent="clarify"))
        environment.score()
        (one, number), wording = ticket_of(4), ticket_of(4).wording
        rows = environment.world.rows
        assert rows("SELECT * FROM before.env_ticket") == [("hard", one.name, number)]
        assert rows("SELECT * FROM env_turn") == [(1, "clarify")]
        assert rows("SELECT * FROM env_message ORDER BY step, role") == [
            (0, "customer", wording.opening),
            (1, "agent", "Why?"),
            (1, "customer", wording.follow_up),
        ]


KEYWORDS = Phrasebook((k.name, k.name) for one in SCENARIOS for k in one.keywords)


@pytest.mark.parametrize("control", ["oracle", "forbidden"])
def test_no_observation_gives_the_category_a_keyword_the_scenario_or_the_reward_away(
    environment: Environment, control: str
) -> None:
    for seed in SEEDS:
        ticket = ticket_of(seed)
        wording = ticket.wording
        own = (wording.opening, wording.follow_up, wording.acknowledgement)
        for observation in play(environment, control, seed):
            text = observation.to_json().decode()
            assert not {"reward", "score", "keyword", "rubric"} & set(words(text))
            if observation.message in own:
                text = observation._replace(message="").to_json().decode()
            assert ticket.scenario.name not in text
            assert not set(CATEGORIES) & set(words(text)), text
            assert not list(KEYWORDS.find(words(text))), text


def test_the_tool_and_the_policy_name_no_scenario_and_every_category() -> None:
    assert set(CATEGORIES) <= set(words(SUITE.instructions))
    for text in (SUITE.instructions, str(SUITE.toolbox["respond"].openai())):
        assert not [one.name for one in SCENARIOS if one.name in text]


def test_the_tool_takes_a_message_and_an_intent_that_may_be_left_out() -> None:
    schema = SUITE.toolbox["respond"].schema
    assert schema["required"] == ["message"]
    assert list(schema["properties"]) == ["message", "intent"]
    assert schema["properties"]["intent"]["anyOf"][0]["enum"] == list(INTENTS)


# --- what is refused ----------------------------------------------------------------------------

MESSAGE_TAKES = "`message` must be text of 1 to 32768 characters without control characters"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"message": ""}, MESSAGE_TAKES),
        ({"message": " \n\t "}, MESSAGE_TAKES),
        ({"message": "x" * 32_769}, MESSAGE_TAKES),
        ({"message": "x" * 1_000_000}, MESSAGE_TAKES),
        ({"message": "re\x00fund"}, MESSAGE_TAKES),
        ({"message": "\x1b[2J"}, MESSAGE_TAKES),
        ({"message": "\ud800"}, MESSAGE_TAKES),
        ({"message": 7}, MESSAGE_TAKES),
        ({"message": None}, MESSAGE_TAKES),
        ({"message": ["refund"]}, MESSAGE_TAKES),
        ({}, "`message` is missing"),
        ({"message": "x", "intent": "shout"}, "`intent` must be one of classify, respond, clarify"),
        ({"message": "x", "intent": 1}, "`intent` must be one of"),
        ({"message": "x", "category": "refund"}, "`category` is not an argument"),
    ],
)  # fmt: skip
def test_what_is_no_reply_is_refused_in_a_sentence_and_takes_no_turn(
    environment: Environment, arguments: dict[str, object], problem: str
) -> None:
    environment.reset(0)
    observation = environment.step(call("respond", **arguments))
    assert (observation.ok, observation.code) == (False, "invalid_arguments")
    assert problem in observation.message
    assert environment.score().breakdown.to_dict()["turns"] == []
    assert not environment.done
    assert environment.bugs == []


def test_a_reply_of_the_longest_length_is_scored(environment: Environment) -> None:
    environment.reset(0)
    observation = environment.step(call("respond", message="no. refund " * 2_978))
    assert observation.ok
    assert 0 <= environment.score(V1).reward <= 1
    assert 0 <= environment.score(V2).reward <= 1


def test_line_breaks_tabs_and_any_script_are_a_reply(environment: Environment) -> None:
    environment.reset(0)
    assert environment.step(call("respond", message="Hé\n\t— 你好 👋\r\n")).ok


def test_after_the_last_turn_nothing_more_is_taken(environment: Environment) -> None:
    play(environment, "oracle", 3)
    before = environment.score()
    assert environment.step(call("respond", message="Wait!")).code == "episode_over"
    assert environment.score() == before
    assert before.verdict == "resolved"


def test_ten_actions_are_the_limit_and_three_alike_are_no_progress() -> None:
    with deskgym.make("tickets/hard") as environment:
        environment.reset(0)
        for number in range(10):
            environment.step(call(f"nothing_{number % 2}" if number % 2 else "respond"))
        assert environment.ended == "action_limit"
        environment.reset(0)
        for _ in range(3):
            environment.step(call("respond"))
        assert environment.ended == "no_progress"
        assert environment.score().reward == 0.0


def test_by_v2_a_turn_that_was_not_taken_counts_as_nothing_and_by_v1_not_at_all() -> None:
    with deskgym.make("tickets/hard") as environment:
        environment.reset(0)
        rewards: list[tuple[float, float]] = []
        for turn in range(3):
            reply = agents.oracle("hard", turn, ticket_of(0))
            environment.step(call("respond", message=reply.message))
            rewards.append((environment.score(V1).reward, environment.score(V2).reward))
            assert ("turn 3 of 3: not taken" in environment.score().explain()) == (turn < 2)
    assert rewards == [(0.4, 0.3333), (0.45, 0.6667), (0.4, 1.0)]


def test_a_needless_escalation_by_intent_costs_a_fifth_on_medium_alone() -> None:
    for tier, turns in TURNS.items():
        earned: list[float] = []
        for intent in ("respond", "escalate"):
            with deskgym.make(f"tickets/{tier}") as environment:
                environment.reset(8)
                for turn in range(turns):
                    message = agents.oracle(tier, turn, ticket_of(8)).message
                    environment.step(call("respond", message=message, intent=intent))
                earned.append(environment.score().reward)
        assert earned == ([1.0, 0.8] if tier == "medium" else [1.0, 1.0])


def test_the_score_says_which_words_earned_each_part() -> None:
    with deskgym.make("tickets/medium") as environment:
        play(environment, "oracle", 0)
        lines = environment.score().explain().splitlines()
    assert lines[0] == "reward +1.00 by ticket-reward.v2: resolved"
    assert lines[1:3] == ["  1 of 10 actions", "  turn 1 of 1: 1.00"]
    assert lines[3].startswith("    keywords 0.80 of 0.80: lost in transit, refund, full amount,")
    assert [line.split()[0] for line in lines[3:]] == ["keywords", "empathy", "detail", "needless"]


# --- the same bytes everywhere ------------------------------------------------------------------

RUN = """
import sys
import deskgym
from deskgym.suites.tickets.scenario import TIERS
import orjson
for tier in TIERS:
    for name in ("oracle", "forbidden"):
        with deskgym.make("tickets/" + tier) as env:
            for seed in range(15):
                first = env.reset(seed)
                print(first.to_json())
                moves = env.task.control(name).script(first)
                action = next(moves)
                while not env.done:
                    seen = env.step(action)
                    print(seen.to_json())
                    action = moves.send(seen) if not env.done else action
                for version in ("ticket-reward.v1", "ticket-reward.v2"):
                    print(orjson.dumps(env.score(version).to_dict()))
"""


def test_a_run_is_the_same_bytes_whatever_the_hash_seed() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", RUN],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert len(printed.pop()) > 10_000


def test_a_run_repeats_after_other_episodes_of_the_same_environment() -> None:
    with deskgym.make("tickets/hard") as environment:
        first = [each.to_json() for each in play(environment, "oracle", 5)]
        score = environment.score().to_dict()
        play(environment, "forbidden", 6)
        assert [each.to_json() for each in play(environment, "oracle", 5)] == first
        assert environment.score().to_dict() == score
