"""The trainer's door over HTTP: what it answers, and what strange requests leave as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deskgym.serve.api import OPERATIONS
from deskgym.serve.problem import KINDS
from tests.serve.inside import Inside

TASK = "service/two-full-captures"
READ = {"tool": "get_order", "arguments": {"order_id": "S-410"}}
REFUND = {"order_id": "S-410", "payment_id": "PAY-B", "amount_cents": 4800}
SOLUTION: list[dict[str, Any]] = [
    READ,
    {"tool": "list_order_payments", "arguments": {"order_id": "S-410"}},
    {"tool": "propose", "arguments": {"remedy": "refund", **REFUND}},
    {"tool": "issue_refund", "arguments": {**REFUND, "reason": "charged twice"}},
    {"tool": "report", "arguments": {"claim": "refunded", "order_id": "S-410"}},
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with Inside(tmp_path_factory.mktemp("api")) as client:
        yield client


def started(api: Inside, **fields: Any) -> str:
    answer = api.post("/api/episodes", json={"task": TASK, **fields})
    assert answer.status_code == 201
    return answer.json()["id"]


def everything_of(api: Inside, id: str) -> list[Any]:
    """All that the server shows of an episode."""
    parts = ("", "/steps", "/world", "/observation", "/score")
    return [api.get(f"/api/episodes/{id}{part}").json() for part in parts]


def test_an_episode_from_its_reset_to_its_recording(api: Inside) -> None:
    answer = api.post("/api/episodes", json={"task": TASK, "seed": 4, "agent": "me"})
    id = answer.json()["id"]
    assert answer.headers["location"] == f"/api/episodes/{id}"
    assert answer.json()["observation"]["step"] == 0
    for number, action in enumerate(SOLUTION, start=1):
        taken = api.post(f"/api/episodes/{id}/steps", json={"action": action, "number": number})
        assert taken.status_code == 200
        assert taken.json()["step"] == number
    score = api.get(f"/api/episodes/{id}/score").json()
    assert (score["reward"], score["verdict"], score["actions"]) == (1.0, "resolved", [5, 48])
    assert score["explanation"].startswith("reward +1.00 by service-reward.v3: resolved")
    older = api.get(f"/api/episodes/{id}/score", params={"rubric": "service-reward.v2"}).json()
    assert older["rubric"] == "service-reward.v2"
    refund = api.get(f"/api/episodes/{id}/world").json()["changes"][0]
    assert (refund["table"], refund["before"]) == ("refunds", None)
    closed = api.post(f"/api/episodes/{id}/close").json()
    assert (closed["status"], closed["reward"], closed["steps"]) == ("closed", 1.0, 5)
    assert api.post(f"/api/episodes/{id}/close").json() == closed
    listed = api.get("/api/recordings", params={"episode": id}).json()["items"]
    assert [item["reward"] for item in listed] == [1.0]
    document = api.get(f"/api/recordings/{listed[0]['id']}").content
    assert document == api.get(f"/api/episodes/{id}/recording").content
    replayed = api.post(f"/api/recordings/{listed[0]['id']}/replay").json()
    assert (replayed["same"], replayed["score"]["reward"]) == (True, 1.0)
    headers = {"Content-Type": "application/json"}
    again = api.post("/api/recordings", content=document, headers=headers)
    assert (again.status_code, again.json()["new"]) == (200, False)
    changed = document.replace(b'"seed":4', b'"seed":5')
    refused = api.post("/api/recordings", content=changed, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_recording")


def test_a_repeated_step_is_answered_again_and_not_taken_twice(api: Inside) -> None:
    id = started(api)
    first = api.post(f"/api/episodes/{id}/steps", json={"action": READ, "number": 1})
    before = everything_of(api, id)
    again = api.post(f"/api/episodes/{id}/steps", json={"action": READ, "number": 1})
    assert again.content == first.content
    for number, action in ((1, SOLUTION[1]), (3, READ), (1_000_000, READ)):
        body = {"action": action, "number": number}
        refused = api.post(f"/api/episodes/{id}/steps", json=body)
        assert (refused.status_code, refused.json()["expected"]) == (409, 2)
    assert everything_of(api, id) == before


def test_a_repeated_creation_is_the_same_episode(api: Inside) -> None:
    body = {"task": TASK, "seed": 3, "id": "mine", "with_token": True}
    first, again = api.post("/api/episodes", json=body), api.post("/api/episodes", json=body)
    assert first.json()["observation"] == again.json()["observation"]
    taken = api.post("/api/episodes", json={**body, "seed": 4})
    assert (taken.status_code, taken.json()["code"]) == (409, "episode_exists")
    assert api.get("/api/episodes/mine").json()["seed"] == 3


WRONG_STEPS = [
    b"", b"{", b"null", b"[]", b"5", b'"text"', b"\xff", b'{"action": ', b"{}",
    b'{"action": null}', b'{"action": []}', b'{"action": {"tool": 5}}', b'{"action": {}}',
    b'{"action": {"tool": null, "arguments": {}}}',
    b'{"action": {"tool": "get_order"}, "number": "1"}',
    b'{"action": {"tool": "get_order"}, "number": 1.5}',
    b'{"action": {"tool": "get_order"}, "number": 0}',
    b'{"action": {"tool": "get_order"}, "number": -1}',
    b'{"action": {"tool": "get_order"}, "number": true}',
    b'{"action": {"tool": "get_order"}, "number": 1e99}',
    b'{"action": {"tool": "get_order"}, "numbr": 1}',
    b'{"action": {"tool": "get_order", "argument": {}}}',
    b'{"action": {"tool": "\\ud800"}}',
    b'{"action": {"tool": "x", "arguments": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
]  # fmt: skip


@pytest.mark.parametrize("body", WRONG_STEPS, ids=range(len(WRONG_STEPS)))
def test_a_step_that_does_not_fit_is_refused_and_changes_nothing(api: Inside, body: bytes) -> None:
    id = started(api)
    before = everything_of(api, id)
    headers = {"Content-Type": "application/json"}
    refused = api.post(f"/api/episodes/{id}/steps", content=body, headers=headers)
    assert refused.status_code in (400, 422)
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["status"] == refused.status_code
    assert everything_of(api, id) == before


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "words"),
    [
        ("POST", "/api/episodes", {"task": "service/lamp"}, "unknown_name", "did you mean"),
        ("POST", "/api/episodes", {"task": "nobody/x"}, "unknown_name", "no suite 'nobody'"),
        ("POST", "/api/episodes", {"task": TASK, "rubric": "v9"}, "unknown_name", "rubric"),
        ("POST", "/api/episodes", {"task": TASK, "parameters": {"stock": 99}},
         "invalid_parameter", "stock must be"),
        ("POST", "/api/episodes", {"task": TASK, "seed": "0"}, "invalid_request", "seed"),
        ("POST", "/api/episodes", {"task": TASK, "id": "a/b"}, "invalid_request", "id"),
        ("POST", "/api/episodes", {"task": TASK, "agent": "\x00"}, "invalid_request", "agent"),
        ("GET", "/api/episodes/nobody", None, "unknown_episode", "nobody"),
        ("GET", "/api/episodes/%00", None, "unknown_episode", ""),
        ("POST", "/api/episodes/nobody/steps", {"action": READ}, "unknown_episode", ""),
        ("GET", "/api/episodes?limit=0", None, "invalid_request", "limit"),
        ("GET", "/api/episodes?page=x", None, "invalid_value", "page token"),
        ("GET", "/api/episodes?limit=1&limit=2", None, "invalid_request", "twice"),
        ("GET", "/api/episodes?colour=red", None, "invalid_request", "colour"),
        ("GET", "/api/episodes?task=%FF", None, "bad_request", "UTF-8"),
        ("GET", "/api/version?x=1", None, "invalid_request", "no query"),
        ("GET", "/api/recordings/nobody", None, "unknown_name", "recording"),
        ("GET", "/api/suites/nobody", None, "unknown_name", "suite"),
        ("GET", "/api/tasks/service/nobody", None, "unknown_name", "task"),
        ("DELETE", "/api/episodes", None, "method_not_allowed", "GET, POST"),
        ("GET", "/nothing", None, "not_found", ""),
        ("POST", "/api/batch/episodes", {"episodes": []}, "invalid_request", "episodes"),
        ("POST", "/api/batch/episodes", {"episodes": [{"task": TASK, "id": "a"}] * 2},
         "invalid_value", "same id"),
        ("POST", "/api/batch/steps", {"steps": [{"episode": "a"}]}, "invalid_request", "steps/0"),
    ],
)  # fmt: skip
def test_a_problem_says_what_was_wrong(
    api: Inside, method: str, path: str, body: Any, code: str, words: str
) -> None:
    answer = api.request(method, path, json=body) if body is not None else api.request(method, path)
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (problem["code"], problem["status"]) == (code, KINDS[code].status)
    assert answer.status_code == problem["status"]
    assert words in problem["detail"]


def test_a_body_that_is_not_json_by_its_type_is_refused(api: Inside) -> None:
    id = started(api)
    body = json.dumps({"action": READ})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {"Content-Type": kind}
        answer = api.post(f"/api/episodes/{id}/steps", content=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert api.get(f"/api/episodes/{id}").json()["steps"] == 0


def test_a_batch_answers_each_step_in_its_place(api: Inside) -> None:
    made = api.post(
        "/api/batch/episodes",
        json={"episodes": [{"task": TASK, "seed": n, "id": f"batch-{n}"} for n in range(3)]},
    )
    assert [item["id"] for item in made.json()["episodes"]] == ["batch-0", "batch-1", "batch-2"]
    steps = [
        {"episode": "batch-0", "action": SOLUTION[0], "number": 1},
        {"episode": "nobody", "action": READ, "number": 1},
        {"episode": "batch-0", "action": SOLUTION[1], "number": 2},
        {"episode": "batch-1", "action": READ, "number": 7},
    ]
    results = api.post("/api/batch/steps", json={"steps": steps}).json()["results"]
    assert [item["episode"] for item in results] == ["batch-0", "nobody", "batch-0", "batch-1"]
    assert [item.get("observation", {}).get("step") for item in results] == [1, None, 2, None]
    assert [item.get("problem", {}).get("code") for item in results] == [
        None, "unknown_episode", None, "step_conflict",
    ]  # fmt: skip
    assert api.post("/api/batch/steps", json={"steps": steps}).json()["results"] == results
    ids = {"episodes": ["batch-0", "nobody", "batch-1"]}
    scores = api.post("/api/batch/scores", json=ids).json()["results"]
    assert ["score" in item for item in scores] == [True, False, True]
    states = api.post("/api/batch/close", json=ids).json()["results"]
    assert [item.get("state", {}).get("status") for item in states] == ["closed", None, "closed"]


def test_a_batch_of_new_episodes_is_all_or_nothing(api: Inside) -> None:
    good, bad = {"task": TASK, "id": "whole-1"}, {"task": TASK, "parameters": {"stock": 99}}
    assert api.post("/api/batch/episodes", json={"episodes": [good, bad]}).status_code == 422
    assert api.get("/api/episodes/whole-1").status_code == 404


def test_lists_come_in_pages(tmp_path: Path) -> None:
    with Inside(tmp_path) as api:
        ids = {started(api, agent="pager") for _ in range(5)}
        found: list[str] = []
        page: dict[str, Any] = {}
        while not found or page["next"]:
            query = {"limit": 2, "agent": "pager"} | ({"page": page["next"]} if page else {})
            page = api.get("/api/episodes", params=query).json()
            found += [item["id"] for item in page["items"]]
        assert len(found) == 5
        assert set(found) == ids


def test_the_description_names_every_operation_with_an_example(api: Inside) -> None:
    document = api.get("/api/openapi.json").json()
    described = {
        item["operationId"]: item for path in document["paths"].values() for item in path.values()
    }
    assert set(described) == {item.name for item in OPERATIONS}
    for operation in OPERATIONS:
        assert described[operation.name]["summary"]
        if operation.form is not None:
            assert operation.form.model_json_schema()["examples"]
    assert "oneOf" in api.get(f"/api/tasks/{TASK}").json()["action_schema"]
    assert len(api.get("/api/tasks", params={"suite": "service"}).json()["items"]) == 13
    formats = {
        name: api.get("/api/suites/service/tools", params={"format": name}).json()["items"][0]
        for name in ("deskgym", "openai", "anthropic", "mcp")
    }
    assert "function" in formats["openai"]
    assert "input_schema" in formats["anthropic"]
    assert "inputSchema" in formats["mcp"]
    page = api.get("/api/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "//" not in page.text.replace("// ", "")
