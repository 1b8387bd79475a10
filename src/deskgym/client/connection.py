"""How a client is connected: what both kinds of it are made with."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Final

import httpx

from deskgym.errors import UsageError

KEY_VARIABLE: Final = "DESKGYM_API_KEY"
DEFAULT_URL: Final = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Connection:
    """A client's settings.

    Attributes:
        url: the server's, without a path's last slash.
        key: the trainer's key, or None where the server needs none.
        timeout_s: how long one attempt may take.
        retry_s: how long a call that can be repeated is tried again.
        connections_max: how many connections are open at once.
    """

    url: str
    key: str | None
    timeout_s: float
    retry_s: float
    connections_max: int

    @classmethod
    def of(
        cls, url: str, key: str | None, timeout_s: float, retry_s: float, connections_max: int
    ) -> Connection:
        """The settings, checked.

        Raises:
            UsageError: the URL is none, or the key cannot be sent.
        """
        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, TypeError) as error:
            raise UsageError(f"{url!r} is no URL: {error}") from error
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise UsageError(f"{url!r} is no URL of a server, such as {DEFAULT_URL}")
        chosen = key if key is not None else _own_key()
        if chosen is not None and not re.fullmatch(r"[\x21-\x7e]+", chosen):
            raise UsageError("a key is printable ASCII without spaces")
        return cls(url.rstrip("/"), chosen, timeout_s, retry_s, connections_max)

    def options(self) -> dict[str, Any]:
        """What httpx's client is made with."""
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        return {
            "base_url": f"{self.url}/api",
            "headers": headers,
            # A pool that is full is waited for: the call before is what takes its time.
            "timeout": httpx.Timeout(self.timeout_s, pool=None),
            "limits": httpx.Limits(
                max_connections=self.connections_max,
                max_keepalive_connections=self.connections_max,
                keepalive_expiry=60.0,
            ),
            # A machine's proxy has no business with its own loopback.
            "trust_env": httpx.URL(self.url).host not in ("127.0.0.1", "localhost", "::1"),
        }


def _own_key() -> str | None:
    """The key of the environment, where there is just one."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key or "," in key:
        return None
    return key.rpartition(":")[2]
