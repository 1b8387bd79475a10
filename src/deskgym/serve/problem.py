"""Problems: what a request that cannot be served is answered with (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson
from starlette.responses import Response

from deskgym.errors import (
    DatabaseDamaged,
    DatabaseUnavailable,
    DeskgymError,
    EpisodeClosed,
    InvalidDatabase,
    InvalidParameter,
    StepConflict,
    TooManyEpisodes,
    UnknownEpisode,
    UnknownName,
    UsageError,
)
from deskgym.recording import InvalidRecording

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 5
"""When to come back after 429 and 503: an episode or a database may be free by then."""


class Kind(NamedTuple):
    """A kind of problem: its status, and a title that is the same each time."""

    status: int
    title: str


KINDS: Final[Mapping[str, Kind]] = {
    "malformed_json": Kind(400, "The body is not JSON"),
    "bad_request": Kind(400, "The request cannot be understood"),
    "key_required": Kind(401, "A key is needed"),
    "forbidden": Kind(403, "That credential does not open this"),
    "forbidden_host": Kind(403, "The request names another host"),
    "not_found": Kind(404, "There is nothing here"),
    "unknown_name": Kind(404, "There is none of that name"),
    "unknown_episode": Kind(404, "There is no such episode"),
    "method_not_allowed": Kind(405, "There is no such method here"),
    "timeout": Kind(408, "The request took too long to arrive"),
    "step_conflict": Kind(409, "That step was another action, or comes out of turn"),
    "episode_closed": Kind(409, "The episode is closed"),
    "episode_exists": Kind(409, "That id is taken by another episode"),
    "too_large": Kind(413, "The body is too large"),
    "unsupported_media_type": Kind(415, "The body is of another type"),
    "invalid_request": Kind(422, "The request does not fit its schema"),
    "invalid_parameter": Kind(422, "A parameter is out of its limits"),
    "invalid_value": Kind(422, "A value cannot be used"),
    "invalid_recording": Kind(422, "That is no recording, or it was changed"),
    "too_many_episodes": Kind(429, "Too many episodes are live"),
    "internal_error": Kind(500, "The server failed"),
    "database_damaged": Kind(500, "What is stored does not fit together"),
    "missing_extra": Kind(501, "A part of the server is not installed"),
    "database_unavailable": Kind(503, "The database does not answer"),
    "shutting_down": Kind(503, "The server is stopping"),
}


class Problem(Exception):
    """Raised by a handler to answer a request with a problem.

    Attributes:
        code: a key of `KINDS`.
        detail: a sentence for a person: what was wrong, and what would be right.
        more: further members of the answer, such as `expected` or `errors`.
        headers: further headers.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.more = more
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        """The HTTP status."""
        return KINDS[self.code].status

    def to_dict(self) -> dict[str, Any]:
        """The problem as JSON."""
        kind = KINDS[self.code]
        return {
            "type": f"urn:deskgym:problem:{self.code}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail,
            "code": self.code,
            **self.more,
        }

    def response(self) -> Response:
        """The problem as an answer."""
        headers = dict(self.headers)
        if self.status in (429, 503):
            headers.setdefault("Retry-After", str(RETRY_AFTER_S))
        if self.status == 401:
            headers.setdefault("WWW-Authenticate", "Bearer")
        return Response(
            orjson.dumps(self.to_dict()), self.status, headers=headers, media_type=MEDIA_TYPE
        )


_CODES: Final[tuple[tuple[type[DeskgymError], str], ...]] = (
    (UnknownEpisode, "unknown_episode"),
    (UnknownName, "unknown_name"),
    (InvalidParameter, "invalid_parameter"),
    (EpisodeClosed, "episode_closed"),
    (TooManyEpisodes, "too_many_episodes"),
    (InvalidRecording, "invalid_recording"),
    (InvalidDatabase, "database_unavailable"),
    (DatabaseUnavailable, "database_unavailable"),
    (DatabaseDamaged, "database_damaged"),
    (UsageError, "invalid_value"),
)


def problem_of(error: DeskgymError) -> Problem:
    """The problem that an error of deskgym's is answered with."""
    if isinstance(error, StepConflict):
        return Problem("step_conflict", str(error), expected=error.expected)
    for kind, code in _CODES:
        if isinstance(error, kind):
            return Problem(code, str(error))
    return Problem("internal_error", "deskgym failed; the server's log says how")
