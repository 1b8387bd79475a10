"""Operations: each is declared once, and served and described (OpenAPI) from that declaration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from deskgym.errors import DeskgymError
from deskgym.serve.access import Trainer, header, require_trainer
from deskgym.serve.problem import Problem, problem_of
from deskgym.serve.service import Service

JSON: Final = "application/json"

OPERATION: Final = "deskgym.operation"
"""Where a request's scope names what it asks for, for logs and metrics; any door may set it."""


class Form(BaseModel):
    """What a request may hold: these fields, of just these types, and no other."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class Query(BaseModel):
    """What a request's query may hold; values are written as text."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


F = TypeVar("F", bound=Form)
Q = TypeVar("Q", bound=Query)


class NoForm(Form):
    """No body."""


class NoQuery(Query):
    """No query."""


@dataclass(slots=True)
class Asked(Generic[F, Q]):
    """A request that was let in and fits its schema.

    Attributes:
        service: what to answer it with.
        trainer: who asks.
        path: the parameters in the path.
        form: the body.
        query: the query.
        body: the body as it came, for what is read as it stands.
    """

    service: Service
    trainer: Trainer
    path: Mapping[str, str]
    form: F
    query: Q
    body: bytes


class Reply(NamedTuple):
    """An answer that is more than its value: JSON bytes as they stand, a status, headers."""

    body: bytes
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[Asked[Any, Any]], Awaitable[Any]]
"""Answers with a value for JSON, or with a `Reply`."""


@dataclass(frozen=True)
class Operation:
    """One thing that the trainer's door does.

    Attributes:
        name: unique; it is the operation's id in OpenAPI and its name in the metrics.
        method: the HTTP method.
        path: after the door's prefix, with parameters in braces.
        handler: does it; its docstring is the description.
        answer: what it answers with.
        form: the body; None where there is none.
        raw: where the body is read by the handler, the schema that describes it.
        query: the query; None where there is none.
        status: of the answer.
        other_statuses: further statuses of the same answer, and when.
        problems: codes of the problems that it may answer with, beside those of any operation.
    """

    name: str
    method: str
    path: str
    handler: Handler
    answer: type[BaseModel]
    form: type[Form] | None = None
    raw: type[BaseModel] | None = None
    query: type[Query] | None = None
    status: int = 200
    other_statuses: tuple[tuple[int, str], ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first line of the description."""
        return (self.handler.__doc__ or "").strip().partition("\n")[0]

    @property
    def description(self) -> str:
        """What follows the summary."""
        rest = (self.handler.__doc__ or "").strip().partition("\n")[2]
        return " ".join(rest.split())

    @property
    def takes_body(self) -> bool:
        """Whether there is a body."""
        return self.form is not None or self.raw is not None


_NO_FORM: Final = NoForm()
_NO_QUERY: Final = NoQuery()


class Endpoint:
    """Serves the operations of one path."""

    def __init__(self, service: Service, operations: Sequence[Operation]) -> None:
        self._service: Final = service
        self._operations: Final = {item.method: item for item in operations}
        self._allow: Final = ", ".join(sorted(self._operations))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        try:
            status, body, headers = await self._answer(scope, receive)
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        except DeskgymError as error:
            await problem_of(error).response()(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, bytes, Any]:
        service = self._service
        trainer = require_trainer(scope, service)
        method = scope["method"]
        operation = self._operations.get("GET" if method == "HEAD" else method)
        if operation is None:
            raise Problem(
                "method_not_allowed", f"here are: {self._allow}", headers={"Allow": self._allow}
            )
        scope[OPERATION] = operation.name
        body = (await receive()).get("body", b"")
        if operation.takes_body:
            _check_type(scope, body)
        elif body.strip() not in (b"", b"{}"):
            raise Problem("invalid_request", "there is no body here")
        asked = Asked(
            service,
            trainer,
            scope["path_params"],
            _NO_FORM if operation.form is None else _form(operation.form, body),
            _query(operation.query, scope["query_string"]),
            body,
        )
        value = await operation.handler(asked)
        reply = value if isinstance(value, Reply) else Reply(orjson.dumps(value, dict))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(reply.body)),
            (b"cache-control", b"no-store"),
        ]
        headers += [(name.encode(), value.encode("latin-1")) for name, value in reply.headers]
        return reply.status or operation.status, reply.body, headers


def routes_of(
    service: Service, prefix: str, operations: Sequence[Operation]
) -> Sequence[BaseRoute]:
    """A route for each path, in the order of the operations."""
    paths: dict[str, list[Operation]] = {}
    for operation in operations:
        paths.setdefault(operation.path, []).append(operation)
    return [Route(prefix + path, Endpoint(service, items)) for path, items in paths.items()]


def _form(form: type[Form], body: bytes) -> Form:
    try:
        return form.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise _invalid(error) from None


def _check_type(scope: Scope, body: bytes) -> None:
    """A page of another site can send a form's types without asking; so only JSON is read."""
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != JSON and (body or kind):
        raise Problem("unsupported_media_type", f"send the body with Content-Type: {JSON}")


def _query(query: type[Query] | None, text: bytes) -> Query:
    if query is None:
        if text:
            raise Problem("invalid_request", "there is no query here")
        return _NO_QUERY
    try:
        pairs = parse_qsl(text.decode(), keep_blank_values=True, errors="strict")
    except ValueError:
        raise Problem("bad_request", "the query is not UTF-8") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Problem("invalid_request", "the query names a parameter twice")
    try:
        return query.model_validate(values)
    except ValidationError as error:
        raise _invalid(error) from None


def _invalid(error: ValidationError) -> Problem:
    """What does not fit, each with a JSON Pointer (RFC 6901) to where it stands."""
    details = error.errors(include_url=False, include_input=False, include_context=False)
    if details[0]["type"] == "json_invalid":
        return Problem("malformed_json", details[0]["msg"])
    errors = [{"pointer": _pointer(item["loc"]), "detail": item["msg"]} for item in details[:20]]
    first = errors[0]
    where = first["pointer"].lstrip("/") or "the body"
    return Problem("invalid_request", f"{where}: {first['detail']}", errors=errors)


def _pointer(place: Sequence[str | int]) -> str:
    parts = (str(part)[:100].replace("~", "~0").replace("/", "~1") for part in place)
    return "".join(f"/{part}" for part in parts)
