"""One HTTP/1.1 connection to a model's server, kept open from a reply to the next.

httpx's own transport hands a request from lock to lock and task to task. Where many replies come
in together, each of its stages then waits for that of all the others, so that the first is ready
when the last is: 64 episodes at once spent a tenth of their time so. Here a request is written in
one piece, and what was read is handed on at once. h11 knows the protocol, as it does for httpx.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import Final

import h11
import httpx

READ_BYTES: Final = 65_536
HEAD_BYTES_MAX: Final = 102_400
"""The longest head of an answer that is read, as with httpx."""
EYEBALLS_DELAY_S: Final = 0.25
"""When the next address of a host is tried beside one that does not answer (RFC 8305)."""


class Connection(httpx.AsyncBaseTransport):
    """Sends one request at a time; opens itself, and again where the server has closed it."""

    def __init__(self, certificates: ssl.SSLContext | None) -> None:
        """Takes what an `https` server's certificate is checked by; None for plain `http`."""
        self._certificates: Final = certificates
        self._open: _Open | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the answer's body is read by whoever gets it.

        Raises:
            httpx.TransportError: there is no connection, or it broke.
        """
        if self._open is not None and not self._open.usable:
            await self.aclose()
        if self._open is None:
            self._open = await self._connected(request)
        try:
            return await self._open.exchange(request)
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    async def _connected(self, request: httpx.Request) -> _Open:
        url = request.url
        timeout_s = request.extensions["timeout"]["connect"]
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(
                    url.host,
                    url.port or (443 if self._certificates else 80),
                    ssl=self._certificates,
                    happy_eyeballs_delay=EYEBALLS_DELAY_S,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout("", request=request) from error
        except OSError as error:  # ssl.SSLError is one
            raise httpx.ConnectError(str(error), request=request) from error
        return _Open(reader, writer)


class _Open:
    """An open connection, between the requests of which nothing is under way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader: Final = reader
        self._writer: Final = writer
        self._state: Final = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_MAX)

    @property
    def usable(self) -> bool:
        """Whether another request can be sent: the last one ended, and the server is there."""
        return self._state.our_state is h11.IDLE and not (
            self._reader.at_eof() or self._writer.is_closing()
        )

    def close(self) -> None:
        """Close it, whatever is under way."""
        # Without waiting for the other side: it may be the one that does not answer.
        self._writer.transport.abort()

    async def exchange(self, request: httpx.Request) -> httpx.Response:
        """Send a request and read the answer's head."""
        await self._send(request)
        try:
            while isinstance(event := await self._event(), h11.InformationalResponse):
                pass
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error), request=request) from error
        assert isinstance(event, h11.Response), "the first event of an answer that is none of 1xx"
        return httpx.Response(
            event.status_code,
            headers=event.headers.raw_items(),
            stream=_Body(self, request),
            request=request,
        )

    async def body(self) -> AsyncIterator[bytes]:
        """The answer's body; the connection is free when it ends."""
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            assert isinstance(event, h11.Data), "a body is data up to its end"
            yield bytes(event.data)
        if self._state.our_state is h11.DONE and self._state.their_state is h11.DONE:
            self._state.start_next_cycle()

    async def _send(self, request: httpx.Request) -> None:
        head = h11.Request(
            method=request.method, target=request.url.raw_path, headers=request.headers.raw
        )
        parts = (head, h11.Data(data=request.content), h11.EndOfMessage())
        self._writer.write(b"".join(self._state.send(part) or b"" for part in parts))
        try:
            await self._writer.drain()
        except OSError as error:
            raise httpx.WriteError(str(error), request=request) from error

    async def _event(self) -> object:
        while (event := self._state.next_event()) is h11.NEED_DATA:
            try:
                received = await self._reader.read(READ_BYTES)
            except OSError as error:
                raise httpx.ReadError(str(error)) from error
            if not received and self._state.their_state is h11.SEND_RESPONSE:
                raise httpx.RemoteProtocolError("the server closed the connection, unanswered")
            self._state.receive_data(received)
        return event


class _Body(httpx.AsyncByteStream):
    def __init__(self, connection: _Open, request: httpx.Request) -> None:
        self._connection: Final = connection
        self._request: Final = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._connection.body():
                yield part
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error), request=self._request) from error

    async def aclose(self) -> None:
        if not self._connection.usable:  # left before its end
            self._connection.close()
