"""The workbench without a browser: starting an episode, and acting in it by its forms."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import deskgym
from tests.serve.inside import Inside
from tests.web.desk import (
    LAMP,
    SOLVED,
    act,
    command,
    episodes,
    form_to,
    recordings,
    reward,
    start,
    state,
)


@pytest.mark.parametrize("task", SOLVED)
def test_a_case_of_each_suite_is_solved_by_its_forms(bench: Inside, task: str) -> None:
    path = start(bench, task)
    for tool, arguments in SOLVED[task]:
        answer = act(bench, path, tool, **arguments)
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(f"{path}?")
    page = bench.get(path).text
    assert reward(page) == "+1.00"
    assert "The episode is over" in page
    assert state(bench, path)["reward"] == 1.0
    (kept,) = recordings(bench, path)
    assert (kept["agent"], kept["reward"]) == ("human", 1.0)
    assert f'href="/recordings/{kept["id"]}"' in page


def test_every_tool_of_every_suite_has_a_form_with_all_its_arguments(bench: Inside) -> None:
    for suite in map(deskgym.load_suite, deskgym.suite_names()):
        path = start(bench, f"{suite.name}/{suite.tasks[0].name}")
        for tool in suite.toolbox.values():
            form = form_to(bench.get(f"{path}?tool={tool.name}").text, "/steps")
            assert [name for name in form.fields if name.startswith("arg.")] == [
                f"arg.{parameter.name}" for parameter in tool.parameters
            ]


# Starting.


@pytest.mark.parametrize(
    ("task", "name", "typed", "told"),
    [
        (LAMP, "stock", "7", "stock must be a whole number from 0 to 6, not 7"),
        (LAMP, "stock", "-1", "from 0 to 6, not -1"),
        (LAMP, "stock", "two", "from 0 to 6, not 'two'"),
        (LAMP, "stock", "²", "from 0 to 6, not '²'"),
        (LAMP, "total_cents", "0", "from 1 to 100000, not 0"),
        (LAMP, "total_cents", "9" * 5_000, "from 1 to 100000, not '999"),
        ("service/two-half-payments", "total_cents", "4801", "divisible by 2 from 2 to 100000"),
        (LAMP, "seed", "2147483648", "a seed is a whole number from 0 to 2147483647"),
        (LAMP, "seed", "1.0", "a seed is a whole number"),
        (LAMP, "rubric", "v9", "service has no rubric 'v9'"),
    ],
)
def test_a_setting_out_of_its_limits_is_told_at_its_field(
    bench: Inside, task: str, name: str, typed: str, told: str
) -> None:
    suite, _, short = task.partition("/")
    before = len(episodes(bench))
    answer = bench.post("/workbench", data={"suite": suite, "task": short, name: typed})
    assert answer.status_code == 422
    wrong = re.search(rf'id="set-{name}-wrong">(.*?)</p>', answer.text, re.DOTALL)
    assert wrong is not None
    assert told in html.unescape(wrong[1])
    assert re.search(rf'id="set-{name}"[^>]*aria-invalid="true"', answer.text)
    assert len(episodes(bench)) == before


def test_a_start_that_is_sent_twice_starts_one_episode(bench: Inside) -> None:
    before = len(episodes(bench))
    form = form_to(bench.get("/workbench").text, "/workbench")
    fields = {**form.fields, "rubric": ""}
    first, again = (bench.post("/workbench", data=fields) for _ in range(2))
    assert first.headers["location"] == again.headers["location"]
    other = bench.post("/workbench", data={**fields, "stock": "3"})
    assert other.headers["location"] != first.headers["location"]
    assert len(episodes(bench)) == before + 2


def test_the_start_page_is_filled_in_by_its_address(bench: Inside) -> None:
    page = bench.get(f"/workbench?task={LAMP}&seed=3&stock=0&rubric=service-reward.v2").text
    form = form_to(page, "/workbench")
    assert {name: form.fields[name] for name in ("suite", "task", "seed", "stock")} == {
        "suite": "service", "task": "damaged-lamp", "seed": "3", "stock": "0"
    }  # fmt: skip
    assert "<option selected>service-reward.v2</option>" in page
    assert bench.get("/workbench?suite=nobody").status_code == 404
    assert bench.get("/workbench?suite=service&task=nothing").status_code == 404


def without_ids(page: str) -> str:
    """A page without the ids that it would give to new episodes."""
    return re.sub(r'name="id" value="[0-9a-f]+"', "", page)


def test_ones_episodes_are_listed_and_survive_the_server(tmp_path: Path) -> None:
    with Inside(tmp_path) as before:
        path = start(before, LAMP, seed="5")
        act(before, path, "get_order", order_id="S-410")
        seen = before.get(path).text
    with Inside(tmp_path) as after:
        listed = after.get("/workbench").text
        assert f'href="{path}"' in listed
        assert without_ids(after.get(path).text) == without_ids(seen)
        assert "order_found" in seen
        assert act(after, path, "search_inventory").status_code == 303
        assert state(after, path)["steps"] == 2


# Acting.


def test_a_form_that_is_sent_twice_is_one_action(bench: Inside) -> None:
    path = start(bench, LAMP)
    act(bench, path, "get_order", order_id="S-410")
    form = form_to(bench.get(f"{path}?tool=create_return").text, "/steps")
    form.fields |= {"arg.order_id": "S-410", "arg.item_id": "S-410-1", "arg.reason": "cracked"}
    for _ in range(2):
        assert bench.post(form.action, data=form.fields).status_code == 303
    assert state(bench, path)["steps"] == 2


def test_another_action_of_a_taken_number_is_not_taken_and_keeps_what_was_typed(
    bench: Inside,
) -> None:
    path = start(bench, LAMP)
    stale = form_to(bench.get(f"{path}?tool=message").text, "/steps")
    act(bench, path, "get_order", order_id="S-410")
    answer = bench.post(stale.action, data={**stale.fields, "arg.text": "Hello from <before>"})
    assert answer.status_code == 422
    assert "Nothing was done: another action has that number already" in answer.text
    assert "Hello from &lt;before&gt;</textarea>" in answer.text
    assert form_to(answer.text, "/steps").fields["number"] == "2"
    assert state(bench, path)["steps"] == 1


def test_what_the_tool_refuses_is_an_observation_as_an_agent_sees_it(bench: Inside) -> None:
    path = start(bench, LAMP)
    for arguments in ({"amount_cents": "100001"}, {"order_id": "S-990"}):
        given = {"order_id": "S-410", "payment_id": "PAY-A", "amount_cents": "1", "reason": "x"}
        answer = act(bench, path, "issue_refund", **{**given, **arguments})
        assert answer.status_code == 303
    steps = bench.get(f"/api/episodes/{path.rpartition('/')[2]}/steps").json()["steps"]
    codes = [step["result"]["code"] for step in steps]
    assert codes == ["invalid_arguments", "order_not_found"]
    seen = html.unescape(bench.get(path).text)
    assert steps[-1]["result"]["message"] in seen
    # Each refused write costs 0.08, and not one read succeeded.
    assert reward(seen) == "-0.16"


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "told"),
    [
        ("issue_refund", {"amount_cents": "12.50"}, "amount_cents", "as a JSON integer"),
        ("issue_refund", {"amount_cents": ""}, "amount_cents", "is missing"),
        ("get_order", {"order_id": "  "}, "order_id", "is missing; it must be text"),
        ("propose", {"remedy": "everything"}, "remedy", "must be one of refund, replacement"),
    ],
)
def test_a_form_that_stands_for_no_action_is_told_at_its_field(
    bench: Inside, tool: str, arguments: dict[str, str], field: str, told: str
) -> None:
    path = start(bench, LAMP)
    given = {"order_id": "S-410", "payment_id": "PAY-A", "reason": "kept as typed"}
    fitting = {name: given[name] for name in given if tool == "issue_refund"}
    answer = act(bench, path, tool, **{**fitting, **arguments})
    assert answer.status_code == 422
    wrong = re.search(rf'id="act-{field}-wrong">(.*?)</p>', answer.text, re.DOTALL)
    assert wrong is not None
    assert told in html.unescape(wrong[1])
    assert "Nothing was done" in wrong[1]
    assert ("kept as typed</textarea>" in answer.text) is bool(fitting)
    assert state(bench, path)["steps"] == 0


@pytest.mark.parametrize(
    "garbage",
    ["", "{", "nonsense", "[]", "null", '{"arguments": {}}', '{"tool": 5}', "\ud83d".encode(
        "utf-8", "surrogatepass").decode("latin-1"), '{"tool": "close", "args": {}}',
     "[" * 5_000],
)  # fmt: skip
def test_a_raw_command_that_is_none_is_told_and_kept(bench: Inside, garbage: str) -> None:
    path = start(bench, LAMP)
    answer = command(bench, path, garbage)
    assert answer.status_code == 422
    assert 'id="command-wrong"' in answer.text
    assert form_to(answer.text, "/steps").fields["command"] == garbage
    assert state(bench, path)["steps"] == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"tool": "get_order", "arguments": {"order_id": "S-410"}}', "order_found"),
        ('{"tool": "get_order", "arguments": [1, 2]}', "invalid_arguments"),
        ('{"tool": "get_ordre", "arguments": {}}', "unknown_tool"),
        ('{"tool": "get_order", "arguments": {"order_id": "S-410", "owner": "me"}}',
         "invalid_arguments"),
        ('{"tool": "<script>alert(1)</script>"}', "unknown_tool"),
    ],
)  # fmt: skip
def test_a_raw_command_is_an_action_however_odd(bench: Inside, text: str, code: str) -> None:
    path = start(bench, LAMP)
    answer = command(bench, path, text)
    assert answer.status_code == 303
    page = bench.get(answer.headers["location"].partition("#")[0]).text
    assert f"<code><bdi>{code}</bdi></code>" in page
    assert "<script>alert" not in page
    assert 'id="command"' in page, "the raw form stays open"


def test_after_the_end_nothing_is_taken(bench: Inside) -> None:
    path = start(bench, LAMP)
    form = form_to(bench.get(f"{path}?tool=search_inventory").text, "/steps")
    bench.post(f"{path}/close")
    answer = bench.post(form.action, data=form.fields)
    assert answer.status_code == 422
    assert "Nothing was done: the episode is over" in answer.text
    assert not re.search(r'action="[^"]*/steps', answer.text)
