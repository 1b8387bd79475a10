"""How the benchmarks measure: the median of single calls, and the bare driver's floor."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import apsw

from deskgym.environment import Environment
from deskgym.trajectory import Action

Statement = tuple[str, Any]


class Figure(NamedTuple):
    """One line of a benchmark.

    Attributes:
        name: what was measured.
        value: what came out.
        bound: what it is held to, if it is.
        at_least: whether the bound is the least that it may be, and not the most.
    """

    name: str
    value: str
    bound: str = ""
    at_least: bool = False


def median_s(work: Callable[[], object], *, calls: int) -> float:
    """Seconds of one call: the median of single calls, which other load disturbs little."""
    seconds: list[float] = []
    for _ in range(calls):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def play(environment: Environment, actions: Sequence[Action], seed: int = 0) -> None:
    """An episode whose actions are known, so that no agent's time is counted."""
    environment.reset(seed)
    for action in actions:
        environment.step(action)


class BareDriver:
    """The SQL of one run of some work, and the driver's own time for it.

    The statements are those that apsw was asked to run, with their bindings, savepoints and log
    rows included. They are run again on the same connection with no hook and no authorizer.
    """

    def __init__(self, connections: Sequence[apsw.Connection], work: Callable[[], object]) -> None:
        self._statements: dict[apsw.Connection, list[Statement]] = {}
        work()
        for connection in connections:
            connection.exec_trace = self._note
        work()
        for connection in connections:
            connection.exec_trace = None
        (self._connection, self.statements), *more = self._statements.items()
        assert not more, "the work stays in one slot"

    def _note(self, cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        self._statements.setdefault(cursor.connection, []).append((sql, bindings))
        return True

    def run(self) -> None:
        """Run the statements once, and fetch what they return."""
        execute = self._connection.execute
        for sql, bindings in self.statements:
            execute(sql, bindings).fetchall()

    def seconds(self, *, calls: int) -> float:
        """Seconds of one run. The connection is of no use to a slot afterwards."""
        connection = self._connection
        connection.preupdate_hook(None)
        connection.authorizer = None
        return median_s(self.run, calls=calls)
