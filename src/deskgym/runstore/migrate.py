"""The schema's version, and the migrations that bring a database to it by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, text

from deskgym.errors import InvalidDatabase
from deskgym.runstore.database import Database
from deskgym.runstore.tables import HEAD, SCHEMA, VERSION_TABLE

if TYPE_CHECKING:
    from alembic.config import Config

APPLICATION_ID: Final = 0x44534B47
"""Marks a SQLite file as a run store's ("DSKG"), so that no other application's is taken for it."""

POSTGRES_VERSION_MIN: Final = 140_000
SQLITE_VERSION_MIN: Final = (3, 35, 0)
_LOCK: Final = 4_923_017_554_120_633
"""An advisory lock's number, drawn once: whoever migrates holds it."""


def revision(database: Database) -> str | None:
    """The revision of a database's schema, or None where there is none yet.

    Raises:
        InvalidDatabase: it cannot be read, or is another application's.
    """
    if database.file is not None and not database.file.exists():
        return None  # to look at a file must not make it
    with database.connect() as connection:
        _check_server(database, connection)
        return _revision(database, connection)


def migrate(database: Database) -> str | None:
    """Bring a database to the newest revision, under a lock; the revision that it had before.

    Two processes may start at once: the second waits, and finds the work done.

    Raises:
        InvalidDatabase: the database is newer than this version of deskgym, read-only, another
            application's, or of a version that is too old.
    """
    found = revision(database)
    if found == HEAD:
        return found
    _refuse_newer(database, found)
    with database.begin() as connection:
        if database.postgres:
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
            connection.execute(text(f"SET LOCAL search_path TO {SCHEMA}"))
        found = _revision(database, connection)
        _refuse_newer(database, found)
        if found != HEAD:
            _upgrade(connection)
            if not database.postgres:
                connection.execute(text(f"PRAGMA application_id = {APPLICATION_ID}"))
    return found


def _upgrade(connection: Connection) -> None:
    # Both take a while to load, and most starts have nothing to migrate.
    from alembic import command

    config = migrations()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def migrations() -> Config:
    """Alembic's configuration: where the migrations are. It opens no connection by itself."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config


def known_revisions() -> list[str]:
    """The revisions that this version can come from, oldest first."""
    from alembic.script import ScriptDirectory

    script: Any = ScriptDirectory.from_config(migrations())
    return [str(item.revision) for item in script.walk_revisions()][::-1]


def _refuse_newer(database: Database, found: str | None) -> None:
    if found is not None and found != HEAD and found not in known_revisions():
        raise InvalidDatabase(
            f"{database.where} has the schema {found}, and this version of deskgym knows up to "
            f"{HEAD}: install a newer deskgym"
        )


def _revision(database: Database, connection: Connection) -> str | None:
    if database.postgres:
        there = connection.execute(
            text("SELECT to_regclass(:name) IS NOT NULL"), {"name": f"{SCHEMA}.{VERSION_TABLE}"}
        ).scalar_one()
        table = f"{SCHEMA}.{VERSION_TABLE}"
    else:
        names = set(connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars())
        there = VERSION_TABLE in names
        mark = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        if names and not (there and mark == APPLICATION_ID):
            raise InvalidDatabase(
                f"{database.where} is another application's SQLite database; name a new file"
            )
        table = VERSION_TABLE
    if not there:
        return None
    return connection.execute(text(f"SELECT version_num FROM {table}")).scalar_one_or_none()


def _check_server(database: Database, connection: Connection) -> None:
    """Refuse a server or library that lacks what the statements need."""
    if database.postgres:
        version = int(connection.execute(text("SHOW server_version_num")).scalar_one())
        if version < POSTGRES_VERSION_MIN:
            raise InvalidDatabase(
                f"{database.where} is PostgreSQL {version // 10_000}; deskgym needs 14 or newer"
            )
        return
    import sqlite3

    if sqlite3.sqlite_version_info < SQLITE_VERSION_MIN:
        raise InvalidDatabase(
            f"Python's SQLite is {sqlite3.sqlite_version}; the run store needs 3.35 or newer"
        )
