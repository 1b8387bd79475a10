"""The viewer: every step with what it did and earned, of any recording that can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from deskgym.environment import Environment
from deskgym.recording import Recording, parse
from deskgym.runner import play, record
from deskgym.suite import load_suite
from deskgym.task import Control, Task
from deskgym.trajectory import Action
from tests.serve.inside import Inside
from tests.web.page import Reading, as_shown, reward_shown, section
from tests.web.planted import Planted, document_of, hostile_document, resealed

SERVICE = load_suite("service")
TEN = [(task, control) for task in SERVICE.tasks for control in task.controls][:10]
"""The scripts of the suite's five first cases."""


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """One app for all of them: they only read."""
    with Inside(tmp_path_factory.mktemp("inside")) as made:
        yield made


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    with Planted(tmp_path_factory.mktemp("planted")) as made:
        yield made


def recorded(suite_name: str, task_name: str, control_name: str, seed: int = 0) -> Recording:
    suite = load_suite(suite_name)
    task = suite.task(task_name)
    control = task.control(control_name)
    with Environment(suite, task, parameters=control.parameters) as environment:
        return record(environment, control.script, seed, agent="someone")


# Steps.


def test_the_ten_scripts_are_those_of_five_cases() -> None:
    assert len(TEN) == 10
    assert len({task.name for task, _ in TEN}) == 5


@pytest.mark.parametrize(
    ("task", "control"), TEN, ids=[f"{task.name}-{control.name}" for task, control in TEN]
)
def test_every_step_of_a_script_shows_what_was_earned_after_it(
    inside: Inside, task: Task, control: Control
) -> None:
    earned: list[float] = []
    with Environment(SERVICE, task, parameters=control.parameters) as environment:
        play(
            environment,
            control.script,
            after_step=lambda played: earned.append(played.score().reward),
        )
        tools = [step.action.tool for step in environment.steps]
    assert earned[-1] == control.reward
    page = f"/board/service/{task.name}/{control.name}"
    assert reward_shown(inside.get(f"{page}?step=0").text) == "0.00"
    for number, (tool, reward) in enumerate(zip(tools, earned, strict=True), start=1):
        answer = inside.get(f"{page}?step={number}")
        assert answer.status_code == 200
        assert reward_shown(answer.text) == as_shown(reward)
        assert f"Step {number} of {len(tools)}: {tool}" in Reading(answer.text).text


def test_without_a_step_the_last_one_is_shown(inside: Inside) -> None:
    page = "/board/service/damaged-lamp/return-and-replace"
    assert "Step 6 of 6: report" in Reading(inside.get(page).text).text


@pytest.mark.parametrize("step", ["7", "-1", "x", "1.5", "9" * 40, "²"])
def test_a_step_that_is_not_there_is_refused(inside: Inside, step: str) -> None:
    answer = inside.get("/board/service/damaged-lamp/return-and-replace", params={"step": step})
    assert answer.status_code == 404
    assert "0 to 6" in answer.text


def test_a_step_shows_what_differs_and_on_demand_the_whole_record(inside: Inside) -> None:
    page = "/board/service/damaged-lamp/return-and-replace?step=5"
    differs = section(inside.get(page).text, "Rows changed", 'class="earned"').text
    whole = section(inside.get(f"{page}&whole=1").text, "Rows changed", 'class="earned"').text
    # The replacement takes one lamp of two from the stock; the threshold stays as it is.
    assert "changed inventory LAMP-MOSS" in differs
    assert "quantity 2 1" in differs
    assert "threshold" not in differs
    assert "threshold 0 0" in whole
    assert "added replacements REP-000001" in differs


def test_the_whole_switch_stays_on_from_step_to_step(inside: Inside) -> None:
    html = inside.get("/board/service/damaged-lamp/return-and-replace?step=4&whole=1").text
    assert "/board/service/damaged-lamp/return-and-replace?step=5&amp;whole=1" in html


def test_a_step_shows_the_call_the_answer_and_the_customer(inside: Inside) -> None:
    html = inside.get("/board/service/damaged-lamp/return-and-replace?step=3").text
    did = section(html, 'class="did"', 'class="earned"').text
    for told in ("LAMP-MOSS", "proposal_accepted", "The customer accepts.", "Yes, please do that."):
        assert told in did


def test_the_start_shows_what_the_agent_is_told(inside: Inside) -> None:
    html = inside.get("/board/service/two-full-captures/oracle?step=0").text
    assert "I was charged twice for order S-410" in Reading(html).text


# The breakdown.


@pytest.mark.parametrize(
    ("suite", "task", "control"),
    [
        ("service", "damaged-lamp", "replace-and-refund"),
        ("service", "account-boundary", "forbidden"),
        ("backoffice", "damaged-item", "refund-on-top"),
        ("tickets", "hard", "forbidden"),
        ("tickets", "easy", "oracle"),
    ],
)
def test_the_whole_score_is_explained_after_any_step(
    inside: Inside, suite: str, task: str, control: str
) -> None:
    recording = recorded(suite, task, control)
    page = f"/board/{suite}/{task}/{control}"
    for number in {1, len(recording.steps)}:
        earned = section(inside.get(f"{page}?step={number}").text, 'class="earned"', "</article>")
        for told in explanation(recording, number):
            assert told in earned.text


def explanation(recording: Recording, number: int) -> Iterator[str]:
    """What a breakdown holds after a step, got from an environment of the test's own."""
    suite_name, _, _ = recording.header.task.partition("/")
    suite = load_suite(suite_name)
    task = suite.task(recording.header.task)
    with Environment(suite, task, parameters=dict(recording.header.parameters)) as environment:
        environment.reset(recording.header.seed)
        for step in recording.steps[:number]:
            environment.step(Action.from_json(step.action))
        score = environment.score()
    found = score.to_dict()["breakdown"]
    yield f"by {score.rubric}"
    for part in found.get("parts", []):
        yield f"{part['name']} {as_shown(part['points'])} {part['weight']:.2f}"
    for ceiling in found.get("ceilings", []):
        yield f"≤ {as_shown(ceiling['ceiling'])} {ceiling['when']}"
    for gate in found.get("gates", []):
        yield gate["sentence"]
        yield from row_texts(gate["rows"])
    for outcome in found.get("outcomes", []):
        yield outcome["title"]
        for broken in outcome["broken"]:
            yield from row_texts(broken["rows"])
    for check in found.get("checks", []):
        yield check["sentence"]
        yield "holds" if check["holds"] else "broken"
        yield from row_texts(check["rows"])
    for turn in found.get("turns", []):
        for part in turn["parts"]:
            yield part["name"].replace("_", " ")
            yield ", ".join(part["words"])


def row_texts(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield " ".join(str(value) if value not in (None, "") else "" for value in row.values())


def test_deductions_and_the_ceiling_stand_in_the_order_of_their_version(planted: Planted) -> None:
    # A false report beside a stock notification: version 3 holds to 0.60 and then takes 0.30.
    suite = load_suite("service")
    actions = [
        ("get_order", {"order_id": "S-410"}),
        ("search_inventory", {}),
        ("propose", {"remedy": "stock_notification", "order_id": "S-410", "sku": "LAMP-MOSS"}),
        ("create_stock_notification", {"order_id": "S-410", "sku": "LAMP-MOSS"}),
        ("report", {"claim": "replacement_created", "order_id": "S-410"}),
    ]

    def script(_: object) -> Any:
        for tool, arguments in actions:
            yield Action(tool, arguments)

    for version, first, second, reward in (
        ("service-reward.v3", "held to the lowest ceiling", "contradicted report", "+0.30"),
        ("service-reward.v2", "contradicted report", "held to the lowest ceiling", "+0.60"),
    ):
        environment = Environment(
            suite, suite.task("damaged-lamp"), parameters={"stock": 0}, rubric=version
        )
        path = planted.add(record(environment, script, agent="liar"), version)
        earned = section(planted.get(path).text, 'class="earned"', "</article>").text
        assert earned.index(first) < earned.index(second)
        assert f"reward {reward}" in earned


# The run as a whole.


def test_the_head_of_a_run_says_what_was_run(planted: Planted) -> None:
    recording = recorded("service", "two-full-captures", "oracle", seed=3)
    text = Reading(planted.get(planted.add(recording)).text).text
    for told in (
        "service/two-full-captures", "Agent someone", "Seed 3", "total cents 4800 = $48.00",
        "Rubric service-reward.v3", recording.hash, "resolved",
        "Is the refunded record the duplicate, or merely the same amount?",
    ):  # fmt: skip
        assert told in text


@pytest.mark.parametrize(
    ("status", "says"), [("invalid", "is invalid"), ("error", "error of ours")]
)
def test_a_run_without_a_reward_says_so_and_shows_none(
    planted: Planted, status: str, says: str
) -> None:
    document = document_of(recorded("service", "damaged-lamp", "oracle"))
    document["header"]["format"] = 2
    document["footer"]["status"] = status
    document["footer"]["run"] = {
        "termination": "provider_failed",
        "invalid": "provider_failed" if status == "invalid" else None,
        "detail": "the provider answered 500 five times",
        "transcript": [],
    }
    html = planted.get(planted.add(resealed(document))).text
    result = section(html, 'class="run-result"', 'class="facts"')
    assert "No reward" in result.text
    assert says in result.text
    assert "the provider answered 500 five times" in result.text
    assert "+1.00" not in result.text


def test_what_was_said_in_a_run_with_models_is_shown(planted: Planted) -> None:
    document = document_of(recorded("service", "damaged-lamp", "oracle"))
    document["header"]["format"] = 2
    document["footer"]["run"] = {
        "termination": "agent_stopped",
        "invalid": None,
        "customer": "patient",
        "turns": 2,
        "malformed_calls": 1,
        "transcript": [
            {"step": 0, "role": "agent", "text": "I look it up first.", "heard": False},
            {"step": 1, "role": "customer", "text": "Thank you!", "heard": True, "reason": "kind"},
        ],
    }
    text = Reading(planted.get(planted.add(resealed(document))).text).text
    assert "Ended agent stopped" in text
    assert "agent, not heard by the customer · after step 0 I look it up first." in text
    assert "customer · after step 1 Thank you! kind" in text
    assert "2 turns with the customer, 1 calls that could not be read" in text


def test_the_net_changes_of_the_whole_run_are_shown_after_every_step(inside: Inside) -> None:
    html = inside.get("/board/service/two-full-captures/oracle?step=0").text
    whole_run = section(html, "What the whole run changed", "</section>\n</div>")
    assert "added refunds REF-000001" in whole_run.text


def test_a_small_world_is_there_whole(inside: Inside) -> None:
    html = inside.get("/board/service/two-full-captures/oracle").text
    assert "PAY-B" in section(html, "The records at the start", "</details>").text


def test_the_chart_says_its_rewards_in_words(inside: Inside) -> None:
    html = inside.get("/board/service/damaged-lamp/replace-and-refund").text
    found = re.search(r'role="img" aria-label="(Reward after each step: [^"]*)"', html)
    assert found is not None
    assert found[1].endswith("7: +0.90, 8: -0.40, 9: -0.40")


def test_a_run_without_actions_has_a_page(planted: Planted) -> None:
    suite = load_suite("service")

    def idle(_: object) -> Any:
        return
        yield

    environment = Environment(suite, suite.task("damaged-lamp"))
    path = planted.add(record(environment, idle, agent="idle"))
    assert reward_shown(planted.get(path).text) == "0.00"
    assert planted.get(f"{path}?step=1").status_code == 404


# What can be done with it.


def test_the_recording_can_be_downloaded_as_it_is(inside: Inside) -> None:
    answer = inside.get("/board/service/damaged-lamp/oracle?seed=2&download=1")
    assert answer.headers["content-disposition"] == (
        'attachment; filename="service-damaged-lamp-2.json"'
    )
    downloaded = parse(answer.content)
    assert downloaded.hash == recorded_by_script("damaged-lamp", "return-and-replace", 2).hash


def recorded_by_script(task_name: str, control_name: str, seed: int) -> Recording:
    task = SERVICE.task(task_name)
    control = task.control(control_name)
    with Environment(SERVICE, task, parameters=control.parameters) as environment:
        return record(environment, control.script, seed, agent=f"script {control_name}")


def test_a_run_replays_exactly(inside: Inside) -> None:
    answer = inside.post("/board/service/damaged-lamp/oracle?seed=1&step=2")
    assert answer.status_code == 200
    assert "It replays exactly" in answer.text
    assert "Step 2 of 6" in answer.text


def test_a_replay_names_the_first_difference(planted: Planted) -> None:
    document = document_of(recorded("service", "damaged-lamp", "oracle"))
    document["steps"][3]["score"]["reward"] = 0.9
    path = planted.add(resealed(document))
    text = Reading(planted.post(path).text).text
    assert "It does not replay" in text
    assert "step 4: score.reward was recorded as 0.9 and replayed as 0.2" in text


def test_from_a_difference_on_only_what_was_recorded_is_shown(planted: Planted) -> None:
    document = document_of(recorded("service", "damaged-lamp", "oracle"))
    document["steps"][3]["score"]["reward"] = 0.9
    path = planted.add(resealed(document))
    before = Reading(planted.get(f"{path}?step=3").text).text
    after = Reading(planted.get(f"{path}?step=4").text).text
    assert "it departs from what was recorded" in before
    assert "Acceptable outcomes" in before
    assert "Acceptable outcomes" not in after
    assert "As it was recorded; it was not worked out again here." in after
    assert reward_shown(planted.get(f"{path}?step=4").text) == "+0.90"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("task", "elsewhere/thing", "there is no suite"),
        ("task", "service/thing", "there is no task"),
        ("rubric", "service-reward.v99", "there is no rubric"),
        ("parameters", {"stock": 99}, "stock must be"),
        ("parameters", {"nothing": 1}, "has no parameter"),
        ("seed", -5, "a seed is a whole number"),
    ],
)
def test_what_cannot_be_acted_out_here_is_shown_as_recorded(
    planted: Planted, field: str, value: object, says: str
) -> None:
    document = document_of(recorded("service", "damaged-lamp", "oracle"))
    document["header"][field] = value
    path = planted.add(resealed(document))
    for answer in (planted.get(path), planted.post(path)):
        text = Reading(answer.text).text
        assert answer.status_code == 200
        assert says in text
        assert "It cannot be acted out" in text
        assert "Step 6 of 6: report" in text


def test_links_lead_to_the_workbench_and_the_comparison(inside: Inside) -> None:
    html = inside.get("/board/service/damaged-lamp/stock-notification?seed=4").text
    links = Reading(html).links
    assert (
        "/workbench?suite=service&task=service%2Fdamaged-lamp&seed=4&stock=0&total_cents=4800"
        in links
    )
    assert "/compare?a=board/service/damaged-lamp/stock-notification%3Fseed%3D4" in links


# Strangers' texts.

BIDI = "abc\u202edef\u2066ghi"
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.mark.parametrize("text", [SCRIPT, BIDI, "\x00\x1b[2J\u200b\ufeff", "' \" & {{ 7*7 }}", ""])
@pytest.mark.parametrize("step", [0, 1, 2, 6])
def test_strangers_texts_are_shown_as_text(planted: Planted, text: str, step: int) -> None:
    made = recorded("service", "damaged-lamp", "oracle")
    plain = planted.get(planted.add(made, "plain"))
    path = planted.add(resealed(hostile_document(made, text)), "hostile")
    answer = planted.get(f"{path}?step={step}&whole=1")
    assert answer.status_code == 200
    read = Reading(answer.text)
    assert read.tags <= Reading(plain.text).tags | {
        "blockquote", "pre", "b", "h3", "details", "summary", "del", "ol", "li",
    }  # fmt: skip
    assert not {name for name in read.attributes if name.startswith("on") or name == "style"}
    body = answer.text.partition("<body")[2]
    assert not re.findall(".{,60}[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\u200b\ufeff]", body)
    if text == SCRIPT:
        assert SCRIPT in read.text
    if text == BIDI:
        assert "U+202E" in read.text


def test_a_text_of_a_megabyte_unfolds(planted: Planted) -> None:
    text = "1 MB of text. " * 75_000
    document = document_of(recorded("service", "damaged-lamp", "oracle"))
    document["steps"][0]["result"]["message"] = text
    document["steps"][0]["action"]["tool"] = text
    answer = planted.get(f"{planted.add(resealed(document))}?step=1")
    assert answer.status_code == 200
    # It is there once, in what unfolds, and nowhere else.
    assert len(answer.content) < len(text) + 200_000
    assert "more characters" in answer.text


def test_arguments_that_are_nested_too_deep_are_said_to_be(planted: Planted) -> None:
    deep: Any = "x"
    for _ in range(240):
        deep = {"a": deep}
    document = document_of(recorded("service", "damaged-lamp", "oracle"))
    document["steps"][0]["action"]["arguments"] = deep
    answer = planted.get(f"{planted.add(resealed(document))}?step=1")
    assert answer.status_code == 200
    assert "step 1: action.arguments" in answer.text


def test_a_recording_of_many_thousand_steps_has_pages_of_a_bounded_size(planted: Planted) -> None:
    document = document_of(recorded("service", "damaged-lamp", "oracle"))
    step = document["steps"][4]
    document["steps"] = [{**step, "step": number} for number in range(1, 5_001)]
    document["footer"]["changes"] = step["changes"] * 2_000
    document["header"]["parameters"] = {f"p{number}": 1 for number in range(5_000)}
    path = planted.add(resealed(document))
    for number in (0, 1, 2_500, 5_000):
        answer = planted.get(f"{path}?step={number}")
        assert answer.status_code == 200
        assert len(answer.content) < 1_500_000
        assert re.findall(r'aria-current="step"', answer.text) == ['aria-current="step"']
    assert "2,399 steps before these" in planted.get(f"{path}?step=2500").text
    assert "2,401 steps after these" in planted.get(f"{path}?step=2500").text
    assert "after these" not in planted.get(f"{path}?step=5000").text
