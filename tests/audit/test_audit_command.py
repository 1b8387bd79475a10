"""`deskgym audit`: what it prints and writes, and what it exits with."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from deskgym import cli
from deskgym.recording import read
from deskgym.suites.service import talk

Run = Callable[..., tuple[int, str, str]]
QUICK = ("service/two-half-payments", "--seeds", "0-1", "--jobs", "1", "--attack", "controls")


@pytest.fixture
def audit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Run `deskgym audit` in an empty folder: its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["deskgym", "audit", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_a_sound_task_passes(audit: Run) -> None:
    code, printed, _ = audit(*QUICK)
    assert code == 0
    # 4 runs of the control, and the sweep's: 7 stocks by 4 even totals.
    assert f"0 findings in {4 + 7 * 4} episodes of 1 task over 2 seeds" in printed


def test_a_finding_fails_and_is_printed_and_written(
    audit: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(talk, "is_true", lambda *_: False)  # every report is contradicted
    code, printed, _ = audit(*QUICK, "--out", "runs.jsonl", "--html", "audit.html")
    assert code == 1
    assert "FOUND service/two-half-payments seed 0, controls, report-no-duplicate" in printed
    runs = [item.recording for item in read(tmp_path / "runs.jsonl")]
    assert {run.header.agent for run in runs} == {"audit controls: report-no-duplicate"}
    assert all(run.reward == -0.3 for run in runs)
    assert "report-no-duplicate" in (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_json_has_the_sections_and_the_checklist(audit: Run) -> None:
    code, printed, _ = audit(*QUICK, "--json")
    told = json.loads(printed)
    assert code == 0
    assert told["passed"] is True
    assert [section["attack"] for section in told["sections"]] == ["controls"]
    assert {item["code"] for item in told["checklist"]} >= {"T.1", "O.i.1", "R.13"}


def test_long_tables_are_printed_when_asked_for(audit: Run) -> None:
    tasks = ("service/parcel-moving", "service/damaged-lamp", "service/cancel-pending",
             "service/split-arrival")  # fmt: skip
    asked = (*tasks, "--seeds", "0", "--jobs", "1", "--attack", "adversaries")
    _, short, _ = audit(*asked)
    _, whole, _ = audit(*asked, "--tables")
    assert "1 long table left out; --tables prints" in short
    assert "adversaries: what each earned" not in short
    assert "adversaries: what each earned" in whole


def test_a_file_that_exists_is_kept_and_found_before_the_work(audit: Run, tmp_path: Path) -> None:
    kept = tmp_path / "audit.html"
    kept.write_text("mine", encoding="utf-8")
    code, _, said = audit(*QUICK, "--html", "audit.html")
    assert code == 2
    assert "audit.html exists; --force overwrites it" in said
    assert kept.read_text(encoding="utf-8") == "mine"
    assert audit(*QUICK, "--html", "audit.html", "--force")[0] == 0
    assert kept.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("servise",), "did you mean 'service'"),
     (("service", "--attack", "contols"), "did you mean 'controls'"),
     (("service", "--seeds", "9-0"), "--seeds takes ranges"),
     (("service", "--seeds", str(2**31)), "a seed is at most 2147483647"),
     (("service", "--out", "no/such/folder.jsonl"), "cannot be written")],
)  # fmt: skip
def test_a_wrong_use_is_named(audit: Run, arguments: tuple[str, ...], said: str) -> None:
    code, _, shown = audit(*arguments)
    assert code == 2
    assert said in " ".join(shown.split())
