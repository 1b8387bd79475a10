"""What a customer who is no script said to an action."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column. Actions that are there already had no such customer."""
    op.add_column("actions", sa.Column("reply", sa.Text(), nullable=True))
