"""Many episodes in one call: each as it is alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from deskgym import call
from deskgym.adapters.gymnasium import MenuEnv, MenuVectorEnv, TextEnv, TextVectorEnv
from deskgym.adapters.gymnasium.vector import PLACES_MAX
from deskgym.errors import InvalidParameter, UsageError
from deskgym.protocol import format_call
from tests.adapters.broken import break_tool

MODES = list(AutoresetMode)
COUNT = 5


def chosen(masks: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return np.array([random.choice(np.flatnonzero(mask)) for mask in masks])


@pytest.mark.parametrize("task", ["service", "backoffice/injected-instruction"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_many_at_once_are_what_each_is_alone(task: str, mode: AutoresetMode):
    ours = MenuVectorEnv(COUNT, task, reward="per-step", autoreset_mode=mode)
    alone: Any = SyncVectorEnv(
        [lambda: MenuEnv(task, reward="per-step")] * COUNT, autoreset_mode=mode
    )
    random = np.random.default_rng(3)
    told = [env.reset(seed=21) for env in (ours, alone)]
    ended = 0
    for _ in range(40):
        (mine, info), (theirs, expected) = told
        assert (mine == theirs).all()
        assert (info["action_mask"] == ours.action_masks()).all()
        assert (info["action_mask"] == np.stack([env.action_masks() for env in alone.envs])).all()
        actions = chosen(info["action_mask"], random)
        steps = [env.step(actions) for env in (ours, alone)]
        for left, right in zip(*(step[1:4] for step in steps), strict=True):
            assert (left == right).all()
        info, expected = steps[0][4], steps[1][4]
        assert ("final_obs" in info) == ("final_obs" in expected)
        for number in np.flatnonzero(steps[0][2] | steps[0][3]):
            ended += 1
            if mode is AutoresetMode.SAME_STEP:
                assert (info["final_obs"][number] == expected["final_obs"][number]).all()
                assert (
                    info["final_info"]["ended"][number] == expected["final_info"]["ended"][number]
                )
        told = [(step[0], step[4]) for step in steps]
    assert ended > COUNT


def test_the_caller_resets_where_that_is_the_mode():
    env = MenuVectorEnv(2, "service/damaged-lamp", autoreset_mode="Disabled")
    env.reset(seed=0)
    _, _, terminations, _, _ = env.step([0, 1])
    assert terminations.tolist() == [True, False]
    with pytest.raises(ResetNeeded, match="places 0 are over"):
        env.step([0, 1])
    before = env.envs[1].seat.environment
    mask = np.array([True, False])
    _, infos = env.reset(seed=[9, None], options={"reset_mask": mask})
    assert infos["seed"][0] == 9
    assert env.envs[1].seat.environment is before
    env.step([1, 1])


def test_make_vec_uses_it():
    env: Any = gymnasium.make_vec("deskgym/backoffice.menu-v0", num_envs=3, reward="per-step")
    assert isinstance(env, MenuVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert env.observation_space.contains(env.reset(seed=0)[0])
    text = gymnasium.make_vec("deskgym/service.damaged-lamp-v0", num_envs=2)
    assert isinstance(text, TextVectorEnv)


def test_gymnasiums_own_vector_environments_take_the_ids_too():
    env = gymnasium.make_vec(
        "deskgym/service.damaged-lamp-v0", num_envs=2, vectorization_mode="sync"
    )
    observations, _ = env.reset(seed=0)
    assert env.observation_space.contains(observations)
    env.close()


def test_text_of_many_episodes():
    env = TextVectorEnv(2, "service/damaged-lamp", autoreset_mode=AutoresetMode.SAME_STEP)
    alone = TextEnv("service/damaged-lamp")
    observations, infos = env.reset(seed=4)
    assert observations == (alone.reset(seed=4)[0], alone.reset(seed=5)[0])
    assert infos["seed"].tolist() == [4, 5]
    assert env.system == alone.system
    read = format_call(call("get_order", order_id="S-410"))
    observations, _, terminations, _, infos = env.step((read, ""))
    assert "order_found" in observations[0]
    assert terminations.tolist() == [False, True]
    assert infos["final_info"]["ended"][1] == "agent_stopped"
    assert observations[1] == env.envs[1].told != infos["final_obs"][1]
    assert env.observation_space.contains(observations)


def test_more_episodes_than_places_take_turns():
    count = PLACES_MAX + 12
    env = MenuVectorEnv(count, "service/two-half-payments")
    env.reset(seed=0)
    places = [
        "get_order: next unread",
        "list_order_payments: first order",
        "report: no_duplicate_charge, first order",
        "close: the case",
    ]
    rewards = np.zeros(count)
    for label in places:
        _, earned, terminations, _, _ = env.step([env.envs[0].menu.labels.index(label)] * count)
        rewards += earned
    assert terminations.all()
    assert (rewards == 1.0).all()
    env.close()


def test_observations_are_the_callers_to_keep():
    env = MenuVectorEnv(2, "service/damaged-lamp")
    observations, infos = env.reset(seed=0)
    kept, masks = observations.copy(), infos["action_mask"].copy()
    env.step([1, 1])
    assert (observations == kept).all()
    assert (infos["action_mask"] == masks).all()


def test_a_bug_in_one_episode_raises(monkeypatch: pytest.MonkeyPatch):
    env = MenuVectorEnv(2, "service/damaged-lamp")
    env.reset(seed=0)
    place = env.envs[0].menu.labels.index("get_order: next unread")
    break_tool(monkeypatch, env.envs[0].seat.choice.suite, "get_order")
    with pytest.raises(ZeroDivisionError):
        env.step([0, place])
    monkeypatch.undo()
    env.reset(seed=0)
    env.step([place, place])


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"num_envs": 0}, InvalidParameter, "at least 1"),
        ({"num_envs": 2, "autoreset_mode": "Later"}, UsageError, "NextStep, SameStep, Disabled"),
    ],
)
def test_wrong_arguments_say_what_would_be_right(
    arguments: dict[str, Any], error: type[Exception], says: str
):
    with pytest.raises(error, match=says):
        MenuVectorEnv(task="service/damaged-lamp", **arguments)


def test_wrong_calls_say_what_would_be_right():
    env = MenuVectorEnv(2, "service/damaged-lamp")
    with pytest.raises(ResetNeeded):
        env.step([0, 0])
    with pytest.raises(InvalidParameter, match="as many seeds"):
        env.reset(seed=[1])
    env.reset(seed=0)
    with pytest.raises(InvalidParameter, match="as many actions"):
        env.step([0])
    with pytest.raises(InvalidParameter, match="2 booleans"):
        env.reset(options={"reset_mask": [1, 0]})
    with pytest.raises(InvalidParameter, match="no episode to reset"):
        env.reset(options={"reset_mask": np.zeros(2, bool)})


def test_a_missing_gymnasium_is_told_with_its_extra():
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import deskgym.errors\n"
        "try:\n    import deskgym.adapters.gymnasium\n"
        "except deskgym.errors.MissingExtra as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == (
        "deskgym.adapters.gymnasium needs more packages: pip install 'deskgym[gymnasium]'"
    )
