"""Evaluation runs: what was asked for, which recordings came out, and how it went."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, cast

import orjson
from sqlalchemy import delete, func, insert, select, update

from deskgym.errors import UnknownName
from deskgym.runstore.archive import comparable
from deskgym.runstore.database import Database
from deskgym.runstore.page import Fields, Order, Page, checked_limit, page_of
from deskgym.runstore.tables import evaluations, recordings

EvaluationStatus = Literal["running", "finished", "interrupted"]
_ORDER: Final = Order(evaluations, "created_ms")


@dataclass(frozen=True)
class Evaluation:
    """An evaluation run.

    Attributes:
        id: its id in this database.
        name: what a person calls it.
        spec: what was asked for.
        summary: what came out; None while it runs.
        recordings: how many recordings belong to it.
        version: the deskgym that ran it.
        created_ms: milliseconds since 1970.
        ended_ms: the same; None while it runs.
    """

    id: str
    name: str
    status: EvaluationStatus
    spec: dict[str, Any]
    summary: dict[str, Any] | None
    recordings: int
    version: str
    created_ms: int
    ended_ms: int | None

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON."""
        return asdict(self)


class Evaluations:
    """The evaluation runs of a run store."""

    def __init__(self, database: Database, now_ms: Callable[[], int], version: str) -> None:
        self._database: Final = database
        self._now_ms: Final = now_ms
        self._version: Final = version

    def start(self, name: str, spec: Mapping[str, Any]) -> str:
        """Note a run that starts; its id, which its recordings are saved with."""
        now_ms = self._now_ms()
        id = f"{now_ms:012x}{secrets.token_hex(6)}"
        values = {
            "id": id,
            "name": comparable(name),
            "status": "running",
            "spec": orjson.dumps(dict(spec)).decode(),
            "summary": None,
            "version": self._version,
            "created_ms": now_ms,
            "ended_ms": None,
        }
        with self._database.begin() as connection:
            connection.execute(insert(evaluations).values(values))
        return id

    def end(
        self,
        id: str,
        summary: Mapping[str, Any] | None = None,
        *,
        status: EvaluationStatus = "finished",
    ) -> None:
        """Note how a run ended; raises `UnknownName`."""
        document = None if summary is None else orjson.dumps(dict(summary)).decode()
        statement = (
            update(evaluations)
            .where(evaluations.c.id == comparable(id))
            .values(status=status, summary=document, ended_ms=self._now_ms())
        )
        with self._database.begin() as connection:
            found = connection.execute(statement).rowcount
        if not found:
            raise UnknownName("evaluation run", id, ())

    def get(self, id: str) -> Evaluation:
        """A run; raises `UnknownName`."""
        statement = _selected().where(evaluations.c.id == comparable(id))
        with self._database.read() as connection:
            row = connection.execute(statement).mappings().one_or_none()
        if row is None:
            raise UnknownName("evaluation run", id, ())
        return _evaluation(row)

    def list(self, *, limit: int = 50, page: str | None = None) -> Page[Evaluation]:
        """A page of runs, newest first; raises `UsageError` for a wrong limit or token."""
        statement = _ORDER.after(_selected(), page).limit(checked_limit(limit) + 1)
        with self._database.read() as connection:
            rows = connection.execute(statement).mappings().all()
        return page_of(rows, limit, _ORDER, _evaluation)

    def delete(self, id: str) -> None:
        """Delete a run and its recordings; raises `UnknownName`."""
        with self._database.begin() as connection:
            statement = delete(evaluations).where(evaluations.c.id == comparable(id))
            found = connection.execute(statement).rowcount
        if not found:
            raise UnknownName("evaluation run", id, ())


def _selected() -> Any:
    count = (
        select(func.count())
        .where(recordings.c.evaluation == evaluations.c.id)
        .scalar_subquery()
        .label("recordings")
    )
    return select(evaluations, count)


def _evaluation(row: Fields) -> Evaluation:
    return Evaluation(
        id=row["id"],
        name=row["name"],
        status=cast(EvaluationStatus, row["status"]),
        spec=orjson.loads(row["spec"]),
        summary=None if row["summary"] is None else orjson.loads(row["summary"]),
        recordings=row["recordings"],
        version=row["version"],
        created_ms=row["created_ms"],
        ended_ms=row["ended_ms"],
    )
