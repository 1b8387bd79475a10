"""The command line: what it prints, what it exits with, and what it says of wrong input."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deskgym import cli
from deskgym.cli.console import PIPED_COLUMNS, columns_of, parse_parameters, parse_seeds
from deskgym.environment import make
from deskgym.errors import UsageError
from deskgym.evaluate import stream
from deskgym.runner import record
from deskgym.trajectory import Action, Observation, call

TEN_REWARDS = [1.00, -0.40, 0.60, 1.00, -0.30, 0.70, 1.00, -0.40, -0.38, 1.00]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What was printed, whatever its line breaks."""
        return " ".join(self.out.split())

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Deskgym = Callable[..., Outcome]


@pytest.fixture
def deskgym(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Deskgym:
    """Run the command line as a person would, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr("sys.argv", ["deskgym", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return run


COMMANDS = [
    "audit", "baseline", "compare", "controls", "database", "mcp", "replay", "report", "run",
    "serve", "show", "sweep", "tasks", "tools", "verify",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(deskgym: Deskgym, command: str) -> None:
    shown = deskgym(command, "--help")
    assert shown.code == 0
    assert f"Usage: deskgym {command}" in shown.out


def test_every_command_is_listed(deskgym: Deskgym) -> None:
    shown = deskgym("--help")
    assert shown.code == 0
    assert all(command in shown.out for command in COMMANDS)


def test_every_command_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    documented = sorted(re.findall(r"^## deskgym (\w+)$", page, re.MULTILINE))
    registered = [getattr(item.callback, "__name__", "") for item in cli.app.registered_commands]
    registered += [str(item.name) for item in cli.app.registered_groups]
    assert documented == sorted(registered) == COMMANDS


def test_controls_of_the_five_cases_earn_what_the_spec_says(deskgym: Deskgym) -> None:
    shown = deskgym("controls", "service", "--json")
    assert shown.code == 0
    for version in ("service-reward.v2", "service-reward.v3"):
        rewards = [run["reward"] for run in shown.json if run["rubric"] == version]
        assert rewards[:10] == TEN_REWARDS


def test_controls_show_the_rows_that_say_so(deskgym: Deskgym) -> None:
    shown = deskgym("controls", "service/two-full-captures")
    assert shown.code == 0
    rows = deskgym("controls", "service/two-full-captures", "--json").json[2]["changes"]
    assert [row["after"]["payment_id"] for row in rows] == ["PAY-A"]
    assert all(word in shown.words for word in ("refunds", "PAY-A", "inside", "outcome"))


def test_controls_exit_with_1_where_one_does_not_hold(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    from deskgym.evaluate import controls

    find_tasks = controls.find_tasks

    def wrong(names: Any) -> Any:
        for suite, task in find_tasks(names):
            control = dataclasses.replace(task.controls[0], reward=0.99)
            yield suite, dataclasses.replace(task, controls=(control,))

    monkeypatch.setattr(controls, "find_tasks", wrong)
    shown = deskgym("controls", "service/parcel-moving")
    assert shown.code == 1
    assert "0.7 and not 0.99" in shown.words


def test_a_run_is_recorded_shown_verified_and_replayed(deskgym: Deskgym, tmp_path: Path) -> None:
    ran = deskgym("run", "service", "--agent", "oracle", "--seeds", "0-1", "--out", "runs.jsonl")
    assert ran.code == 0
    assert "mean reward" in ran.out
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 26
    assert "26 recordings read as made" in deskgym("verify", "runs.jsonl").out
    replayed = deskgym("replay", "runs.jsonl", "--json")
    assert replayed.code == 0
    assert all(item["difference"] is None for item in replayed.json)
    shown = deskgym("show", "runs.jsonl", "--episode", "2")
    assert "seed 1" in shown.out
    assert "create_replacement" in shown.out
    assert "quantity: 2 -> 1" in shown.out
    assert deskgym("show", "runs.jsonl", "--world", "final").json["returns"]


def test_a_run_never_overwrites_what_is_there(deskgym: Deskgym, tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text("precious")
    ran = deskgym("run", "service/parcel-moving", "--out", "runs.jsonl")
    assert ran.code == 2
    assert "--force overwrites it" in ran.err
    assert (tmp_path / "runs.jsonl").read_text() == "precious"
    assert deskgym("run", "service/parcel-moving", "--out", "runs.jsonl", "--force").code == 0


def test_processes_change_nothing_in_a_recording(deskgym: Deskgym, tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        arguments = ("service/damaged-lamp", "--seeds", "0-7", "--jobs", jobs)
        assert deskgym("run", *arguments, "--out", f"{jobs}.jsonl").code == 0
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def test_parameters_reach_the_fixture(deskgym: Deskgym) -> None:
    ran = deskgym("run", "service/damaged-lamp", "--set", "stock=0", "--agent",
                  "return-and-replace", "--json")  # fmt: skip
    # The return is made, the replacement is refused (0.08) and its report contradicted (0.30):
    # evidence 0.20 - 0.38.
    assert [item["reward"] for item in ran.json["episodes"]] == [-0.18]


def test_a_changed_recording_fails_verification(deskgym: Deskgym, tmp_path: Path) -> None:
    deskgym("run", "service/two-full-captures", "--out", "runs.jsonl")
    file = tmp_path / "runs.jsonl"
    file.write_bytes(file.read_bytes().replace(b"capture-second", b"capture-other"))
    shown = deskgym("verify", "runs.jsonl")
    assert shown.code == 1
    assert "FAILS" in shown.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("tasks", "servise"), "there is no suite 'servise'; did you mean 'service'?"),
        (("run", "service/damaged-lmp"), "did you mean 'service/damaged-lamp'?"),
        (("run", "service", "--agent", "genius"), "no agent for service/damaged-lamp 'genius'"),
        (("run", "service", "--seeds", "9-0"), "--seeds takes ranges such as 0-9"),
        (("run", "service", "--seeds", "9999999999"), "a seed is at most 2147483647"),
        (("run", "service", "--rubric", "v9"), "there is no rubric of service 'v9'"),
        (("run", "service/damaged-lamp", "--set", "stock"), "--set takes name=number"),
        (("run", "service/damaged-lamp", "--set", "stock=7"), "stock must be a whole number"),
        (("run", "service/damaged-lamp", "--set", "price=7"), "has no parameter 'price'"),
        (("run", "service/two-half-payments", "--set", "total_cents=3"), "divisible by 2"),
        (("sweep", "tickets-of-nobody"), "there is no suite 'tickets-of-nobody'"),
        (("show", "missing.jsonl"), "missing.jsonl cannot be read"),
        (("baseline", "--tier", "expert"), "'expert'"),
        (("baseline", "--rubric", "v9"), "there is no rubric of tickets 'v9'"),
        (("tools", "nobody"), "there is no suite 'nobody'"),
    ],
)  # fmt: skip
def test_wrong_use_is_a_sentence_and_exit_code_2(
    deskgym: Deskgym, arguments: tuple[str, ...], sentence: str
) -> None:
    shown = deskgym(*arguments)
    assert shown.code == 2
    assert sentence in " ".join(shown.err.split())


def test_the_baseline_shows_what_each_rubric_can_be_won_by(
    deskgym: Deskgym, tmp_path: Path
) -> None:
    versions = ("--rubric", "ticket-reward.v1", "--rubric", "ticket-reward.v2")
    shown = deskgym("baseline", *versions, "--seeds", "0-14", "--out", "baseline_scores.json")
    assert shown.code == 0
    v1, v2 = json.loads((tmp_path / "baseline_scores.json").read_text())
    averages = {
        rubric["rubric"]: {agent["agent"]: agent["averages"] for agent in rubric["agents"]}
        for rubric in (v1, v2)
    }
    oracle, stuffing = "oracle", "keyword stuffing"
    # The published hard tier cannot pay more than (0.4 + 0.5 + 0.3) / 3, and stuffing gets it.
    assert averages["ticket-reward.v1"][oracle] == {"easy": 1.0, "medium": 1.0, "hard": 0.4}
    assert averages["ticket-reward.v1"][stuffing] == averages["ticket-reward.v1"][oracle]
    assert averages["ticket-reward.v2"][oracle] == {"easy": 1.0, "medium": 1.0, "hard": 1.0}
    # A list of all categories earns nothing, stuffing only its empathy and its length.
    assert averages["ticket-reward.v2"][stuffing]["easy"] == 0.0
    assert averages["ticket-reward.v2"][stuffing]["medium"] == 0.2


def test_tool_schemas_are_printed_for_each_api(deskgym: Deskgym) -> None:
    openai = deskgym("tools", "service", "--format", "openai").json
    assert openai[0]["function"]["name"] == "get_order"
    anthropic = deskgym("tools", "service", "--format", "anthropic").json
    assert anthropic[0]["input_schema"]["required"] == ["order_id"]
    mcp = deskgym("tools", "service", "--format", "mcp").json
    assert mcp[0]["annotations"]["readOnlyHint"] is True


def test_seeds_are_ranges_and_lists() -> None:
    assert parse_seeds("0-2, 7,5-6,1") == [0, 1, 2, 7, 5, 6]
    for wrong in ("", "a", "1-", "-1", "3-1", "1.5", "٣", "0-1000000"):
        with pytest.raises(UsageError):
            parse_seeds(wrong)


def test_parameters_are_names_and_numbers() -> None:
    assert parse_parameters(["stock=0", "total_cents=-5"]) == {"stock": 0, "total_cents": -5}
    for wrong in ("stock", "stock=", "stock=x", "=1", "stock=1.5"):
        with pytest.raises(UsageError):
            parse_parameters([wrong])


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A recording of an agent that writes beyond ASCII, and names a tool to clear the screen."""

    def agent(_: Observation) -> Any:
        yield call("message", text="Grüße … 日本")
        yield Action("\x1b[2J[red]evil", {"\x1b]0;title\x07": 1, "\u202e": 2})

    file = tmp_path / "strange.jsonl"
    file.write_bytes(record(make("service/damaged-lamp"), agent, agent="a\x9bb").to_json())
    return file


def test_what_an_agent_wrote_does_not_steer_the_terminal(deskgym: Deskgym, strange: Path) -> None:
    shown = deskgym("show", str(strange))
    assert shown.code == 0
    assert not [char for char in shown.out if char in "\x1b\x9b\x07\u202e"]
    assert "#2 \\x1b[2J[red]evil(\\x1b]0;title\\x07=1, \\u202e=2)" in shown.words


@pytest.mark.parametrize("options", [[], ["--step", "1"], ["--json"]])
def test_an_output_that_takes_only_ascii_shows_everything(
    strange: Path, options: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from deskgym.cli import main; main()", "show", strange, *options],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=True,
    )
    text = done.stdout.decode("ascii")
    assert (
        "Gr\\u00fc\\u00dfe \\u2026" if options == ["--json"] else "Gr\\xfc\\xdfe \\u2026"
    ) in text
    if options == ["--json"]:
        assert json.loads(text)["steps"][0]["action"]["arguments"]["text"] == "Grüße … 日本"


def test_a_recording_says_how_many_actions_it_took_and_its_replay_explains_the_score(
    deskgym: Deskgym,
) -> None:
    task = "service/two-full-captures"
    assert deskgym("run", task, "--agent", "refund-first", "--out", "made.jsonl").code == 0
    assert "5 of 48 actions, 1 row changed" in deskgym("show", "made.jsonl").words
    explained = deskgym("replay", "made.jsonl", "--explain").words
    for part in ("the same", "5 of 48 actions", "weighted sum 0.20", "67% of its required steps"):
        assert part in explained


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_run_keeps_its_episodes_and_says_how_many(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    def interrupted(*arguments: Any, **named: Any) -> Any:
        yield from itertools.islice(stream(*arguments, **named), 2)
        raise KeyboardInterrupt

    monkeypatch.setattr("deskgym.cli.run.stream", interrupted)
    stopped = deskgym(
        "run", "service/damaged-lamp", "--seeds", "0-4", "--jobs", jobs, "--out", "made.jsonl"
    )
    assert stopped.code == 130
    assert " ".join(stopped.err.split()) == (
        "stopped after 2 of 5 episodes; made.jsonl holds them, and the same command goes on"
    )
    assert "2 recordings read as made" in deskgym("verify", "made.jsonl").words


def test_a_pipe_gets_lines_of_a_readable_width_unless_columns_says_otherwise() -> None:
    pipe = io.StringIO()
    assert [columns_of(pipe, asked) for asked in (None, "", "0", "wide")] == [PIPED_COLUMNS] * 4
    assert columns_of(pipe, "80") is None


def test_without_a_database_nothing_is_kept(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DESKGYM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("DESKGYM_DATABASE_URL", raising=False)
    assert deskgym("run", "service/damaged-lamp").code == 0
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_kept_listed_shown_and_replayed(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DESKGYM_DATABASE_URL", "sqlite:///kept/runs.db")
    ran = deskgym("run", "service/damaged-lamp", "--seeds", "0-2", "--json")
    assert ran.code == 0
    run = ran.json["run"]
    listed = deskgym("database", "list", "--json").json
    assert [item["seed"] for item in listed["recordings"]] == [2, 1, 0]
    assert {item["evaluation"] for item in listed["recordings"]} == {run}
    first = listed["recordings"][-1]["id"]
    assert "seed 0, agent oracle" in deskgym("show", first).out
    assert deskgym("show", run, "--episode", "3", "--json").json["header"]["seed"] == 2
    replayed = deskgym("replay", run, "--json")
    assert [item["difference"] for item in replayed.json] == [None] * 3
    page = deskgym("database", "list", "--limit", "2", "--json").json["next"]
    assert len(deskgym("database", "list", "--page", page, "--json").json["recordings"]) == 1
    assert "kept as" in deskgym("run", "service/damaged-lamp").words
    unknown = deskgym("show", "nothing")
    assert unknown.code == 2
    assert "keeps no recording" in " ".join(unknown.err.split())


def test_a_run_that_goes_on_with_a_file_is_kept_whole(
    deskgym: Deskgym, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any, **named: Any) -> Any:
        yield from itertools.islice(stream(*arguments, **named), 2)
        raise KeyboardInterrupt

    url = ("--database", "sqlite:///runs.db")
    asked = ("run", "service/damaged-lamp", "--seeds", "0-4", "--out", "made.jsonl", *url)
    with monkeypatch.context() as patched:
        patched.setattr("deskgym.cli.run.stream", interrupted)
        assert deskgym(*asked).code == 130
    runs = [deskgym(*asked, "--json").json["run"] for _ in range(2)]
    kept = deskgym("database", "list", *url, "--limit", "99", "--json").json["recordings"]
    for run in runs:
        seeds = [item["seed"] for item in kept if item["evaluation"] == run]
        assert sorted(seeds) == [0, 1, 2, 3, 4]
    assert len([item for item in kept if item["evaluation"] not in runs]) == 2


def test_a_database_is_made_checked_and_pruned(deskgym: Deskgym, tmp_path: Path) -> None:
    url = ("--database", "sqlite:///runs.db")
    absent = deskgym("database", "check", *url)
    assert absent.code == 1
    assert "database init" in absent.out
    assert "schema 0003 made" in deskgym("database", "init", *url).words
    assert "newest schema" in deskgym("database", "init", *url).words
    deskgym("run", "service/damaged-lamp", *url)
    checked = deskgym("database", "check", *url, "--json")
    assert checked.code == 0
    assert checked.json["rows"]["recordings"] == 1
    assert "1 recording" in deskgym("database", "prune", "--older-than-days", "0", *url).out
    assert deskgym("database", "list", *url, "--json").json["total"] == 0
    import sqlite3

    deskgym("run", "service/damaged-lamp", *url)
    connection = sqlite3.connect(tmp_path / "runs.db")
    with connection:
        connection.execute("UPDATE documents SET document = replace(document, 'S-410', 'S-411')")
    connection.close()
    forged = deskgym("database", "check", *url)
    assert forged.code == 1
    assert "FAILS" in forged.out


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://u:hunter2@h/n", "no database of the kind 'mysql'"),
        ("postgresql://u:hunter2@127.0.0.1:1/n", "cannot be reached"),
        ("runs.db", "no database URL"),
    ],
)
def test_a_database_that_cannot_serve_is_a_wrong_use(deskgym: Deskgym, url: str, says: str) -> None:
    for command in (("run", "service/damaged-lamp"), ("database", "check")):
        refused = deskgym(*command, "--database", url)
        assert refused.code == 2
        assert says in " ".join(refused.err.split())
        assert "hunter2" not in refused.out + refused.err


def test_worlds_of_every_command_live_in_a_server_that_is_named(
    deskgym: Deskgym, own_database: str
) -> None:
    url = ("--database", own_database)
    deskgym("run", "service/two-full-captures", "--out", "runs.jsonl")
    for command in (
        ("controls", "service/two-full-captures"),
        ("baseline", "--seeds", "0", "--tier", "easy"),
        ("replay", "runs.jsonl"),
        ("run", "service/two-full-captures", "--jobs", "2", "--seeds", "0-1"),
    ):
        in_memory = deskgym(*command)
        in_server = deskgym(*command, *url)
        assert in_server.code == in_memory.code == 0
        assert in_server.out.partition("\n\nkept as")[0].strip() == in_memory.out.strip()
