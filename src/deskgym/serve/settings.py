"""The server's settings, and the keys that trainers show it."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import orjson

from deskgym.errors import UsageError

KEY_VARIABLE: Final = "DESKGYM_API_KEY"
KEY_CHARACTERS_MIN: Final = 16
DEFAULT_PORT: Final = 8_000
_KEY: Final = re.compile(r"(?:([A-Za-z0-9_.-]{1,64}):)?([A-Za-z0-9_.~+/=-]+)")


@dataclass(frozen=True)
class Settings:
    """How the server serves.

    Attributes:
        database: the run store's URL; see `deskgym.runstore.open_run_store`.
        app: `all`, or the name of a door that is served alone at the root.
        host: the address to listen on.
        port: the port; 0 for any free one.
        workers: how many processes.
        keys: trainers' keys by the names of their holders; none are needed on loopback.
        without_key: whether a door that is served alone may be reached from other machines
            without a key, as a published demonstration is.
        allowed_hosts: further names that a request's Host and Origin may have.
        body_bytes_max: how large a request's body may be.
        import_bytes_max: how large a recording may be that is imported.
        body_timeout_s: how long a request's headers, and then its body, may take to arrive.
        live_max: how many episodes may be live at once.
        live_max_per_key: how many of them one key may hold.
        environments_max: how many episodes a worker keeps in memory; others are rebuilt.
        worlds_max: how many worlds a worker keeps ready, at about 0.8 MB each; others are swapped
            in when they are used, which takes longer than a step.
        idle_timeout_s: how long a live episode may go without an action; None for ever.
        shutdown_timeout_s: how long requests may take to end when the server is told to stop.
        access_log: whether every request is logged; otherwise those that fail are.
    """

    database: str = "default"
    app: str = "all"
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    workers: int = 1
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    without_key: bool = False
    allowed_hosts: tuple[str, ...] = ()
    body_bytes_max: int = 2**20
    import_bytes_max: int = 64 * 2**20
    body_timeout_s: float = 20.0
    live_max: int = 20_000
    live_max_per_key: int = 10_000
    environments_max: int = 4_096
    worlds_max: int = 128
    idle_timeout_s: float | None = 3_600.0
    shutdown_timeout_s: float = 10.0
    access_log: bool = False

    def checked(self) -> Settings:
        """The settings, if a server may start with them.

        Raises:
            UsageError: the address is not loopback and there is no key, or a value is out of its
                limits.
        """
        if self.without_key and (self.keys or self.app == "all"):
            raise UsageError(
                "only a door that is served alone can do without a key (--app), and then none "
                f"may be set in {KEY_VARIABLE}"
            )
        if not self.keys and not self.without_key and not is_loopback(self.host):
            raise UsageError(
                f"{self.host} can be reached from other machines, so a key is needed: set "
                f"{KEY_VARIABLE} to a secret of {KEY_CHARACTERS_MIN} characters or more, or "
                "listen on 127.0.0.1"
            )
        if not 0 <= self.port <= 65_535:
            raise UsageError(f"a port is a number from 0 to 65535, not {self.port}")
        if self.workers < 1:
            raise UsageError(f"a server has at least one worker, not {self.workers}")
        return self

    def to_json(self) -> str:
        """The settings as a worker process takes them from its environment; holds the keys."""
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """The settings that `to_json` wrote."""
        fields: dict[str, Any] = orjson.loads(text)
        fields["allowed_hosts"] = tuple(fields["allowed_hosts"])
        return cls(**fields)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def keys_from(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Trainers' keys from `DESKGYM_API_KEY`: one key, or several as `name:key,name:key`.

    Raises:
        UsageError: a key is short or malformed; the message does not show it.
    """
    keys: dict[str, str] = {}
    for part in filter(None, map(str.strip, environment.get(KEY_VARIABLE, "").split(","))):
        match = _KEY.fullmatch(part)
        if match is None or len(match[2]) < KEY_CHARACTERS_MIN:
            raise UsageError(
                f"{KEY_VARIABLE} holds one key, or several as name:key,name:key; a key has "
                f"{KEY_CHARACTERS_MIN} or more letters, digits and ._~+/=-"
            )
        name = match[1] or "trainer"
        if name in keys:
            raise UsageError(f"{KEY_VARIABLE} names two keys {name!r}; write name:key,name:key")
        keys[name] = match[2]
    return keys
