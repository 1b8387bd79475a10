"""verifiers, by its own environments, interception and commands; run by `make test-adapters`."""
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

import deskgym
from deskgym.recording import InvalidRecording, parse
from deskgym.replay import replay
from deskgym.testing.model_server import (
    Drop,
    Fail,
    ModelServer,
    Player,
    Reply,
    Say,
    Stall,
    play_controls,
    play_script,
)
from tests.adapters.expected import DOES_NOTHING, ORACLES, broken_tool, doing, in_process
from tests.adapters.page import run_page

pytest.importorskip("verifiers", reason="make test-adapters installs verifiers and runs this")

import verifiers.v1 as vf
from pydantic import ValidationError
from verifiers.v1.configs.agent import TimeoutConfig
from verifiers.v1.serve import EnvClient, EnvServer

from deskgym.adapters.verifiers import DeskgymEnv, load_environment, recordings

LAMP = "service/damaged-lamp"
QUICK = {"retry_wait_s": 0.001}
READ_AND_CLOSE = play_script(
    doing(deskgym.call("get_order", order_id="S-410"), deskgym.call("close"))
)
BIN = Path(sys.executable).parent


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def context(server: ModelServer) -> vf.ModelContext:
    client = vf.EvalClientConfig(base_url=server.url("openai"), api_key_var="DESKGYM_TEST_NO_KEY")
    return vf.ModelContext(client=client, model="scripted", sampling=vf.SamplingConfig())


def episodes(environment: DeskgymEnv, player: Player, rollouts: int = 1) -> list[vf.Episode]:
    """Every row's episodes, all at once."""

    async def run(server: ModelServer) -> list[vf.Episode]:
        async with environment.serving():
            slots = [
                slot for task in environment.taskset for slot in environment.slots(task, rollouts)
            ]
            return await asyncio.gather(
                *(environment.run_slot(slot, context(server)) for slot in slots)
            )

    with ModelServer(player) as server:
        return asyncio.run(run(server))


def rollout(player: Player, task: str = LAMP, **settings: Any) -> vf.Trace:
    """The one trace of the one episode."""
    parameters = settings.pop("parameters", None)
    environment = load_environment(
        task, seeds=0, parameters=parameters, harness={**QUICK, **settings.pop("harness", {})}
    )
    for name, value in settings.items():
        setattr(environment.config.agent, name, value)
    (episode,) = episodes(environment, player)
    assert len(episode.traces) == 1, episode.errors
    return episode.traces[0]


def oracle(task: str = LAMP) -> Player:
    return play_script(deskgym.find_tasks([task])[0][1].control("oracle").script)


def recorded(trace: vf.Trace) -> Any:
    """The recording that a saved trace holds, after a round trip through its file's form."""
    saved = json.loads(trace.model_dump_json(exclude_none=True))
    return parse(orjson.dumps(saved["info"]["deskgym"]["recording"]))


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_every_oracle_earns_its_reward_and_its_saved_trace_replays(protocol: str) -> None:
    for task, control in ORACLES:
        trace = rollout(
            play_script(control.script, goodbye=""),
            task,
            parameters=control.parameters,
            harness={"protocol": protocol},
        )
        expected = in_process(task, control)
        assert trace.ok, (task, trace.errors)
        assert trace.reward == expected.reward == control.reward_by(expected.header.rubric), task
        saved = recorded(trace)
        assert saved.footer.digest == expected.footer.digest
        assert saved.footer.changes == expected.footer.changes
        assert saved.footer.score == expected.footer.score
        assert [step.action for step in saved.steps] == [step.action for step in expected.steps]
        assert replay(saved).difference is None
        assert trace.metrics["actions"] == len(expected.steps)


def test_an_agent_that_does_nothing_earns_what_it_earns_in_process() -> None:
    for task, _ in ORACLES:
        trace = rollout(lambda _: Say("", finish="end"), task)
        assert trace.ok, (task, trace.errors)
        assert trace.reward == in_process(task, DOES_NOTHING).reward, task
        assert recorded(trace).steps == []


def test_rollouts_run_side_by_side_and_each_has_its_own_episode() -> None:
    environment = load_environment("tickets", seeds="0-9")
    done = episodes(environment, play_controls(["tickets"], seeds=range(10)), rollouts=2)
    assert len(done) == 60
    seen = [(episode.task.data.task, episode.task.data.seed) for episode in done]
    assert len(set(seen)) == 30
    for episode in done:
        (trace,) = episode.traces
        header = recorded(trace).header
        assert (header.task, header.seed) == (trace.task.data.task, trace.task.data.seed)
        assert trace.reward == 1.0, trace.task.key


def test_a_trainer_gets_the_same_from_an_environment_server() -> None:
    environment = load_environment(LAMP, seeds=0)
    (task,) = environment.taskset

    async def over_the_wire(server: ModelServer) -> vf.Episode:
        served = EnvServer(environment.config, "tcp://127.0.0.1:0")
        running = asyncio.create_task(served.run())
        client = EnvClient(served.address)
        model = context(server)
        data = task.data.model_dump(mode="json")
        try:
            return await client.run(model.client, model.model, model.sampling, data)
        finally:
            await client.close()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    with ModelServer(oracle()) as server:
        episode = asyncio.run(over_the_wire(server))
    (trace,) = episode.traces
    assert (trace.ok, trace.reward) == (True, 1.0)
    saved = recorded(trace)
    assert replay(saved).difference is None
    assert saved.footer.changes == in_process(LAMP, dict(ORACLES)[LAMP]).footer.changes


def test_a_row_names_its_episode_and_shows_no_score() -> None:
    rows = list(load_environment("service/wait-for-stock", seeds="2,4", parameters={}).taskset)
    assert [(row.data.task, row.data.seed) for row in rows] == [
        ("service/wait-for-stock", 2),
        ("service/wait-for-stock", 4),
    ]
    assert rows[0].key == "service/wait-for-stock seed 2"
    environment = deskgym.make("service/wait-for-stock")
    assert rows[0].data.prompt == environment.reset(seed=2).message
    assert rows[0].data.system_prompt == environment.instructions


def test_the_model_sees_no_score_and_its_turns_are_one_branch() -> None:
    sent: list[str] = []
    play = oracle()

    def watched(request: Any) -> Reply:
        sent.append(json.dumps(request.body))
        return play(request)

    trace = rollout(watched)
    assert (trace.reward, trace.num_branches) == (1.0, 1)
    assert not [text for text in sent if "verdict" in text or "service-reward" in text]


# What fails.


@pytest.mark.parametrize("reply", [Fail(500), Drop(), Fail(429, "slow down", {"Retry-After": "0"})])
def test_a_provider_that_fails_for_good_is_its_own_error_and_no_reward(reply: Reply) -> None:
    trace = rollout(lambda _: reply, harness={"attempts_max": 2})
    assert not trace.ok
    assert [error.type for error in trace.errors] == ["ProviderError"]
    assert trace.rewards == {}
    assert trace.info["deskgym"]["status"] == "invalid"


def test_a_provider_that_recovers_is_asked_again() -> None:
    play, failed = oracle(), set[int]()

    def flaky(request: Any) -> Reply:
        turn = len(request.body["messages"])
        if turn in failed:
            return play(request)
        failed.add(turn)
        return Fail(503)

    trace = rollout(flaky)
    assert (trace.ok, trace.reward) == (True, 1.0)
    assert len(failed) == trace.num_turns


def test_a_bug_in_a_tool_is_an_error_and_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    with broken_tool(monkeypatch, "service", "get_order"):
        trace = rollout(READ_AND_CLOSE)
    assert not trace.ok
    assert [error.type for error in trace.errors] == ["HarnessError"]
    assert "ToolFault: the tool is broken" in trace.errors[0].message
    assert trace.rewards == {}
    assert recorded(trace).footer.status == "error"


def customer_at(server: ModelServer) -> dict[str, Any]:
    return {"model": "openai:customer", "base_url": server.url("openai"), "persona": ["curt"]}


def test_a_model_speaks_for_the_customer_and_its_words_replay() -> None:
    accepts = json.dumps({"message": "Yes.", "accepts": True, "done": False, "reason": "fine"})
    with ModelServer(lambda _: Say(accepts)) as server:
        trace = rollout(oracle(), harness={"customer": customer_at(server)})
    assert (trace.ok, trace.reward) == (True, 1.0)
    saved = recorded(trace)
    assert "Yes." in [step.reply.message for step in saved.steps if step.reply is not None]
    assert replay(saved).difference is None


@pytest.mark.parametrize(
    ("reply", "reason"), [(Say("hm"), "invalid_customer_output"), (Fail(400), "provider_rejected")]
)
def test_a_customer_that_fails_is_an_error_and_no_reward(reply: Reply, reason: str) -> None:
    with ModelServer(lambda _: reply) as server:
        trace = rollout(oracle(), harness={"customer": customer_at(server)})
    assert not trace.ok
    assert [error.type for error in trace.errors] == ["HarnessError"]
    assert reason in trace.errors[0].message
    assert trace.rewards == {}


def test_a_limit_of_verifiers_ends_the_episode_and_what_was_done_is_scored() -> None:
    trace = rollout(oracle(), max_turns=3)
    whole = in_process(LAMP, dict(ORACLES)[LAMP])
    assert (trace.ok, trace.stop_condition) == (True, "max_turns")
    assert trace.reward == whole.steps[2].score["reward"]
    assert len(recorded(trace).steps) == 3


def test_a_rollout_whose_time_is_up_is_scored_as_far_as_it_came() -> None:
    play = oracle()
    trace = rollout(
        lambda request: Stall() if len(request.results) == 2 else play(request),
        timeout=TimeoutConfig(rollout=1.0),
    )
    assert (trace.is_timeout, trace.stop_condition) == (True, "agent_timeout")
    assert len(recorded(trace).steps) == 2
    assert trace.reward == in_process(LAMP, dict(ORACLES)[LAMP]).steps[1].score["reward"]


@pytest.mark.parametrize(
    ("arguments", "kind", "what"),
    [
        ({"tasks": "service/damaged-lmap"}, deskgym.UnknownName, "did you mean"),
        ({"tasks": "servce"}, deskgym.UnknownName, "no suite 'servce'"),
        ({"tasks": LAMP, "seeds": "9-0"}, deskgym.UsageError, "seeds takes ranges"),
        ({"tasks": LAMP, "seeds": -1}, deskgym.InvalidParameter, "a seed is a whole number"),
        ({"tasks": LAMP, "seeds": []}, deskgym.UsageError, "there is no seed"),
        ({"tasks": LAMP, "parameters": {"size": 1}}, deskgym.InvalidParameter, "size"),
        ({"tasks": LAMP, "rubric": "v9"}, deskgym.UnknownName, "no rubric of service 'v9'"),
        ({"tasks": LAMP, "harness": {"protocl": "text"}}, ValidationError, "protocl"),
    ],
)
def test_what_does_not_exist_is_named(
    arguments: dict[str, Any], kind: type[Exception], what: str
) -> None:
    with pytest.raises(kind, match=what):
        load_environment(**arguments)


# What is saved, by verifiers' own commands.


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / arguments[0]), *arguments[1:]], capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `vf-eval`: two tasks, two rollouts each."""
    folder = tmp_path_factory.mktemp("run")
    names = [LAMP, "tickets/easy"]
    with ModelServer(play_controls(names)) as server:
        done = command(
            "vf-eval", "deskgym-verifiers", "--env.taskset.tasks", json.dumps(names),
            "--env.taskset.seeds", "0", "-r", "2", "-m", "scripted", "--no-push", "--no-rich",
            "--client.base-url", server.url("openai"), "--client.api-key-var", "NO_SUCH_KEY",
            "--output-dir", str(folder), "--run.name", "first",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "first"


def test_a_run_of_the_command_is_saved_with_recordings_that_replay(run: Path) -> None:
    found = list(recordings(run))
    assert len(found) == 4
    assert {recording.header.task for recording in found} == {LAMP, "tickets/easy"}
    for recording in found:
        assert replay(recording).difference is None
        assert recording.reward == 1.0


def rescore(run: Path, folder: Path) -> list[dict[str, Any]]:
    """The traces that `vf-replay` makes of a run."""
    done = command("vf-replay", str(run), "--no-rich", "--output-dir", str(folder))
    assert done.returncode == 0, done.stderr
    lines = (folder / "traces.jsonl").read_bytes().splitlines()
    return [trace for line in lines for trace in orjson.loads(line)["traces"]]


def test_a_saved_run_is_scored_again_and_a_changed_one_is_refused(
    run: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "changed"
    (changed / "configs").mkdir(parents=True)
    for file in run.rglob("*.json"):
        target = changed / file.relative_to(run)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    lines = (run / "traces.jsonl").read_bytes().splitlines()
    forged = orjson.loads(lines[0])
    steps = forged["traces"][0]["info"]["deskgym"]["recording"]["steps"]
    steps[0]["action"]["tool"] = "close"
    (changed / "traces.jsonl").write_bytes(b"\n".join([orjson.dumps(forged), *lines[1:], b""]))
    traces = rescore(changed, tmp_path / "again")
    good = [trace for trace in traces if trace["ok"]]
    (refused,) = (trace for trace in traces if not trace["ok"])
    assert [trace["rewards"]["deskgym_reward"]["score"] for trace in good] == [1.0] * 3
    assert refused["errors"][0]["type"] == "TaskError"
    assert "was changed at step 1" in refused["errors"][0]["message"]
    assert not (refused["rewards"] or {}).get("deskgym_reward")
    with pytest.raises(InvalidRecording, match=r"traces\.jsonl:1 was changed at step 1"):
        list(recordings(changed))


def test_a_recording_of_another_row_is_refused() -> None:
    environment = load_environment("tickets/easy", seeds="0-1")
    done = episodes(environment, play_controls(["tickets/easy"], seeds=range(2)))
    first, second = (episode.traces[0] for episode in done)
    first.info["deskgym"] = second.info["deskgym"]
    task = next(iter(environment.taskset))
    with pytest.raises(vf.TaskError, match="the recording of another episode: its seed is 1"):
        asyncio.run(task.score(first))


def test_every_task_passes_verifiers_own_validation(tmp_path: Path) -> None:
    done = command(
        "vf-validate", "deskgym-verifiers", "--taskset.seeds", "1", "--no-rich",
        "--runtime.type", "subprocess", "--output-dir", str(tmp_path / "validated"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    checks = json.loads(done.stdout[done.stdout.index("{") :])["checks"]
    assert checks["gold"]["valid"] == checks["noop"]["valid"] == len(ORACLES)


def test_the_command_says_what_is_not_there() -> None:
    done = command("vf-eval", "deskgym-verifiers", "--env.taskset.tasks", "tickts", "--no-push")
    assert done.returncode == 1
    assert "did you mean 'tickets'?" in " ".join(done.stderr.split())


def test_a_file_that_is_no_saved_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(deskgym.UsageError, match="cannot be read"):
        list(recordings(tmp_path / "nowhere"))
    (tmp_path / "traces.jsonl").write_text('{"rows": []}\n')
    with pytest.raises(deskgym.UsageError, match="no saved episode of verifiers"):
        list(recordings(tmp_path))


def test_the_page_prints_what_it_shows(run: Path, tmp_path: Path) -> None:
    lines = (run / "traces.jsonl").read_bytes().splitlines()
    lamp = [line for line in lines if b'"task":"service/damaged-lamp"' in line]
    (tmp_path / "traces.jsonl").write_bytes(lamp[0] + b"\n")
    with ModelServer(play_controls([LAMP], seeds=range(2))) as server:
        run_page("verifiers.md", URL=server.url("openai"), MODEL="scripted", RUN=tmp_path)
