"""Doors: the parts of the app, each a function that makes its routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import BaseRoute

from deskgym.errors import UnknownName
from deskgym.suite import suite_names

if TYPE_CHECKING:
    from deskgym.serve.service import Service


@dataclass(frozen=True)
class Door:
    """A part of the app.

    Attributes:
        routes: its routes, with the prefix that it was given.
        lifespan: what it needs while the server runs, entered before the first request.
    """

    routes: Sequence[BaseRoute]
    lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None


@dataclass(frozen=True)
class Place:
    """Where a door is in the app.

    Attributes:
        target: `module:function`; the function is called with the service, the prefix and the
            options, and returns a `Door`. Its module is imported when the app is made, so what is
            slow to import is imported at the first request.
        prefix: what its paths start with; empty at the root.
        options: further arguments.
    """

    target: str
    prefix: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def open(self, service: Service) -> Door:
        """Make the door."""
        module, _, function = self.target.partition(":")
        return getattr(import_module(module), function)(service, self.prefix, **self.options)


_DOORS: Final = (
    Place("deskgym.serve.api:door", "/api"),
    Place("deskgym.serve.mcp:door", "/episodes"),
    Place("deskgym.serve.openenv:door", "/openenv"),
    Place("deskgym.serve.tickets:door", "/tickets"),
    # Whoever comes to another path is a person.
    Place("deskgym.web:door"),
)


def apps() -> dict[str, Sequence[Place]]:
    """The places of each app that `--app` names: all doors, or one alone at the root."""
    return {"all": _DOORS, **_alone()}


def _alone() -> dict[str, Sequence[Place]]:
    """The doors that can be served alone: `tickets`, and `openenv-SUITE` for each suite."""
    suites = suite_names()
    assert "tickets" in suites, "the suite that the tickets' door serves is there"
    openenv = {
        f"openenv-{name}": (Place("deskgym.serve.openenv:door", options={"suite": name}),)
        for name in suites
    }
    return {"tickets": (Place("deskgym.serve.tickets:door"),), **openenv}


def places_of(app: str) -> Sequence[Place]:
    """The doors of an app; raises `UnknownName`."""
    known = apps()
    if app not in known:
        raise UnknownName("app", app, known)
    # OpenEnv has a path of its own for health, and alone at the root it takes every path.
    watch = Place("deskgym.serve.watch:door", options={"health": not app.startswith("openenv-")})
    return (watch, *known[app])
