"""The one module that knows the MCP SDK, and hides how its first and second major versions differ.

The first registers handlers by a request's type and names fields in camel case; the second takes
them as arguments, keeps its types in a package of their own, and speaks the protocol without a
handshake too. Both read and write the same JSON, so everything here goes in and out as JSON.

It takes two seconds to import, so whoever serves imports it in the background.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, cast

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared import exceptions
from starlette.types import Receive, Scope, Send

from deskgym.errors import DatabaseUnavailable, UsageError
from deskgym.serve.mcp.seat import PROMPT, Seat
from deskgym.serve.problem import problem_of

SECOND: Final = find_spec("mcp_types") is not None
"""Whether the SDK is of the second major version."""

_types: Final[Any] = import_module("mcp_types" if SECOND else "mcp.types")
_ProtocolError: Final[Any] = getattr(exceptions, "MCPError" if SECOND else "McpError")
_log: Final = logging.getLogger(__name__)

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REFUSED: Final = -32000
"""What JSON-RPC leaves to servers: the episode cannot take the call now; `data.code` says why."""

Json = dict[str, Any]
Answer = Callable[[Any], Awaitable[Json]]


async def serve_request(
    seat: Seat, version: str, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer one HTTP request at an episode's address, in JSON.

    Nothing is kept between requests: the episode is in the address, so any worker can answer any
    of them, and a server that was started again goes on where it was.
    """
    server = _server(seat, version)
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(scope, receive, send)


async def serve_stdio(seat: Seat, version: str) -> None:
    """Serve one episode on standard input and output, until the client closes them."""
    server = _server(seat, version)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _server(seat: Seat, version: str) -> Server[Any]:
    answers = _answers(seat)
    name, instructions = f"deskgym-{seat.briefing.suite}", seat.briefing.text
    return (_second if SECOND else _first)(name, version, instructions, answers)


def _answers(seat: Seat) -> dict[str, Answer]:
    """What each request of the protocol is answered, as JSON."""

    async def list_tools(params: Any) -> Json:
        return {"tools": seat.tools()}

    async def call_tool(params: Any) -> Json:
        return await seat.call(params.name, params.arguments or {}, _meta(params))

    async def list_prompts(params: Any) -> Json:
        return {"prompts": seat.prompts()}

    async def get_prompt(params: Any) -> Json:
        if params.name != PROMPT:
            raise _error(INVALID_PARAMS, f"there is no prompt of that name; there is {PROMPT}")
        return seat.prompt()

    return {
        "ListTools": _guarded(list_tools),
        "CallTool": _guarded(call_tool),
        "ListPrompts": _guarded(list_prompts),
        "GetPrompt": _guarded(get_prompt),
    }


def _guarded(answer: Answer) -> Answer:
    """The answer; what goes wrong is an error of the protocol that tells no more than it must."""

    async def guarded(params: Any) -> Json:
        try:
            return await answer(params)
        except _ProtocolError:
            raise
        except (UsageError, DatabaseUnavailable) as error:
            problem = problem_of(error)
            raise _error(REFUSED, problem.detail, {"code": problem.code, **problem.more}) from error
        except Exception as error:
            # The SDK would show an agent the text of whatever it is, and log nothing.
            _log.exception("an MCP request failed")
            raise _error(INTERNAL_ERROR, "the server failed; its log says how") from error

    return guarded


def _meta(params: Any) -> Mapping[str, Any]:
    """A request's `_meta`: a model in the first major version, a mapping in the second."""
    meta = params.meta
    if meta is None or SECOND:
        return cast(Json, meta or {})
    return cast(Json, meta.model_dump(exclude_none=True))


def _error(code: int, message: str, data: Json | None = None) -> Exception:
    if SECOND:
        return _ProtocolError(code, message, data)
    return _ProtocolError(_types.ErrorData(code=code, message=message, data=data))


def _first(
    name: str, version: str, instructions: str, answers: Mapping[str, Answer]
) -> Server[Any]:
    server: Any = cast(Any, Server)(name, version=version, instructions=instructions)

    def handler(kind: str, answer: Answer) -> Callable[[Any], Awaitable[Any]]:
        result_type = getattr(_types, f"{kind}Result")

        async def handle(request: Any) -> Any:
            result = await answer(request.params)
            return _types.ServerResult(result_type.model_validate(result))

        return handle

    for kind, answer in answers.items():
        # Its own decorators would check arguments before the episode does, in other words, and turn
        # every error into a tool's.
        server.request_handlers[getattr(_types, f"{kind}Request")] = handler(kind, answer)
    return server


def _second(
    name: str, version: str, instructions: str, answers: Mapping[str, Answer]
) -> Server[Any]:
    def handler(kind: str) -> Callable[[Any, Any], Awaitable[Any]]:
        answer, result_type = answers[kind], getattr(_types, f"{kind}Result")

        async def handle(context: Any, params: Any) -> Any:
            return result_type.model_validate(await answer(params))

        return handle

    return Server[Any](
        name,
        version=version,
        instructions=instructions,
        on_list_tools=handler("ListTools"),
        on_call_tool=handler("CallTool"),
        on_list_prompts=handler("ListPrompts"),
        on_get_prompt=handler("GetPrompt"),
    )
