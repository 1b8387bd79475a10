"""What a world needs of an engine: a place to be in, and somebody who finds it one.

Two engines are built to this: SQLite's (`engine`, `slot`) and PostgreSQL's (`postgres`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from deskgym.errors import StoreError
from deskgym.store.change import Row, RowChange

if TYPE_CHECKING:
    from deskgym.store.template import Template
    from deskgym.store.world import World

Bindings = Sequence[object] | Mapping[str, object]
RawChange = tuple[str, Row | None, Row | None]
LogRow = tuple[str, Row]


class WorldSlot(Protocol):
    """A database that one world at a time is in.

    Attributes:
        world: the world that is in it now; None while it stands idle.
        failure: what the store refused since the call began; then the whole call is undone.
    """

    world: World | None
    failure: StoreError | None

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run one statement and return its rows; raises `StoreError`, and remembers it."""
        ...

    def records(self, sql: str, bindings: Bindings = ()) -> list[dict[str, Any]]:
        """As `rows`, each row by column name."""
        ...

    @property
    def touched(self) -> bool:
        """Whether the call has written to the store, net or not."""
        ...

    def begin_call(self) -> None:
        """Begin a call, whose rows are kept or undone as a whole."""
        ...

    def keep_call(self) -> Sequence[RawChange]:
        """Keep the call's rows and return what was written, oldest first."""
        ...

    def undo_call(self) -> None:
        """Leave every row as it was before the call."""
        ...

    def restart(self) -> None:
        """Take the episode back to its template, or let it go until its world is seated again."""
        ...

    def settle(self, log: Iterable[LogRow], changes: Sequence[RowChange]) -> None:
        """Add rows to the environment's own tables, and make `env_change` hold `changes`."""
        ...


class WorldEngine(Protocol):
    """Where worlds live. `lock` is held while several threads share one."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """What guards the slots; whoever touches worlds from several threads holds it."""
        ...

    def open(self, template: Template) -> World:
        """A new world over `template`."""
        ...

    def seat(self, world: World) -> WorldSlot:
        """A slot with that world in it, whatever was in the slot before."""
        ...

    def close(self) -> None:
        """Give every slot back. Worlds that are used again get new ones."""
        ...
