"""What goes wrong between a client and its server: the error of each, and when to try again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import httpx
import orjson

from deskgym.errors import (
    AccessRefused,
    DatabaseDamaged,
    DatabaseUnavailable,
    DeskgymError,
    EpisodeClosed,
    InvalidParameter,
    ServerFailed,
    ServerUnavailable,
    StepConflict,
    TooManyEpisodes,
    UnknownEpisode,
    UnknownName,
    UsageError,
)
from deskgym.recording import InvalidRecording

FIRST_WAIT_S: Final = 0.05
WAIT_MAX_S: Final = 1.0
_PASSING: Final = (502, 503, 504)
"""Statuses of a server, or of what stands before it, that cannot serve now."""

_ERRORS: Final[Mapping[str, type[DeskgymError]]] = {
    "unknown_episode": UnknownEpisode,
    "invalid_parameter": InvalidParameter,
    "episode_closed": EpisodeClosed,
    "too_many_episodes": TooManyEpisodes,
    "invalid_recording": InvalidRecording,
    "database_unavailable": DatabaseUnavailable,
    "database_damaged": DatabaseDamaged,
    "key_required": AccessRefused,
    "forbidden": AccessRefused,
    "forbidden_host": AccessRefused,
    "shutting_down": ServerUnavailable,
    "internal_error": ServerFailed,
}


class UnknownOnServer(UnknownName):
    """A name that the server does not know."""

    def __init__(self, message: str) -> None:
        # The sentence is the server's, which knows what there is.
        UsageError.__init__(self, message)
        self.what = self.name = ""


def error_of(problem: Mapping[str, Any]) -> DeskgymError:
    """The error that a problem stands for: the one that the same call raises in this process."""
    code, detail = str(problem.get("code", "")), str(problem.get("detail", "no reason was given"))
    if code == "step_conflict":
        return StepConflict(detail, int(problem.get("expected", 0)))
    if code == "unknown_name":
        return UnknownOnServer(detail)
    return _ERRORS.get(code, UsageError)(detail)


def error_in(response: httpx.Response) -> DeskgymError:
    """The error that an answer stands for."""
    try:
        problem: Any = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        problem = None
    if isinstance(problem, dict) and "code" in problem:
        return error_of(problem)  # pyright: ignore[reportUnknownArgumentType]
    kind = ServerUnavailable if response.status_code in _PASSING else ServerFailed
    return kind(
        f"{response.request.method} {response.request.url.path} was answered with "
        f"{response.status_code} by what is not deskgym's server"
    )


class Patience:
    """When one call is made again, and for how long.

    A call that does the same however often it is made is repeated after any failure that may pass;
    another one only where it was never sent.
    """

    def __init__(self, *, repeatable: bool, retry_s: float) -> None:
        self._repeatable: Final = repeatable
        self._end_s: Final = time.monotonic() + retry_s
        self._wait_s = FIRST_WAIT_S

    def wait_s(self, failure: httpx.TransportError | httpx.Response) -> float | None:
        """How long to wait before the call is made again; None where it is not to be."""
        passing = (
            failure.status_code in _PASSING
            if isinstance(failure, httpx.Response)
            else not isinstance(failure, httpx.UnsupportedProtocol | httpx.LocalProtocolError)
        )
        never_sent = isinstance(failure, httpx.ConnectError | httpx.ConnectTimeout)
        if not passing or not (self._repeatable or never_sent):
            return None
        wait_s = self._wait_s
        self._wait_s = min(2 * wait_s, WAIT_MAX_S)
        return wait_s if time.monotonic() + wait_s < self._end_s else None


def unreachable(url: str, error: httpx.TransportError) -> DeskgymError:
    """The error of a server that cannot be reached."""
    if isinstance(error, httpx.UnsupportedProtocol):
        return UsageError(f"{url} is no URL of a server, such as http://127.0.0.1:8000")
    reason = str(error) or type(error).__name__
    return ServerUnavailable(
        f"the server {url} cannot be reached ({reason}); `deskgym serve` starts one"
    )
