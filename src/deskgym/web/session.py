"""Who looks: a server without keys asks for none, any other for a key, once for each browser."""

from __future__ import annotations

import hmac
import time
from hashlib import sha256
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from deskgym.serve.access import Trainer, bearer, require_trainer
from deskgym.serve.service import Service

COOKIE: Final = "deskgym_session"
SESSION_S: Final = 12 * 3_600
"""How long a browser stays let in, in seconds."""


class Session:
    """Browsers that showed a key, by a signed cookie: no worker has to remember them.

    The cookie holds the name of the key's holder and when it ends, signed by the key itself, so
    that it says nothing about the key and ends with it.
    """

    def __init__(self, service: Service) -> None:
        self._service: Final = service
        self._keys: Final = service.settings.keys

    def trainer(self, request: Request) -> Trainer | None:
        """Who asks; None if a key is needed and none was shown.

        Raises:
            Problem: a token was shown that opens nothing here, such as an agent's.
        """
        if bearer(request.scope) is not None or not self._keys:
            return require_trainer(request.scope, self._service)
        holder = self._holder(request.cookies.get(COOKIE, ""))
        return None if holder is None else Trainer(holder)

    def let_in(self, key: str, response: Response, *, secure: bool) -> bool:
        """Give a browser its cookie if its key is one; whether it was."""
        holder = self._service.keys.holder_of(key)
        if holder is None:
            return False
        ends_s = int(time.time()) + SESSION_S
        response.set_cookie(
            COOKIE,
            f"{holder}.{ends_s}.{self._signature(holder, ends_s)}",
            max_age=SESSION_S,
            secure=secure,
            httponly=True,
            samesite="strict",
        )
        return True

    def back(self, request: Request) -> str:
        """The query that brings a browser back to where it was, if it was reading."""
        if request.method == "POST":
            return ""
        query = f"?{request.url.query}" if request.url.query else ""
        return urlencode({"next": request.url.path + query})

    def _holder(self, cookie: str) -> str | None:
        rest, _, signature = cookie.rpartition(".")
        holder, _, ends = rest.rpartition(".")
        if holder not in self._keys or not ends.isdecimal() or len(ends) > 12:
            return None
        if not hmac.compare_digest(signature.encode(), self._signature(holder, int(ends)).encode()):
            return None
        return holder if time.time() < int(ends) else None

    def _signature(self, holder: str, ends_s: int) -> str:
        key = sha256(b"deskgym web session" + self._keys[holder].encode()).digest()
        return hmac.new(key, f"{holder}.{ends_s}".encode(), sha256).hexdigest()
