"""Bounds on requests, and what is counted and logged of them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from deskgym.serve import Service, Settings
from deskgym.serve.log import JsonFormatter, note
from deskgym.serve.watch import door
from deskgym.trajectory import call
from tests.serve.inside import Inside

TASK = "service/two-full-captures"
READ = {"tool": "get_order", "arguments": {"order_id": "S-410"}}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Inside]:
    with Inside(tmp_path, body_bytes_max=2_000, body_timeout_s=0.05) as made:
        yield made


def started(api: Inside) -> str:
    return api.post("/api/episodes", json={"task": TASK}).json()["id"]


def steps_of(api: Inside, id: str) -> int:
    return api.get(f"/api/episodes/{id}").json()["steps"]


async def chunks(*parts: bytes, wait: bool = False) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
    if wait:
        await asyncio.Event().wait()


def test_a_body_that_is_too_large_is_refused_whole_or_in_parts(api: Inside) -> None:
    id = started(api)
    path = f"/api/episodes/{id}/steps"
    body = json.dumps({"action": READ, "more": "x" * 2_000}).encode()
    for content in (body, chunks(body[:1_000], body[1_000:])):
        answer = api.post(path, content=content, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert steps_of(api, id) == 0


def test_a_recording_may_be_larger_than_other_bodies(api: Inside) -> None:
    document = api.get(f"/api/episodes/{started(api)}/recording").content
    assert len(document) > 2_000
    assert api.post("/api/recordings", content=document, headers=JSON).status_code == 201


def test_a_body_that_does_not_come_is_given_up(api: Inside) -> None:
    id = started(api)
    content = chunks(b'{"action": ', wait=True)
    answer = api.post(f"/api/episodes/{id}/steps", content=content, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (408, "timeout")
    assert steps_of(api, id) == 0


def test_a_client_that_vanishes_half_way_leaves_the_episode_as_it_was(api: Inside) -> None:
    id = started(api)
    body = json.dumps({"action": READ}).encode()
    sent: list[Any] = []
    messages = iter(
        [
            {"type": "http.request", "body": body, "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": f"/api/episodes/{id}/steps", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }  # fmt: skip
    asyncio.run(api.app(scope, receive, send))
    assert sent == []
    assert steps_of(api, id) == 0


def test_a_failure_of_ours_is_a_problem_and_is_logged_without_what_was_said(
    api: Inside, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("it said: my secret")

    monkeypatch.setattr(api.service.episodes, "observe", fail)
    with caplog.at_level(logging.INFO, "deskgym"):
        answer = api.get("/api/episodes/x/observation?q=secret")
        assert answer.status_code == 422
        answer = api.get("/api/episodes/x/observation")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert "secret" not in "\n".join(lines)
    failed = [json.loads(line) for line in lines if "a request failed" in line]
    assert failed[0]["error"] == "builtins.RuntimeError"
    assert failed[0]["operation"] == "observe_episode"
    assert any("operation.py" in frame for frame in failed[0]["trace"])


def test_every_request_is_logged_on_request_with_neither_query_nor_body(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Inside(tmp_path, access_log=True) as api, caplog.at_level(logging.INFO, "deskgym"):
        id = started(api)
        api.post(f"/api/episodes/{id}/steps", json={"action": READ})
        api.get("/api/episodes?agent=somebody")
    lines = [JsonFormatter().format(record) for record in caplog.records]
    logged = [json.loads(line) for line in lines]
    assert [item["operation"] for item in logged] == [
        "create_episode", "step_episode", "list_episodes",
    ]  # fmt: skip
    assert [item["status"] for item in logged] == [201, 200, 200]
    assert not any("S-410" in line or "somebody" in line for line in lines)


def test_metrics_count_requests_steps_and_live_episodes(api: Inside) -> None:
    id = started(api)
    for _ in range(2):
        api.post(f"/api/episodes/{id}/steps", json={"action": READ, "number": 1})
    api.get("/no/such/place")
    text = api.get("/metrics").text
    for line in (
        'deskgym_requests_total{operation="step_episode",status="200"} 2.0',
        'deskgym_requests_total{operation="other",status="404"} 1.0',
        'deskgym_request_seconds_count{operation="step_episode"} 2.0',
        "deskgym_steps_total 2.0",
        "deskgym_episodes_created_total 1.0",
        "deskgym_episodes_live 1.0",
    ):
        assert line in text
    assert "/no/such/place" not in text


def test_the_server_is_ready_while_its_database_answers(
    api: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deskgym.errors import DatabaseUnavailable

    assert api.get("/health").json()["status"] == "ok"
    assert api.get("/ready").json()["status"] == "ready"

    def away() -> None:
        raise DatabaseUnavailable("the database is away")

    monkeypatch.setattr(api.service.store, "ping", away)
    answer = api.get("/ready")
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert "retry-after" in answer.headers
    assert api.get("/health").status_code == 200


def test_idle_episodes_are_closed_and_others_are_not(tmp_path: Path) -> None:
    service = Service(Settings(database=f"sqlite:///{tmp_path}/runs.db", idle_timeout_s=0.4))
    made = service.episodes.create(TASK)

    async def until_expired() -> None:
        lifespan = door(service, "").lifespan
        assert lifespan is not None
        async with lifespan():
            while service.episodes.state(made.id).live:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(until_expired(), 30))
    state = service.episodes.state(made.id)
    assert (state.status, state.reward) == ("expired", 0.0)
    assert b"deskgym_episodes_expired_total 1.0" in service.metrics.exposition()
    service.close()


def test_a_step_of_an_expired_episode_is_a_conflict(api: Inside) -> None:
    id = started(api)
    api.service.episodes.step(id, call("get_order", order_id="S-410"))
    assert api.service.episodes.expire(0) in ([id], [])
    api.service.episodes.close(id)
    answer = api.post(f"/api/episodes/{id}/steps", json={"action": READ})
    assert (answer.status_code, answer.json()["code"]) == (409, "episode_closed")


def test_a_log_line_is_json() -> None:
    record = logging.LogRecord("deskgym.serve", logging.INFO, "f", 1, "said %s", ("it",), None)
    line = json.loads(JsonFormatter().format(record))
    assert (line["event"], line["level"], line["logger"]) == ("said it", "info", "deskgym.serve")
    note("nobody listens", level=logging.DEBUG, detail=1)
