"""A client of a server with the seven published ticket endpoints."""

from __future__ import annotations

from typing import Any, Final, cast

import httpx
from pydantic import ValidationError

from deskgym.errors import DeskgymError, UsageError
from deskgym.suites.tickets.models import SupportAction, SupportObservation

TIMEOUT_S: Final = 60.0
PUBLISHED_URL: Final = "http://localhost:7860"
"""Where the published server listens."""


class TicketServerFailed(DeskgymError):
    """The server could not be reached, refused a request, or answered something else."""


class TicketClient:
    """A ticket server; to be used in one event loop, within its `async with`.

    The published endpoints are `GET /`, `POST /reset`, `POST /step`, `GET /state`, `GET /tasks`,
    `POST /grader` and `POST /baseline`. Every method raises `TicketServerFailed`.
    """

    def __init__(self, base_url: str = PUBLISHED_URL, *, timeout_s: float = TIMEOUT_S) -> None:
        """Raises `UsageError` for an address that cannot be one."""
        try:
            url = httpx.URL(base_url.strip())
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise UsageError(f"a ticket server's address is such as {PUBLISHED_URL}")
        self._url: Final = str(url).rstrip("/")
        self._client: Final = httpx.AsyncClient(timeout=timeout_s)

    async def __aenter__(self) -> TicketClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def health(self) -> dict[str, Any]:
        """What the server says of itself."""
        return await self._ask("GET", "/")

    async def reset(self, task_name: str, seed: int) -> tuple[str, SupportObservation]:
        """Start an episode; returns its session and the opening observation."""
        answer = await self._ask("POST", "/reset", json={"task_name": task_name, "seed": seed})
        session = answer.get("session_id")
        if not isinstance(session, str):
            raise TicketServerFailed(f"{self._url}/reset answered without a session_id")
        return session, self._observation("/reset", answer)

    async def step(self, session_id: str, action: SupportAction) -> SupportObservation:
        """Send a reply."""
        body = {"session_id": session_id, **action.model_dump(exclude_none=True)}
        return self._observation("/step", await self._ask("POST", "/step", json=body))

    async def state(self, session_id: str) -> dict[str, Any]:
        """How an episode stands."""
        return await self._ask("GET", "/state", params={"session_id": session_id})

    async def tasks(self) -> list[dict[str, Any]]:
        """The tasks that there are."""
        return (await self._ask("GET", "/tasks")).get("tasks", [])

    async def grader(self, session_id: str) -> dict[str, Any]:
        """The score of an episode and its turns."""
        return await self._ask("POST", "/grader", json={"session_id": session_id})

    async def baseline(self) -> dict[str, Any]:
        """The average scores of the server's own oracle."""
        return await self._ask("POST", "/baseline")

    async def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        where = f"{self._url}{path}"
        try:
            response = await self._client.request(method, where, **options)
            if response.status_code != 200:
                raise TicketServerFailed(f"{where} answered {response.status_code}")
            answer = response.json()
        except httpx.HTTPError as error:
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            raise TicketServerFailed(f"{where}: {what}") from error
        except ValueError as error:
            raise TicketServerFailed(f"{where} answered something that is no JSON") from error
        if not isinstance(answer, dict):
            raise TicketServerFailed(f"{where} answered no JSON object")
        return cast(dict[str, Any], answer)

    def _observation(self, path: str, answer: dict[str, Any]) -> SupportObservation:
        told = answer.get("observation")
        fields = cast(dict[str, Any], told if isinstance(told, dict) else {})
        # Another server's observation may have more fields than the published ones.
        known = {name: fields[name] for name in SupportObservation.model_fields if name in fields}
        try:
            return SupportObservation.model_validate({"info": None, **known})
        except ValidationError as error:
            detail = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, detail["loc"]))
            raise TicketServerFailed(
                f"{self._url}{path} answered no observation: {place}: {detail['msg']}"
            ) from error
