"""The run store's tables. The migrations make them; a test holds the two equal."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

SCHEMA: Final = "deskgym"
"""The schema of the tables in PostgreSQL, so that they stand beside whatever else is there."""

VERSION_TABLE: Final = "runstore_version"
HEAD: Final = "0003"
"""The newest revision that this version of deskgym writes and reads."""

metadata: Final = MetaData(
    naming_convention={
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)

evaluations: Final = Table(
    "evaluations",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("spec", Text, nullable=False),
    Column("summary", Text),
    Column("version", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger),
    CheckConstraint("status IN ('running', 'finished', 'interrupted')", name="status"),
    Index(None, "created_ms", "id"),
)
"""Evaluation runs: what was asked for, and what came out. `spec` and `summary` are JSON."""

episodes: Final = Table(
    "episodes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("suite", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("rubric", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("holder", Text),
    Column("token_hash", String(64)),
    Column("status", String(16), nullable=False),
    Column("outcome", String(16)),
    Column("ended", Text),
    Column("steps", Integer),
    Column("reward", Float),
    Column("digest", String(64)),
    Column("owner", String(64), nullable=False),
    Column("chain", String(64), nullable=False),
    Column("version", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger),
    CheckConstraint("status IN ('live', 'ended', 'closed', 'expired')", name="status"),
    CheckConstraint("outcome IN ('reward', 'invalid', 'error')", name="outcome"),
    CheckConstraint("(status = 'live') = (ended_ms IS NULL)", name="ended_ms"),
    Index(None, "created_ms", "id"),
    Index(None, "status", "holder"),
    Index(None, "suite", "task", "created_ms"),
    Index(None, "ended_ms"),
)
"""Episodes. `ended`, `steps`, `reward` and `digest` are there once one is no longer live.

`owner` is the worker that may add steps, `chain` the first hash of the episode's chain.
"""

actions: Final = Table(
    "actions",
    metadata,
    Column("episode", String(64), ForeignKey(episodes.c.id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("action", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("changes", Text, nullable=False),
    Column("ended", Text),
    Column("chain", String(64), nullable=False),
    Column("worker", String(64), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("reply", Text),
    CheckConstraint("number > 0", name="number"),
    sqlite_with_rowid=False,
)
"""An episode's actions as they happened: canonical JSON of each, of its result and row changes.

`reply` is what a customer who is no script said to it, as JSON, or null where none did.
`chain` seals everything up to this action; `worker` is who carried it out.
"""

scores: Final = Table(
    "scores",
    metadata,
    Column("episode", String(64), ForeignKey(episodes.c.id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("rubric", Text, primary_key=True),
    Column("reward", Float, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""Scores after a number of steps, by a version of the rubric; `document` is the whole one."""

recordings: Final = Table(
    "recordings",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("episode", String(64)),
    Column("evaluation", String(64), ForeignKey(evaluations.c.id, ondelete="CASCADE")),
    Column("suite", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("rubric", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("reward", Float, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("ended", Text),
    Column("steps", Integer, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("origin", String(16), nullable=False, server_default="own"),
    Index(None, "created_ms", "id"),
    Index(None, "suite", "task", "created_ms"),
    Index(None, "agent", "created_ms"),
    Index(None, "reward", "created_ms"),
    Index(None, "origin", "created_ms", "id"),
    Index(None, "evaluation", "created_ms"),
    Index(None, "hash"),
    Index(None, "episode", unique=True),
)
"""What recordings are found by. The documents stand apart, so that a list reads no large row.

`origin` is `own` for what was run here, and `uploaded` for what was made elsewhere and brought in.
"""

broken_checks: Final = Table(
    "broken_checks",
    metadata,
    Column(
        "recording", String(64), ForeignKey(recordings.c.id, ondelete="CASCADE"), primary_key=True
    ),
    Column("name", Text, primary_key=True),
    Index(None, "name", "recording"),
    sqlite_with_rowid=False,
)
"""What kept a recording's reward from being full, by name: derived from its score when saved."""

documents: Final = Table(
    "documents",
    metadata,
    Column(
        "recording", String(64), ForeignKey(recordings.c.id, ondelete="CASCADE"), primary_key=True
    ),
    Column("document", Text, nullable=False),
)
"""Whole recordings as they were made, to the byte."""
