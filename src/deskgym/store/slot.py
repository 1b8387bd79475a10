"""A slot: one pooled SQLite connection that worlds take turns in.

A slot holds two in-memory databases of the same schema, `main` and `before`. Both start as the
base; loading a template adds its rows to both, and an episode is a savepoint over that. So a
reset is a rollback, a fresh template costs its own rows and no new statements, and `before` is
there to be read in any query.
"""

# apsw's stubs leave the type of a blob open, which strict mode reports at every statement.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import apsw

from deskgym.errors import ConstraintViolation, StoreError
from deskgym.store.change import Row, RowChange
from deskgym.store.place import Bindings, LogRow, RawChange
from deskgym.store.schema import LOG_PREFIX, TABLES, sqlite_ddl
from deskgym.store.template import Base, Rows, Template

if TYPE_CHECKING:
    from deskgym.store.world import World

_STATEMENTS_CACHED: Final = 400
_PAGE_BYTES: Final = 1_024
# What the driver raises for a statement that fails and for a value that SQLite cannot hold.
_DRIVER_ERRORS: Final = (apsw.Error, TypeError, UnicodeError, OverflowError)

# The savepoints' statements are the slot's own. The authorizer refuses any that a tool prepares,
# but a cached statement is not prepared again, so their texts carry a mark that no tool writes.
_BEGIN_TEMPLATE: Final = "/* slot */ BEGIN"
_END_TEMPLATE: Final = "/* slot */ ROLLBACK"
_BEGIN_EPISODE: Final = "/* slot */ SAVEPOINT episode"
_RESET_EPISODE: Final = "/* slot */ ROLLBACK TO episode"
_END_EPISODE: Final = "/* slot */ RELEASE episode"
_BEGIN_CALL: Final = "/* slot */ SAVEPOINT call"
_UNDO_CALL: Final = "/* slot */ ROLLBACK TO call"
_END_CALL: Final = "/* slot */ RELEASE call"

_WRITES: Final = frozenset({apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE})
_ALLOWED: Final = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE})
# Anything that reads a clock, draws a number or depends on the connection's history.
_FUNCTIONS_DENIED: Final = frozenset(
    {
        "random", "randomblob", "date", "time", "datetime", "julianday", "unixepoch", "strftime",
        "timediff", "current_date", "current_time", "current_timestamp", "changes",
        "total_changes", "last_insert_rowid", "load_extension", "sqlite_version",
        "sqlite_source_id", "sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_log",
    }
)  # fmt: skip


def _placeholders(name: str) -> str:
    return ", ".join("?" * len(TABLES[name].columns))


def _upsert(database: str, name: str) -> str:
    known = TABLES[name]
    values = [column for column in known.columns if column not in known.key]
    action = (
        "UPDATE SET " + ", ".join(f"{column} = excluded.{column}" for column in values)
        if values
        else "NOTHING"
    )
    return (
        f"/* slot */ INSERT INTO {database}.{name} VALUES ({_placeholders(name)}) "
        f"ON CONFLICT ({', '.join(known.key)}) DO {action}"
    )


_UPSERTS: Final = {
    database: {name: _upsert(database, name) for name in TABLES} for database in ("before", "main")
}
_INSERTS: Final = {
    name: f"/* slot */ INSERT INTO main.{name} VALUES ({_placeholders(name)})" for name in TABLES
}
_UPDATES: Final = {
    name: f"/* slot */ UPDATE main.{name} SET "
    + ", ".join(f"{column} = ?" for column in item.columns)
    + " WHERE "
    + " AND ".join(f"{column} = ?" for column in item.key)
    for name, item in TABLES.items()
}
_DELETES: Final = {
    name: f"/* slot */ DELETE FROM main.{name} WHERE "
    + " AND ".join(f"{column} = ?" for column in item.key)
    for name, item in TABLES.items()
}


class Prototype:
    """A base's rows in a database of their own, from which slots copy pages.

    Attributes:
        bytes: what a copy takes in memory.
    """

    def __init__(self, base: Base) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(
            f"ATTACH ':memory:' AS before; PRAGMA before.page_size = {_PAGE_BYTES}"
        )
        self._connection.execute(sqlite_ddl("before"))
        self._connection.execute("PRAGMA foreign_keys = ON")
        with self._connection:
            _load(self._connection.cursor(), "before", base.rows)
        self.bytes: Final = (
            int(str(self._connection.pragma("page_count", schema="before"))) * _PAGE_BYTES
        )

    def copy_into(self, connection: apsw.Connection, database: str) -> None:
        """Make a database of another connection the same, page by page."""
        with connection.backup(database, self._connection, "before") as copying:
            copying.step()


def _load(cursor: apsw.Cursor, database: str, rows: Rows) -> None:
    """Put rows in, or in the place of those with their keys."""
    for name, items in rows.items():
        try:
            cursor.executemany(_UPSERTS[database][name], items)  # type: ignore[arg-type]
        except _DRIVER_ERRORS as error:
            message = f"a fixture's rows do not fit {database}.{name}: {error}"
            raise ConstraintViolation(message) from error


class Slot:
    """One connection, the template that it holds, and the world whose episode is in it now."""

    def __init__(
        self, base: Base, prototype: Prototype, *, reverse_unordered_selects: bool = False
    ) -> None:
        self.base: Final = base
        self.bytes: Final = 2 * prototype.bytes
        self.template: Template | None = None
        self.world: World | None = None
        self.in_call = False
        self.failure: StoreError | None = None
        self._raw: list[RawChange] = []
        self._columns: dict[str, tuple[str, ...]] = {}
        self._own = True
        self._connection = apsw.Connection(":memory:", statementcachesize=_STATEMENTS_CACHED)
        self._cursor = self._connection.cursor()
        self._execute: Callable[..., Any] = self._cursor.execute
        if reverse_unordered_selects:
            self._connection.execute("PRAGMA reverse_unordered_selects = ON")
        self._open(prototype)

    def _open(self, prototype: Prototype) -> None:
        connection = self._connection
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute(
            f"PRAGMA temp_store = MEMORY; PRAGMA page_size = {_PAGE_BYTES};"
            f"ATTACH ':memory:' AS before; PRAGMA before.page_size = {_PAGE_BYTES};"
        )
        for database in ("before", "main"):
            prototype.copy_into(connection, database)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(_BEGIN_TEMPLATE)
        connection.preupdate_hook(self._note)
        connection.authorizer = self._authorize
        self._own = False

    def close(self) -> None:
        """Close the connection; worlds that were in the slot go on in another."""
        self.world = None
        self._connection.close(force=True)

    # What a tool or a check may run.

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run one statement and return its rows; raises `StoreError` and remembers that it did."""
        try:
            return self._execute(sql, bindings).fetchall()
        except _DRIVER_ERRORS as error:
            raise self._failed(sql, error) from error

    def records(self, sql: str, bindings: Bindings = ()) -> list[dict[str, Any]]:
        """As `rows`, each row by column name."""
        names = self._columns.get(sql)
        try:
            if names is None:
                names, rows = self._described(sql, bindings)
            else:
                rows = self._execute(sql, bindings).fetchall()
        except _DRIVER_ERRORS as error:
            raise self._failed(sql, error) from error
        # Both come from one statement.
        return [dict(zip(names, row)) for row in rows] if rows else []  # noqa: B905

    def _described(self, sql: str, bindings: Bindings) -> tuple[tuple[str, ...], list[Row]]:
        """Run a statement for the first time, and note its columns before its first row."""

        def note(cursor: apsw.Cursor, _: str, __: object) -> bool:
            self._columns[sql] = tuple(column[0] for column in cursor.get_description())
            return True

        self._connection.exec_trace = note
        try:
            rows = self._execute(sql, bindings).fetchall()
        finally:
            self._connection.exec_trace = None
        return self._columns[sql], rows

    def _failed(self, sql: str, error: Exception) -> StoreError:
        kind = ConstraintViolation if isinstance(error, apsw.ConstraintError) else StoreError
        self.failure = kind(f"{error} (in: {' '.join(sql.split())[:200]})")
        if self.in_call:
            self._execute = self._refuse
        return self.failure

    def _refuse(self, *_: object) -> apsw.Cursor:
        """Stand in for the driver after a failure, for the rest of the call.

        Its rows are undone anyway; and where the failure ended SQLite's whole transaction, a
        further write would stay in the slot for good.
        """
        assert self.failure is not None, "a call is refused for a failure"
        raise self.failure

    def _authorize(
        self, operation: int, first: str | None, second: str | None, database: str | None,
        source: str | None,
    ) -> int:  # fmt: skip
        """Keep tools to reading, and to writing the store's own rows in `main`."""
        if self._own:
            return apsw.SQLITE_OK
        if operation == apsw.SQLITE_FUNCTION:
            denied = (second or "").lower() in _FUNCTIONS_DENIED
        elif operation in _WRITES:
            denied = database != "main" or (first or "").startswith((LOG_PREFIX, "sqlite_"))
        elif operation == apsw.SQLITE_READ:
            # How rows lie in their pages depends on what the slot held before; and whether the
            # log's rows are there yet depends on when the episode was last scored.
            denied = (first or "").startswith(("sqlite_", "dbstat"))
            denied = denied or (self.in_call and (first or "").startswith(LOG_PREFIX))
        else:
            denied = operation not in _ALLOWED
        return apsw.SQLITE_DENY if denied else apsw.SQLITE_OK

    def _note(self, update: apsw.PreUpdate) -> None:
        name = update.table_name
        if update.database_name == "main" and not name.startswith(LOG_PREFIX):
            self._raw.append((name, update.old, update.new))

    # A call is a savepoint in the episode.

    @property
    def touched(self) -> bool:
        """Whether the call has written to the store, net or not."""
        return bool(self._raw)

    def begin_call(self) -> None:
        """Open the savepoint that the call's statements stand in."""
        assert not self.in_call, "a call stands alone: it would take another's changes as its own"
        self._raw = []
        self.failure = None
        self._own = True
        try:
            self._cursor.execute(_BEGIN_CALL)
        finally:
            self._own = False
        self.in_call = True

    def keep_call(self) -> list[RawChange]:
        """Keep the call's rows and return what was written, oldest first."""
        self.in_call = False
        self._own = True
        try:
            self._cursor.execute(_END_CALL)
        finally:
            self._own = False
        return self._raw

    def undo_call(self) -> None:
        """Leave every row as it was before the call.

        A few errors (a full database, an interrupted INSERT) end SQLite's whole transaction. Then
        the slot is empty, and the next call rebuilds the episode from its log.
        """
        self.in_call = False
        self._execute = self._cursor.execute
        if not self._connection.in_transaction:
            self.world = self.template = None
            self._internal(_BEGIN_TEMPLATE)
            return
        self._internal(_UNDO_CALL)
        self._internal(_END_CALL)

    # Templates and episodes.

    def seat(self, world: World) -> None:
        """Make the slot hold `world`: its template and its net changes, with an empty log."""
        template, changes = world.template, world.changes()
        self.world = None
        if template is self.template:
            self.restart()
        else:
            self._load_template(template)
        if changes:
            self._apply(changes)
        self.world = world

    def restart(self) -> None:
        """Back to the template. Only a release lets the journal of the rolled back pages go."""
        self._internal(_RESET_EPISODE)
        self._internal(_END_EPISODE)
        self._internal(_BEGIN_EPISODE)

    def _load_template(self, template: Template) -> None:
        self.template = None
        self._internal(_END_TEMPLATE)
        self._internal(_BEGIN_TEMPLATE)
        self._unwatched(lambda: self._load(template.rows))
        self._internal(_BEGIN_EPISODE)
        self.template = template

    def _load(self, rows: Rows) -> None:
        for database in _UPSERTS:
            _load(self._cursor, database, rows)

    def _apply(self, changes: Sequence[RowChange]) -> None:
        """Bring the template to a state whose net changes these are.

        One order of statements serves nearly always. Where rows traded a unique value, or one
        gave way to another, no order of single statements does: then the rows are taken out and
        put back whole.
        """
        try:
            self._unwatched(lambda: self._apply_in_order(changes))
        except apsw.ConstraintError:
            self.restart()
            self._unwatched(lambda: self._apply_as_images(changes))

    def _apply_in_order(self, changes: Sequence[RowChange]) -> None:
        """Parents in first, then updates, then children out first; foreign keys in force."""
        for change in changes:
            if change.before is None and change.after is not None:
                self._write(_INSERTS[change.table], change.after)
        for change in changes:
            if change.before is not None and change.after is not None:
                self._write(_UPDATES[change.table], (*change.after, *change.key))
        for change in reversed(changes):
            if change.after is None:
                self._write(_DELETES[change.table], change.key)

    def _apply_as_images(self, changes: Sequence[RowChange]) -> None:
        self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 0)
        try:
            for change in reversed(changes):
                if change.before is not None:
                    self._write(_DELETES[change.table], change.key)
            for change in changes:
                if change.after is not None:
                    self._write(_INSERTS[change.table], change.after)
        finally:
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)

    def _write(self, sql: str, row: Row) -> None:
        self._cursor.execute(sql, row)  # type: ignore[arg-type]

    def settle(self, log: Iterable[LogRow], changes: Sequence[RowChange]) -> None:
        """Insert rows of the environment's own tables, and make `env_change` hold `changes`."""
        by_table: dict[str, list[Row]] = {}
        for name, row in log:
            by_table.setdefault(name, []).append(row)
        if changes:
            by_table["env_change"] = [
                (change.table, "/".join(map(str, change.key)), change.operation)
                for change in changes
            ]

        def insert() -> None:
            self._cursor.execute("/* slot */ DELETE FROM main.env_change")
            for name, rows in by_table.items():
                self._cursor.executemany(_INSERTS[name], rows)  # type: ignore[arg-type]

        self._unwatched(insert)

    def _unwatched(self, work: Callable[[], None]) -> None:
        self._connection.preupdate_hook(None)
        self._own = True
        try:
            work()
        finally:
            self._own = False
            self._connection.preupdate_hook(self._note)

    def _internal(self, sql: str) -> None:
        self._own = True
        try:
            self._cursor.execute(sql)
        finally:
            self._own = False
