"""Results files: what is in them, and how a run that was stopped goes on."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from deskgym.errors import UsageError
from deskgym.evaluate import EpisodeSpec, InvalidResults, ResultsFile, read_results, stream
from deskgym.evaluate.result import parse_episode
from deskgym.evaluate.results_file import result_of_recording
from deskgym.recording import InvalidRecording, read
from deskgym.replay import replay
from tests.cli.test_cli import Deskgym, deskgym

__all__ = ["deskgym"]

DESKGYM = [sys.executable, "-c", "from deskgym.cli import main; main()"]
SPECS = [EpisodeSpec("service/damaged-lamp", "oracle", seed) for seed in range(6)]
PLAN = [spec.planned() for spec in SPECS]


def write(path: Path, specs: list[EpisodeSpec] = SPECS, **options: Any) -> list[int]:
    """Run what is missing, and return the seeds that were run."""
    with ResultsFile(path, [spec.planned() for spec in specs], **options) as results:
        left = [spec for spec in specs if spec.planned().key not in results.done]
        for finished in stream(left):
            results.append(finished.result, finished.line)
        results.finish()
    return [spec.seed for spec in left]


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """The file of an undisturbed run."""
    file = tmp_path / "whole.jsonl"
    write(file)
    return file.read_bytes()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.jsonl"


def test_a_line_holds_the_result_and_a_recording_that_replays(file: Path, whole: bytes) -> None:
    file.write_bytes(whole)
    results = list(read_results(file))
    assert [(item.seed, item.status, item.reward) for item in results] == [
        (seed, "reward", 1.0) for seed in range(6)
    ]
    recordings = [located.recording for located in read(file)]
    assert [recording.header.seed for recording in recordings] == list(range(6))
    assert all(replay(recording).difference is None for recording in recordings)
    # What a recording alone says is what the result says.
    for result, recording in zip(results, recordings, strict=True):
        alone = result_of_recording(recording)
        assert alone.model_dump(exclude={"settings"}) == result.model_dump(exclude={"settings"})


def test_a_finished_file_has_nothing_left_to_run(file: Path, whole: bytes) -> None:
    file.write_bytes(whole)
    assert write(file) == []
    assert file.read_bytes() == whole


@pytest.mark.parametrize("kept", [0, 1, 3, 5])
def test_a_run_goes_on_where_it_was_stopped(file: Path, whole: bytes, kept: int) -> None:
    file.write_bytes(b"".join(whole.splitlines(keepends=True)[:kept]))
    assert write(file) == list(range(kept, 6))
    assert file.read_bytes() == whole


@pytest.mark.parametrize("cut", [1, 12, 23, 40, 5_000, -1])
def test_a_line_that_was_cut_off_is_dropped_and_its_episode_run_again(
    file: Path, whole: bytes, cut: int
) -> None:
    lines = whole.splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1] + lines[2][:cut])
    assert [item.seed for item in read_results(file)] == [0, 1]
    assert write(file) == [2, 3, 4, 5]
    assert file.read_bytes() == whole


def test_the_finished_file_is_in_order_whatever_the_episodes_did(file: Path, whole: bytes) -> None:
    lines = whole.splitlines(keepends=True)
    file.write_bytes(lines[4] + lines[2] + lines[5])
    assert write(file) == [0, 1, 3]
    assert file.read_bytes() == whole
    assert [item.name for item in file.parent.iterdir() if item.name.startswith(".")] == []


def test_more_seeds_can_be_added_to_a_file(file: Path, whole: bytes) -> None:
    write(file, SPECS[:2])
    assert write(file) == [2, 3, 4, 5]
    assert file.read_bytes() == whole


def test_the_last_line_of_an_episode_counts(file: Path, whole: bytes) -> None:
    lines = whole.splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[0])
    assert write(file) == [1, 2, 3, 4, 5]
    assert file.read_bytes() == whole


def other(**changes: Any) -> list[EpisodeSpec]:
    from dataclasses import replace

    return [replace(spec, **changes) for spec in SPECS]


@pytest.mark.parametrize(
    ("specs", "sentence"),
    [
        (other(rubric="service-reward.v2"),
         'made with rubric "service-reward.v3", and this run asks for "service-reward.v2"'),
        (SPECS[:3], "holds service/damaged-lamp by oracle, seed 3"),
        (other(agent="null"), "holds service/damaged-lamp by oracle, seed 0"),
        (other(parameters={"stock": 0}), "which this run does not ask for"),
        (other(task="service/parcel-moving"), "which this run does not ask for"),
    ],
)  # fmt: skip
def test_a_file_of_another_run_is_refused_and_left_as_it_is(
    file: Path, whole: bytes, specs: list[EpisodeSpec], sentence: str
) -> None:
    torn = whole + whole[:100]
    file.write_bytes(torn)
    with pytest.raises(UsageError, match=sentence):
        write(file, specs)
    assert file.read_bytes() == torn


@pytest.mark.parametrize(
    "content", [b"precious", b"precious\n", b"{}\n", b"[1]\n", b'{"header": 1}\n', b"\n"]
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(InvalidResults, match="--force overwrites it"):
        write(file)
    assert file.read_bytes() == content
    write(file, force=True)
    assert len(list(read_results(file))) == 6


def test_a_changed_result_is_refused(file: Path, whole: bytes) -> None:
    for find, put in (
        (b'"reward":1.0,"termination"', b'"reward":0.9,"termination"'),
        (b'"agent":"oracle"', b'"agent":"orakel"'),
    ):
        file.write_bytes(whole.replace(find, put, 1))
        with pytest.raises(InvalidResults, match=r"runs.jsonl:1 was changed"):
            list(read_results(file))
        with pytest.raises(UsageError):
            write(file)


def test_a_result_beside_another_recording_is_refused(whole: bytes) -> None:
    first, second = (orjson.loads(line) for line in whole.splitlines()[:2])
    with pytest.raises(InvalidResults, match="was changed"):
        parse_episode(orjson.dumps({**first, "recording": second["recording"]}), "here")
    with pytest.raises(InvalidResults, match="was changed"):
        parse_episode(orjson.dumps({**first, "recording": None}), "here")
    steps = first["recording"]["steps"]
    steps[0]["action"]["tool"] = "other"
    with pytest.raises(InvalidRecording, match="changed at step 1"):
        parse_episode(orjson.dumps(first), "here")


def test_two_runs_do_not_write_one_file_at_once(file: Path) -> None:
    pytest.importorskip("fcntl")
    with ResultsFile(file, PLAN), pytest.raises(UsageError, match="being written by another run"):
        ResultsFile(file, PLAN)
    ResultsFile(file, PLAN).__exit__()


def test_a_disk_that_is_full_leaves_whole_lines(
    file: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = whole.splitlines(keepends=True)[0]
    with ResultsFile(file, PLAN) as results:
        finished = next(iter(stream(SPECS[:1])))
        results.append(finished.result, finished.line)

        class Full:
            def __init__(self, real: Any) -> None:
                self.real = real

            def write(self, data: Any) -> int:
                if len(data) < len(line):
                    raise OSError(28, "No space left on device")
                return self.real.write(data[:100])

            def __getattr__(self, name: str) -> Any:
                return getattr(self.real, name)

        monkeypatch.setattr(results, "_file", Full(results._file))  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(UsageError, match="No space left"):
            results.append(finished.result, finished.line)
    assert file.read_bytes() == line


def test_a_result_that_contradicts_itself_is_refused(whole: bytes) -> None:
    from deskgym.evaluate.result import Episode

    episode = parse_episode(whole.splitlines()[0], "here")
    for changes, sentence in (
        ({"reward": None}, "there is a reward where the status says so"),
        ({"status": "invalid"}, "there is a reward where the status says so"),
        ({"settings": {}}, "settings name no rubric"),
    ):
        line = Episode(episode.result.model_copy(update=changes), episode.recording).to_line()
        with pytest.raises(InvalidResults, match=sentence):
            parse_episode(line, "here")


@pytest.mark.skipif(os.name != "posix", reason="devices and links are as POSIX has them")
def test_a_device_is_no_results_file_and_a_link_stays_a_link(file: Path, whole: bytes) -> None:
    with pytest.raises(UsageError, match="is no file"):
        write(Path("/dev/null"))
    real = file.with_name("real.jsonl")
    lines = whole.splitlines(keepends=True)
    real.write_bytes(lines[3] + lines[1])
    real.chmod(0o640)
    file.symlink_to(real)
    assert write(file) == [0, 2, 4, 5]
    assert file.is_symlink()
    assert real.read_bytes() == whole
    assert real.stat().st_mode & 0o777 == 0o640


def test_an_empty_or_missing_file_of_results_says_so(file: Path) -> None:
    with pytest.raises(InvalidResults, match="cannot be read"):
        list(read_results(file))
    file.write_bytes(b"")
    with pytest.raises(InvalidResults, match="holds no results"):
        list(read_results(file))


Stop = Callable[[subprocess.Popen[str]], None]


def interrupt(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGINT)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_was_interrupted_and_killed_ends_as_an_undisturbed_one(
    deskgym: Deskgym, tmp_path: Path, jobs: str
) -> None:
    command = ["run", "service", "--seeds", "0-3", "--trials", "2", "--openenv-lines"]
    disturbed = [*command, "--jobs", jobs, "--out", "disturbed.jsonl"]

    def stop_after(episodes: int, stop: Stop) -> int:
        with subprocess.Popen(
            [*DESKGYM, *disturbed],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            ends = (line for line in process.stdout if line.startswith("[END]"))
            for _ in itertools.islice(ends, episodes):
                pass
            stop(process)
            process.stdout.read()
        return process.returncode

    assert stop_after(15, kill) == -signal.SIGKILL
    assert stop_after(15, interrupt) == 130
    ended = deskgym(*disturbed)
    assert ended.code == 0
    assert 0 < ended.out.count("[END]") <= 13 * 4 * 2 - 30
    assert deskgym(*command, "--out", "whole.jsonl").code == 0
    assert (tmp_path / "disturbed.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    for form in ("--json", "--markdown"):
        reports = [deskgym("report", f"{name}.jsonl", form).out for name in ("disturbed", "whole")]
        assert reports[0] == reports[1]
    made = deskgym("report", "disturbed.jsonl", "--json").json
    assert made[0]["counts"] == {"episodes": 104, "reward": 104, "invalid": 0, "error": 0}
