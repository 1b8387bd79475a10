"""The first schema: episodes and their actions, scores, recordings, evaluation runs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "episodes",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("suite", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("token_hash", sa.String(length=64), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.Column("steps", sa.Integer(), nullable=True),
        sa.Column("reward", sa.Float(), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("owner", sa.String(length=64), nullable=False),
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "(status = 'live') = (ended_ms IS NULL)", name=op.f("ck_episodes_ended_ms")
        ),
        sa.CheckConstraint(
            "outcome IN ('reward', 'invalid', 'error')", name=op.f("ck_episodes_outcome")
        ),
        sa.CheckConstraint(
            "status IN ('live', 'ended', 'closed', 'expired')", name=op.f("ck_episodes_status")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_episodes")),
    )
    op.create_index(
        op.f("ix_episodes_created_ms_id"), "episodes", ["created_ms", "id"], unique=False
    )
    op.create_index(op.f("ix_episodes_ended_ms"), "episodes", ["ended_ms"], unique=False)
    op.create_index(
        op.f("ix_episodes_status_holder"), "episodes", ["status", "holder"], unique=False
    )
    op.create_index(
        op.f("ix_episodes_suite_task_created_ms"),
        "episodes",
        ["suite", "task", "created_ms"],
        unique=False,
    )
    op.create_table(
        "evaluations",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "status IN ('running', 'finished', 'interrupted')", name=op.f("ck_evaluations_status")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluations")),
    )
    op.create_index(
        op.f("ix_evaluations_created_ms_id"), "evaluations", ["created_ms", "id"], unique=False
    )
    op.create_table(
        "actions",
        sa.Column("episode", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("worker", sa.String(length=64), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("number > 0", name=op.f("ck_actions_number")),
        sa.ForeignKeyConstraint(
            ["episode"], ["episodes.id"], name=op.f("fk_actions_episode"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("episode", "number", name=op.f("pk_actions")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "recordings",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("episode", sa.String(length=64), nullable=True),
        sa.Column("evaluation", sa.String(length=64), nullable=True),
        sa.Column("suite", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reward", sa.Float(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation"],
            ["evaluations.id"],
            name=op.f("fk_recordings_evaluation"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recordings")),
    )
    op.create_index(
        op.f("ix_recordings_agent_created_ms"), "recordings", ["agent", "created_ms"], unique=False
    )
    op.create_index(
        op.f("ix_recordings_created_ms_id"), "recordings", ["created_ms", "id"], unique=False
    )
    op.create_index(op.f("ix_recordings_episode"), "recordings", ["episode"], unique=True)
    op.create_index(
        op.f("ix_recordings_evaluation_created_ms"),
        "recordings",
        ["evaluation", "created_ms"],
        unique=False,
    )
    op.create_index(op.f("ix_recordings_hash"), "recordings", ["hash"], unique=False)
    op.create_index(
        op.f("ix_recordings_reward_created_ms"),
        "recordings",
        ["reward", "created_ms"],
        unique=False,
    )
    op.create_index(
        op.f("ix_recordings_suite_task_created_ms"),
        "recordings",
        ["suite", "task", "created_ms"],
        unique=False,
    )
    op.create_table(
        "scores",
        sa.Column("episode", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("reward", sa.Float(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode"], ["episodes.id"], name=op.f("fk_scores_episode"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("episode", "number", "rubric", name=op.f("pk_scores")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "documents",
        sa.Column("recording", sa.String(length=64), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording"],
            ["recordings.id"],
            name=op.f("fk_documents_recording"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("recording", name=op.f("pk_documents")),
    )
