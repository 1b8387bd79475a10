"""The client of the published ticket endpoints, against a server over the real environment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from deskgym.errors import UsageError
from deskgym.evaluate.ticket_client import TicketClient, TicketServerFailed
from deskgym.suites.tickets import SupportAction
from deskgym.suites.tickets.agents import BASELINES
from deskgym.suites.tickets.ticket import recognise
from tests.evaluate.ticket_server import TicketServer, ticket_server


@pytest.fixture
def server() -> Iterator[TicketServer]:
    with ticket_server() as made:
        yield made


async def _play(url: str, seed: int) -> list[float]:
    """An episode of the hard tier by the oracle, through every endpoint."""
    oracle = BASELINES["oracle"]
    async with TicketClient(url + "/") as client:
        assert (await client.health())["status"] == "ok"
        assert [task["name"] for task in await client.tasks()] == ["easy", "medium", "hard"]
        session, observation = await client.reset("hard", seed)
        ticket = recognise(observation.conversation[0])
        turn = 0
        while not observation.done:
            reply = oracle("hard", turn, ticket)
            action = SupportAction(message=reply.message, intent=reply.intent)
            observation = await client.step(session, action)
            turn += 1
        assert (await client.state(session))["state"]["done"] is True
        assert (await client.grader(session))["score"] == observation.cumulative_reward
        assert (await client.baseline())["hard"] == 1.0
        return observation.turn_scores


def test_an_episode_is_played_through_the_published_endpoints(server: TicketServer) -> None:
    assert asyncio.run(_play(server.url, 3)) == [1.0, 1.0, 1.0]
    assert set(server.asked) == {
        "GET /", "POST /reset", "POST /step", "GET /state", "GET /tasks", "POST /grader",
        "POST /baseline",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (500, b"{}", "/reset answered 500"),
        (200, b'{"session', "something that is no JSON"),
        (200, b"[]", "no JSON object"),
        (200, b"{}", "without a session_id"),
        (200, b'{"session_id": "s", "observation": {"done": "no"}}', "answered no observation"),
        (200, b'{"session_id": "s"}', "answered no observation"),
    ],
)
def test_a_server_that_answers_something_else_is_named(
    server: TicketServer, status: int, body: bytes, sentence: str
) -> None:
    server.broken["/reset"] = (status, body)

    async def reset() -> None:
        async with TicketClient(server.url) as client:
            await client.reset("easy", 0)

    with pytest.raises(TicketServerFailed, match=sentence):
        asyncio.run(reset())


def test_a_session_that_is_not_there_is_a_failure(server: TicketServer) -> None:
    async def step() -> None:
        async with TicketClient(server.url) as client:
            await client.step("nobody", SupportAction(message="Hello"))

    with pytest.raises(TicketServerFailed, match="/step answered 404"):
        asyncio.run(step())


def test_a_server_that_is_not_there_is_named() -> None:
    async def ask() -> None:
        async with TicketClient("http://127.0.0.1:9") as client:
            await client.health()

    with pytest.raises(TicketServerFailed, match=r"http://127\.0\.0\.1:9/"):
        asyncio.run(ask())


def test_an_address_that_is_none_is_refused() -> None:
    for address in ("", "localhost:7860", "ftp://host", "http://"):
        with pytest.raises(UsageError, match="address is such as"):
            TicketClient(address)
