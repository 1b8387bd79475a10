"""Episodes on a Ray cluster are the same as here, whatever becomes of the machines."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from deskgym.agents import AgentOptions
from deskgym.dialogue import Limits
from deskgym.errors import UsageError
from deskgym.evaluate import EpisodeSpec, WorkerLost
from deskgym.evaluate import stream as stream_here
from deskgym.models.options import ModelOptions, RetryPolicy, Sampling
from deskgym.suite import find_tasks

pytest.importorskip("ray", reason="Ray is not here: make test-adapters")

import ray
from ray.cluster_utils import Cluster

from deskgym.adapters.ray import stream
from tests.adapters import stages
from tests.adapters.page import blocks

DESKGYM = str(Path(sys.executable).with_name("deskgym"))
TASKS = [f"{suite.name}/{task.name}" for suite, task in find_tasks()]


def specs_of(count: int) -> list[EpisodeSpec]:
    """Oracles of every task, seed after seed."""
    agents = ("oracle", "null")
    return [
        EpisodeSpec(TASKS[number % len(TASKS)], agents[number % 2], number // len(TASKS))
        for number in range(count)
    ]


def lines(finished: Iterator[Any]) -> list[bytes]:
    """Each episode's line, in order; each came once."""
    found: dict[int, bytes] = {}
    for item in finished:
        assert item.number not in found
        found[item.number] = item.line
    return [found[number] for number in range(len(found))]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of one node with two CPUs, to which the tests are connected."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    ray.init(address=made.address, log_to_driver=False, logging_level=logging.WARNING)
    yield made
    ray.shutdown()
    made.shutdown()


def with_a_node_lost(
    cluster: Cluster, specs: Sequence[EpisodeSpec], caplog: pytest.LogCaptureFixture
) -> list[bytes]:
    """The lines of a run on two nodes, of which one is killed in the middle."""
    node = cluster.add_node(num_cpus=2)
    running = stream(specs, actors=4, concurrency=16, stage=stages.slow_stage)

    def killing() -> Iterator[Any]:
        for count, finished in enumerate(running):
            if count == len(specs) // 3:
                cluster.remove_node(node, allow_graceful=False)
            yield finished

    with caplog.at_level(logging.WARNING, "deskgym.adapters.ray"):
        found = lines(killing())
    lost = [record.args for record in caplog.records if "an actor was lost" in record.msg]
    assert sum(int(args[0]) for args in lost if isinstance(args, tuple)) > 0, (  # pyright: ignore[reportArgumentType]
        "the node took no episode with it"
    )
    return found


def test_the_same_specs_give_the_same_bytes_here_in_processes_and_on_ray_though_a_node_is_killed(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    specs = specs_of(60)
    here = lines(stream_here(specs))
    assert lines(stream_here(specs, jobs=2)) == here
    assert with_a_node_lost(cluster, specs, caplog) == here


@pytest.mark.long
def test_five_hundred_specs_give_the_same_bytes_on_every_engine(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    specs = specs_of(500)
    here = lines(stream_here(specs))
    assert lines(stream_here(specs, jobs=2)) == here
    assert with_a_node_lost(cluster, specs, caplog) == here


@pytest.mark.usefixtures("cluster")
def test_an_actor_that_is_killed_is_replaced_and_its_episodes_are_played_again() -> None:
    specs = specs_of(30)
    running = stream(specs, actors=1, concurrency=4, stage=stages.slow_stage)
    first = next(running)
    os.kill(_player_of_ours(), signal.SIGKILL)  # as the system does where memory is short
    rest = {item.number: item.line for item in running}
    assert {first.number: first.line, **rest} == dict(enumerate(lines(stream_here(specs))))


def _player_of_ours() -> int:
    """The process of an actor below this one."""
    parents: dict[int, int] = {}
    players: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::_Player"):
                players.append(int(folder.name))
            # Behind the name, which may hold anything: the state, then the parent.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(folder.name)] = int(fields[1])
    for player in players:
        above = player
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            return player
    raise AssertionError("there is no actor of this run")


@pytest.mark.usefixtures("cluster")
def test_an_episode_that_ends_every_process_ends_the_run_and_is_named() -> None:
    specs = [EpisodeSpec(TASKS[0], "oracle", seed) for seed in (1, stages.DEADLY_SEED)]
    with pytest.raises(
        WorkerLost, match=r"seed 13.* was lost with 3 actors, one after another: .+"
    ):
        list(stream(specs, actors=1, concurrency=1, stage=stages.deadly_stage))


@pytest.mark.usefixtures("cluster")
def test_actors_that_do_not_start_end_the_run() -> None:
    with pytest.raises(WorkerLost, match=r"no actor starts, 3 ended before they were ready: .+"):
        list(stream(specs_of(2), actors=1, stage=stages.stillborn_stage))


@pytest.mark.usefixtures("cluster")
def test_a_bug_surfaces_as_itself() -> None:
    with pytest.raises(ZeroDivisionError, match="a planted bug at seed 0"):
        list(stream(specs_of(2), actors=1, stage=stages.faulty_stage))


@pytest.mark.usefixtures("cluster")
def test_what_cannot_be_played_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="nobody"):
        list(stream([EpisodeSpec(TASKS[0], "nobody", 0)], actors=1))
    with pytest.raises(UsageError, match="a person plays at this terminal"):
        list(stream([EpisodeSpec(TASKS[0], "human", 0)]))
    assert not list(stream([]))


@pytest.mark.usefixtures("cluster")
def test_results_of_a_machine_with_another_deskgym_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deskgym.adapters.ray.version", lambda _: "0.0.1")
    with pytest.raises(UsageError, match=r"has deskgym .*, and this one 0\.0\.1"):
        list(stream(specs_of(1), actors=1))


@pytest.mark.usefixtures("cluster")
def test_a_provider_that_cannot_be_reached_is_invalid_and_no_reward() -> None:
    asked = ModelOptions(
        base_url="http://127.0.0.1:1/v1", api_key="sk-x", retry=RetryPolicy(1, 1, 0, 0)
    )
    spec = EpisodeSpec(TASKS[0], "openai:nobody", 0, options=AgentOptions(asked))
    (finished,) = stream([spec], actors=1)
    assert (finished.result.status, finished.result.reward) == ("invalid", None)
    assert finished.result.termination == "provider_failure"
    assert b"sk-x" not in finished.line


@pytest.mark.usefixtures("cluster")
def test_ending_early_ends_the_actors() -> None:
    running: Any = stream(specs_of(40), actors=2, concurrency=2, stage=stages.slow_stage)
    next(running)
    running.close()
    deadline = monotonic() + 30
    while ray.available_resources().get("CPU") != ray.cluster_resources()["CPU"]:
        assert monotonic() < deadline, "the actors still hold their CPUs"
        ray.wait([ray.put(0)], timeout=0.1)
    assert ray.is_initialized(), "a connection that was there stays"


def test_a_spec_comes_out_of_its_json_as_it_was() -> None:
    asked = ModelOptions("http://a:b@c/v1", "sk-x", Sampling(extra={"a": [1, {"b": None}]}))
    whole = EpisodeSpec(
        TASKS[0], "openai:m", 3, "v", {"stock": 0}, 2, AgentOptions(asked, "text", True),
        Limits(episode_s=2.5), None, "postgresql://u:p@h/x",
    )  # fmt: skip
    for spec in (whole, EpisodeSpec(TASKS[0], "oracle", 0)):
        assert EpisodeSpec.from_json(spec.to_json()) == spec


@pytest.mark.usefixtures("cluster")
def test_what_the_page_shows_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for text in blocks("ray.md"):
        exec(compile(text, "ray.md", "exec"), {})
    told = sorted(capsys.readouterr().out.splitlines())
    assert [line.partition(" ")[0] for line in told] == list("01234567")


def deskgym(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DESKGYM, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_a_run_that_is_interrupted_on_ray_goes_on_anywhere_and_ends_in_the_same_file(
    tmp_path: Path,
) -> None:
    ran = ["run", "service/two-full-captures", "--seeds", "0-199"]
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    assert deskgym(*ran, "--out", str(here)).returncode == 0
    on_ray = [DESKGYM, *ran, "--engine", "ray", "--jobs", "2", "--out", str(there)]
    process = subprocess.Popen(on_ray, stderr=subprocess.PIPE, text=True)
    deadline = monotonic() + 100
    while not (there.exists() and there.stat().st_size):
        assert monotonic() < deadline
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            break
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "the same command goes on" in " ".join(told.split())
    assert 0 < there.stat().st_size < here.stat().st_size
    assert deskgym(*ran, "--out", str(there)).returncode == 0
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engine", "ray", "--ray-address", "127.0.0.1:1"], "no Ray cluster to connect to"),
        (["--engine", "ray", "--ray-address", "nowhere"], "no Ray cluster to connect to"),
        (["--engine", "ray", "--agent", "human"], "plays at this terminal"),
        (["--engine", "sun"], "is not one of"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], words: str) -> None:
    done = deskgym("run", "service", *arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
