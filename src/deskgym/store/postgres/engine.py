"""The PostgreSQL engine: a few slots of a server that any number of worlds take turns in."""

from __future__ import annotations

import os
from threading import RLock
from typing import Final
from weakref import WeakSet, finalize

from deskgym.errors import DatabaseUnavailable
from deskgym.store.postgres.connection import connect
from deskgym.store.postgres.lease import Lease
from deskgym.store.postgres.slot import PostgresSlot
from deskgym.store.template import Base, Template
from deskgym.store.world import World

SLOTS_MAX: Final = 16


class PostgresEngine:
    """A pool of slots in one database, each a connection and a schema of its own.

    `lock` guards the pool: whoever touches worlds from several threads holds it.
    """

    def __init__(self, url: str, slots_max: int = SLOTS_MAX) -> None:
        """An empty pool.

        Args:
            url: `postgresql://user@host/name`.
            slots_max: how many connections it takes at most. A server that has no more to give
                sets a lower bound, and worlds take turns in what there is.

        Raises:
            InvalidDatabase: the URL cannot be read, or the server cannot hold worlds.
            DatabaseUnavailable: the server does not answer, or has no connection left.
        """
        self.lock: Final = RLock()
        self.url: Final = url
        self._slots_max = slots_max
        self._slots: Final[list[PostgresSlot]] = []  # the least recently seated first
        connect(url).close()
        _ENGINES.add(self)
        # A slot that is given back clean need not be filled again.
        finalize(self, _give_back, self._slots)

    def open(self, template: Template) -> World:
        """A new world over `template`."""
        return World(self, template)

    def seat(self, world: World) -> PostgresSlot:
        """Swap a world in, pushing out the one that was seated longest ago.

        Raises:
            DatabaseUnavailable: the server does not answer; the world is intact.
        """
        self._slots[:] = [slot for slot in self._slots if not slot.lost]
        slot = self._choose(world.template)
        self._slots.remove(slot)
        self._slots.append(slot)
        slot.seat(world)
        return slot

    def close(self) -> None:
        """Give every slot back to the database. Worlds that are used again get new ones."""
        _give_back(self._slots)

    def _choose(self, template: Template) -> PostgresSlot:
        """The slot that costs least to seat a world of `template` in; among equals, the idlest."""
        free = [slot for slot in self._slots if not slot.in_call]
        held = [slot for slot in free if slot.template is template]
        idle = [slot for slot in held if slot.world is None]
        if idle:
            return idle[0]
        # A slot has hundreds of files: another is made only where all are taken.
        for slot in free:
            if slot.world is None and slot.base is template.base:
                return slot
        # Where a call steps another episode, its own slot is taken: a further one may be too many.
        if not free or len(self._slots) < self._slots_max:
            added = self._add(template.base, needed=not free)
            if added is not None:
                return added
        for slot in (*held, *free):
            if slot.base is template.base:
                return slot
        free[0].refill(template.base)
        return free[0]

    def _add(self, base: Base, *, needed: bool) -> PostgresSlot | None:
        """Another slot; None where the server has no connection left and we can do without."""
        try:
            slot = PostgresSlot(base, lambda wanted: Lease(self.url, wanted))
        except DatabaseUnavailable:
            if needed:
                raise
            self._slots_max = len(self._slots)
            return None
        self._slots.append(slot)
        return slot

    def _forget(self) -> None:
        """Leave the slots to the process that this one was forked from."""
        for slot in self._slots:
            slot.world = None
            slot.lost = True
        _INHERITED.extend(self._slots)
        self._slots.clear()


def _give_back(slots: list[PostgresSlot]) -> None:
    for slot in slots:
        slot.close()
    slots.clear()


_ENGINES: Final[WeakSet[PostgresEngine]] = WeakSet()
_INHERITED: Final[list[PostgresSlot]] = []
"""Slots of a parent process: its connections must not be closed, or spoken on, by a child."""


def _after_fork() -> None:
    for engine in _ENGINES:
        engine._forget()  # pyright: ignore[reportPrivateUsage]


os.register_at_fork(after_in_child=_after_fork)
