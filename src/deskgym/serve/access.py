"""Who may do what: trainers' keys, agents' tokens, and the hosts that a request may name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from deskgym.serve.problem import Problem
from deskgym.serve.settings import Settings, is_loopback

if TYPE_CHECKING:
    from deskgym.serve.service import Service

Scope = Mapping[str, Any]


class Trainer(NamedTuple):
    """Whoever may use the trainer's door; `holder` is the key's name, None where none is needed."""

    holder: str | None


class Keys:
    """Trainers' keys, compared in constant time."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._hashes: Final = {name: sha256(key.encode()).digest() for name, key in keys.items()}

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def holder_of(self, key: str) -> str | None:
        """The name of the key's holder, or None; every key is looked at, found or not."""
        given = sha256(key.encode("utf-8", "surrogatepass")).digest()
        found: str | None = None
        for name, known in self._hashes.items():
            if compare_digest(known, given):
                found = name
        return found


def header(scope: Scope, name: bytes) -> str | None:
    """A header's value, or None; the first one where it is given more than once."""
    for key, value in scope["headers"]:
        if key == name:
            return value.decode("latin-1")
    return None


def bearer(scope: Scope) -> str | None:
    """The token of the request's Authorization header; None where there is no such header.

    A header of another scheme gives the empty text, which is nobody's token.
    """
    value = header(scope, b"authorization")
    if value is None:
        return None
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def require_trainer(scope: Scope, service: Service) -> Trainer:
    """Who asks, if it is a trainer.

    Where the server has keys, one of them is needed. Where it has none, which is on loopback
    alone, no credential is needed, and one that is shown is nobody's: an agent's token opens
    nothing here either.

    Raises:
        Problem: it is none.
    """
    token = bearer(scope)
    if token is None:
        if service.keys:
            raise Problem("key_required", "send the trainer's key: Authorization: Bearer KEY")
        return Trainer(None)
    holder = service.keys.holder_of(token)
    if holder is None:
        if service.keys:
            raise Problem("forbidden", "that is not a trainer's key of this server")
        raise Problem(
            "forbidden", "this server has no keys, and that is none; send no Authorization header"
        )
    return Trainer(holder)


async def require_agent(scope: Scope, service: Service, episode: str) -> None:
    """Let the episode's own agent in, or a trainer who shows a key.

    Where there are no keys the token is needed all the same: it says whose door this is.

    Raises:
        Problem: it is neither. An unknown episode is answered like a wrong token.
    """
    token = bearer(scope)
    if token is None:
        raise Problem("key_required", "send the episode's token: Authorization: Bearer TOKEN")
    if service.keys.holder_of(token) is not None:
        return
    if not await service.run(service.episodes.verify_token, episode, token):
        raise Problem("forbidden", "that is not this episode's token")


class Hosts:
    """The names that a request's Host and Origin may have.

    A page of another site can make a browser send requests to a server on loopback, under that
    site's own name once its DNS answers 127.0.0.1. So a server without keys answers only to
    loopback's names, and no server answers a page of another origin.
    """

    def __init__(self, settings: Settings) -> None:
        self._open: Final = bool(settings.keys) or settings.without_key
        self._names: Final = frozenset(name.lower() for name in settings.allowed_hosts)

    def check(self, scope: Scope) -> Problem | None:
        """The problem with a request's Host or Origin, or None."""
        host = origin = b""
        for key, value in scope["headers"]:
            if key == b"host":
                host = value
            elif key == b"origin":
                origin = value
        name = _host_name(host.decode("latin-1"))
        if not self._open and not self._known(name):
            return Problem(
                "forbidden_host", "this server answers to 127.0.0.1 and localhost alone; "
                "--allowed-host adds a name",
            )  # fmt: skip
        if origin and not self._is_same(origin.decode("latin-1"), host.decode("latin-1")):
            return Problem("forbidden_host", "a page of another origin may not use this server")
        return None

    def _known(self, name: str) -> bool:
        return name in self._names or _is_loopback(name)

    def _is_same(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.netloc.lower() == host.lower() or (parts.hostname or "") in self._names


@lru_cache(maxsize=64)
def _is_loopback(name: str) -> bool:
    """As `is_loopback`, which takes longer than all else that is asked of a request's host."""
    return is_loopback(name)


def _host_name(host: str) -> str:
    """The name of `name:port`, `[address]:port` or either without a port, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
