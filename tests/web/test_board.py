"""The board: every scripted run with what it changed and earned, against what it must earn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from deskgym.evaluate import run_controls
from deskgym.suite import load_suite, suite_names
from deskgym.web import board
from tests.serve.inside import Inside
from tests.web.page import Reading, as_shown, section


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """One app for all of them: they only read."""
    with Inside(tmp_path_factory.mktemp("inside")) as made:
        yield made


def test_the_board_alone_is_the_service_suites(inside: Inside) -> None:
    answer = inside.get("/board")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/board/service"


@pytest.mark.parametrize("suite", suite_names())
@pytest.mark.parametrize("seed", [0, 7])
def test_every_control_of_a_suite_is_a_row_with_what_it_earned(
    inside: Inside, suite: str, seed: int
) -> None:
    answer = inside.get(f"/board/{suite}?seed={seed}")
    assert answer.status_code == 200
    rows = [row for row in answer.text.split("<tr>") if 'class="count"' in row]
    version = load_suite(suite).rubric().version
    runs = list(run_controls([suite], seeds=[seed], rubrics=[version]))
    assert len(rows) == len(runs)
    for html, run in zip(rows, runs, strict=True):
        row = Reading(html).text
        assert row.startswith(f"{run.number} {run.control.title} {run.control.kind[:4]}")
        shown = as_shown(run.reward)
        assert f" {shown} must earn {shown} " in row
        verdict = {"partial": "partial remedy"}.get(run.score.verdict, run.score.verdict)
        assert verdict.replace("_", " ") in row
        changing = [step.action.tool for step in run.steps if step.changes]
        assert re.findall(r"<li><code>([^<]*)</code>", html) == changing
        assert ("changed nothing" in row) == (not changing)
    assert f"{len(runs)} of {len(runs)} earn exactly what they must" in Reading(answer.text).text


def test_the_service_board_begins_with_the_ten_scripts_of_five_cases(inside: Inside) -> None:
    html = inside.get("/board/service").text
    cases = html.split('<section class="case"')[1:6]
    questions = [Reading(f"<section {case}").text for case in cases]
    assert "Can one resolution be completed without giving both money and" in questions[0]
    assert [case.count('class="count"') for case in cases] == [3, 2, 1, 3, 1]


def test_a_row_says_the_writes_and_not_each_call(inside: Inside) -> None:
    html = inside.get("/board/service").text
    row = section(html, "replace, and refund as well</a>", "</tr>").text
    # What docs/suites/service.md has for it: money and merchandise, outside every single outcome.
    assert "create_return S-410, S-410-1" in row
    assert "issue_refund S-410, PAY-A, $48.00" in row
    assert "get_order" not in row
    assert "-0.40" in row


def test_a_row_opens_its_run(inside: Inside) -> None:
    links = Reading(inside.get("/board/tickets?seed=3").text).links
    runs = [link for link in links if link.startswith("/board/tickets/")]
    assert runs
    for link in runs:
        assert link.endswith("?seed=3")
        assert inside.get(link).status_code == 200


def test_a_run_that_does_not_earn_what_it_must_is_told(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = load_suite("tickets")
    task = suite.tasks[0]
    wrong = replace(task.controls[0], reward=0.25)
    tasks = (replace(task, controls=(wrong, *task.controls[1:])), *suite.tasks[1:])
    planted = replace(suite, name="planted", tasks=tasks)
    monkeypatch.setattr(board, "load_suite", lambda _: planted)
    monkeypatch.setattr(board, "run_controls", lambda *_, **more: _runs_of(planted))
    html = inside.get("/board/planted").text
    assert "13 of 14 earn exactly what they must" in html
    assert '<span class="unmet">+0.25</span>' in html


def _runs_of(suite: object) -> Iterator[object]:
    from deskgym.evaluate import controls

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controls, "find_tasks", lambda _: [(suite, task) for task in suite.tasks])  # pyright: ignore
        yield from controls.run_controls(["planted"], rubrics=["ticket-reward.v2"])


@pytest.mark.parametrize("seed", ["-1", "x", "2147483648", "9" * 5000, "1e3", "²"])
def test_a_seed_that_is_none_is_refused(inside: Inside, seed: str) -> None:
    for path in ("/board/service", "/board/service/damaged-lamp/oracle"):
        answer = inside.get(path, params={"seed": seed})
        assert answer.status_code == 422
        assert "2147483647" in answer.text


@pytest.mark.parametrize(
    "path", ["/board/nope", "/board/service/nope/oracle", "/board/service/damaged-lamp/nope"]
)
def test_what_there_is_not_is_not_found(inside: Inside, path: str) -> None:
    assert inside.get(path).status_code == 404


def test_a_board_is_worked_out_once(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    first = inside.get("/board/tickets?seed=11").text

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("worked out again")

    monkeypatch.setattr(board, "run_controls", fail)
    assert inside.get("/board/tickets?seed=11").text == first
