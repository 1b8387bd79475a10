"""What was worked out once and is asked for again: a few of each kind, the latest asked for."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from deskgym.store import Engine

T = TypeVar("T")

ENTRIES_MAX: Final = 64
"""How many of a kind are kept; each is a board's or a run's worth of text."""


class Kept:
    """Results by kind and key. A key names everything that its result depends on.

    What is not there is worked out in a thread, so that other pages are answered meanwhile; one
    thread for all, because worlds go through one interpreter lock anyway. Who asks for what is
    being worked out waits for it.

    Attributes:
        engine: worlds for what is worked out in the thread, and for nothing else.
    """

    def __init__(self, entries_max: int = ENTRIES_MAX) -> None:
        self.engine: Final = Engine()
        self._entries_max: Final = entries_max
        self._kinds: Final[dict[str, OrderedDict[Hashable, Any]]] = {}
        self._pending: Final[dict[Hashable, asyncio.Future[Any]]] = {}
        self._thread: Final = ThreadPoolExecutor(1, thread_name_prefix="deskgym-web")

    async def work_out(self, work: Callable[[], T]) -> T:
        """The result of `work`, which is not kept. Raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def get(self, kind: str, key: Hashable, work: Callable[[], T]) -> T:
        """The result of a key, from `work` if it is not there. Raises what `work` raises."""
        entries = self._kinds.setdefault(kind, OrderedDict())
        if key in entries:
            entries.move_to_end(key)
            return entries[key]
        full_key = (kind, key)
        pending = self._pending.get(full_key)
        if pending is None:
            pending = asyncio.get_running_loop().run_in_executor(self._thread, work)
            self._pending[full_key] = pending
            pending.add_done_callback(lambda done: self._keep(kind, key, done))
        # Whoever asked first may leave; others may wait for it.
        return await asyncio.shield(pending)

    def _keep(self, kind: str, key: Hashable, done: asyncio.Future[Any]) -> None:
        del self._pending[kind, key]
        if done.cancelled() or done.exception() is not None:
            return
        entries = self._kinds[kind]
        entries[key] = done.result()
        while len(entries) > self._entries_max:
            entries.popitem(last=False)
