"""The run store's database: connections, transactions, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.sql import ClauseElement

from deskgym.errors import InvalidDatabase
from deskgym.runstore.address import shown
from deskgym.runstore.failure import driver_errors, failure_of
from deskgym.runstore.tables import SCHEMA

T = TypeVar("T")
Driver = Any
"""A driver's own connection, which runs a statement in a tenth of the time of Core's."""
Values = Mapping[str, object]

BUSY_TIMEOUT_S: Final = 20.0
"""How long a writer waits for another process's transaction on a SQLite file."""
POOL_TIMEOUT_S: Final = 10.0
CONNECT_TIMEOUT_S: Final = 10
CONNECTIONS_MAX: Final = 16
_WRITES: Final = "deskgym_writes"


class Database:
    """Connections to one database.

    Attributes:
        where: the URL for people, without its password.
        postgres: whether it is a PostgreSQL server; a SQLite file otherwise.
    """

    def __init__(
        self,
        url: URL,
        *,
        connections_max: int = CONNECTIONS_MAX,
        pool_timeout_s: float = POOL_TIMEOUT_S,
    ) -> None:
        """Nothing is connected before the first statement.

        Args:
            url: from `parse_url`.
            connections_max: how many connections to a server are open at once.
            pool_timeout_s: how long to wait for a free one.
        """
        self.where: Final = shown(url)
        self.postgres: Final = url.get_backend_name() == "postgresql"
        self._errors: Final = driver_errors()
        self._lock: Final = RLock()
        self._texts: Final[dict[ClauseElement, str]] = {}
        if self.postgres:
            engine = _postgres_engine(url, connections_max, pool_timeout_s)
            reading = writing = engine.execution_options(
                isolation_level="READ COMMITTED", schema_translate_map={None: SCHEMA}
            )
        else:
            engine = reading = _sqlite_engine(url)
            writing = engine.execution_options(**{_WRITES: True})
        self._engine: Final = engine
        self._reading: Final = reading
        self._writing: Final = writing
        self._held: Any = None

    @property
    def file(self) -> Path | None:
        """The SQLite file, or None for a server."""
        return None if self.postgres else Path(str(self._engine.url.database))

    @contextmanager
    def begin(self) -> Generator[Connection]:
        """A transaction through SQLAlchemy Core; on a SQLite file it takes the write lock."""
        with self._translated(), self._writing.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Generator[Connection]:
        """A transaction that only reads; on a SQLite file it takes no lock from writers."""
        with self._translated(), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def connect(self) -> Generator[Connection]:
        """A connection that is not in a transaction, for what cannot run in one."""
        with self._translated(), self._engine.connect() as connection:
            yield connection

    def run(self, work: Callable[[Driver], T]) -> T:
        """Run `work` with a driver's connection, each statement a transaction of its own.

        `work` must be safe to repeat: it is run again, once, where the connection was lost.

        Raises:
            InvalidDatabase: the database cannot serve; nothing of the last statement is certain.
        """
        try:
            return self._run(work)
        except self._errors as error:
            failure = failure_of(error, self.where)
            if failure is None:
                raise
            if not failure.lost:
                raise failure.error from error
        # The server may have restarted: then every pooled connection is as dead as this one.
        self._engine.dispose()
        with self._translated():
            return self._run(work)

    def transaction(self, work: Callable[[Driver], T]) -> T:
        """As `run`, with all statements of `work` in one transaction."""

        def whole(driver: Driver) -> T:
            with self._within(driver):
                return work(driver)

        return self.run(whole)

    def text(self, statement: ClauseElement) -> str:
        """A Core statement as the driver takes it, with its parameters by name."""
        text = self._texts.get(statement)
        if text is None:
            options: dict[str, Any] = (
                {"schema_translate_map": {None: SCHEMA}, "render_schema_translate": True}
                if self.postgres
                else {}
            )
            compiled = statement.compile(self._engine, **options)
            text = self._texts[statement] = str(compiled)
        return text

    def execute(self, driver: Driver, statement: ClauseElement, values: Values) -> Any:
        """Run a statement on a driver's connection; returns its cursor."""
        return driver.execute(self.text(statement), values)

    def execute_each(
        self, driver: Driver, statement: ClauseElement, rows: Sequence[Values]
    ) -> list[int]:
        """Run a statement for each row; how many rows each touched."""
        text = self.text(statement)
        if not self.postgres or len(rows) <= 1:
            return [driver.execute(text, values).rowcount for values in rows]
        if not rows:
            return []
        # One round trip for all of them.
        with driver.pipeline():
            cursors = [driver.execute(text, values) for values in rows]
        return [cursor.rowcount for cursor in cursors]

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            if self._held is not None:
                self._held.close()
                self._held = None
        self._engine.dispose()

    def _run(self, work: Callable[[Driver], T]) -> T:
        if self.postgres:
            pooled = self._engine.raw_connection()
            try:
                return work(pooled.driver_connection)
            except self._errors:
                pooled.invalidate()
                raise
            finally:
                pooled.close()
        # SQLite has one writer at a time, so that one connection serves every thread.
        with self._lock:
            if self._held is None:
                self._held = self._engine.raw_connection()
            return work(self._held.driver_connection)

    @contextmanager
    def _within(self, driver: Driver) -> Generator[None]:
        if self.postgres:
            with driver.transaction():
                yield
            return
        driver.execute("BEGIN IMMEDIATE")
        try:
            yield
            driver.execute("COMMIT")
        except BaseException:
            # SQLite has ended some by itself; a commit that found no space left it open.
            if driver.in_transaction:
                driver.execute("ROLLBACK")
            raise

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except self._errors as error:
            failure = failure_of(error, self.where)
            if failure is None:
                raise
            raise failure.error from error


def _postgres_engine(url: URL, connections_max: int, pool_timeout_s: float) -> Engine:
    arguments: dict[str, Any] = {"application_name": "deskgym"}
    if "connect_timeout" not in url.query:
        arguments["connect_timeout"] = CONNECT_TIMEOUT_S
    return create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        pool_size=connections_max,
        max_overflow=0,
        pool_timeout=pool_timeout_s,
        connect_args=arguments,
    )


def _sqlite_engine(url: URL) -> Engine:
    synchronous = str(url.query.get("synchronous", "normal")).upper()
    assert synchronous in ("NORMAL", "FULL"), "a parsed URL has no other"
    file = Path(str(url.database)).expanduser()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidDatabase(f"{file.parent} cannot be made: {error.strerror}") from error
    engine = create_engine(
        make_url("sqlite://").set(database=str(file)),
        paramstyle="named",
        connect_args={
            # The driver opens no transaction by itself; ours say when they take the write lock.
            "isolation_level": None,
            "check_same_thread": False,
            "timeout": BUSY_TIMEOUT_S,
        },
    )

    def prepare(connection: Any, _: object) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")

    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine
