"""The client: one attempt at a reply over HTTP, with every fault told apart and the key kept in."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.metadata import version
from types import TracebackType
from typing import Any, Final, Protocol, cast
from urllib.request import getproxies, proxy_bypass

import httpx
import orjson
from pydantic import ValidationError

from deskgym.errors import UsageError
from deskgym.models.answer import Answer
from deskgym.models.chat import ChatReply, ChatRequest, ModelFault, as_unicode
from deskgym.models.connection import Connection
from deskgym.models.options import ModelOptions, Sampling

ANSWER_BYTES_MAX: Final = 32 * 2**20
CONNECT_TIMEOUT_S: Final = 10.0
DETAIL_CHARACTERS_MAX: Final = 300
KEY_SCRUBBED_MIN: Final = 8
"""A shorter key is a placeholder such as `none`, which may be any word of an answer."""

_SCRUBBED: Final = "[key]"
_NO_MONEY: Final = "insufficient_quota"
"""The code of a 429 that no waiting helps."""
_MAY_PASS: Final = frozenset({408, 409, 425})
"""Statuses of 4xx that are no word on the request itself."""
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class Reader(Protocol):
    """Puts the pieces of a streamed reply together."""

    def feed(self, event: Mapping[str, Any]) -> None: ...
    def finish(self, *, ended: bool) -> ChatReply: ...


class Dialect(Protocol):
    """How requests and replies of one API are written."""

    @property
    def path(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def end(self) -> str: ...

    def headers(self, api_key: str | None) -> dict[str, str]: ...
    def body(
        self, model: str, request: ChatRequest, sampling: Sampling, *, stream: bool, own_host: bool
    ) -> dict[str, Any]: ...
    def read(self, body: Mapping[str, Any]) -> ChatReply: ...
    def reader(self) -> Reader: ...


class HttpModel:
    """A model behind an API; to be used in one event loop, within its `async with`."""

    def __init__(self, model: str, dialect: Dialect, options: ModelOptions) -> None:
        """Raises `UsageError` for an address or a key that cannot be one; it shows no key."""
        self._model: Final = model
        self._dialect: Final = dialect
        self._options: Final = options
        self._key: Final = checked_key(options.api_key)
        self._root: Final = checked_url(options.base_url or dialect.host, dialect.path)
        self._url: Final = httpx.URL(self._root + dialect.path)
        self._headers: Final = httpx.Headers(
            {
                "Accept": "application/json, text/event-stream",
                "Accept-Encoding": "gzip, deflate",
                "Content-Type": "application/json",
                "User-Agent": f"deskgym/{version('deskgym')}",
                **dialect.headers(self._key),
            }
        )
        # A connection for each request on its way. There is no `AsyncClient` around them: its
        # cookies, redirects and `.netrc` (whose password goes over the key) are not wanted.
        self._free: list[httpx.AsyncBaseTransport] = []
        self._turn: asyncio.Semaphore | None = None

    def __repr__(self) -> str:
        return f"HttpModel({self._model!r}, {self._root!r})"

    async def __aenter__(self) -> HttpModel:
        self._turn = asyncio.Semaphore(self._options.connections_max)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._turn = None
        while self._free:
            await self._free.pop().aclose()

    async def reply(self, request: ChatRequest) -> ChatReply:
        """One attempt at the model's answer; raises `ModelFault`."""
        if self._turn is None:
            raise UsageError("a model is asked within its `async with` block")
        async with self._turn:
            transport = self._free.pop() if self._free else _new_transport(self._root)
            try:
                return await self._within_time(transport, request)
            finally:
                self._free.append(transport)

    async def _within_time(
        self, transport: httpx.AsyncBaseTransport, request: ChatRequest
    ) -> ChatReply:
        clock = asyncio.timeout(self._options.timeout_s)
        try:
            async with clock:
                return self._scrubbed(await self._attempt(transport, request))
        except ModelFault as fault:
            raise ModelFault(
                fault.kind, self._printable(fault.detail), fault.retry_after_s
            ) from None
        except TimeoutError:
            if not clock.expired():
                raise
            seconds = f"{self._options.timeout_s:g}"
            raise ModelFault("timeout", f"no whole answer within {seconds} seconds") from None
        # The request that these hold has the key among its headers, so the chain ends here.
        except httpx.TimeoutException:
            raise ModelFault("timeout", f"no connection to {self._root} in time") from None
        except httpx.TransportError as error:
            what = self._printable(f"{type(error).__name__}: {error}".rstrip(": "))
            raise ModelFault("connection", f"{self._root}: {what}") from None
        except (httpx.DecodingError, UnicodeDecodeError):
            raise ModelFault("garbled", "the answer cannot be decoded") from None

    async def _attempt(
        self, transport: httpx.AsyncBaseTransport, request: ChatRequest
    ) -> ChatReply:
        response = await transport.handle_async_request(self._http_request(request))
        try:
            return await self._read(response)
        finally:
            await response.aclose()

    def _http_request(self, request: ChatRequest) -> httpx.Request:
        body = self._dialect.body(
            self._model,
            request,
            self._options.sampling,
            stream=self._options.stream,
            own_host=self._root.startswith(self._dialect.host),
        )
        # How long the whole may take is bounded in `_within_time`.
        timeout = httpx.Timeout(None, connect=min(CONNECT_TIMEOUT_S, self._options.timeout_s))
        return httpx.Request(
            "POST",
            self._url,
            headers=self._headers,
            content=_json(body),
            extensions={"timeout": timeout.as_dict()},
        )

    async def _read(self, response: httpx.Response) -> ChatReply:
        if response.status_code != 200:
            raise await self._refused(response)
        kind = response.headers.get("content-type", "")
        if kind.lower().startswith("text/event-stream"):  # some servers stream unasked
            return await self._streamed(response)
        answer = _object(await _bytes(response), kind)
        _check_error(answer)
        return self._dialect.read(answer)

    async def _streamed(self, response: httpx.Response) -> ChatReply:
        reader = self._dialect.reader()
        ended = False
        async for data in _events(response):
            if data == self._dialect.end:
                ended = True
                break
            event = _object(data, "text/event-stream")
            _check_error(event)
            reader.feed(event)
        return reader.finish(ended=ended)

    async def _refused(self, response: httpx.Response) -> ModelFault:
        status = response.status_code
        error = _error_in(await _bytes(response))
        detail = f"{self._root}{self._dialect.path} answered {status}{error.said}"
        if status == 404:
            detail += " (is the base URL right, and is there such a model?)"
        if response.is_redirect:
            to = response.headers.get("location", "nowhere")[:DETAIL_CHARACTERS_MAX]
            detail += f" and sends on to {to}, where no key is sent (is the base URL right?)"
        if error.code == _NO_MONEY:
            return ModelFault("rejected", detail)
        return _fault(status, detail, retry_after_s(response.headers))

    def _scrubbed(self, reply: ChatReply) -> ChatReply:
        """The reply without the key, which some proxies send back."""
        key = self._key
        if key is None or len(key) < KEY_SCRUBBED_MIN:
            return reply
        written = (reply.text, *(call.name + call.arguments for call in reply.calls))
        if not any(key in text for text in written):
            return reply
        calls = tuple(
            call._replace(
                name=call.name.replace(key, _SCRUBBED),
                arguments=call.arguments.replace(key, _SCRUBBED),
            )
            for call in reply.calls
        )
        blocks = json.loads(json.dumps(reply.blocks).replace(key, _SCRUBBED))
        text = reply.text.replace(key, _SCRUBBED)
        return replace(reply, text=text, calls=calls, blocks=tuple(blocks))

    def _printable(self, text: str) -> str:
        """A sentence for people: one line, not long, without the key."""
        if self._key:
            text = text.replace(self._key, _SCRUBBED)
        line = _UNPRINTABLE.sub(" ", as_unicode(text))
        return line if len(line) <= 2 * DETAIL_CHARACTERS_MAX else line[:599] + "…"


def _new_transport(root: str) -> httpx.AsyncBaseTransport:
    proxy = _proxy_for(httpx.URL(root))
    is_secure = root.startswith("https:")
    if proxy is None:
        return Connection(_certificates() if is_secure else None)
    certificates = _certificates() if is_secure else _no_certificates()
    try:
        return httpx.AsyncHTTPTransport(verify=certificates, proxy=proxy)
    except ImportError:  # httpx knows SOCKS by a package of its own
        raise UsageError(
            "the environment names a SOCKS proxy, which needs `pip install socksio`; or name the "
            "API's host in NO_PROXY"
        ) from None


def _proxy_for(url: httpx.URL) -> httpx.Proxy | None:
    """What the environment says stands between: `HTTPS_PROXY`, `NO_PROXY` and so on.

    Raises:
        UsageError: it names none that can be used; it does not show it, for it may hold a password.
    """
    proxies = getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named or proxy_bypass(url.host):
        return None
    try:
        return httpx.Proxy(named if "://" in named else f"http://{named}")
    except (ValueError, httpx.InvalidURL):
        raise UsageError(f"the proxy that the environment names for {url.scheme} is none") from None


@cache
def _certificates() -> ssl.SSLContext:
    """What servers are checked by; to read it takes long, so once for all clients."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _no_certificates() -> ssl.SSLContext:
    """For an address without TLS, where there is nothing to check: it trusts nobody."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def checked_key(api_key: str | None) -> str | None:
    """The key without outer white space; raises `UsageError`, which does not show it."""
    key = (api_key or "").strip()
    if not all("!" <= letter <= "~" for letter in key):
        raise UsageError("the API key holds a character that no key has, such as a space")
    return key or None


def checked_url(url: str, path: str) -> str:
    """The root of an API's address; raises `UsageError`."""
    try:
        parts = httpx.URL(url.strip())
    except httpx.InvalidURL:
        parts = httpx.URL("")
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[^\[\]%\s]+", parts.host):
        raise UsageError("the base URL has to be such as http://localhost:8000/v1")
    if parts.userinfo or parts.query or parts.fragment:
        raise UsageError("the base URL takes no user, password or query; give the key as a key")
    root = str(parts).rstrip("/").removesuffix(path)
    if path == "/messages" and not re.search(r"/v\d+$", root):
        root += "/v1"  # as Anthropic's own clients take it
    return root


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # such as a lone surrogate in what the provider itself has sent
        return json.dumps(body).encode()


async def _bytes(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in _decoded(response):
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise ModelFault("garbled", "the answer is longer than 32 MB")
        parts.append(part)
    return b"".join(parts)


def _decoded(response: httpx.Response) -> AsyncIterator[bytes]:
    """The parts of a body; those that are not compressed as they come, which is far quicker."""
    if "content-encoding" in response.headers:
        return response.aiter_bytes()
    assert isinstance(response.stream, httpx.AsyncByteStream), "a body of an asynchronous transport"
    return aiter(response.stream)


async def _events(response: httpx.Response) -> AsyncIterator[str]:
    """The data of each server-sent event."""
    data: list[bytes] = []
    async for line in _lines(response):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data).decode()
            data = []
    if data:  # broken off before the empty line that ends an event
        yield b"\n".join(data).decode()


_LINE_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")
"""A carriage return at the end may be half of a line's end."""


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """The lines of a stream, which end as its standard has it and nowhere else.

    What httpx takes for the end of a line, such as U+2028, may stand in the middle of JSON.
    """
    parts = [b""]
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise ModelFault("garbled", "the answer is longer than 32 MB")
        parts.append(part)
        if _LINE_END.search(part) or parts[-2].endswith(b"\r"):
            *lines, rest = _LINE_END.split(b"".join(parts))
            for line in lines:
                yield line.removeprefix(BOM_UTF8)  # which some put before the first
            parts = [rest]
    yield b"".join(parts).removesuffix(b"\r")


def _object(text: bytes | str, kind: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelFault("garbled", f"the answer is no whole JSON ({kind or 'no type'})") from None
    if not isinstance(value, dict):
        raise ModelFault("garbled", "the answer is no JSON object")
    return cast(dict[str, Any], value)


class _Error(Answer):
    code: Any = None
    type: str | None = None
    message: str | None = None

    @property
    def said(self) -> str:
        """The message as the end of a sentence."""
        return f": {self.message[:DETAIL_CHARACTERS_MAX]}" if self.message else ""


def _error_of(body: Mapping[str, Any]) -> _Error | None:
    """The error that a body tells of, in any of the forms that servers have for one."""
    told = body.get("error")
    if isinstance(told, str) and told:
        return _Error(message=told)
    try:
        return _Error.model_validate(told) if told else None
    except ValidationError:
        return _Error()


def _check_error(body: Mapping[str, Any]) -> None:
    """Raise what a body of status 200 says went wrong: gateways and broken streams do so."""
    error = _error_of(body)
    if error is None:
        return
    status = error.code if type(error.code) is int and error.code >= 400 else 500
    kind = error.type or ""
    if "rate_limit" in kind:
        status = 429
    elif kind in ("invalid_request_error", "authentication_error", "permission_error"):
        status = 400
    raise _fault(status, f"the answer tells of an error{error.said}", None)


def _fault(status: int, detail: str, wait_s: float | None) -> ModelFault:
    if status == 429:
        return ModelFault("rate_limited", detail, wait_s)
    if status >= 500 or status in _MAY_PASS:
        return ModelFault("server_error", detail, wait_s)
    return ModelFault("rejected", detail)


def _error_in(body: bytes) -> _Error:
    """What the body of an error says; nothing where it is no JSON object."""
    try:
        fields = _object(body, "")
    except ModelFault:
        return _Error()
    return _error_of(fields) or _Error(message=str(fields.get("message") or ""))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long an answer asks to wait: in seconds, in milliseconds, or until an HTTP date."""
    for name, scale in (("retry-after-ms", 1_000), ("retry-after", 1)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII):
            return float(text) / scale
    until = _date(headers.get("retry-after"))
    if until is None:
        return None
    # By the server's own clock, where it says what that shows.
    now = _date(headers.get("date")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def _date(text: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(text or "")
    except (ValueError, OverflowError):  # the second for a number that no clock shows
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
