"""The published models, and the trainer's view of an episode."""

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

import deskgym
from deskgym.rubric.language import Phrasebook, words
from deskgym.suites.tickets import (
    SupportAction,
    SupportObservation,
    SupportState,
    TicketEnvironment,
    agents,
)
from deskgym.suites.tickets.catalogue import SCENARIOS
from deskgym.suites.tickets.conversation import observation_of, state_of
from deskgym.suites.tickets.scenario import CATEGORIES, TIERS, TURNS, Tier
from deskgym.suites.tickets.ticket import TICKETS, ticket_of


@pytest.fixture
def tickets() -> Iterator[TicketEnvironment]:
    with TicketEnvironment() as environment:
        yield environment


def by_oracle(tier: Tier, turn: int, seed: int) -> SupportAction:
    reply = agents.oracle(tier, turn, ticket_of(seed))
    return SupportAction(message=reply.message, intent=reply.intent)


def test_the_models_have_the_published_fields() -> None:
    assert list(SupportAction.model_fields) == ["message", "intent"]
    assert list(SupportObservation.model_fields) == [
        *("conversation", "customer_query", "task_name", "done", "reward", "cumulative_reward"),
        *("turn_scores", "info"),
    ]


def test_the_opening_observation_has_the_ticket_and_no_reward(tickets: TicketEnvironment) -> None:
    opening = ticket_of(9).wording.opening
    assert tickets.reset("medium", 9) == SupportObservation(
        conversation=[opening],
        customer_query=opening,
        task_name="medium",
        done=False,
        reward=None,
        cumulative_reward=0.0,
        turn_scores=[],
        info="Solve the ticket in one reply.",
    )


def test_a_hard_conversation_alternates_and_its_reward_is_the_mean_so_far(
    tickets: TicketEnvironment,
) -> None:
    wording = ticket_of(2).wording
    tickets.reset("hard", 2)
    first = tickets.step(SupportAction(message="Could you tell me a little more?"))
    assert (first.reward, first.cumulative_reward, first.turn_scores) == (0.3, 0.3, [0.3])
    assert first.conversation[1:] == ["Could you tell me a little more?", wording.follow_up]
    assert first.customer_query == wording.follow_up
    second = tickets.step(by_oracle("hard", 1, 2))
    assert (second.reward, second.cumulative_reward) == (1.0, 0.65)
    assert second.customer_query == wording.acknowledgement
    third = tickets.step(by_oracle("hard", 2, 2))
    assert (third.reward, third.turn_scores) == (1.0, [0.3, 1.0, 1.0])
    assert third.cumulative_reward == 0.7667 == tickets.score().reward
    assert (third.done, third.info) == (True, None)
    said = [wording.opening, wording.follow_up, wording.acknowledgement]
    assert third.conversation[::2] == said
    assert third.customer_query == wording.acknowledgement


@pytest.mark.parametrize("tier", TIERS)
def test_the_oracle_is_full_to_the_trainer_on_every_ticket(
    tickets: TicketEnvironment, tier: Tier
) -> None:
    for seed in range(len(TICKETS)):
        observation = tickets.reset(tier, seed)
        for turn in range(TURNS[tier]):
            assert not observation.done
            observation = tickets.step(by_oracle(tier, turn, seed))
        assert observation.done
        assert observation.cumulative_reward == 1.0
        assert observation.turn_scores == [1.0] * TURNS[tier]


def test_info_is_the_same_for_every_ticket_and_gives_nothing_away(
    tickets: TicketEnvironment,
) -> None:
    keywords = Phrasebook((form, k.name) for s in SCENARIOS for k in s.keywords for form in k.forms)
    for tier in TIERS:
        seen: set[tuple[str | None, ...]] = set()
        for seed in range(len(TICKETS)):
            infos = [tickets.reset(tier, seed).info]
            for turn in range(TURNS[tier]):
                infos.append(tickets.step(by_oracle(tier, turn, seed)).info)
            seen.add(tuple(infos))
        assert len(seen) == 1
        for info in seen.pop():
            assert not set(words(info or "")) & set(CATEGORIES)
            assert not list(keywords.find(words(info or "")))


def test_the_state_says_how_it_stands_and_not_what_it_is_about(tickets: TicketEnvironment) -> None:
    tickets.reset("hard", 4)
    tickets.step(by_oracle("hard", 0, 4))
    state = tickets.state
    assert state == SupportState(
        task_name="hard",
        seed=4,
        step_count=1,
        turn_count=1,
        turns_max=3,
        done=False,
        ended=None,
        conversation=tickets.state.conversation,
        turn_scores=[1.0],
        cumulative_reward=1.0,
    )
    assert len(state.conversation) == 3
    assert ticket_of(4).scenario.name not in state.model_dump_json()


def test_a_refused_action_of_the_same_episode_earns_nothing_and_says_why(
    tickets: TicketEnvironment,
) -> None:
    tickets.reset("hard", 0)
    tickets.step(by_oracle("hard", 0, 0))
    tickets.environment.step(deskgym.call("respond", message=""))
    observation = observation_of(tickets.environment)
    assert (observation.reward, observation.turn_scores) == (0.0, [1.0])
    assert observation.info is not None
    assert observation.info.startswith("Nothing was done: `message` must be text")
    assert state_of(tickets.environment).step_count == 2


def test_once_over_the_cumulative_reward_is_the_episodes_with_untaken_turns_as_nothing(
    tickets: TicketEnvironment,
) -> None:
    tickets.reset("hard", 0)
    tickets.step(by_oracle("hard", 0, 0))
    for _ in range(3):
        tickets.environment.step(deskgym.call("respond"))
    observation = observation_of(tickets.environment)
    assert observation.done
    assert observation.cumulative_reward == 0.3333
    assert tickets.state.ended == "no_progress"


def test_the_published_rules_are_a_choice() -> None:
    with TicketEnvironment(rubric="ticket-reward.v1") as tickets:
        assert tickets.rubric_version == "ticket-reward.v1"
        tickets.reset("easy", 0)
        listing = SupportAction(message=", ".join(CATEGORIES))
        assert tickets.step(listing).reward == 1.0
    with pytest.raises(deskgym.UnknownName, match="no rubric of tickets 'v3'"):
        TicketEnvironment(rubric="v3")


# --- a caller's mistakes ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "Easy", "harder", "tickets/easy", None, 1])
def test_a_wrong_task_name_is_an_error_that_names_the_tiers(
    tickets: TicketEnvironment, name: str
) -> None:
    with pytest.raises(deskgym.UnknownName, match=r"no task_name .*known: easy, hard, medium"):
        tickets.reset(name)


@pytest.mark.parametrize("seed", [-1, 2**31, 1.0, "1", True, None])
def test_a_wrong_seed_is_an_error(tickets: TicketEnvironment, seed: int) -> None:
    with pytest.raises(deskgym.InvalidParameter, match="a seed is a whole number"):
        tickets.reset("easy", seed)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"message": ""},
        {"message": "   "},
        {"message": 7},
        {"message": None},
        {"message": b"refund"},
        {"message": "x" * 32_769},
        {"message": "x" * 1_000_000},
        {"message": "a\x00b"},
        {"message": "\ud800"},
        {"message": "x", "intent": "shout"},
        {"message": "x", "intent": "Classify"},
        {"message": "x", "intent": 1},
        {"message": "x", "intention": "classify"},
    ],
)
def test_an_action_that_does_not_fit_is_an_error_that_names_the_field(
    fields: dict[str, object],
) -> None:
    with pytest.raises(ValidationError) as caught:
        SupportAction.model_validate(fields)
    assert caught.value.errors()[0]["loc"][0] in ("message", "intent", "intention")
    assert len(str(caught.value)) < 500


def test_steps_without_an_episode_after_its_end_and_of_another_kind_are_errors(
    tickets: TicketEnvironment,
) -> None:
    action = SupportAction(message="refund", intent="classify")
    with pytest.raises(deskgym.UsageError, match=r"call reset\(task_name, seed\) first"):
        tickets.step(action)
    tickets.reset("easy")
    with pytest.raises(deskgym.UsageError, match="takes a SupportAction, not dict"):
        tickets.step({"message": "refund"})  # pyright: ignore[reportArgumentType]
    assert tickets.step(action).done
    with pytest.raises(deskgym.UsageError, match="the episode is over"):
        tickets.step(action)
    assert not tickets.reset("easy").done


def test_an_episode_of_another_suite_has_no_such_view() -> None:
    with deskgym.make("service/damaged-lamp") as environment:
        environment.reset()
        with pytest.raises(deskgym.UsageError, match="no task of the tickets suite"):
            observation_of(environment)
