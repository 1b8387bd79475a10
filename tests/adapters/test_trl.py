"""TRL drives our episodes: its own trainer, tool loop, reward and mask."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import deskgym
import deskgym.errors
from deskgym.desk import Desk, Result
from deskgym.errors import (
    InvalidDefinition,
    InvalidParameter,
    MissingExtra,
    UnknownName,
    UsageError,
)
from deskgym.replay import replay
from deskgym.runner import play
from deskgym.suite import Suite, find_tasks, load_suite, suite_names
from deskgym.task import Task
from deskgym.tool import Toolbox, tool
from deskgym.trajectory import Action, Observation

pytest.importorskip("trl", reason="TRL is not here: make test-adapters")

import torch
from datasets import concatenate_datasets
from transformers.utils.chat_template_utils import get_json_schema
from trl import GRPOTrainer

from deskgym.adapters.trl import (
    Unjudged,
    dataset,
    environment_factory,
    environment_of,
    installed,
    record,
    where_judged,
)
from examples.trl_grpo.train import settings, texts_of, tiny_model, tiny_tokenizer, trainer_for
from tests.adapters.page import blocks

pytestmark = [
    # TRL says so of what this adapter is for.
    pytest.mark.filterwarnings("ignore:You are using 'environment_factory':UserWarning"),
    # TRL and transformers call what transformers has renamed.
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),
]

TASKS = [pytest.param(suite, task, id=f"{suite.name}/{task.name}") for suite, task in find_tasks()]
TOOLS = [
    pytest.param(item, name, id=f"{name}-{item.name}")
    for name in suite_names()
    for item in load_suite(name).toolbox.values()
]
SLICE = ("service/two-full-captures", "backoffice/late-return", "tickets/easy")


def rows_of(suite: Suite, task: Task) -> Any:
    """The row of an oracle's episode."""
    parameters = task.control("oracle").parameters
    return dataset(f"{suite.name}/{task.name}", [3], parameters=parameters)


def row_of(suite: Suite, task: Task) -> dict[str, Any]:
    return rows_of(suite, task)[0]


def in_process(suite: Suite, task: Task) -> float:
    """What an oracle earns without any trainer."""
    oracle = task.control("oracle")
    with deskgym.Environment(suite, task, parameters=oracle.parameters) as environment:
        play(environment, oracle.script, 3)
        return environment.score().reward


def tools_of(episodes: Any) -> dict[str, Callable[..., str]]:
    """What TRL takes for tools, found as its trainer finds them."""
    members = inspect.getmembers(type(episodes), predicate=inspect.isfunction)
    return {
        name: getattr(episodes, name)
        for name, _ in members
        if name not in ("reset", "get_reward") and not name.startswith("_")
    }


def play_methods(episodes: Any, task: Task) -> list[str]:
    """An oracle's actions as calls of methods; what each returned."""
    environment = environment_of(episodes)
    tools = tools_of(episodes)
    moves = task.control("oracle").script(environment.opening())
    texts: list[str] = []
    try:
        action = next(moves)
        while not environment.done:
            texts.append(tools[action.tool](**action.arguments))  # pyright: ignore[reportCallIssue]
            action = moves.send(environment.observe())
    except StopIteration:
        pass
    return texts


class PlayingTrainer(GRPOTrainer):
    """TRL's trainer with a model that writes what it is told: the first of each pair of rollouts
    plays the oracle, the second writes a sentence. All the rest is TRL's."""

    def _generate(self, prompts: list[Any]) -> Any:
        self._moves: dict[int, Generator[Action, Observation, None]] = {}
        for number, episodes in enumerate(self.environments):
            environment = environment_of(episodes)
            oracle = environment.task.control("oracle")
            if number % 2 == 0:
                self._moves[number] = oracle.script(environment.opening())
        self._active = list(range(len(prompts)))
        self._started: set[int] = set()
        return super()._generate(prompts)

    def _generate_single_turn(self, prompt_ids: list[Any], *_: Any, **__: Any) -> Any:
        assert len(prompt_ids) == len(self._active)
        texts = {number: self._turn(number) for number in self._active}
        self._active = [number for number in self._active if "<tool_call>" in texts[number]]
        ids = [self.processing_class(f"{text}<|im_end|>")["input_ids"] for text in texts.values()]
        return ids, None

    def _calculate_rewards(self, inputs: list[Any], *others: Any) -> Any:
        found = super()._calculate_rewards(inputs, *others)
        alone = [row[~row.isnan()] for row in found]
        values = [float(row.sum()) if len(row) else math.nan for row in alone]
        self.earned = {
            inputs[first]["task"]: (values[first], values[first + 1])
            for first in range(0, len(inputs), 2)
        }
        return found

    def _turn(self, number: int) -> str:
        moves = self._moves.get(number)
        environment = environment_of(self.environments[number])
        try:
            if moves is None or environment.done:
                return "Good day."
            if number in self._started:
                action = moves.send(environment.observe())
            else:
                self._started.add(number)
                action = next(moves)
        except StopIteration:
            return "Done."
        call = {"name": action.tool, "arguments": action.arguments}
        return f"<tool_call>\n{json.dumps(call)}\n</tool_call>"


def playing(
    folder: Path, tasks: list[tuple[Suite, Task]], factory: Any = None, **more: Any
) -> PlayingTrainer:
    """A trainer for one step over the oracle and the silent run of each of the tasks."""
    rows = concatenate_datasets([rows_of(suite, task) for suite, task in tasks])
    tokenizer = tiny_tokenizer(texts_of(rows))
    arguments = replace(
        settings(folder, 1, tokens_max=12_000),
        per_device_train_batch_size=2,
        num_generations=2,
        gradient_accumulation_steps=len(tasks),
        steps_per_generation=None,
        generation_batch_size=None,
    )
    names = {suite.name for suite, _ in tasks}
    return PlayingTrainer(
        model=tiny_model(tokenizer),
        processing_class=tokenizer,
        args=arguments,
        train_dataset=rows,
        environment_factory=factory or {name: environment_factory(name) for name in names},
        **more,
    )


@pytest.mark.parametrize("name", suite_names())
def test_exactly_the_tools_and_two_more_methods_can_be_seen(name: str) -> None:
    factory = environment_factory(name)
    public = {item for item in dir(factory) if not item.startswith("_")}
    assert public == {*load_suite(name).toolbox, "reset", "get_reward"}
    assert set(tools_of(factory())) == set(load_suite(name).toolbox)
    assert not [item for item in vars(factory()) if not item.startswith("_")]


def told(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema as far as a type hint and a docstring tell it."""
    parts = [part for part in schema.get("anyOf", [schema]) if part["type"] != "null"]
    (part,) = parts
    found = {"type": part["type"], "description": schema["description"]}
    if "minimum" in part:
        found["description"] += f" From {part['minimum']} to {part['maximum']}."
    if "enum" in part:
        found["enum"] = part["enum"]
    if "anyOf" in schema:
        found["nullable"] = True
    return found


@pytest.mark.parametrize(("item", "suite"), TOOLS)
def test_transformers_reads_a_tools_own_schema_from_its_method(item: Any, suite: str) -> None:
    read = get_json_schema(getattr(environment_factory(suite)(), item.name))["function"]
    assert read["name"] == item.name
    assert read["description"] == item.description
    assert read["return"]["type"] == "string"
    assert read["parameters"]["properties"] == {
        name: told(schema) for name, schema in item.schema["properties"].items()
    }
    assert read["parameters"].get("required", []) == item.schema.get("required", [])


@pytest.mark.parametrize(("suite", "task"), TASKS)
def test_an_oracle_earns_through_the_methods_what_it_earns_in_process(
    suite: Suite, task: Task
) -> None:
    episodes = environment_factory(suite.name)()
    assert episodes.reset(**row_of(suite, task)) is None
    texts = play_methods(episodes, task)
    assert episodes.get_reward() == in_process(suite, task)
    assert "reward" not in json.loads(texts[-1])
    assert "score" not in json.loads(texts[-1])


def silent(suite: Suite, task: Task) -> float:
    """What a model earns that says nothing and does nothing."""
    with deskgym.Environment(
        suite, task, parameters=task.control("oracle").parameters
    ) as environment:
        environment.reset(3)
        return environment.score().reward


@pytest.mark.parametrize(("suite", "task"), TASKS)
def test_doing_nothing_earns_what_it_earns_in_process(suite: Suite, task: Task) -> None:
    episodes = environment_factory(suite.name)()
    episodes.reset(**row_of(suite, task))
    assert episodes.get_reward() == silent(suite, task)


def learn_from(folder: Path, tasks: list[tuple[Suite, Task]]) -> None:
    """One real step of TRL's trainer over the tasks' oracles, and what must hold of it."""
    trainer = playing(folder, tasks)
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    trainer.train()
    for suite, task in tasks:
        oracle, null = trainer.earned[f"{suite.name}/{task.name}"]
        assert oracle == pytest.approx(in_process(suite, task), abs=1e-6)
        assert null == pytest.approx(silent(suite, task), abs=1e-6)
    (entry,) = [item for item in trainer.state.log_history if "reward" in item]
    assert entry["tools/failure_frequency"] == 0
    assert entry["grad_norm"] > 0
    after = list(trainer.model.parameters())
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_trls_trainer_plays_oracles_of_all_suites_in_one_batch_and_learns_from_their_reward(
    tmp_path: Path,
) -> None:
    learn_from(tmp_path, find_tasks(SLICE))


@pytest.mark.long
def test_trls_trainer_plays_every_oracle(tmp_path: Path) -> None:
    learn_from(tmp_path, find_tasks())


def broken_suite(suite: Suite) -> Suite:
    """The suite with a tool that has a bug."""

    @tool("read", codes=("found",))
    def get_order(desk: Desk, order_id: str) -> Result:
        """Read an order.

        Args:
            order_id: the order.
        """
        raise ZeroDivisionError("a planted bug")

    tools = [get_order if item.name == "get_order" else item for item in suite.toolbox.values()]
    return replace(suite, toolbox=Toolbox(*tools))


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """The service suite with a tool that has a bug, to whoever loads it."""
    suite = broken_suite(load_suite("service"))
    monkeypatch.setattr("deskgym.adapters.trl.environment.load_suite", lambda _: suite)
    return suite


SERVICE_ROW = {"task": "service/two-full-captures", "seed": 0}


@pytest.mark.usefixtures("broken")
def test_a_bug_in_a_tool_is_no_reward() -> None:
    masked = environment_factory("service")()
    masked.reset(**SERVICE_ROW)
    assert json.loads(masked.get_order(order_id="S-1"))["code"] == "internal_error"
    assert masked.get_reward() is None
    raising = environment_factory("service", on_failure="raise")()
    raising.reset(**SERVICE_ROW)
    raising.get_order(order_id="S-1")
    with pytest.raises(Unjudged, match=r"two-full-captures seed 0 .*a planted bug"):
        raising.get_reward()
    masked.reset(**SERVICE_ROW)
    assert masked.get_reward() is not None, "the next episode is judged again"


@pytest.mark.usefixtures("broken")
def test_trl_leaves_a_masked_episode_out_of_the_mean_and_of_the_gradient(tmp_path: Path) -> None:
    trainer = playing(tmp_path, find_tasks(["service/two-full-captures"]))
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    trainer.train()
    oracle, null = trainer.earned["service/two-full-captures"]
    assert math.isnan(oracle), "the oracle ran into the bug"
    assert not math.isnan(null)
    (entry,) = [item for item in trainer.state.log_history if "reward" in item]
    assert entry["reward"] == pytest.approx(null, abs=1e-6), "not the mean with a 0"
    assert list(trainer._logs["advantages"]) == [0, 0]
    after = list(trainer.model.parameters())
    assert all(torch.equal(old, new) for old, new in zip(before, after, strict=True))


@pytest.mark.usefixtures("broken")
def test_another_reward_function_is_masked_with_ours_where_it_is_wrapped(tmp_path: Path) -> None:
    def brevity(completions: list[Any], **_: Any) -> list[float | None]:
        return [1.0 for _ in completions]

    tasks = find_tasks(["service/two-full-captures"])
    trainer = playing(tmp_path, tasks, reward_funcs=where_judged(brevity))
    trainer.train()
    assert math.isnan(trainer.earned["service/two-full-captures"][0])
    assert list(trainer._logs["advantages"]) == [0, 0]


@pytest.mark.usefixtures("broken")
def test_training_ends_with_the_error_where_that_is_asked_for(tmp_path: Path) -> None:
    factory = {"service": environment_factory("service", on_failure="raise")}
    trainer = playing(tmp_path, find_tasks(["service/two-full-captures"]), factory)
    with pytest.raises(Unjudged, match="a planted bug"):
        trainer.train()


def test_a_step_that_could_not_be_taken_is_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = environment_factory("service")()
    episodes.reset(**SERVICE_ROW)

    def lost(*_: object) -> None:
        raise deskgym.errors.DatabaseUnavailable("the server is gone")

    with monkeypatch.context() as patched:
        patched.setattr(environment_of(episodes), "step", lost)
        with pytest.raises(deskgym.errors.DatabaseUnavailable):
            episodes.get_order(order_id="S-1")
    assert episodes.get_reward() is None, "TRL shows the model the error, and asks for the reward"


def test_a_rubric_that_fails_is_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = environment_factory("service")()
    episodes.reset(**SERVICE_ROW)

    def fail() -> None:
        raise LookupError("no such row")

    monkeypatch.setattr(environment_of(episodes), "score", fail)
    assert episodes.get_reward() is None


def test_wrong_calls_are_actions_that_say_what_would_be_right() -> None:
    episodes = environment_factory("service")()
    episodes.reset(**SERVICE_ROW)
    refused = json.loads(episodes.get_order(order="S-410"))
    assert (refused["ok"], refused["code"]) == (False, "invalid_arguments")
    assert "order_id" in refused["data"]["problems"]
    assert refused["step"] == 1
    assert environment_of(episodes).steps[0].action == Action("get_order", {"order": "S-410"})


def test_an_episode_can_be_recorded_and_replays() -> None:
    ((suite, task),) = find_tasks(["service/two-full-captures"])
    episodes = environment_factory("service")()
    episodes.reset(**row_of(suite, task))
    play_methods(episodes, task)
    recording = record(episodes)
    assert recording.reward == episodes.get_reward()
    assert [step.action for step in environment_of(episodes).steps] == [
        Action.from_json(step.action) for step in recording.steps
    ]
    assert replay(recording).difference is None


def test_a_row_without_a_prompt_is_told_the_opening() -> None:
    ((suite, task),) = find_tasks(["service/two-full-captures"])
    row = row_of(suite, task)
    opening = row["prompt"][-1]["content"]
    episodes = environment_factory("service")()
    assert episodes.reset(**row) is None
    assert episodes.reset(**{**row, "prompt": [{"role": "user", "content": ""}]}) == opening
    blocks = [{"role": "user", "content": [{"type": "text", "text": opening}]}]
    assert episodes.reset(**{**row, "prompt": blocks}) is None
    del row["prompt"]
    assert episodes.reset(**row) == opening


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ({}, UsageError, "needs a column `task`"),
        ({"task": "service/damaged-lmp"}, UnknownName, "damaged-lamp"),
        ({"task": "backoffice/late-return"}, UnknownName, "no task 'backoffice/late-return'"),
        ({"task": "service/damaged-lamp", "seed": -1}, InvalidParameter, "a seed is"),
        (
            {"task": "service/damaged-lamp", "parameters": {"stok": 1}},
            InvalidParameter,
            "did you mean 'stock'",
        ),
        ({"task": "service/damaged-lamp", "parameters": "{"}, UsageError, "no JSON"),
        ({"task": "service/damaged-lamp", "parameters": "[]"}, UsageError, "one JSON object"),
    ],
)
def test_a_row_that_starts_no_episode_is_refused(
    row: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        environment_factory("service")().reset(**row)


def test_parameters_may_be_a_mapping_that_arrow_filled_up() -> None:
    episodes = environment_factory("service")()
    episodes.reset(task="service/damaged-lamp", parameters={"stock": 0, "other": None})
    assert environment_of(episodes).parameters["stock"] == 0


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'service'"):
        environment_factory("servise")
    with pytest.raises(UnknownName, match="rubric"):
        environment_factory("service", rubric="v99")
    with pytest.raises(UsageError, match="'mask' or 'raise'"):
        environment_factory("service", on_failure="zero")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="there is no seed"):
        dataset("service", [])
    with pytest.raises(UnknownName, match="task"):
        dataset("service/damaged", [0])
    with pytest.raises(InvalidParameter, match="a seed is"):
        dataset("service/damaged-lamp", [-1])
    with pytest.raises(UsageError, match="no environment of"):
        environment_of(object())
    with pytest.raises(UsageError, match="call reset first"):
        environment_factory("service")().get_reward()


def test_a_tool_that_cannot_be_a_method_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool("read", codes=("found",))
    def reset(desk: Desk) -> Result:
        """Start over."""
        return Result(True, "found", "")

    @tool("read", codes=("found",))
    def look(desk: Desk) -> Result:
        """Look it up.

        Returns:
            what there is.
        """
        return Result(True, "found", "")

    suite = load_suite("service")
    for made, words in ((reset, "cannot be a method"), (look, "reads the docstring")):
        wrong = replace(suite, toolbox=Toolbox(made), speech=None)
        monkeypatch.setattr("deskgym.adapters.trl.environment.load_suite", lambda _, it=wrong: it)
        with pytest.raises(InvalidDefinition, match=words):
            environment_factory("service")


def test_a_trl_that_is_missing_or_would_show_the_reward_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(_: str) -> str:
        raise installed.PackageNotFoundError

    monkeypatch.setattr(installed, "version", missing)
    with pytest.raises(MissingExtra, match=r"deskgym\[trl\]"):
        environment_factory("service")
    monkeypatch.setattr(installed, "version", lambda _: "1.7.2")
    with pytest.raises(UsageError, match=r"TRL 1\.7\.2 would show the model its reward"):
        environment_factory("service")


def test_the_example_takes_two_steps_with_a_tiny_model(tmp_path: Path) -> None:
    rows = dataset("service/damaged-lamp", range(2))
    trainer = trainer_for("service", rows, settings(tmp_path, 2, tokens_max=24), None)
    trainer.train()
    rewards = [item["reward"] for item in trainer.state.log_history if "reward" in item]
    ((suite, task),) = find_tasks(["service/damaged-lamp"])
    assert rewards == [silent(suite, task)] * 2, "a model of noise does nothing"


def test_what_the_page_shows_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = [text.replace("range(1000)", "range(2)") for text in blocks("trl.md")]
    page[0] = page[0].replace(
        "max_completion_length=4096",
        "max_completion_length=8, use_cpu=True, bf16=False, report_to='none', "
        "per_device_train_batch_size=2, num_generations=2",
    )
    tokenizer = tiny_tokenizer(texts_of(dataset("service", range(2))))
    names: dict[str, Any] = {"MODEL": tiny_model(tokenizer), "TOKENIZER": tokenizer}
    for text in page:
        exec(compile(text, "trl.md", "exec"), names)
    assert names["trainer"].state.global_step == 1
    assert set(names["rows"]["environment"]) == set(names["factories"])
