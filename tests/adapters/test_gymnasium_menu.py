"""The discrete variant: what its menu can express, and that it knows only what was observed."""

from __future__ import annotations

import ast
import difflib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded

import deskgym
from deskgym import Control, Environment, Suite, Task, call, find_tasks
from deskgym.adapters import gymnasium as adapter
from deskgym.adapters.gymnasium import Family, Menu, MenuEnv, menu_of
from deskgym.adapters.gymnasium.menu import MenuDefinition, always
from deskgym.adapters.gymnasium.menus import schema
from deskgym.agents.scripts import agents_of
from deskgym.errors import InvalidDefinition, InvalidParameter
from deskgym.runner import play
from deskgym.task import Script
from deskgym.trajectory import Action
from tests.adapters.broken import break_tool
from tests.testing.mugs import suite as mugs
from tools.example import install

FREE_TEXT = {"reason", "body", "summary", "text", "message"}
"""Arguments whose words are the menu's own."""
BUILDERS = ("memory", "menu", "features", "menus/*")
"""The modules that menus and vectors are built by."""


def without_words(action: Action) -> tuple[str, dict[str, Any]]:
    arguments: Any = action.arguments
    kept = {name: value for name, value in arguments.items() if name not in FREE_TEXT}
    return action.tool, kept


def words(action: Action) -> str:
    arguments: Any = action.arguments
    return " ".join(str(arguments[name]) for name in sorted(FREE_TEXT & arguments.keys()))


def place_of(env: MenuEnv, action: Action) -> int:
    """The place with the same call; among several, the one that says most nearly the same."""
    places = [
        (difflib.SequenceMatcher(None, words(entry), words(action)).ratio(), place)
        for place, entry in enumerate(env.entries())
        if entry is not None and without_words(entry) == without_words(action)
    ]
    assert places, f"the menu has no {action}"
    return max(places)[1]


def by_menu(env: MenuEnv, environment: Environment) -> float:
    """Choose from the menu what was done in the environment, and stop; what it earned."""
    env.reset(seed=environment.seed)
    total = 0.0
    for step in environment.steps:
        total += env.step(place_of(env, step.action))[1]
    if env.seat.ended is None:
        total += env.step(0)[1]
    return round(total, 4)


def played(task: str, script: Script, seed: int, **parameters: Any) -> Environment:
    environment = deskgym.make(task, **parameters)
    play(environment, script, seed)
    return environment


def expressible(suites: list[str], kinds: set[str]) -> Iterator[Any]:
    for suite, task in find_tasks(suites):
        for control in task.controls:
            if control.kind in kinds:
                name = f"{suite.name}/{task.name}"
                yield pytest.param(name, control, id=f"{name} {control.name}")


SOLUTIONS = [
    *expressible(["service"], {"oracle"}),
    *expressible(["backoffice"], {"oracle"}),
    *expressible(["tickets/easy"], {"oracle"}),
]


@pytest.mark.parametrize("reward", ["final", "per-step"])
@pytest.mark.parametrize(("task", "control"), SOLUTIONS)
def test_the_menu_expresses_what_every_oracle_does(task: str, control: Control, reward: Any):
    env = MenuEnv(task, reward=reward, parameters=dict(control.parameters))
    for seed in (0, 34):
        environment = played(task, control.script, seed, **control.parameters)
        assert by_menu(env, environment) == environment.score().reward == control.reward


@pytest.mark.long
@pytest.mark.parametrize(("task", "control"), SOLUTIONS)
def test_the_menu_expresses_what_every_oracle_does_on_many_seeds(task: str, control: Control):
    env = MenuEnv(task, parameters=dict(control.parameters))
    for seed in range(200):
        environment = played(task, control.script, seed, **control.parameters)
        assert by_menu(env, environment) == control.reward


def refunds_the_first_capture(_: Any) -> Iterator[Action]:
    yield call("get_order", order_id="S-410")
    yield call("list_order_payments", order_id="S-410")
    yield call("propose", remedy="refund", order_id="S-410", payment_id="PAY-A", amount_cents=4_800)
    yield call(
        "issue_refund", order_id="S-410", payment_id="PAY-A", amount_cents=4_800, reason="asked"
    )
    yield call("report", claim="refunded", order_id="S-410")


def test_the_menu_expresses_wrong_things_too():
    script: Any = refunds_the_first_capture
    environment = played("service/two-full-captures", script, 0)
    # The wrong capture: the fourth script of the suite's table, -0.40.
    assert by_menu(MenuEnv("service/two-full-captures"), environment) == -0.4


def obeys(task: str, seed: int) -> bool:
    """Whether the menu can obey the instruction of a seed, by some single call."""
    env = MenuEnv(task)
    careful = agents_of(env.seat.choice.suite)["careful"]
    environment = played(task, careful, seed)
    customer = {step.action.tool: step for step in environment.steps}["read_thread"]
    env.reset(seed=seed)
    for step in environment.steps:
        if step.action.tool in ("read_policy", "read_thread", "get_order"):
            env.step(place_of(env, step.action))
    env.step(place_of(env, call("get_customer", customer_id=customer.result.data["customer_id"])))
    for _ in range(4):  # what the texts name is read, where it is not yet
        unread = [
            place
            for place, entry in enumerate(env.entries())
            if entry and entry.tool in ("get_order", "get_customer") and not env.chosen[place]
        ]
        if unread:
            env.step(unread[0])
    done = env.seat.environment
    assert done is not None
    for entry in env.entries():
        if entry is None or done.suite.toolbox[entry.tool].kind != "write":
            continue
        again = deskgym.make(task)
        again.reset(seed)
        for step in done.steps:
            again.step(step.action)
        again.step(entry)
        broken: Any = again.score().breakdown
        if any(each.name == "injected-instruction-not-obeyed" for each in broken.broken):
            return True
    return False


def test_the_menu_does_not_keep_a_policy_out_of_the_traps():
    # Of six seeds at least four can be obeyed; an instruction in a place that was not read cannot.
    assert sum(obeys("backoffice/injected-instruction", seed) for seed in range(6)) >= 4


@pytest.mark.parametrize(("suite", "task"), find_tasks(), ids=lambda one: one.name)
def test_every_entry_is_a_call_that_its_tool_takes(suite: Suite, task: Task):
    env = MenuEnv(f"{suite.name}/{task.name}")
    random = np.random.default_rng(5)
    env.reset(seed=11)
    for _ in range(24):
        for entry, open_ in zip(env.entries(), env.action_masks(), strict=True):
            assert (entry is not None) == open_ or entry is env.entries()[0]
            if entry is not None:
                suite.toolbox[entry.tool].validate(entry.arguments)
        calls = [entry for entry in env.entries() if entry is not None]
        assert len({(one.tool, str(one.arguments)) for one in calls}) == len(calls)
        place = int(random.choice(np.flatnonzero(env.action_masks())))
        observation, _, terminated, truncated, _ = env.step(place)
        assert env.observation_space.contains(observation)
        if terminated or truncated:
            env.reset()


# It knows what was observed, and nothing else.


def test_the_builders_import_no_world_environment_task_or_rubric():
    folder = Path(adapter.__file__).parent
    sealed = (
        "environment",
        "task",
        "rubric",
        "replay",
        "recording",
        "runner",
        "agents",
        "evaluate",
    )
    files = [path for pattern in BUILDERS for path in folder.glob(f"{pattern}.py")]
    assert len(files) >= 8
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.module if isinstance(node, ast.ImportFrom) else None
            if name is None or not name.startswith("deskgym."):
                continue
            assert name.split(".")[1] not in sealed, f"{path.name} imports {name}"
            if name.startswith(("deskgym.store", "deskgym.suites")):
                # The rule by which cents are rounded is the policy's own.
                assert name == "deskgym.store.shop.price", f"{path.name} imports {name}"


def seen(env: MenuEnv, actions: list[Action]) -> list[tuple[Any, ...]]:
    """Menu, mask and vector at each step."""
    observation, info = env.reset(seed=0)
    found = [(env.entries(), info["action_mask"].tobytes(), observation.tobytes())]
    for action in actions:
        observation, _, _, _, info = env.step(place_of(env, action))
        found.append((env.entries(), info["action_mask"].tobytes(), observation.tobytes()))
    return found


def test_worlds_that_differ_in_unseen_rows_give_equal_menus_and_vectors():
    reads = [call("get_order", order_id="S-410"), call("list_order_payments", order_id="S-410")]
    full, empty = (
        seen(MenuEnv("service/damaged-lamp", parameters={"stock": stock}), reads)
        for stock in (6, 0)
    )
    assert full == empty


def test_they_differ_once_the_rows_are_seen():
    reads = [call("get_order", order_id="S-410"), call("search_inventory")]
    full, empty = (
        seen(MenuEnv("service/damaged-lamp", parameters={"stock": stock}), reads)
        for stock in (6, 0)
    )
    assert full[:2] == empty[:2]
    assert full[2] != empty[2]


def test_nothing_is_remembered_from_one_episode_to_the_next():
    env = MenuEnv("service/two-full-captures")
    fresh = seen(env, [])
    seen(env, [call("get_order", order_id="S-410"), call("list_order_payments", order_id="S-410")])
    assert seen(env, []) == fresh


def test_an_observation_is_the_callers_to_keep():
    env = MenuEnv("service/two-full-captures")
    observation, info = env.reset(seed=0)
    before, mask = observation.copy(), info["action_mask"].copy()
    env.step(place_of(env, call("get_order", order_id="S-410")))
    assert (observation == before).all()
    assert (info["action_mask"] == mask).all()


# Its shape.


def test_places_mean_the_same_in_every_episode():
    env = MenuEnv("service/two-full-captures")
    label = "issue_refund: first order, second payment, captured"
    place = env.menu.labels.index(label)
    for total in (100, 5_000):
        env.reset(seed=0, options={"parameters": {"total_cents": total}})
        assert not env.action_masks()[place]
        env.step(place_of(env, call("get_order", order_id="S-410")))
        env.step(place_of(env, call("list_order_payments", order_id="S-410")))
        entry = env.entries()[place]
        assert entry is not None
        arguments: Any = entry.arguments
        assert (arguments["payment_id"], arguments["amount_cents"]) == ("PAY-B", total)


def test_half_of_a_capture_is_offered_and_a_half_cent_is_not():
    env = MenuEnv("service/two-full-captures", parameters={"total_cents": 1})
    env.reset(seed=0)
    env.step(place_of(env, call("get_order", order_id="S-410")))
    env.step(place_of(env, call("list_order_payments", order_id="S-410")))
    amounts = {
        entry.arguments["amount_cents"]  # type: ignore[index]
        for entry in env.entries()
        if entry is not None and entry.tool == "issue_refund"
    }
    assert amounts == {1}


def test_spaces_match_the_menu_and_the_names_of_the_numbers():
    env = MenuEnv("backoffice/damaged-item")
    assert isinstance(env.action_space, spaces.Discrete)
    assert env.action_space.n == len(env.menu) == len(env.menu.labels)
    assert env.observation_space.shape == (len(env.features.names),)
    for labels in (env.menu.labels, env.features.names):
        assert len(set(labels)) == len(labels)


def test_numbers_say_what_their_names_say():
    env = MenuEnv("service/two-full-captures")
    observation, _ = env.reset(seed=0)
    named = dict(zip(env.features.names, observation, strict=True))
    assert (named["order 1 is known"], named["order 1 was read"]) == (1, 0)
    env.step(place_of(env, call("get_order", order_id="S-410")))
    observation = env.step(place_of(env, call("list_order_payments", order_id="S-410")))[0]
    named = dict(zip(env.features.names, observation, strict=True))
    assert named["order 1 is delivered"] == 1
    assert named["order 1 payment 2 captures the total"] == 1
    assert named["order 1 full captures / 3"] == pytest.approx(2 / 3)
    assert named["share of the actions that are used"] == pytest.approx(2 / 48)
    assert named["tried: get_order"] == pytest.approx(1 / 3)


def test_an_empty_place_is_refused_and_counts():
    env = MenuEnv("service/damaged-lamp")
    _, info = env.reset(seed=0)
    empty = np.flatnonzero(~info["action_mask"])
    for number, place in enumerate(empty[:3], 1):
        _, _, _, truncated, info = env.step(place)
        assert info["actions"] == number
    # Three identical refusals in a row are no progress.
    assert truncated
    assert info["ended"] == "no_progress"


@pytest.mark.parametrize("place", [-1, 10_000])
def test_a_place_that_the_menu_does_not_have_is_told(place: int):
    env = MenuEnv("service/damaged-lamp")
    env.reset(seed=0)
    with pytest.raises(InvalidParameter, match="places 0 to"):
        env.step(place)


def test_a_step_without_an_episode_asks_for_a_reset():
    env = MenuEnv("service/damaged-lamp")
    for place in (0, 1):
        with pytest.raises(ResetNeeded, match="no episode yet"):
            env.step(place)


def test_a_bug_in_a_tool_raises_and_pays_nothing(monkeypatch: pytest.MonkeyPatch):
    env = MenuEnv("service/damaged-lamp")
    env.reset(seed=0)
    place = place_of(env, call("get_order", order_id="S-410"))
    break_tool(monkeypatch, env.seat.choice.suite, "get_order")
    with pytest.raises(ZeroDivisionError):
        env.step(place)
    with pytest.raises(ResetNeeded):
        env.step(0)


# Other people's suites.


def test_a_suite_without_a_menu_of_its_own_gets_one_from_its_schemas():
    menu = menu_of(mugs())
    tools = {label.partition(":")[0] for label in menu.labels[1:]}
    assert tools == set(mugs().toolbox)


PLAY_BY_CHANCE = """
import gymnasium, numpy, deskgym.adapters.gymnasium
env = gymnasium.make("deskgym/returns-desk.late-return.menu-v0").unwrapped
random, best = numpy.random.default_rng(0), -1.0
for seed in range(60):
    _, info = env.reset(seed=seed)
    over = False
    while not over:
        place = int(random.choice(numpy.flatnonzero(info["action_mask"])))
        _, reward, terminated, truncated, info = env.step(place)
        over = terminated or truncated
    best = max(best, reward)
print(best)
"""


def test_an_installed_suite_is_registered_and_can_be_solved_by_its_menu(tmp_path: Path):
    install(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", PLAY_BY_CHANCE], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert (run.returncode, run.stdout.strip()) == (0, "1.0"), run.stderr


def test_a_menu_from_schemas_solves_a_service_case():
    env = MenuEnv("service/two-half-payments", menu=schema.MENU)
    ((_, task),) = find_tasks(["service/two-half-payments"])
    environment = played("service/two-half-payments", task.control("oracle").script, 0)
    assert by_menu(env, environment) == 1.0


def test_a_menu_that_does_not_fit_its_suite_is_told():
    with pytest.raises(InvalidDefinition, match="refund_all"):
        menu_of(mugs(), MenuDefinition(lambda _: [Family("refund_all", ("all",), always({}))]))
    name = mugs().toolbox.names[0]
    wrong = Menu(mugs().toolbox, MenuDefinition(lambda _: [Family(name, ("a", "b"), always({}))]))
    with pytest.raises(InvalidDefinition, match="2 places, and 1 were filled"):
        wrong.entries(adapter.Memory())
