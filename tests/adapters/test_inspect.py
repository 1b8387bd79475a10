"""Inspect, by its own evaluations, logs, viewer and command; run by `make test-adapters`."""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

import deskgym
from deskgym import Control
from deskgym.agents import find_agent
from deskgym.errors import UsageError
from deskgym.recording import InvalidRecording
from deskgym.replay import replay
from deskgym.task import Script
from deskgym.testing.model_server import ModelRequest, RawCall, Say, play_script
from tests.adapters.expected import DOES_NOTHING, ORACLES, broken_tool, doing, in_process
from tests.adapters.page import run_page

pytest.importorskip("inspect_ai", reason="make test-adapters installs Inspect and runs this")

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai import score as score_again
from inspect_ai.log import EvalLog, EvalSample, read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessage,
    ChatMessageTool,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.util import store

from deskgym.adapters.inspect import desk_task, deskgym_scorer, recording_in, service
from deskgym.adapters.inspect.provider import output_of
from deskgym.adapters.inspect.sample import RECORDING, ROW

# Inspect leaves the streams between its own tasks to be collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*MemoryObject:pytest.PytestUnraisableExceptionWarning"),
    # It calls tenacity by names that the newest release of that renamed.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning"),
]

LAMP = "service/damaged-lamp"
Answer = Callable[[list[ChatMessage]], ModelOutput]
BIN = Path(sys.executable).parent


def output(say: Say) -> ModelOutput:
    return output_of(say, "scripted")


def playing(script: Script, goodbye: str = "") -> Answer:
    """A model that plays a script, without a memory of its own."""
    play = play_script(script, goodbye=goodbye)

    def answer(messages: list[ChatMessage]) -> ModelOutput:
        told: list[dict[str, Any]] = [
            {"role": message.role, "content": message.text} for message in messages
        ]
        return output(play(ModelRequest("openai", 0, {"messages": told, "tools": [1]}, {})))

    return answer


def mock(answer: Answer) -> Model:
    """Inspect's own mock, which answers by a function of the conversation."""
    return get_model(
        "mockllm/model",
        memoize=False,
        custom_outputs=lambda messages, tools, choice, config: answer(messages),
    )


def oracle(task: str = LAMP) -> Answer:
    return playing(dict(ORACLES)[task].script)


def logs_of(tasks: Sequence[Task], folder: Path, **settings: Any) -> list[EvalLog]:
    done = evaluate(
        list(tasks), log_dir=str(folder), display="none", max_tasks=len(tasks), **settings
    )
    return [read_eval_log(log.location) for log in done]


def run(answer: Answer, folder: Path, task: str = LAMP, **settings: Any) -> EvalLog:
    """One task, seed 0, read back from its file."""
    given = {name: settings.pop(name) for name in ("parameters", "customer") if name in settings}
    made = desk_task(task, seeds=0, **given)
    (log,) = logs_of([made], folder, model=mock(answer), **settings)
    return log


def sample_of(log: EvalLog) -> EvalSample:
    assert log.samples is not None
    assert len(log.samples) == 1
    return log.samples[0]


def value(sample: EvalSample) -> dict[str, float]:
    assert sample.error is None, sample.error
    assert sample.scores is not None
    return dict(sample.scores["deskgym_scorer"].value)  # pyright: ignore[reportArgumentType]


def samples_of(logs: Sequence[EvalLog]) -> dict[str, EvalSample]:
    """The samples of some logs by their tasks of deskgym's."""
    return {sample.metadata["task"]: sample for log in logs for sample in log.samples or ()}


def test_every_oracle_earns_its_reward_and_its_log_replays(tmp_path: Path) -> None:
    controls = dict(ORACLES)
    by_parameters: dict[str, list[str]] = {}
    for task, control in ORACLES:
        by_parameters.setdefault(json.dumps(dict(control.parameters)), []).append(task)

    def answer(messages: list[ChatMessage]) -> ModelOutput:
        # Tasks may open alike, so the mock is told which one it plays.
        return playing(controls[store().get(ROW)["task"]].script)(messages)

    tasks = [
        desk_task(names, seeds=0, parameters=json.loads(parameters))
        for parameters, names in by_parameters.items()
    ]
    samples = samples_of(logs_of(tasks, tmp_path, model=mock(answer)))
    assert len(samples) == len(ORACLES)
    for task, control in ORACLES:
        sample, expected = samples[task], in_process(task, control)
        assert value(sample)["reward"] == expected.reward, task
        assert value(sample)["resolved"] == float(expected.footer.score["verdict"] == "resolved")
        saved = recording_in(sample)
        assert saved.footer.digest == expected.footer.digest
        assert saved.footer.score == expected.footer.score
        assert [step.action for step in saved.steps] == [step.action for step in expected.steps]
        assert replay(saved).difference is None


def test_an_agent_that_does_nothing_earns_what_it_earns_in_process(tmp_path: Path) -> None:
    task = desk_task([name for name, _ in ORACLES], seeds=0)
    samples = samples_of(logs_of([task], tmp_path, model=mock(lambda _: output(Say()))))
    assert len(samples) == len(ORACLES)
    for name, sample in samples.items():
        assert value(sample)["reward"] == in_process(name, DOES_NOTHING).reward, name
        assert recording_in(sample).steps == []


def test_a_suite_is_a_task_with_figures_over_its_samples(tmp_path: Path) -> None:
    made = service(task="damaged-lamp", seeds=["0", "2-3"], epochs=3)
    turns: list[int] = []

    def sometimes(messages: list[ChatMessage]) -> ModelOutput:
        if len(messages) == 2:
            turns.append(0)
        return oracle()(messages)

    (log,) = logs_of([made], tmp_path, model=mock(sometimes))
    assert log.eval.task == "deskgym/service" or log.eval.task == "service"
    assert len(turns) == 9
    assert log.results is not None
    found = {
        (score.name, score.reducer, name): metric.value
        for score in log.results.scores
        for name, metric in score.metrics.items()
    }
    assert found[("reward", "mean", "mean")] == 1.0
    assert found[("resolved", "pass_k_3", "mean")] == 1.0


@pytest.mark.parametrize(("script", "reward"), [("oracle", 1.0), ("eager", None), ("null", 0.0)])
def test_scripts_are_models_that_need_no_network(
    tmp_path: Path, script: str, reward: float | None
) -> None:
    task = "backoffice/late-return"
    made = desk_task(task, seeds=2)
    (log,) = logs_of([made], tmp_path, model=f"deskgym/{script}", fail_on_error=False)
    ((suite, chosen),) = deskgym.find_tasks([task])
    control = Control(script, "alternate", script, find_agent(suite, chosen, script), 0.0)
    expected = in_process(task, control, seed=2)
    sample = sample_of(log)
    assert value(sample)["reward"] == expected.reward
    assert recording_in(sample).footer.changes == expected.footer.changes
    if reward is not None:
        assert expected.reward == reward


def test_the_model_sees_the_policy_and_no_score(tmp_path: Path) -> None:
    seen: list[str] = []
    play = oracle()

    def watched(messages: list[ChatMessage]) -> ModelOutput:
        seen.append("\n".join(message.text for message in messages))
        return play(messages)

    assert value(sample_of(run(watched, tmp_path)))["reward"] == 1.0
    assert deskgym.make(LAMP).instructions.strip() in seen[0]
    assert "verdict" not in seen[-1]


def test_each_tool_is_told_by_deskgyms_own_schema(tmp_path: Path) -> None:
    told: dict[str, dict[str, Any]] = {}

    def watch(messages: Any, tools: Any, *_: Any) -> ModelOutput:
        told.update({tool.name: tool.parameters.model_dump(exclude_none=True) for tool in tools})
        return output(Say())

    for suite in ("service", "backoffice", "tickets"):
        told.clear()
        task = desk_task(next(name for name, _ in ORACLES if name.startswith(suite)), seeds=0)
        model = get_model("mockllm/model", memoize=False, custom_outputs=watch)
        logs_of([task], tmp_path, model=model)
        toolbox = deskgym.load_suite(suite).toolbox
        assert set(told) == set(toolbox)
        for name, tool in toolbox.items():
            assert told[name] == without_none(tool.schema), name


def without_none(schema: Any) -> Any:
    """A schema as Inspect writes it: a default of null is the same as none, no list is left out."""
    if isinstance(schema, dict):
        kept = {name: without_none(part) for name, part in schema.items() if part is not None}
        return kept if "properties" not in kept else {"required": [], **kept}
    return [without_none(part) for part in schema] if isinstance(schema, list) else schema


def test_a_call_that_inspect_refuses_is_an_action_of_the_episode(tmp_path: Path) -> None:
    wrong = RawCall("issue_refund", json.dumps({"order_id": "S-410", "amount_cents": "all"}))
    right = RawCall("get_order", json.dumps({"order_id": "S-410"}))
    answers = iter([Say(calls=(wrong, right)), Say(calls=(RawCall("close", "{}"),)), Say()])
    sample = sample_of(run(lambda _: output(next(answers)), tmp_path))
    steps = recording_in(sample).steps
    assert {step.result["code"] for step in steps} == {
        "invalid_arguments", "order_found", "episode_closed",
    }  # fmt: skip
    told = [message for message in sample.messages if isinstance(message, ChatMessageTool)]
    assert [json.loads(message.text)["code"] for message in told] == [
        "invalid_arguments", "order_found", "episode_closed",
    ]  # fmt: skip
    assert "must be a whole number" in told[0].text
    assert value(sample)["reward"] <= 0


def test_a_call_after_the_end_in_the_same_turn_is_refused(tmp_path: Path) -> None:
    calls = (RawCall("close", "{}"), RawCall("get_order", json.dumps({"order_id": "S-410"})))
    sample = sample_of(run(lambda _: output(Say(calls=calls)), tmp_path))
    told = [message for message in sample.messages if isinstance(message, ChatMessageTool)]
    assert [json.loads(message.text)["code"] for message in told] == [
        "episode_closed", "episode_over",
    ]  # fmt: skip
    assert len(recording_in(sample).steps) == 1
    assert value(sample)["reward"] == 0


def test_what_is_said_without_a_call_reaches_the_customer_as_often_as_it_may(
    tmp_path: Path,
) -> None:
    sample = sample_of(run(lambda messages: output(Say(f"Well {len(messages)}.")), tmp_path))
    steps = recording_in(sample).steps
    assert {step.action["tool"] for step in steps} == {"message"}
    assert len(steps) == 8
    assert sample.scores is not None


# What fails.


def test_a_provider_that_fails_is_a_samples_error_and_no_score(tmp_path: Path) -> None:
    play = oracle()

    def fails(messages: list[ChatMessage]) -> ModelOutput:
        if len(messages) > 4:
            raise ConnectionError("the provider is gone")
        return play(messages)

    sample = sample_of(run(fails, tmp_path, fail_on_error=False))
    assert sample.error is not None
    assert "the provider is gone" in sample.error.message
    assert not sample.scores
    scored = sample_of(run(fails, tmp_path / "scored", fail_on_error=False, score_on_error=True))
    assert scored.error is not None
    assert not scored.scores
    assert recording_in(sample).footer.status == "invalid"


def test_a_bug_in_a_tool_is_a_samples_error_and_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = deskgym.call("get_order", order_id="S-410")
    with broken_tool(monkeypatch, "service", "get_order"):
        log = run(
            playing(doing(read, deskgym.call("close"))), tmp_path,
            fail_on_error=False, score_on_error=True,
        )  # fmt: skip
    sample = sample_of(log)
    assert sample.error is not None
    assert "the tool is broken" in sample.error.message
    assert not sample.scores
    assert recording_in(sample).footer.status == "error"


def test_a_withheld_answer_is_a_samples_error_and_no_score(tmp_path: Path) -> None:
    def refuses(_: list[ChatMessage]) -> ModelOutput:
        made = output(Say("No."))
        made.choices[0].stop_reason = "content_filter"
        return made

    sample = sample_of(run(refuses, tmp_path, fail_on_error=False))
    assert sample.error is not None
    assert "refused_output" in sample.error.message
    assert not sample.scores


def test_a_limit_of_inspects_ends_the_episode_and_what_was_done_is_scored(tmp_path: Path) -> None:
    sample = sample_of(run(oracle(), tmp_path, message_limit=6))
    assert sample.limit is not None
    assert sample.limit.type == "message"
    steps = recording_in(sample).steps
    whole = in_process(LAMP, dict(ORACLES)[LAMP])
    assert [step.action for step in steps] == [step.action for step in whole.steps[: len(steps)]]
    assert value(sample)["reward"] == whole.steps[len(steps) - 1].score["reward"]


def test_a_sample_whose_time_is_up_is_scored_as_far_as_it_came(tmp_path: Path) -> None:
    play = oracle()

    async def stalls(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        if len(messages) == 6:
            await anyio.Event().wait()
        return play(messages)

    model = get_model("mockllm/model", memoize=False, custom_outputs=stalls)
    (log,) = logs_of([desk_task(LAMP, seeds=0)], tmp_path, model=model, time_limit=5)
    sample = sample_of(log)
    assert sample.limit is not None
    assert sample.limit.type == "time"
    assert len(recording_in(sample).steps) == 2
    whole = in_process(LAMP, dict(ORACLES)[LAMP])
    assert value(sample)["reward"] == whole.steps[1].score["reward"]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ('{"message": "Yes.", "accepts": true, "done": false, "reason": "fine"}', None),
        ("hm", "invalid_customer_output"),
    ],
)
def test_a_model_of_inspects_speaks_for_the_customer(
    tmp_path: Path, said: str, error: str | None
) -> None:
    customer = mock(lambda _: output(Say(said)))
    log = run(oracle(), tmp_path, customer="curt", model_roles={"customer": customer},
              fail_on_error=False)  # fmt: skip
    sample = sample_of(log)
    if error is None:
        assert value(sample)["reward"] == 1.0
        saved = recording_in(sample)
        assert "Yes." in [step.reply.message for step in saved.steps if step.reply is not None]
        assert replay(saved).difference is None
    else:
        assert sample.error is not None
        assert error in sample.error.message
        assert not sample.scores


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"names": "service/damaged-lmap"}, "did you mean 'service/damaged-lamp'"),
        ({"names": "servce"}, "no suite 'servce'"),
        ({"names": LAMP, "seeds": "9-0"}, "seeds takes ranges"),
        ({"names": LAMP, "parameters": {"size": 1}}, "size"),
        ({"names": LAMP, "parameters": "stock"}, "parameters are such as"),
        ({"names": LAMP, "rubric": "v9"}, "no rubric of service 'v9'"),
        ({"names": LAMP, "customer": "angry"}, "no trait of a customer 'angry'"),
        ({"names": ["service", "backoffice"], "customer": "curt"}, "backoffice has no customer"),
    ],
)
def test_what_does_not_exist_is_named(arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        desk_task(**arguments)


# The log.


def changed_steps(sample: EvalSample) -> None:
    sample.store[RECORDING]["steps"][0]["result"]["code"] = "order_lost"


def changed_row(sample: EvalSample) -> None:
    sample.metadata["seed"] = 1


def changed_words(sample: EvalSample) -> None:
    told = next(item for item in sample.messages if isinstance(item, ChatMessageTool))
    told.content = json.dumps({**json.loads(told.text), "code": "order_lost"})


def removed_recording(sample: EvalSample) -> None:
    del sample.store[RECORDING]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (changed_steps, "was changed at step 1"),
        (changed_row, "the recording of another episode: its seed is 0 and not 1"),
        (changed_words, "not what was recorded"),
        (removed_recording, "there is no recording to score"),
    ],
)
def test_a_log_is_scored_again_and_a_changed_one_is_refused(
    tmp_path: Path, change: Callable[[EvalSample], None], what: str
) -> None:
    log = run(oracle(), tmp_path)
    again = score_again(log, deskgym_scorer(), display="none", action="overwrite")
    assert value(sample_of(again)) == {"reward": 1.0, "resolved": 1.0}
    change(sample_of(log))
    write_eval_log(log, str(tmp_path / "changed.eval"))
    forged = read_eval_log(str(tmp_path / "changed.eval"))
    with pytest.raises(Exception, match=what) as caught:
        score_again(forged, deskgym_scorer(), display="none", action="overwrite")
    chain = [caught.value, *getattr(caught.value, "exceptions", ())]
    assert any(isinstance(error, InvalidRecording) for error in chain)


def test_the_page_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("inspect.md", MODEL=mock(oracle()))


def offline(folder: Path) -> dict[str, str]:
    """Variables in which Inspect's mock counts words as tokens: its own vocabulary is online."""
    (folder / "tiktoken.py").write_text(
        "class Words:\n"
        "    def encode(self, text, **_):\n"
        "        return text.split()\n\n\n"
        "def get_encoding(_):\n"
        "    return Words()\n"
    )
    return {**os.environ, "PYTHONPATH": str(folder), "HOME": str(folder)}


def test_the_command_finds_the_suites_and_the_viewer_opens_the_log(tmp_path: Path) -> None:
    environment = offline(tmp_path)
    logs = tmp_path / "logs"
    done = subprocess.run(
        [str(BIN / "inspect"), "eval", "deskgym/service", "--model", "mockllm/model",
         "-T", "task=damaged-lamp,wait-for-stock", "-T", "seeds=0,2-3", "-T",
         "parameters={}", "--log-dir", str(logs), "--display", "plain"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = logs.iterdir()
    log = read_eval_log(str(file))
    assert log.status == "success"
    assert log.samples is not None
    assert len(log.samples) == 6
    assert all(value(sample)["reward"] <= 0 for sample in log.samples)
    opens_in_the_viewer(logs, file.name, environment)


def opens_in_the_viewer(logs: Path, name: str, environment: dict[str, str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        [str(BIN / "inspect"), "view", "start", "--log-dir", str(logs), "--port", str(port)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as viewer:  # fmt: skip
        try:
            assert viewer.stdout is not None
            for line in viewer.stdout:  # it says where it listens once it does
                if str(port) in line:
                    break
            transport = httpx.HTTPTransport(retries=10)
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}",
                transport=transport,
                timeout=30,
                trust_env=False,
            ) as client:
                assert "<html" in client.get("/").raise_for_status().text.lower()
                listed = client.get("/api/logs").raise_for_status().json()
                (shown,) = [item["name"] for item in listed["files"]]
                assert shown.endswith(name)
                log = client.get(f"/api/logs/{shown}").raise_for_status()
                assert len(json.loads(log.text)["samples"]) == 6
        finally:
            viewer.terminate()
            viewer.wait(timeout=30)
