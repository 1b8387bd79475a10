"""The text environments, the registry and what all environments share, driven by Gymnasium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import deskgym
from deskgym import Suite, Task, call, find_tasks
from deskgym.adapters.gymnasium import AnyText, MenuEnv, TextEnv, env_ids, register_envs
from deskgym.agents.null import null
from deskgym.errors import InvalidParameter, UnknownName, UsageError
from deskgym.protocol import format_call
from deskgym.runner import play
from deskgym.task import Script
from deskgym.trajectory import Action, Observation
from tests.adapters.broken import break_tool

TASKS = find_tasks()
IDS = [f"{suite.name}/{task.name}" for suite, task in TASKS]


def name_of(task: str, suffix: str = "") -> str:
    return f"deskgym/{task.replace('/', '.')}{suffix}-v0"


def in_process(task: str, script: Script, seed: int, **parameters: Any) -> Any:
    environment = deskgym.make(task, **parameters)
    play(environment, script, seed)
    return environment


def by_text(
    env: TextEnv, actions: list[Action], seed: int, options: dict[str, Any] | None = None
) -> list[tuple[str, float, bool, bool, dict[str, Any]]]:
    """Each action as a turn, and an empty turn where the agent stops before the end."""
    env.reset(seed=seed, options=options)
    turns = []
    for text in [*map(format_call, actions), ""]:
        turns.append(env.step(text))
        if turns[-1][2] or turns[-1][3]:
            break
    return turns


# The registry.


def test_every_task_and_suite_is_registered_in_text_and_by_a_menu():
    known = {"deskgym/backoffice-v0", "deskgym/service.damaged-lamp.menu-v0"}
    expected = {name_of(task, suffix) for task in IDS for suffix in ("", ".menu")}
    assert expected | known <= set(env_ids())
    assert len(expected) == 48


def test_registering_again_changes_nothing_and_warns_of_nothing():
    before = dict(gymnasium.registry)
    register_envs()
    assert gymnasium.registry == before


def test_a_module_in_the_id_registers_by_itself():
    env = gymnasium.make("deskgym.adapters.gymnasium:deskgym/service.damaged-lamp-v0")
    assert isinstance(env.unwrapped, TextEnv)


def test_a_wrong_id_names_the_right_one():
    with pytest.raises(gymnasium.error.NameNotFound, match=r"Did you mean: `service\.damaged-lamp"):
        gymnasium.make("deskgym/service.damaged-lmap-v0")


@pytest.mark.parametrize("kind", ["", ".menu"])
@pytest.mark.parametrize("task", ["service/damaged-lamp", "backoffice", "tickets/hard"])
def test_gymnasiums_own_checker_has_nothing_to_say(task: str, kind: str):
    # A warning would be an error here.
    check_env(gymnasium.make(name_of(task, kind)).unwrapped)


def test_a_specification_survives_json():
    env = gymnasium.make(name_of("service/damaged-lamp"), parameters={"stock": 0}, seeds=(5, 9))
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.reset(seed=3)[0] == env.reset(seed=3)[0]


# Rewards.


@pytest.mark.parametrize("reward", ["final", "per-step"])
@pytest.mark.parametrize(("suite", "task"), TASKS, ids=IDS)
def test_every_oracle_earns_in_text_what_it_earns_in_process(suite: Suite, task: Task, reward: Any):
    control = task.control("oracle")
    environment = in_process(f"{suite.name}/{task.name}", control.script, 7, **control.parameters)
    env = TextEnv(environment.id, reward=reward, parameters=dict(control.parameters))
    turns = by_text(env, [step.action for step in environment.steps], 7)
    expected = environment.score().reward
    assert expected == control.reward
    assert sum(turn[1] for turn in turns) == pytest.approx(expected, abs=1e-9)
    assert turns[-1][4]["score"]["reward"] if expected else True
    assert [turn[2] or turn[3] for turn in turns] == [False] * (len(turns) - 1) + [True]
    if reward == "final":
        assert [turn[1] for turn in turns[:-1]] == [0.0] * (len(turns) - 1)


@pytest.mark.parametrize("kind", [TextEnv, MenuEnv])
@pytest.mark.parametrize("task", IDS)
def test_doing_nothing_earns_what_it_earns_in_process(task: str, kind: Any):
    expected = in_process(task, null, 3).score().reward
    env = kind(task)
    env.reset(seed=3)
    _, reward, terminated, truncated, info = env.step("" if kind is TextEnv else 0)
    assert (reward, terminated, truncated) == (expected, True, False)
    assert info["ended"] == "agent_stopped"


def test_a_lie_costs_with_the_step_that_told_it():
    env = TextEnv("service/two-full-captures", reward="per-step")
    actions = [
        call("get_order", order_id="S-410"),
        call("list_order_payments", order_id="S-410"),
        call("report", claim="refunded", order_id="S-410"),
    ]
    rewards = [turn[1] for turn in by_text(env, actions, 0)]
    # Reading earns nothing, a contradicted report costs 0.30, stopping changes nothing.
    assert rewards == [0.0, 0.0, -0.3, 0.0]


# How an episode goes on and ends.


def test_the_system_prompt_and_the_first_observation_say_what_a_model_is_told():
    env = TextEnv("service/damaged-lamp")
    observation, _ = env.reset(seed=0)
    assert observation == deskgym.make("service/damaged-lamp").reset(0).message
    suite = env.seat.choice.suite
    assert suite.instructions.strip() in env.system
    assert all(f"## {tool}\n" in env.system for tool in suite.toolbox)


def test_an_agent_sees_no_score_and_no_seed():
    env = TextEnv("service/two-full-captures", reward="per-step")
    told = [env.reset(seed=424_242)[0]]
    told += [env.step(format_call(call("get_order", order_id="S-410")))[0]]
    told += [env.step(format_call(call("close")))[0]]
    assert not any(word in text for text in told for word in ("reward", "score", "424242"))


def test_calls_of_a_turn_run_in_their_order_and_stop_at_the_end():
    env = TextEnv("service/damaged-lamp")
    env.reset(seed=0)
    text = "".join(
        format_call(action)
        for action in (call("get_order", order_id="S-410"), call("close"), call("close"))
    )
    observation, _, terminated, _, info = env.step(text)
    assert observation.count("<tool_result>") == 2
    assert terminated
    assert info["actions"] == 2
    assert info["ended"] == "closed"


def test_words_reach_the_customer():
    env = TextEnv("tickets/hard")
    env.reset(seed=0)
    observation, *_ = env.step("Which version of the app do you have?")
    environment = env.seat.environment
    assert environment is not None
    assert environment.steps[0].action.tool == "respond"
    assert observation == environment.steps[0].result.message


def test_words_that_nobody_hears_are_told_so_and_end_the_third_time():
    env = TextEnv("backoffice/damaged-item")
    env.reset(seed=0)
    turns = [env.step("I think that I should look at the policy.") for _ in range(3)]
    assert "Nobody reads" in turns[0][0]
    assert [turn[3] for turn in turns] == [False, False, True]
    assert turns[-1][4]["ended"] == "unusable_output"


def test_a_call_that_cannot_be_read_is_answered_and_counted():
    env = TextEnv("service/damaged-lamp")
    env.reset(seed=0)
    observation, *_ = env.step('<tool_call>{"name": "get_ordr"}</tool_call>')
    assert "Did you mean get_order?" in observation
    env.step(format_call(call("get_order", order_id="S-410")))
    for _ in range(2):
        _, _, _, truncated, _ = env.step("<tool_call>{</tool_call>")
        assert not truncated
    assert env.step("<tool_call>{</tool_call>")[3]


def test_a_call_cut_off_at_its_stop_sequence_is_run_where_that_is_said():
    text = format_call(call("get_order", order_id="S-410")).removesuffix("</tool_call>")
    for stop_at_call, found in ((True, "order_found"), (False, "unclosed_tag")):
        env = TextEnv("service/damaged-lamp", stop_at_call=stop_at_call)
        env.reset(seed=0)
        assert found in env.step(text)[0]


def test_the_same_answer_three_times_truncates():
    env = TextEnv("backoffice/damaged-item")
    env.reset(seed=0)
    turns = [env.step(format_call(call("read_policy"))) for _ in range(3)]
    assert [turn[2:4] for turn in turns] == [(False, False), (False, False), (False, True)]
    assert (turns[-1][4]["ended"], turns[-1][1]) == ("no_progress", 0.0)


def test_the_last_action_truncates():
    env = TextEnv("backoffice/damaged-item")
    env.reset(seed=0)
    tools = ["read_policy", "list_inbox"] * 20
    turns = [env.step(format_call(call(tool))) for tool in tools]
    assert [turn[3] for turn in turns] == [False] * 39 + [True]
    assert (turns[-1][4]["ended"], turns[-1][2]) == ("action_limit", False)


def test_a_step_without_an_episode_asks_for_a_reset():
    env = TextEnv("service/damaged-lamp")
    with pytest.raises(ResetNeeded, match="no episode yet"):
        env.step("hello")
    env.reset(seed=0)
    env.step("")
    with pytest.raises(ResetNeeded, match=r"is over \(agent_stopped\)"):
        env.step("hello")
    assert env.reset(seed=1)[1]["seed"] == 1


def test_the_transcript_is_rendered_where_it_is_asked_for():
    env = gymnasium.make(name_of("service/damaged-lamp"), render_mode="ansi")
    env.reset(seed=0)
    env.step(format_call(call("get_order", order_id="S-410")))
    shown = env.render()
    assert isinstance(shown, str)
    assert "order_found: The order, with its items and shipments." in shown
    assert TextEnv("service/damaged-lamp").render() is None


# Seeds and options.


def test_a_seed_is_the_episodes_own_and_later_ones_are_drawn_from_it():
    env = TextEnv("backoffice/damaged-item", seeds=(10, 20))
    drawn = []
    for _ in range(2):
        env.reset(seed=77)
        drawn.append([env.reset()[1]["seed"] for _ in range(12)])
    assert drawn[0] == drawn[1]
    assert set(drawn[0]) <= set(range(10, 20))
    assert len(set(drawn[0])) > 3
    assert env.reset(seed=77)[1]["seed"] == 77


def test_a_suites_id_draws_its_tasks():
    env = gymnasium.make("deskgym/backoffice-v0")
    env.reset(seed=0)
    drawn = {env.reset()[1]["task"] for _ in range(80)}
    assert drawn == {task for task in IDS if task.startswith("backoffice/")}


def test_options_choose_task_parameters_and_seeds_for_one_episode():
    env = TextEnv("backoffice")
    options = {"task": "backoffice/late-return", "parameters": {"in_time": 1}, "seeds": (4, 5)}
    info = env.reset(options=options)[1]
    assert (info["task"], info["seed"]) == ("backoffice/late-return", 4)
    assert env.seat.environment is not None
    assert env.seat.environment.parameters["in_time"] == 1
    assert env.reset(options={"task": "late-return"})[1]["task"] == "backoffice/late-return"
    assert env.seat.environment is not None
    assert env.seat.environment.parameters["in_time"] == 0


def wrong_arguments() -> Iterator[Any]:
    yield pytest.param({"task": "service/damaged-lmap"}, UnknownName, "damaged-lamp", id="task")
    yield pytest.param({"task": "servis"}, UnknownName, "service", id="suite")
    yield pytest.param({"task": []}, UsageError, "needs a task", id="none")
    yield pytest.param(
        {"task": ["service", "tickets"]}, UsageError, "one suite", id="several suites"
    )
    lamp = {"task": "service/damaged-lamp"}
    yield pytest.param({**lamp, "parameters": {"stok": 1}}, InvalidParameter, "stock", id="name")
    yield pytest.param({**lamp, "parameters": {"stock": 7}}, InvalidParameter, "0 to 6", id="value")
    yield pytest.param({**lamp, "seeds": (5, 5)}, InvalidParameter, "at least one", id="no seeds")
    yield pytest.param({**lamp, "seeds": 5}, InvalidParameter, "first, stop", id="one seed")
    yield pytest.param({**lamp, "seeds": (0, 2**40)}, InvalidParameter, "2147483648", id="large")
    yield pytest.param({**lamp, "rubric": "v9"}, UnknownName, "service-reward", id="rubric")
    yield pytest.param({**lamp, "reward": "often"}, UsageError, "per-step", id="reward")
    yield pytest.param({**lamp, "render_mode": "human"}, UsageError, "ansi", id="render mode")


@pytest.mark.parametrize("kind", [TextEnv, MenuEnv])
@pytest.mark.parametrize(("arguments", "error", "says"), list(wrong_arguments()))
def test_wrong_arguments_say_what_would_be_right(
    kind: Any, arguments: dict[str, Any], error: type[Exception], says: str
):
    with pytest.raises(error, match=says):
        kind(**arguments)


@pytest.mark.parametrize(
    ("seed", "options", "says"),
    [
        (2**31, None, "0 to 2147483647"),
        (None, {"seed": 3}, "no option 'seed'; did you mean 'seeds'"),
        (None, {"parameters": {"stock": -1}}, "0 to 6"),
        (None, {"seeds": (3, 2)}, "at least one"),
        (None, {"task": "parcel"}, "no task 'parcel'"),
    ],
)
def test_wrong_resets_say_what_would_be_right(seed: Any, options: Any, says: str):
    env = TextEnv("service/damaged-lamp")
    with pytest.raises(UsageError, match=says):
        env.reset(seed=seed, options=options)


# Failures.


def test_a_bug_in_a_tool_raises_and_pays_nothing(monkeypatch: pytest.MonkeyPatch):
    env = TextEnv("service/damaged-lamp")
    env.reset(seed=4)
    break_tool(monkeypatch, env.seat.choice.suite, "get_order")
    with pytest.raises(ZeroDivisionError) as caught:
        env.step(format_call(call("get_order", order_id="S-410")))
    assert "get_order, step 1 of service/damaged-lamp with seed 4" in caught.value.__notes__[0]
    with pytest.raises(ResetNeeded):
        env.step("")
    monkeypatch.undo()
    env.reset(seed=4)
    assert "order_found" in env.step(format_call(call("get_order", order_id="S-410")))[0]


# The space.


def test_any_text_holds_every_script_and_no_other_thing():
    space = AnyText(10)
    assert "" in space
    assert "Łódź ☃ 猫" in space
    assert "x" * 11 not in space
    assert 5 not in space
    space.seed(1)
    sampled = space.sample()
    space.seed(1)
    assert sampled == space.sample()


def test_samples_of_a_text_space_are_within_it():
    space = AnyText(100)
    assert all(space.sample() in space for _ in range(50))


def test_observations_are_json_in_the_protocol():
    env = TextEnv("service/damaged-lamp")
    env.reset(seed=0)
    observation, *_ = env.step(format_call(call("get_order", order_id="S-410")))
    body = observation.removeprefix("<tool_result>").removesuffix("</tool_result>")
    fields = json.loads(body)
    assert Observation(**fields).code == "order_found"
    assert np.array(fields["data"]["total_cents"]) == 4_800
