"""A slot: one connection and the schema that it owns, which worlds take turns in.

Nothing stays open between two calls: a call that writes is a transaction, committed when the call
is kept. A call that only reads needs none, for nobody else is in the slot.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn, cast

import orjson
import psycopg
from psycopg import RawCursor
from psycopg.pq import TransactionStatus

from deskgym.errors import ConstraintViolation, DatabaseUnavailable, StoreError
from deskgym.store.change import NetChanges, Row, RowChange, RowKey
from deskgym.store.place import Bindings, LogRow, RawChange
from deskgym.store.postgres.ddl import BEFORE_PREFIX, CALL_SETTING, CHANGE_MARK, guard_query
from deskgym.store.postgres.lease import Lease
from deskgym.store.postgres.move import Batch, Difference
from deskgym.store.postgres.statement import Statement, translate
from deskgym.store.schema import GUARDS, TABLES
from deskgym.store.template import Base, Template
from deskgym.store.world import World

DEAD_ROWS_MAX: Final = 1_000
"""How many rows a slot removes or replaces before it clears their remains away."""

FAREWELL_S: Final = 0.25
"""How long a connection that said something by itself is watched for its end."""

_BEGIN_CALL: Final = f"BEGIN; SET LOCAL {CALL_SETTING} = 'on'".encode()
_NOTHING: Final[dict[RowKey, Row | None]] = {}
# A value of the wrong type is a constraint's business in SQLite's STRICT tables.
_CONSTRAINTS: Final = (
    psycopg.IntegrityError,
    psycopg.errors.InvalidTextRepresentation,
    psycopg.errors.NumericValueOutOfRange,
    psycopg.errors.DatatypeMismatch,
    psycopg.errors.StringDataRightTruncation,
)
# What says that the server cannot serve: gone, full, out of memory or disk, no more for writing.
_SERVER_ERRORS: Final = (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction)


class PostgresSlot:
    """A lease, the template that its tables hold, and the world whose episode is in them now."""

    def __init__(self, base: Base, claim: Callable[[Base], Lease]) -> None:
        self.base = base
        self.template: Template | None = None
        self.world: World | None = None
        self.in_call = False
        self.failure: StoreError | None = None
        self.lost = False
        self._claim: Final = claim
        self._raw: list[RawChange] = []
        self._columns: dict[str, tuple[str, ...]] = {}
        self._log: dict[RowKey, Row | None] = {}
        self._main: dict[RowKey, Row | None] = {}
        self._before: dict[RowKey, Row | None] = {}
        self._dead_rows = 0
        self._open = False
        self._take_lease()

    def _take_lease(self) -> None:
        """A slot of the database that holds the base and nothing else."""
        self._lease = self._claim(self.base)
        self._connection = self._lease.connection
        self._cursor = RawCursor(self._connection)
        self._connection.add_notice_handler(self._note)
        self._holds_base()

    def _holds_base(self) -> None:
        self.template = None
        self._main, self._before, self._log = {}, {}, {}

    def refill(self, base: Base) -> None:
        """Hold another base; the world that was here is pushed out."""
        self.world = None
        with self._whole():
            self._lease.fill(base)
        self.base = base
        self._holds_base()

    def close(self) -> None:
        """Give the slot back clean; worlds that were in it go on in another."""
        self.world = None
        if self.lost:
            return
        self.lost = True
        try:
            self._move(_NOTHING, _NOTHING)
        except (DatabaseUnavailable, StoreError):
            self._connection.close()  # Whoever claims it next refills it.
            return
        self._lease.give_back(self.base)

    @property
    def number(self) -> int:
        """Which of the database's slots it is."""
        return self._lease.number

    # What a tool or a check may run.

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run one statement and return its rows; raises `StoreError`, and remembers it.

        Raises:
            DatabaseUnavailable: the connection is gone; the world goes on in another slot.
        """
        if self.failure is not None and self.in_call:
            raise self.failure
        try:
            statement = translate(sql)
            self._require_place(statement)
            values = statement.values(bindings)
            if statement.writes and not self._open:
                self._open = True  # first, so that an interruption here is undone too
                self._connection.execute(_BEGIN_CALL)
            self._cursor.execute(statement.text, values, prepare=True)
            return self._cursor.fetchall() if self._cursor.description else []
        except (StoreError, psycopg.Error, UnicodeError) as error:
            raise self._failed(sql, error) from error

    def records(self, sql: str, bindings: Bindings = ()) -> list[dict[str, Any]]:
        """As `rows`, each row by column name."""
        rows = self.rows(sql, bindings)
        names = self._columns.get(sql)
        if names is None:
            described = self._cursor.description or ()
            names = self._columns[sql] = tuple(column.name for column in described)
        return [dict(zip(names, row)) for row in rows]  # noqa: B905, both come from one statement

    def _require_place(self, statement: Statement) -> None:
        if self.in_call:
            if statement.reads_log:
                raise StoreError("not authorized: a tool does not read the environment's log")
        elif statement.writes:
            raise StoreError("not authorized: rows are written in a call")

    def _failed(self, sql: str, error: Exception) -> StoreError:
        if isinstance(error, _SERVER_ERRORS) or self._connection.closed:
            self._lose(error)
        text = str(error).strip()
        kind = StoreError
        if isinstance(error, (*_CONSTRAINTS, ConstraintViolation)):
            kind = ConstraintViolation
        if isinstance(error, psycopg.errors.IntegrityError):
            text = f"{_rule_of(error)} constraint failed: {text}"
        self.failure = kind(f"{text} (in: {' '.join(sql.split())[:200]})")
        return self.failure

    def _lose(self, error: BaseException) -> NoReturn:
        self.abandon()
        raise DatabaseUnavailable(
            f"the database does not serve any more; what was asked of it did not happen: {error}"
        ) from error

    def abandon(self) -> None:
        """Leave the slot as it is to whoever claims it next, who refills it."""
        self.world = None
        self.lost = True
        self._open = False
        self._connection.close()

    def _note(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        message = diagnostic.message_primary
        if message is not None and message.startswith(CHANGE_MARK):
            name, before, after = orjson.loads(message[len(CHANGE_MARK) :])
            self._raw.append((name, _as_row(before), _as_row(after)))

    # A call is a transaction, from its first write on.

    @property
    def touched(self) -> bool:
        """Whether the call has written to the store, net or not."""
        return bool(self._raw)

    def begin_call(self) -> None:
        """Begin a call; a slot whose connection was cut while it stood still gets another."""
        assert not self.in_call, "a call stands alone: it would take another's changes as its own"
        self._raw = []
        self.failure = None
        self._revive()
        self.in_call = True

    def keep_call(self) -> list[RawChange]:
        """Commit the call's rows and return what was written, oldest first."""
        self.in_call = False
        if not self._open:
            return self._raw
        written = NetChanges()
        for raw in self._raw:
            written.add(*raw)
        with self._whole():
            self._connection.execute("COMMIT")
            self._open = False
            self._main.update(((item.table, item.key), item.after) for item in written.changes())
        self._dead_rows += len(written)
        return self._raw

    def undo_call(self) -> None:
        """Leave every row as it was before the call."""
        self.in_call = False
        if not self._open:
            return
        self._open = False
        if self._connection.info.transaction_status in (
            TransactionStatus.ACTIVE, TransactionStatus.UNKNOWN
        ):  # fmt: skip
            self.abandon()  # interrupted in a statement: the world goes on in another slot
            return
        with self._whole():
            self._connection.execute("ROLLBACK")

    # Templates and episodes.

    def seat(self, world: World) -> None:
        """Make the slot hold `world`: its template and its net changes, with an empty log."""
        self.world = None
        self._revive()
        template = world.template
        start = images_of(template)
        wanted = start | {(item.table, item.key): item.after for item in world.changes()}
        is_new = template is not self.template
        self._move(start, wanted)
        self.template = template
        if is_new:
            self._require_guards(template)
        if self._dead_rows > DEAD_ROWS_MAX:
            self._clear_remains()
        self.world = world

    def restart(self) -> None:
        """Let the episode go. Its world is seated again, with one message, when it is touched."""
        self.world = None

    def settle(self, log: Iterable[LogRow], changes: Sequence[RowChange]) -> None:
        """Insert rows of the environment's own tables, and make `env_change` hold `changes`."""
        self._revive()
        kept = {key: row for key, row in self._log.items() if key[0] != "env_change"}
        for name, row in log:
            key = (name, TABLES[name].key_of(row))
            if key in kept:
                raise ConstraintViolation(f"UNIQUE constraint failed: {name} has {key[1]} already")
            kept[key] = row
        for item in changes:
            row = (item.table, "/".join(map(str, item.key)), item.operation)
            kept["env_change", row[:2]] = row
        difference = Difference()
        difference.add("", _NOTHING, self._log, kept)
        with self._whole():
            self._send(difference)
            self._log = kept

    def _move(self, before: dict[RowKey, Row | None], wanted: dict[RowKey, Row | None]) -> None:
        """Let the tables differ from the base by `wanted`, and their copies by `before`."""
        base = cast(dict[RowKey, Row | None], self.base.by_key)
        difference = Difference()
        difference.add(BEFORE_PREFIX, base, self._before, before)
        difference.add("", base, self._main | self._log, wanted)
        with self._whole():
            self._send(difference)
            self._main, self._before, self._log = dict(wanted), dict(before), {}

    def _send(self, difference: Difference) -> None:
        """Change the tables by a difference, as a whole."""
        batches = difference.batches()
        with self._whole():
            try:
                if len(batches) == 1:
                    self._cursor.execute(*batches[0], prepare=True)
                elif batches:
                    self._send_deferred(batches)
            except (psycopg.IntegrityError, psycopg.DataError) as error:
                if self._connection.info.transaction_status != TransactionStatus.IDLE:
                    self._connection.execute("ROLLBACK")
                message = f"the rows do not fit: {error}"
                raise ConstraintViolation(message) from error
        self._dead_rows += difference.rows_count

    def _send_deferred(self, batches: Sequence[Batch]) -> None:
        with self._connection.pipeline():
            self._cursor.execute(b"BEGIN", prepare=True)
            self._cursor.execute(b"SET CONSTRAINTS ALL DEFERRED", prepare=True)
            for item in batches:
                self._cursor.execute(*item, prepare=True)
            self._cursor.execute(b"COMMIT", prepare=True)

    def _require_guards(self, template: Template) -> None:
        """Refuse a template that a tool could not have written; raises `ConstraintViolation`."""
        for guard in GUARDS:
            rows = template.rows.get(guard.table, ())
            if rows:
                keys = [row[0] for row in rows]
                text = guard_query(guard.table, guard.refuses).encode()
                with self._whole():
                    found = self._cursor.execute(text, (keys,), prepare=True).fetchone()
                if found is not None:
                    self.template = None
                    message = f"a fixture's rows do not fit {guard.table}: {guard.name}"
                    raise ConstraintViolation(message)

    def _clear_remains(self) -> None:
        """Free what removed rows left behind, so that a slot stays as small as it is."""
        tables = [f"{prefix}{name}" for name in TABLES for prefix in ("", BEFORE_PREFIX)]
        with self._whole():
            self._connection.execute(f"VACUUM {', '.join(tables)}".encode())
        self._dead_rows = 0

    @contextmanager
    def _whole(self) -> Generator[None]:
        """Some of our own work that is done whole, or leaves the slot to be refilled."""
        try:
            yield
        except (StoreError, DatabaseUnavailable):
            raise
        except _SERVER_ERRORS as error:
            self._lose(error)
        except BaseException:
            self.abandon()
            raise

    def _revive(self) -> None:
        """Take another slot of the database where the connection was cut in the meantime."""
        if not self._hung_up():
            return
        world, log = self.world, self._log
        self._connection.close()
        self._take_lease()
        if world is not None:
            self.seat(world)
            difference = Difference()
            difference.add("", _NOTHING, _NOTHING, log)
            self._send(difference)
            self._log = log

    def _hung_up(self) -> bool:
        """Whether the server has ended the connection while nothing was asked of it."""
        if self._connection.closed:
            return True
        if not _can_read(self._connection.fileno()):
            return False
        try:
            self._connection.pgconn.consume_input()
        except psycopg.OperationalError:
            return True
        # A setting that was reloaded is told once, the end of the connection for good: but the
        # server says so a moment before it hangs up.
        return _can_read(self._connection.fileno(), FAREWELL_S)


def _can_read(socket: int, timeout_s: float = 0) -> bool:
    """Whether there is something to read, now or within a time."""
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([socket], (), (), timeout_s)[0])
    waiting = select.poll()
    waiting.register(socket, select.POLLIN)
    return bool(waiting.poll(timeout_s * 1_000))


def images_of(template: Template) -> dict[RowKey, Row | None]:
    """A template's rows by table and key."""
    return {
        (name, TABLES[name].key_of(row)): row
        for name, rows in template.rows.items()
        for row in rows
    }


def _as_row(image: dict[str, object] | None) -> Row | None:
    return None if image is None else tuple(image.values())


def _rule_of(error: psycopg.errors.IntegrityError) -> str:
    """What kind of rule a row broke, in SQLite's words."""
    return {
        "23502": "NOT NULL", "23503": "FOREIGN KEY", "23505": "UNIQUE", "23514": "CHECK"
    }.get(error.sqlstate or "", "A")  # fmt: skip
