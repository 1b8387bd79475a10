"""The connection to a model's server, against a real socket that answers as it is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx
import pytest

from deskgym.models.connection import Connection

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Peer:
    """A server that reads a request and sends the next of its answers, or closes on None."""

    answers: list[bytes | None]
    url: str = ""
    opened: int = 0
    heard: list[bytes] = field(default_factory=list)
    visits: list[asyncio.Task[None] | None] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        self.visits.append(asyncio.current_task())
        while self.answers:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            self.heard.append(head + await reader.readexactly(7))
            answer = self.answers.pop(0)
            if answer is None:
                break
            writer.write(answer)
            if b"close" in answer.lower() or b"HTTP/1.0" in answer or b"torn" in answer:
                break
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@asynccontextmanager
async def peer(*answers: bytes | None) -> AsyncIterator[Peer]:
    made = Peer(list(answers))
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as server:
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/chat"
        yield made
        await asyncio.gather(*filter(None, made.visits))


def request(url: str) -> httpx.Request:
    return httpx.Request("POST", url, content=b'{"a":1}', extensions={"timeout": {"connect": 5.0}})


async def answer(connection: Connection, url: str) -> tuple[int, bytes]:
    response = await connection.handle_async_request(request(url))
    try:
        return response.status_code, await response.aread()
    finally:
        await response.aclose()


def ask(times: int, *answers: bytes | None) -> tuple[list[tuple[int, bytes]], Peer]:
    """What one connection hears when it asks so often, and the server that it asked."""

    async def main() -> tuple[list[tuple[int, bytes]], Peer]:
        async with peer(*answers) as server:
            connection = Connection(None)
            try:
                return [await answer(connection, server.url) for _ in range(times)], server
            finally:
                await connection.aclose()

    return asyncio.run(main())


def test_requests_go_one_after_another_over_one_connection() -> None:
    heard, server = ask(3, OK, OK, OK)
    assert heard == [(200, b"ok")] * 3
    assert server.opened == 1
    assert all(one.startswith(b"POST /v1/chat HTTP/1.1\r\n") for one in server.heard)
    assert all(one.endswith(b'\r\n\r\n{"a":1}') for one in server.heard)


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            b"abc",
            id="chunks",
        ),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"ok", id="an answer on the way"),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\nto the end", b"to the end", id="up to the end"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", b"x", id="last"
        ),
    ],
)
def test_an_answer_is_read_in_each_of_its_forms_and_the_next_follows(
    sent: bytes, body: bytes
) -> None:
    heard, _ = ask(2, sent, OK)
    assert heard == [(200, body), (200, b"ok")]


def test_a_connection_that_the_server_has_closed_is_opened_again() -> None:
    last = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    heard, server = ask(3, last, last, last)
    assert heard == [(200, b"ok")] * 3
    assert server.opened == 3


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(None, id="closed unanswered"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ntorn", id="torn body"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntorn", id="torn head"),
        pytest.param(b"torn\r\n\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"a" * 200_000 + b"\r\n\r\n", id="endless head"),
    ],
)
def test_a_broken_answer_is_the_server_s_fault_and_the_next_request_starts_anew(
    sent: bytes | None,
) -> None:
    async def main() -> int:
        async with peer(sent, OK) as server:
            connection = Connection(None)
            with pytest.raises(httpx.TransportError):
                await answer(connection, server.url)
            assert await answer(connection, server.url) == (200, b"ok")
            await connection.aclose()
            return server.opened

    assert asyncio.run(main()) == 2


def test_an_answer_that_is_left_before_its_end_takes_its_connection_with_it() -> None:
    async def main() -> int:
        long = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"
        async with peer(long, OK) as server:
            connection = Connection(None)
            response = await connection.handle_async_request(request(server.url))
            await response.aclose()
            assert await answer(connection, server.url) == (200, b"ok")
            await connection.aclose()
            return server.opened

    assert asyncio.run(main()) == 2


def test_a_request_that_is_given_up_takes_its_connection_with_it() -> None:
    async def main() -> int:
        async with peer(b"", OK) as server:
            connection = Connection(None)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await answer(connection, server.url)
            assert await answer(connection, server.url) == (200, b"ok")
            await connection.aclose()
            return server.opened

    assert asyncio.run(main()) == 2


def test_nobody_listening_is_no_connection() -> None:
    async def main() -> None:
        async with peer() as server:
            url = server.url
        with pytest.raises(httpx.ConnectError):
            await answer(Connection(None), url)

    asyncio.run(main())


def test_a_server_that_speaks_no_tls_is_no_connection() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        writer.close()

    async def main() -> None:
        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/chat"
            with pytest.raises(httpx.ConnectError):
                await answer(Connection(httpx.create_ssl_context()), url)

    asyncio.run(main())
