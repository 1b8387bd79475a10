"""Where a recording came from, and which checks it broke."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

from deskgym.rubric.held import broken_of

revision = "0003"
down_revision = "0002"

AT_ONCE = 200

_recordings = sa.table("recordings", *map(sa.column, ("id", "episode", "evaluation", "origin")))
_documents = sa.table("documents", *map(sa.column, ("recording", "document")))
_broken = sa.table("broken_checks", *map(sa.column, ("recording", "name")))


def upgrade() -> None:
    """Add a column and a table, and fill both from what is there.

    What belongs to no episode and to no evaluation run was imported, as far as anyone can tell.
    """
    op.add_column(
        "recordings",
        sa.Column("origin", sa.String(length=16), server_default="own", nullable=False),
    )
    op.create_index(
        op.f("ix_recordings_origin_created_ms_id"),
        "recordings",
        ["origin", "created_ms", "id"],
        unique=False,
    )
    op.create_table(
        "broken_checks",
        sa.Column("recording", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording"],
            ["recordings.id"],
            name=op.f("fk_broken_checks_recording"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("recording", "name", name=op.f("pk_broken_checks")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_broken_checks_name_recording"),
        "broken_checks",
        ["name", "recording"],
        unique=False,
    )
    connection = op.get_bind()
    connection.execute(
        sa.update(_recordings)
        .where(_recordings.c.episode.is_(None), _recordings.c.evaluation.is_(None))
        .values(origin="uploaded")
    )
    for rows in _batches(connection):
        found = [
            {"recording": id, "name": name} for id, document in rows for name in _names(document)
        ]
        if found:
            connection.execute(sa.insert(_broken), found)


def _batches(connection: sa.Connection) -> Iterator[list[Any]]:
    last = ""
    while True:
        rows = connection.execute(
            sa.select(_documents.c.recording, _documents.c.document)
            .where(_documents.c.recording > last)
            .order_by(_documents.c.recording)
            .limit(AT_ONCE)
        ).all()
        if not rows:
            return
        last = rows[-1].recording
        yield list(rows)


def _names(document: str) -> list[str]:
    try:
        footer = orjson.loads(document)["footer"]
        names = broken_of(footer["score"]) if footer["status"] == "reward" else ()
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return []  # a damaged document; `deskgym database check` names it
    return list(dict.fromkeys(name.replace("\0", "\ufffd") for name in names))
