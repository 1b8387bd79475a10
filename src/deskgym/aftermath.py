"""What an episode left behind, for whoever judges it without the rubric.

A suite may declare in plain Python which runs are acceptable (`Suite.objections`). The audit asks
that second opinion about every run that earns a right control's reward, so it must share no code
with the rubric: it gets rows, what was called and what was answered, and nothing that scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from deskgym.store.schema import table
from deskgym.trajectory import Step

Record = Mapping[str, Any]
"""A row by column name."""

Records = Mapping[str, tuple[Record, ...]]
"""Rows by table, in key order; every table is there."""


class Aftermath(NamedTuple):
    """An episode as it stands.

    Attributes:
        task: the task's name, without its suite's.
        parameters: what the fixture was built with.
        account: the signed-in customer, or None for the store's own staff.
        opening: what the agent was told first.
        before: the store's rows at the start.
        after: the store's rows now.
        log: the rows of the environment's own tables (`env_…`): calls, messages, reports, claims.
        steps: the trajectory.
        ended: why the episode ended, or None.
    """

    task: str
    parameters: Mapping[str, int]
    account: str | None
    opening: str
    before: Records
    after: Records
    log: Records
    steps: tuple[Step, ...]
    ended: str | None

    def changed(self, name: str) -> Iterator[tuple[Record, Record]]:
        """The rows of a table that differ, before and after; empty where there was or is none."""
        before, after = self.before[name], self.after[name]
        if before is after:
            return
        key = table(name).key
        old, new = (
            {tuple(row[column] for column in key): row for row in rows} for rows in (before, after)
        )
        for place in sorted(old.keys() | new.keys()):
            if old.get(place) != new.get(place):
                yield old.get(place, {}), new.get(place, {})


Objections = Callable[[Aftermath], tuple[str, ...]]
"""What is wrong with how an episode stands, a sentence each; nothing if it is acceptable."""

Reckoning = Callable[[Aftermath], Mapping[str, float]]
"""What an episode must earn by each version of the rubric, worked out without the rubric's code;
nothing for what it cannot tell, such as a reply in words that it does not know."""

Ceilings = Callable[[Aftermath], Mapping[str, frozenset[str]]]
"""The names of the ceilings that bind an episode by each version of an outcome rubric, worked out
without the rubric's code. Some bind only where nothing is left to earn, so no reward shows them."""
