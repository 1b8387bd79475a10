"""SkyRL-gym drives our episodes through its registry, by the text protocol."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

import deskgym
from deskgym.errors import InvalidParameter, UnknownName, UsageError
from deskgym.protocol import format_call
from deskgym.replay import replay
from deskgym.runner import play
from deskgym.suite import Suite, find_tasks, load_suite
from deskgym.task import Task
from deskgym.tool import Toolbox

pytest.importorskip("skyrl_gym", reason="SkyRL-gym is not here: make test-adapters")

import skyrl_gym

from deskgym.adapters.skyrl import ID, DeskEnv, rows
from deskgym.adapters.unjudged import Unjudged
from tests.adapters.page import blocks

TASKS = [pytest.param(suite, task, id=f"{suite.name}/{task.name}") for suite, task in find_tasks()]
TASK = "service/two-full-captures"


def row_of(suite: Suite, task: Task) -> dict[str, Any]:
    parameters = task.control("oracle").parameters
    (row,) = rows(f"{suite.name}/{task.name}", [3], parameters=parameters)
    return row


def made(row: dict[str, Any]) -> DeskEnv:
    """The environment of a row, as SkyRL's generator makes it."""
    extras = {name: value for name, value in row.items() if name not in ("prompt", "env_class")}
    env = skyrl_gym.make(row["env_class"], env_config={}, extras=extras)
    assert isinstance(env, DeskEnv)
    return env


def oracle_texts(env: DeskEnv) -> Iterator[str]:
    """The oracle's actions as a model would write them."""
    environment = env.environment
    moves = environment.task.control("oracle").script(environment.opening())
    try:
        action = next(moves)
        while True:
            yield format_call(action)
            action = moves.send(environment.observe())
    except StopIteration:
        return


def play_oracle(env: DeskEnv) -> dict[str, Any]:
    """The oracle, and then nothing for as long as it takes; the last step's output."""
    output: Any = {"done": False}
    for text in oracle_texts(env):
        output = env.step(text)
        assert output["done"] or output["reward"] == 0
        if output["done"]:
            return output
    while not output["done"]:
        output = env.step("")
    return output


def in_process(suite: Suite, task: Task) -> float:
    oracle = task.control("oracle")
    with deskgym.Environment(suite, task, parameters=oracle.parameters) as environment:
        play(environment, oracle.script, 3)
        return environment.score().reward


@pytest.mark.parametrize(("suite", "task"), TASKS)
def test_an_oracle_earns_as_text_what_it_earns_in_process(suite: Suite, task: Task) -> None:
    row = row_of(suite, task)
    env = made(row)
    prompt, metadata = env.init(row["prompt"])
    assert (prompt, metadata) == (row["prompt"], {})
    output = play_oracle(env)
    assert output["reward"] == in_process(suite, task)
    assert output["observations"] == []
    assert env.get_metrics()["malformed_calls"] == 0
    env.close()


@pytest.mark.parametrize(("suite", "task"), TASKS)
def test_writing_nothing_earns_what_doing_nothing_earns_in_process(
    suite: Suite, task: Task
) -> None:
    row = row_of(suite, task)
    env = made(row)
    env.init(row["prompt"])
    output = env.step("")
    while not output["done"]:
        output = env.step("")
    parameters = task.control("oracle").parameters
    with deskgym.Environment(suite, task, parameters=parameters) as environment:
        environment.reset(3)
        assert output["reward"] == environment.score().reward
    env.close()


def started(**extras: Any) -> DeskEnv:
    env = skyrl_gym.make(ID, extras={"task": TASK, **extras})
    assert isinstance(env, DeskEnv)
    env.init([])
    return env


def test_the_model_reads_the_policy_the_tools_and_results_and_no_score() -> None:
    env = skyrl_gym.make(ID, extras={"task": TASK})
    (system, opening), _ = env.init([])
    assert system["role"] == "system"
    assert load_suite("service").instructions.strip() in system["content"]
    assert "## list_order_payments" in system["content"]
    assert opening["role"] == "user"
    assert "charged twice" in opening["content"]
    (seen,) = env.step('<tool_call>{"name": "get_order", "arguments": {"order_id": "S-410"}}'
                       "</tool_call>")["observations"]  # fmt: skip
    assert seen["content"].startswith('<tool_result>{"ok": true, "code": "order_found"')
    assert "reward" not in seen["content"]
    (broken,) = env.step("<tool_call>{</tool_call>")["observations"]
    assert broken["content"].startswith("<tool_error>")
    env.close()


def test_words_without_a_call_reach_the_customer() -> None:
    env = started()
    (answer,) = env.step("Which of the two shall I return?")["observations"]
    assert answer["role"] == "user"
    assert answer["content"]
    assert env.environment.steps[0].action.tool == "message"
    env.close()


def test_out_of_turns_an_episode_ends_with_what_it_has_earned() -> None:
    env = started(max_turns=2)
    assert not env.step("Hello.")["done"]
    output = env.step("Hello again.")
    assert output["done"]
    assert output["metadata"] == {"termination": "turn_limit"}
    assert output["reward"] == env.environment.score().reward
    assert env.get_metrics() == {"turns": 2, "actions": 2, "malformed_calls": 0, "success": False}
    with pytest.raises(UsageError, match="no episode that goes on"):
        env.step("And again.")


def test_an_environment_starts_anew_and_its_episode_can_be_recorded() -> None:
    env = started()
    env.step("Hello.")
    env.init([])
    assert env.environment.steps == ()
    output = play_oracle(env)
    assert output["reward"] == 1
    recording = env.record()
    assert recording.reward == 1
    assert replay(recording).difference is None
    env.init([])
    env.step("Hello.")
    half = env.record()
    assert [step.action["tool"] for step in half.steps] == ["message"]
    env.close()


def test_many_environments_are_stepped_from_many_threads() -> None:
    envs = [made(row) for row in rows("service", [5])]

    def run(env: DeskEnv) -> float:
        env.init([])
        return play_oracle(env)["reward"]

    with ThreadPoolExecutor(8) as pool:
        rewards = list(pool.map(run, envs))
    assert len(rewards) == 13
    assert rewards == [run(env) for env in envs]


def test_a_bug_in_a_tool_is_an_error_and_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    env = started()
    suite = env.environment.suite

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a planted bug")

    tools = [
        replace(item, function=fail) if item.name == "get_order" else item
        for item in suite.toolbox.values()
    ]
    monkeypatch.setattr(env.environment, "suite", replace(suite, toolbox=Toolbox(*tools)))
    with pytest.raises(Unjudged, match=r"two-full-captures seed 0 cannot be judged.*planted bug"):
        play_oracle(env)
    env.max_turns = 1
    env.init([])
    with pytest.raises(Unjudged, match="planted bug"):
        env.step('<tool_call>{"name": "get_order", "arguments": {"order_id": "1"}}</tool_call>')
    env.close()


def test_a_rubric_that_fails_is_an_error_and_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    env = started()

    def fail(*_: object) -> None:
        raise LookupError("no such row")

    monkeypatch.setattr(env.environment, "score", fail)
    with pytest.raises(Unjudged, match="LookupError: no such row"):
        env.step("Hello.")
    env.close()


@pytest.mark.parametrize(
    ("extras", "error", "words"),
    [
        ({}, UsageError, "needs a field `task`"),
        ({"task": "service/damaged-lmp"}, UnknownName, "did you mean 'service/damaged-lamp'"),
        ({"task": TASK, "seed": -1}, InvalidParameter, "a seed is"),
        ({"task": TASK, "parameters": {"stok": 1}}, InvalidParameter, "no parameter 'stok'"),
        ({"task": TASK, "parameters": "{"}, UsageError, "no JSON"),
        ({"task": TASK, "parameters": "[]"}, UsageError, "one JSON object"),
        ({"task": TASK, "rubric": "v99"}, UnknownName, "rubric"),
    ],
)
def test_a_row_that_starts_no_episode_is_refused(
    extras: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        skyrl_gym.make(ID, extras=extras).init([])


def test_rows_are_json() -> None:
    (row,) = rows("service/damaged-lamp", [7], parameters={"stock": 0})
    assert json.loads(json.dumps(row)) == row
    assert (row["env_class"], row["task"], row["seed"]) == (ID, "service/damaged-lamp", 7)
    assert made(row).environment.parameters["stock"] == 0


def test_what_the_page_shows_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for text in blocks("skyrl.md"):
        exec(compile(text, "skyrl.md", "exec"), names)
    assert capsys.readouterr().out.splitlines()[-1] == "False 0.0"
