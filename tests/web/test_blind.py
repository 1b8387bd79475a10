"""Blind mode: an agent's part of a case and nothing else, until it is handed in."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from deskgym.environment import make
from deskgym.suite import load_suite
from tests.serve.inside import Inside
from tests.web.desk import LAMP, SOLVED, act, command, form_to, reward, start, state

# The case's task, what it asks, and how it is judged: no agent is told any of it.
JUDGES = (
    "reward", "verdict", "resolved", "rubric", "ceiling", "outcome", "oracle", "breakdown",
    "checks", "seed ", "Records", "authorised",
)  # fmt: skip


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def shown(page: str) -> str:
    """A page as text, without what every page of the app has around it and an agent's policy."""
    main = page.partition("<main")[2].partition("</main>")[0]
    policy = re.sub(r'<section aria-labelledby="policy">.*?</section>', "", main, flags=re.DOTALL)
    return html.unescape(policy)


@pytest.mark.parametrize("task", SOLVED)
def test_nothing_but_an_agents_part_is_in_the_page_until_it_is_handed_in(
    bench: Inside, task: str
) -> None:
    path = start(bench, task, mode="blind")
    assert path.startswith("/blind/")
    with make(task) as env:
        env.reset(0)
        private = env.fixture.private
        title, question = env.task.title, env.task.question
        told = load_suite(env.suite.name).instructions
        opening = env.opening().to_json().decode()
        judged = [text for text in texts(env.score().to_dict()) if text.count(" ") > 1]
    assert judged
    fresh = shown(bench.get(path).text)
    for word in (*judged, *private):
        assert word not in fresh, word
    for tool, arguments in SOLVED[task][:-1]:
        assert act(bench, path, tool, **arguments).status_code == 303
    page = bench.get(path).text
    seen = shown(page)
    # Tools' descriptions say what a report costs, as every agent is told.
    plain = re.sub(r'<form class="act-form".*?</form>', "", seen, flags=re.DOTALL)
    for word in (*JUDGES, title, question, task, task.partition("/")[2], *private):
        assert word not in plain or word in opening, word
    assert told.strip()[:200] in html.unescape(page)
    assert re.search(r"/blind/[0-9a-f]+/steps", page)


@pytest.mark.parametrize("task", SOLVED)
def test_the_same_scorers_verdict_follows_with_everything(bench: Inside, task: str) -> None:
    path = start(bench, task, mode="blind")
    steps = SOLVED[task]
    for tool, arguments in steps[:-1] if len(steps) > 1 else ():
        act(bench, path, tool, **arguments)
    if len(steps) == 1:
        act(bench, path, steps[0][0], **steps[0][1])
    form = form_to(bench.get(path).text, "/submit") if len(steps) > 1 else None
    if form is not None:
        assert bench.post(form.action).headers["location"] == path
    page = bench.get(path).text
    score = bench.get(f"/api/episodes/{path.rpartition('/')[2]}/score").json()
    assert reward(page) == f"{score['reward']:+.2f}"
    assert "The episode is over" in page
    assert "taken blind" in page
    assert state(bench, path)["reward"] == score["reward"]
    assert 'id="beside"' in page


def test_the_action_that_ends_the_case_hands_it_in(bench: Inside) -> None:
    path = start(bench, LAMP, mode="blind")
    act(bench, path, "close")
    assert "The episode is over" in bench.get(path).text
    listed = bench.get("/api/recordings", params={"agent": "blind", "limit": 500}).json()["items"]
    assert path.rpartition("/")[2] in [item["episode"] for item in listed]


def test_a_live_one_opens_nowhere_else_in_the_app(bench: Inside) -> None:
    path = start(bench, LAMP, mode="blind")
    id = path.rpartition("/")[2]
    for other in ("", "/trajectory", "/recording.json", "/trajectory?step=0"):
        answer = bench.get(f"/workbench/{id}{other}")
        assert (answer.status_code, answer.headers["location"]) == (303, path)
    for other in ("/replay", "/close", "/steps", "/trajectory"):
        answer = bench.post(f"/workbench/{id}{other}", data={"number": "1", "tool": "close"})
        assert (answer.status_code, answer.headers["location"]) == (303, path)
    for name in (f"workbench/{id}", f"blind/{id}"):
        assert bench.get(f"/workbench?from={name}").status_code == 400
        assert bench.post("/workbench/continue", data={"from": name}).status_code == 400
    found = state(bench, path)
    assert (found["status"], found["steps"], found["reward"]) == ("live", 0, None)
    row = bench.get("/workbench").text.partition(f'href="{path}"')[2].partition("</tr>")[0]
    assert '<td><span class="none">–</span></td>' in row


def test_an_episode_of_the_workbench_is_not_taken_blind(bench: Inside) -> None:
    path = start(bench, LAMP)
    blind = path.replace("/workbench", "/blind")
    assert bench.get(blind).headers["location"] == path
    assert bench.post(f"{blind}/submit").headers["location"] == path
    sent = {"number": "1", "tool": "close"}
    assert bench.post(f"{blind}/steps", data=sent).headers["location"] == path
    assert state(bench, path)["status"] == "live"


def test_what_was_seen_before_stays_in_order(bench: Inside) -> None:
    path = start(bench, LAMP, mode="blind")
    for tool, arguments in SOLVED[LAMP][:-1]:
        act(bench, path, tool, **arguments)
    command(bench, path, '{"tool": "get_order", "arguments": {"order_id": "S-990"}}')
    page = bench.get(path).text
    codes = ("order_found", "inventory_found", "proposal_accepted", "return_created",
             "replacement_created", "report_recorded", "order_not_found")  # fmt: skip
    places = [page.index(f"<code><bdi>{code}</bdi></code>") for code in codes]
    assert all(before < after for before, after in pairwise(places))


def test_a_conflict_and_a_wrong_form_show_no_more_than_the_page(bench: Inside) -> None:
    path = start(bench, LAMP, mode="blind")
    stale = form_to(bench.get(f"{path}?tool=message").text, "/steps")
    act(bench, path, "get_order", order_id="S-410")
    answer = bench.post(stale.action, data={**stale.fields, "arg.text": "again"})
    assert (answer.status_code, "Nothing was done" in answer.text) == (422, True)
    wrong = act(bench, path, "get_order", order_id="")
    assert (wrong.status_code, "is missing" in wrong.text) == (422, True)
    for page in (answer.text, wrong.text):
        assert "reward" not in re.sub(r"<form.*?</form>", "", shown(page), flags=re.DOTALL)
    assert state(bench, path)["steps"] == 1
