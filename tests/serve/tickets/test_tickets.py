"""The seven published endpoints: their shapes, what they refuse, and what they do not tell."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskgym.suites.tickets import SupportAction, SupportObservation, TicketEnvironment
from deskgym.suites.tickets.agents import oracle
from deskgym.suites.tickets.scenario import CATEGORIES, TIERS, TURNS, Tier
from deskgym.suites.tickets.ticket import ticket_of
from tests.serve.doorway import KEY, Running, running

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running(tmp_path_factory.mktemp("tickets"), app="tickets") as up:
        yield up


@pytest.fixture(scope="module")
def client(server: Running) -> Generator[httpx.Client]:
    with httpx.Client(base_url=server.url) as made:
        yield made


def start(client: httpx.Client, tier: str = "easy", seed: int = 42, **more: Any) -> str:
    answer = client.post("/reset", json={"task_name": tier, "seed": seed, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["session_id"]


def say(client: httpx.Client, session: str, message: str = "refund", **more: Any) -> Any:
    answer = client.post("/step", json={"session_id": session, "message": message, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["observation"]


PUBLISHED = [
    "curl http://localhost:7860/",
    'curl -X POST http://localhost:7860/reset -H "Content-Type: application/json" '
    """-d '{"task_name":"easy","seed":42}'""",
    'curl -X POST http://localhost:7860/step -H "Content-Type: application/json" '
    """-d '{"session_id":"SESSION_ID","message":"refund","intent":"classify"}'""",
    'curl -X POST http://localhost:7860/grader -H "Content-Type: application/json" '
    """-d '{"session_id":"SESSION_ID"}'""",
]
"""The lines that the environment was published with."""


def documented() -> list[str]:
    """The lines of the documentation that start with curl, in one line each."""
    text = (Path(__file__).parents[3] / "docs/suites/tickets.md").read_text()
    lines = text.replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines if line.startswith("curl ")]


@pytest.mark.skipif(
    shutil.which("curl") is None and os.environ.get("CI") != "true", reason="there is no curl"
)
def test_the_published_curl_lines_work_as_they_stand(server: Running) -> None:
    lines = documented()
    assert [line for line in lines if line in PUBLISHED] == PUBLISHED
    answers: list[Any] = []
    for line in lines:
        session = answers[1]["session_id"] if len(answers) > 1 else ""
        words = line.replace("http://localhost:7860", server.url).replace("SESSION_ID", session)
        done = subprocess.run(
            [*shlex.split(words), "--silent", "--fail"], capture_output=True, check=True
        )
        answers.append(json.loads(done.stdout))
    health, reset, step, state, grader, tasks, baseline = answers
    assert state["state"]["done"] is True
    assert len(tasks["tasks"]) == 3
    assert baseline["easy"] == 1.0
    assert health["status"] == "ok"
    # Seed 42 is a ticket of shipping, so "refund" is the wrong category.
    assert ticket_of(42).scenario.category == "shipping"
    assert reset["observation"]["reward"] is None
    assert step["observation"]["done"] is True
    assert step["observation"]["reward"] == 0.0
    assert grader["score"] == 0.0
    assert grader["turn_scores"] == [0.0]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("seed", [0, 17, 44])
def test_an_oracle_gets_what_it_gets_in_process(
    client: httpx.Client, tier: Tier, seed: int
) -> None:
    session = start(client, tier, seed)
    with TicketEnvironment() as tickets:
        expected = tickets.reset(tier, seed)
        for turn in range(TURNS[tier]):
            reply = oracle(tier, turn, ticket_of(seed))
            got = say(client, session, reply.message, intent=reply.intent)
            expected = tickets.step(SupportAction(message=reply.message, intent=reply.intent))
            assert SupportObservation(**got) == expected
        state = client.get("/state", params={"session_id": session}).json()
        assert state == {"session_id": session, "state": tickets.state.model_dump()}
        grade = client.post("/grader", json={"session_id": session}).json()
        assert grade["score"] == tickets.score().reward == 1.0
    assert grade["resolved"] is True
    assert grade["turn_scores"] == [1.0] * TURNS[tier]
    assert grade["issue_type"] == ticket_of(seed).scenario.category
    assert (grade["task"], grade["steps"]) == (tier, TURNS[tier])


@pytest.mark.parametrize("path", ["/state", "/step", "/grader"])
@pytest.mark.parametrize("session", ["nobody", "a.b", "../x", "é", "x" * 200])
def test_an_unknown_session_is_404(client: httpx.Client, path: str, session: str) -> None:
    if path == "/state":
        answer = client.get(path, params={"session_id": session})
    else:
        answer = client.post(path, json={"session_id": session} | _reply(path))
    assert answer.status_code == 404
    assert "POST /reset" in answer.json()["detail"]


def _reply(path: str) -> dict[str, str]:
    return {"message": "hello"} if path == "/step" else {}


def test_an_episode_of_another_suite_is_no_session(server: Running, client: httpx.Client) -> None:
    made = server.service.episodes.create("service/damaged-lamp")
    answer = client.post("/step", json={"session_id": made.id, "message": "hello"})
    assert answer.status_code == 404
    assert client.post("/reset", json={"session_id": made.id}).status_code == 409
    assert server.service.episodes.state(made.id).live


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/reset", {"task_name": "harder"}),
        ("/reset", {"task_name": 1}),
        ("/reset", {"seed": -1}),
        ("/reset", {"seed": 1.5}),
        ("/reset", {"seed": "1"}),
        ("/reset", {"seed": True}),
        ("/reset", {"seed": 2**31}),
        ("/reset", {"session_id": "a b"}),
        ("/reset", {"sed": 1}),
        ("/reset", []),
        ("/step", {}),
        ("/step", {"message": "hello"}),
        ("/step", {"session_id": "SESSION"}),
        ("/step", {"session_id": "SESSION", "message": ""}),
        ("/step", {"session_id": "SESSION", "message": " \n"}),
        ("/step", {"session_id": "SESSION", "message": "a\x00b"}),
        ("/step", {"session_id": "SESSION", "message": 7}),
        ("/step", {"session_id": "SESSION", "message": "x" * 32_769}),
        ("/step", {"session_id": "SESSION", "message": "hello", "intent": "shout"}),
        ("/step", {"session_id": "SESSION", "message": "hello", "reward": 1}),
        ("/step", {"session_id": "SESSION", "message": "hello", "number": 0}),
        ("/step", {"session_id": None, "message": "hello"}),
        ("/grader", {}),
        ("/grader", {"session_id": 1}),
        ("/baseline", {"episodes": 0}),
        ("/baseline", {"episodes": 46}),
    ],
)
def test_a_wrong_value_is_422_and_changes_nothing(
    client: httpx.Client, path: str, body: Any
) -> None:
    session = start(client)
    text = json.dumps(body).replace("SESSION", session)
    answer = client.post(path, content=text, headers=JSON)
    assert answer.status_code == 422, answer.text
    state = client.get("/state", params={"session_id": session}).json()["state"]
    assert state["step_count"] == 0


def test_what_is_no_json_is_400_and_a_state_needs_a_session(client: httpx.Client) -> None:
    assert client.post("/step", content=b"{", headers=JSON).status_code == 400
    assert client.get("/state").status_code == 422
    assert client.get("/reset").status_code == 405
    assert client.post("/reset", json={"rubric": "ticket-reward.v9"}).status_code == 404


def test_a_step_after_the_end_changes_nothing(client: httpx.Client) -> None:
    session = start(client, "medium")
    last = say(client, session)
    before = client.post("/grader", json={"session_id": session}).json()
    after = say(client, session, "I am sorry, a replacement is on its way.")
    assert after["reward"] == 0.0
    assert after["info"].startswith("The episode is over")
    assert after | {"reward": None, "info": None} == last | {"reward": None, "info": None}
    assert client.post("/grader", json={"session_id": session}).json() == before


def test_a_reply_that_is_sent_again_with_its_number_takes_one_turn(client: httpx.Client) -> None:
    session = start(client, "hard")
    first = say(client, session, "Which carrier is it?", number=1)
    assert say(client, session, "Which carrier is it?", number=1) == first
    body = {"session_id": session, "message": "another one", "number": 1}
    conflict = client.post("/step", json=body)
    assert conflict.status_code == 409
    assert conflict.json()["expected"] == 2
    assert say(client, session, "another one", number=2)["turn_scores"][1:] != []
    assert client.post("/step", json={**body, "message": "Which carrier is it?"}).status_code == 409


@pytest.mark.parametrize("seed", range(45))
def test_nothing_tells_the_answer_before_the_end(client: httpx.Client, seed: int) -> None:
    """The customer's own words aside, no answer has the category, a keyword or the scenario."""
    ticket = ticket_of(seed)
    said = [ticket.wording.opening, ticket.wording.follow_up, ticket.wording.acknowledgement]
    session = start(client, "hard", seed)
    texts = []
    for path in ("/state", "/grader", "/step", "/state", "/grader"):
        if path == "/state":
            answer = client.get(path, params={"session_id": session})
        else:
            answer = client.post(path, json={"session_id": session} | _reply(path))
        texts.append(answer.text)
    shown = "\n".join(texts)
    for words in (*said, "hello", session):
        shown = shown.replace(json.dumps(words, ensure_ascii=False)[1:-1], "")
    secrets = {ticket.scenario.category, ticket.scenario.name.replace("_", " ")}
    secrets |= {form for keyword in ticket.scenario.keywords for form in keyword.forms}
    found = [word for word in secrets if re.search(rf"\b{re.escape(word)}\b", shown)]
    assert found == []
    assert json.loads(texts[-1])["issue_type"] is None


def test_a_session_plays_one_episode_after_another(client: httpx.Client, server: Running) -> None:
    assert start(client, "easy", 0, session_id="mine") == "mine"
    assert say(client, "mine", CATEGORIES[0])["done"]
    assert start(client, "hard", 1, session_id="mine") == "mine"
    state = client.get("/state", params={"session_id": "mine"}).json()["state"]
    assert (state["task_name"], state["seed"], state["step_count"]) == ("hard", 1, 0)
    start(client, "easy", 2, session_id="mine")
    states = [server.service.episodes.state(id) for id in ("mine", "mine.2", "mine.3")]
    assert [state.status for state in states] == ["ended", "closed", "live"]


def test_a_seed_that_is_drawn_is_told(client: httpx.Client) -> None:
    drawn = client.post("/reset")
    assert drawn.status_code == 200
    again = client.post("/reset", json={"seed": drawn.json()["seed"]}).json()
    assert again["observation"] == drawn.json()["observation"]
    assert again["session_id"] != drawn.json()["session_id"]


def test_sessions_at_once_do_not_mix(server: Running) -> None:
    async def play(client: httpx.AsyncClient, seed: int) -> None:
        reset = await client.post("/reset", json={"task_name": "hard", "seed": seed})
        session = reset.json()["session_id"]
        for turn in range(3):
            reply = oracle("hard", turn, ticket_of(seed))
            body = {"session_id": session, "message": reply.message, "intent": reply.intent}
            observation = (await client.post("/step", json=body)).json()["observation"]
        assert observation["cumulative_reward"] == 1.0
        assert observation["conversation"][0] == ticket_of(seed).wording.opening

    async def run() -> None:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            await asyncio.gather(*(play(client, seed) for seed in range(45)))

    asyncio.run(run())


def test_tiers_and_baselines_have_the_published_shapes(client: httpx.Client) -> None:
    tasks = client.get("/tasks").json()["tasks"]
    assert [(task["name"], task["max_steps"]) for task in tasks] == [
        ("easy", 1), ("medium", 1), ("hard", 10)
    ]  # fmt: skip
    for task in tasks:
        assert set(task["action_schema"]["properties"]) == {"message", "intent"}
    scores = client.post("/baseline").json()
    assert {tier: scores[tier] for tier in TIERS} == dict.fromkeys(TIERS, 1.0)
    assert [len(scores["details"][tier]["scores"]) for tier in TIERS] == [5, 5, 5]
    assert set(scores["agents"]) == {"oracle", "fixed reply", "keyword stuffing"}
    published = client.post("/baseline", json={"rubric": "ticket-reward.v1", "episodes": 2}).json()
    # The best hard score of the published rules: (0.4 + 0.5 + 0.3) / 3.
    assert published["hard"] == pytest.approx(0.4)


def test_there_are_interactive_docs(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    document = client.get("/openapi.json").json()
    assert list(document["paths"]) == [
        "/", "/reset", "/step", "/state", "/tasks", "/grader", "/baseline"
    ]  # fmt: skip


def test_a_session_goes_on_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path, app="tickets") as first, httpx.Client(base_url=first.url) as client:
        start(client, "hard", 3, session_id="mine")
        start(client, "hard", 4, session_id="mine")
        say(client, "mine", "Which carrier is it?")
        # Another server on the same database, while the first one still thinks it is its own.
        with running(tmp_path, app="tickets") as second, httpx.Client(base_url=second.url) as other:
            assert len(say(other, "mine", "hello")["turn_scores"]) == 2


def test_a_session_is_its_keys_own(tmp_path: Path) -> None:
    keys = {"ann": KEY, "bob": f"{KEY}-too"}
    ann, bob = ({"Authorization": f"Bearer {key}"} for key in keys.values())
    with (
        running(tmp_path, keys=keys) as up,
        httpx.Client(base_url=f"{up.url}/tickets") as client,
    ):
        assert client.post("/reset").status_code == 401
        made = client.post("/reset", json={"session_id": "mine"}, headers=ann)
        assert made.status_code == 200
        body = {"session_id": "mine", "message": "hello"}
        assert client.post("/step", json=body, headers=bob).status_code == 404
        taken = client.post("/reset", json={"session_id": "mine"}, headers=bob)
        assert taken.status_code == 409
        assert client.post("/step", json=body, headers=ann).status_code == 200
