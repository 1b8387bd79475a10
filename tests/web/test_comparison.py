"""Two runs side by side, where they part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deskgym.environment import Environment
from deskgym.evaluate import EpisodeSpec, run_episode
from deskgym.recording import Recording
from deskgym.runner import record
from deskgym.suite import load_suite
from deskgym.web.parting import changes, held, parting, settings
from tests.serve.inside import Inside
from tests.web.page import Reading
from tests.web.planted import document_of, resealed

TASK = "service/two-full-captures"
SERVICE = load_suite("service")


def scripted(name: str, seed: int = 0) -> Recording:
    task = SERVICE.task(TASK)
    control = task.control(name)
    with Environment(SERVICE, task, parameters=control.parameters) as environment:
        return record(environment, control.script, seed, agent=name)


def test_runs_part_at_the_first_action_or_answer_that_differs() -> None:
    oracle, wrong = scripted("refund-second"), scripted("refund-first")
    parted = parting(oracle, wrong)
    assert parted.step is not None
    before = range(parted.step - 1)
    assert parted.step > 1
    for place in before:
        assert oracle.steps[place].action == wrong.steps[place].action
    left, right = oracle.steps[parted.step - 1].action, wrong.steps[parted.step - 1].action
    assert left["tool"] == right["tool"]
    assert left["arguments"] != right["arguments"]
    assert parted.what == "they call it with other arguments"


def test_equal_runs_do_not_part_and_shorter_ones_part_at_their_end() -> None:
    oracle = scripted("refund-second")
    assert parting(oracle, oracle).step is None
    document = document_of(oracle)
    del document["steps"][-1]
    shorter = resealed(document)
    assert parting(oracle, shorter).step == len(oracle.steps)
    assert "ends" in parting(oracle, shorter).what


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("result", {"ok": True, "code": "x", "message": "", "data": {}}, "answered otherwise"),
        ("changes", [{"table": "t", "key": [], "before": None, "after": {}}], "other rows"),
    ],
)
def test_the_same_calls_with_other_consequences_part(field: str, value: object, what: str) -> None:
    oracle = scripted("refund-second")
    document = document_of(oracle)
    document["steps"][1][field] = value
    parted = parting(oracle, resealed(document))
    assert parted.step == 2
    assert what in parted.what


def test_what_only_one_changed_and_broke_is_told() -> None:
    oracle, wrong = scripted("refund-second"), scripted("refund-first")
    found = changes(oracle, wrong)
    refunds = [item for item in found.a if item["table"] == "refunds"]
    assert [item["after"]["payment_id"] for item in refunds] == ["PAY-B"]
    assert [item["after"]["payment_id"] for item in found.b if item["table"] == "refunds"] == [
        "PAY-A"
    ]
    broke = {item.name: (item.a, item.b) for item in held(oracle, wrong)}
    assert broke["outcome"] == (False, True)
    assert {setting.name for setting in settings(oracle, wrong) if setting.differs} >= {"agent"}


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """One app for all of them."""
    with Inside(tmp_path_factory.mktemp("inside")) as made:
        yield made


def board(name: str, seed: int = 0) -> str:
    return f"board/{TASK}/{name}" + (f"%3Fseed%3D{seed}" if seed else "")


def test_the_page_shows_the_step_at_which_they_part(inside: Inside) -> None:
    answer = inside.get(f"/compare?a={board('refund-second')}&b={board('refund-first')}")
    text = Reading(answer.text).text
    step = parting(scripted("refund-second"), scripted("refund-first")).step
    assert f"They part at step {step}: they call it with other arguments" in text
    assert "PAY-A" in text
    assert "PAY-B" in text
    assert "+1.00" in text
    first = answer.text.partition('<section class="first"')[2].partition("</section>")[0]
    assert 'class="differs"' in first


def test_other_seeds_are_other_records_and_other_tasks_are_not_held_together(
    inside: Inside,
) -> None:
    answer = inside.get(f"/compare?a={board('refund-second')}&b={board('refund-second', 3)}")
    assert "They part before the first step" in Reading(answer.text).text
    other = inside.get(f"/compare?a={board('refund-second')}&b=shipped/backoffice/1")
    assert "of two tasks" in Reading(other.text).text
    assert "They part" not in Reading(other.text).text


def test_equal_runs_are_said_to_be_equal(inside: Inside) -> None:
    answer = inside.get(f"/compare?a={board('refund-second')}&b={board('refund-second')}")
    assert "They do not part" in Reading(answer.text).text


def test_a_run_is_offered_others_of_its_task(inside: Inside) -> None:
    store = inside.service.store.recordings
    own = [store.save(run_episode(EpisodeSpec(TASK, agent, 0))) for agent in ("oracle", "null")]
    store.save(run_episode(EpisodeSpec("service/damaged-lamp", "oracle", 0)))
    links = Reading(inside.get(f"/compare?a=recordings/{own[0]}").text).links
    offered = [link.partition("&b=")[2] for link in links if "&b=" in link]
    assert f"recordings/{own[1]}" in [link.replace("%2F", "/") for link in offered]
    assert all("damaged-lamp" not in link for link in offered)
    assert sum("board" in link for link in offered) == len(SERVICE.task(TASK).controls)
    for link in links:
        if "&b=" in link:
            assert inside.get(link).status_code == 200, link


def test_two_that_are_chosen_in_a_list_are_compared(inside: Inside) -> None:
    answer = inside.get("/compare?run=shipped/backoffice/1&run=shipped/backoffice/2")
    assert answer.headers["location"] == (
        "/compare?a=shipped%2Fbackoffice%2F1&b=shipped%2Fbackoffice%2F2"
    )
    assert inside.get("/compare?run=shipped/backoffice/1").headers["location"] == (
        "/compare?a=shipped%2Fbackoffice%2F1"
    )
    assert "Choose two" in Reading(inside.get("/compare").text).text


@pytest.mark.parametrize(
    "name", ["x", "recordings/nobody", "shipped/backoffice/99", "board/service/none/oracle",
             "board/service/two-full-captures/refund-second?seed=x", "../../etc/passwd", "https://x.test"]
)  # fmt: skip
def test_a_name_of_no_run_is_refused(inside: Inside, name: str) -> None:
    answer = inside.get("/compare", params={"a": name}, headers={"Accept": "text/html"})
    assert answer.status_code in (404, 422)
