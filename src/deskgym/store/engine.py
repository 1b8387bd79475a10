"""The embedded engine: a few SQLite slots that any number of worlds take turns in."""

from __future__ import annotations

from functools import cache
from threading import RLock
from typing import Final
from weakref import WeakKeyDictionary

from deskgym.store.slot import Prototype, Slot
from deskgym.store.template import Base, Template
from deskgym.store.world import World

SLOTS_MAX: Final = 16
BYTES_MAX: Final = 128 * 2**20
"""What the rows of all slots' bases take together, at most; a large shop's take 32 MB a slot."""


class Engine:
    """A pool of slots.

    `lock` guards the pool: whoever touches worlds from several threads holds it. Worlds go
    through one interpreter lock anyway, so threads gain nothing and cost nothing here.
    """

    def __init__(
        self, slots_max: int = SLOTS_MAX, *, reverse_unordered_selects: bool = False
    ) -> None:
        """An empty pool.

        Args:
            slots_max: bounds the memory: a slot takes about 0.8 MB, plus twice its base's rows.
            reverse_unordered_selects: return the rows of a query without ORDER BY the other way
                round, so that tests find what relies on their order.
        """
        self.lock: Final = RLock()
        self._slots_max: Final = slots_max
        self._reverse: Final = reverse_unordered_selects
        self._slots: list[Slot] = []  # the least recently seated first
        self._prototypes: Final[WeakKeyDictionary[Base, Prototype]] = WeakKeyDictionary()

    def open(self, template: Template) -> World:
        """A new world over `template`."""
        return World(self, template)

    def seat(self, world: World) -> Slot:
        """Swap a world in, pushing out the one that was seated longest ago."""
        slot = self._choose(world.template)
        self._slots.remove(slot)
        self._slots.append(slot)
        slot.seat(world)
        return slot

    def close(self) -> None:
        """Close every slot. Worlds that are used again get new ones."""
        for slot in self._slots:
            slot.close()
        self._slots.clear()

    def _choose(self, template: Template) -> Slot:
        """The slot that costs least to seat a world of `template` in.

        An idle slot that holds the template; a new one while there is room, so that a few worlds
        keep a slot each; then one that holds the template, one of its base, any. Among equals the
        one seated longest ago.
        """
        free = [slot for slot in self._slots if not slot.in_call]
        held = [slot for slot in free if slot.template is template]
        idle = [slot for slot in held if slot.world is None]
        if idle:
            return idle[0]
        # Where a call steps another episode, its own slot is taken: a further one may be too many.
        if not free or self._has_room(template.base):
            return self._add(template.base)
        for slot in (*held, *free):
            if slot.base is template.base:
                return slot
        self._slots.remove(free[0])
        free[0].close()
        return self._add(template.base)

    def _has_room(self, base: Base) -> bool:
        """Whether a slot more stays within the bounds."""
        bytes_taken = sum(slot.bytes for slot in self._slots) + 2 * self._prototype(base).bytes
        return len(self._slots) < self._slots_max and bytes_taken <= BYTES_MAX

    def _prototype(self, base: Base) -> Prototype:
        """The base's rows in a database, filled once; slots copy its pages."""
        prototype = self._prototypes.get(base)
        if prototype is None:
            prototype = self._prototypes[base] = Prototype(base)
        return prototype

    def _add(self, base: Base) -> Slot:
        slot = Slot(base, self._prototype(base), reverse_unordered_selects=self._reverse)
        self._slots.append(slot)
        return slot


@cache
def default_engine() -> Engine:
    """The engine that environments of this process share."""
    return Engine()
