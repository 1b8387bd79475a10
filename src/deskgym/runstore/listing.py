"""Lists of stored episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, func, select

from deskgym.runstore.archive import comparable
from deskgym.runstore.database import Database
from deskgym.runstore.log import EpisodeRow
from deskgym.runstore.page import Fields, Order, Page, checked_limit, page_of
from deskgym.runstore.state import EpisodeState, state_of
from deskgym.runstore.tables import actions, episodes

_ORDER: Final = Order(episodes, "created_ms")


@dataclass(frozen=True)
class EpisodeFilter:
    """Which episodes; what is None does not matter. Values are data, and compared exactly."""

    status: str | None = None
    suite: str | None = None
    task: str | None = None
    agent: str | None = None
    holder: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """The filter as conditions on the table."""
        found: list[ColumnElement[bool]] = []
        for name in ("status", "suite", "agent", "holder"):
            value = getattr(self, name)
            if value is not None:
                found.append(episodes.c[name] == comparable(value))
        if self.task is not None:
            suite, slash, task = comparable(self.task).rpartition("/")
            found.append(episodes.c.task == task)
            if slash:
                found.append(episodes.c.suite == suite)
        return found


ANY_EPISODE: Final = EpisodeFilter()


def list_episodes(
    database: Database, which: EpisodeFilter, *, limit: int, page: str | None
) -> Page[EpisodeState]:
    """A page of the episodes that fit a filter, newest first."""
    taken = (
        select(func.coalesce(func.max(actions.c.number), 0))
        .where(actions.c.episode == episodes.c.id)
        .scalar_subquery()
        .label("taken")
    )
    statement = select(episodes, taken).where(*which.conditions())
    statement = _ORDER.after(statement, page).limit(checked_limit(limit) + 1)
    with database.read() as connection:
        rows = connection.execute(statement).mappings().all()
    return page_of(rows, limit, _ORDER, _state)


def _state(row: Fields) -> EpisodeState:
    return state_of(EpisodeRow(**{name: row[name] for name in EpisodeRow._fields}), row["taken"])
