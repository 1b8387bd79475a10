"""Alembic's entry: runs the migrations on the connection that it is given."""

from __future__ import annotations

from alembic import context

from deskgym.runstore.tables import SCHEMA, VERSION_TABLE, metadata

connection = context.config.attributes["connection"]
postgres = connection.dialect.name == "postgresql"
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    version_table_schema=SCHEMA if postgres else None,
    # The transaction is the caller's, and so is the lock in it.
    transactional_ddl=False,
)
context.run_migrations()
