"""The example package, installed beside deskgym and used as its author would."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import example

COMMAND = Path(sys.executable).parent / "deskgym"


def run(site: Path, *command: object, fails: bool = False) -> str:
    """What a command prints where the package is installed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert bool(done.returncode) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("returns") / "site"
    example.install(folder)
    return folder


def test_its_tasks_are_listed_beside_ours(site: Path) -> None:
    listed = json.loads(run(site, COMMAND, "tasks", "--json"))
    assert "service/damaged-lamp" in [task["id"] for task in listed]
    ours = json.loads(run(site, COMMAND, "tasks", "returns-desk", "--json"))
    assert [task["id"] for task in ours] == ["returns-desk/cracked-mug", "returns-desk/late-return"]


def test_its_controls_earn_what_they_declare(site: Path) -> None:
    printed = run(site, COMMAND, "controls", "returns-desk", "--seeds", "0-4", "--json")
    assert len(json.loads(printed)) == 8 * 5
    assert "FAILS" not in printed


def test_its_runs_are_recorded_and_replay(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    task = "returns-desk/cracked-mug"
    run(site, COMMAND, "run", task, "--seeds", "0-2", "--set", "delivered_days_ago=29",
        "--jobs", 2, "--out", file)  # fmt: skip
    replayed = json.loads(run(site, COMMAND, "replay", file, "--json"))
    assert [(item["reward"], item["difference"]) for item in replayed] == [(1.0, None)] * 3
    elsewhere = run(tmp_path / "elsewhere", COMMAND, "replay", file, fails=True)
    assert elsewhere.startswith("deskgym: there is no suite 'returns-desk'")


def test_its_own_tests_pass(site: Path) -> None:
    tests = example.FOLDER / "tests"
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tests)
    printed = run(site, sys.executable, "-m", "pytest", *options, tests)
    assert " passed" in printed
