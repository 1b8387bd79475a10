"""What goes wrong with a server is said clearly, and the episode goes on where it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
import pytest

import deskgym
from deskgym import call as action
from deskgym.errors import DatabaseUnavailable, InvalidDatabase, MissingExtra
from deskgym.store import Base, Template, World, default_engine, is_postgres, open_engine
from deskgym.store.postgres import connection as connections
from deskgym.store.postgres import engine as engines
from deskgym.store.postgres.engine import PostgresEngine
from deskgym.store.postgres.slot import PostgresSlot
from tests.store.shop import SHOP
from tests.store.test_world import SELL, STOCK, call

TEMPLATE = Template(SHOP)
OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture
def engine(own_database: str) -> Iterator[PostgresEngine]:
    engine = PostgresEngine(own_database, slots_max=2)
    yield engine
    engine.close()


def cut(url: str) -> None:
    """End every connection to the database, and wait until they are gone."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(OTHERS)
        while connection.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchall():
            pass


class TestALostConnection:
    def test_one_that_was_cut_between_two_steps_is_replaced_unnoticed(
        self, engine: PostgresEngine, own_database: str
    ):
        world = engine.open(TEMPLATE)
        call(world, SELL)
        world.append([("env_listed", (1, "V1"))])
        world.settle()
        cut(own_database)
        call(world, SELL)
        assert world.rows(STOCK) == [(3,)]
        assert world.rows("SELECT * FROM env_listed") == [(1, "V1")]
        cut(own_database)
        world.append([("env_listed", (2, "V1"))])
        world.settle()
        assert world.rows("SELECT * FROM env_listed ORDER BY step") == [(1, "V1"), (2, "V1")]

    def test_one_that_is_cut_in_a_call_undoes_the_call_and_no_other(
        self, engine: PostgresEngine, own_database: str
    ):
        world = engine.open(TEMPLATE)
        call(world, SELL)

        def work() -> None:
            world.rows(SELL)
            cut(own_database)
            world.rows(SELL)

        with pytest.raises(DatabaseUnavailable, match="did not happen"):
            world.atomic(work)
        assert world.rows(STOCK) == [(4,)]
        call(world, SELL)
        assert world.rows(STOCK) == [(3,)]

    def test_one_that_is_cut_before_the_call_is_kept_undoes_it_too(
        self, engine: PostgresEngine, own_database: str
    ):
        world = engine.open(TEMPLATE)

        def work() -> None:
            world.rows(SELL)
            cut(own_database)

        with pytest.raises(DatabaseUnavailable):
            world.atomic(work)
        assert world.changes() == ()
        assert world.rows(STOCK) == [(5,)]

    def test_a_step_that_it_interrupts_is_not_recorded_and_can_be_taken_again(
        self, engine: PostgresEngine, own_database: str, monkeypatch: pytest.MonkeyPatch
    ):
        environment = deskgym.make("service/damaged-lamp", engine=engine)
        environment.reset(0)
        assert environment.step(action("get_order", order_id="S-410")).ok
        rows = PostgresSlot.rows

        def cut_first(slot: PostgresSlot, sql: str, bindings: object) -> object:
            monkeypatch.setattr(PostgresSlot, "rows", rows)
            cut(own_database)
            return rows(slot, sql, bindings)  # type: ignore[arg-type]

        monkeypatch.setattr(PostgresSlot, "rows", cut_first)
        again = action("list_order_payments", order_id="S-410")
        with pytest.raises(DatabaseUnavailable):
            environment.step(again)
        assert len(environment.steps) == 1
        assert environment.bugs == []
        assert environment.step(again).code == "payments_found"
        assert [step.number for step in environment.steps] == [1, 2]

    def test_a_score_that_it_interrupts_can_be_asked_for_again(
        self, engine: PostgresEngine, own_database: str, monkeypatch: pytest.MonkeyPatch
    ):
        environment = deskgym.make("service/damaged-lamp", engine=engine)
        environment.reset(0)
        environment.step(action("get_order", order_id="S-410"))
        expected = environment.score()
        settle = World.settle

        def cut_after(world: World) -> None:
            settle(world)
            cut(own_database)

        monkeypatch.setattr(World, "settle", cut_after)
        with pytest.raises(DatabaseUnavailable):
            environment.score()
        monkeypatch.setattr(World, "settle", settle)
        assert environment.score() == expected

    def test_an_interrupted_statement_gives_the_slot_up_and_keeps_the_world(
        self, engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
    ):
        world = engine.open(TEMPLATE)
        call(world, SELL)

        def interrupted(sql: object) -> None:
            raise KeyboardInterrupt

        def work() -> None:
            world.rows(SELL)
            slot = world.seat()
            assert isinstance(slot, PostgresSlot)
            monkeypatch.setattr(slot._connection, "execute", interrupted)

        with pytest.raises(KeyboardInterrupt):
            world.atomic(work)
        assert world.rows(STOCK) == [(4,)]


@contextmanager
def role(server: str, attributes: str) -> Iterator[str]:
    """A user of the server with a name of its own."""
    name = f"user_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN {attributes}".encode())
        try:
            yield name
        finally:
            connection.execute(f"DROP ROLE {name}".encode())


class TestAServerThatCannotServe:
    def test_one_without_connections_left_is_said_to_be_full(self, own_database: str):
        with role(own_database, "CONNECTION LIMIT 0") as name:
            url = own_database.replace("postgres:@", f"{name}:@")
            with pytest.raises(DatabaseUnavailable, match="no connection left"):
                PostgresEngine(url)

    def test_worlds_take_turns_in_the_connections_that_there_are(self, own_database: str):
        with (
            psycopg.connect(own_database, autocommit=True) as connection,
            role(own_database, "CONNECTION LIMIT 2") as name,
        ):
            granted = f"GRANT CREATE ON DATABASE {connection.info.dbname} TO {name}"
            connection.execute(granted.encode())
            engine = PostgresEngine(own_database.replace("postgres:@", f"{name}:@"))
            worlds = [engine.open(TEMPLATE) for _ in range(5)]
            for _ in range(2):
                for world in worlds:
                    call(world, SELL)
            assert [world.rows(STOCK) for world in worlds] == [[(3,)]] * 5
            engine.close()
            connection.execute(f"DROP OWNED BY {name} CASCADE".encode())

    def test_one_that_lets_us_make_nothing_says_which_grant_is_missing(self, own_database: str):
        with role(own_database, "") as name:
            engine = PostgresEngine(own_database.replace("postgres:@", f"{name}:@"))
            with pytest.raises(InvalidDatabase, match="GRANT CREATE ON DATABASE"):
                engine.open(TEMPLATE).rows(STOCK)

    def test_a_read_only_one_is_refused(self, own_database: str):
        with psycopg.connect(own_database, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(
                f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode()
            )
        with pytest.raises(InvalidDatabase, match="read-only"):
            PostgresEngine(own_database)

    def test_one_that_turns_read_only_ends_no_episode(
        self, engine: PostgresEngine, own_database: str
    ):
        world = engine.open(TEMPLATE)
        call(world, SELL)
        slot = world.seat()
        assert isinstance(slot, PostgresSlot)
        slot._connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(DatabaseUnavailable, match="read-only"):
            call(world, SELL)
        call(world, SELL)
        assert world.rows(STOCK) == [(3,)]

    def test_a_too_old_one_is_refused(self, own_database: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(connections, "VERSION_MIN", 99)
        with pytest.raises(InvalidDatabase, match=r"is PostgreSQL \d+; worlds need 99 or newer"):
            PostgresEngine(own_database)

    def test_one_that_is_not_encoded_in_utf_8_is_refused(self, postgres_server: str):
        name = f"latin_{uuid4().hex[:12]}"
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(
                f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'".encode()
            )
            try:
                with pytest.raises(InvalidDatabase, match="UTF-8"):
                    PostgresEngine(postgres_server.replace("/postgres?", f"/{name}?"))
            finally:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


class TestWrongUrls:
    def test_a_server_that_is_not_there_cannot_be_reached(self):
        with pytest.raises(DatabaseUnavailable, match=r"127\.0\.0\.1:1/x cannot be reached"):
            open_engine("postgresql://somebody:secret@127.0.0.1:1/x")

    def test_an_error_does_not_show_the_password(self, own_database: str):
        for url in ("postgresql://u:secret@127.0.0.1:1/x", "postgresql://u:secret@127.0.0.1:no/x"):
            with pytest.raises(deskgym.DeskgymError) as caught:
                open_engine(url)
            assert "secret" not in str(caught.value)
            assert "***" in str(caught.value)

    def test_a_database_that_does_not_exist_is_named(self, postgres_server: str):
        with pytest.raises(InvalidDatabase, match='"nowhere" does not exist'):
            open_engine(postgres_server.replace("/postgres?", "/nowhere?"))

    @pytest.mark.parametrize("url", ["mysql://x", "file.db", "", "postgresql", "embedded2"])
    def test_what_names_no_database_is_told_from_what_does(self, url: str):
        assert not is_postgres(url)
        with pytest.raises(InvalidDatabase, match="embedded"):
            open_engine(url)

    def test_an_option_that_the_driver_does_not_know_is_named(self):
        with pytest.raises(InvalidDatabase, match="colour"):
            open_engine("postgresql://x@127.0.0.1/x?colour=red")

    @pytest.mark.parametrize("url", [None, "sqlite:", "sqlite:///a.db"])
    def test_worlds_of_a_file_are_those_of_this_process(self, url: str | None):
        assert not is_postgres(url)
        assert open_engine(url) is default_engine()

    def test_every_spelling_of_a_server_is_one(self, own_database: str):
        for scheme in ("postgres://", "postgresql://", "postgresql+psycopg://"):
            engine = open_engine(own_database.replace("postgresql://", scheme))
            assert isinstance(engine, PostgresEngine)


class TestAMissingExtra:
    def test_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch):
        for name in [name for name in sys.modules if name.startswith("deskgym.store.postgres.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(MissingExtra, match=r"pip install 'deskgym\[postgres\]'"):
            open_engine("postgresql://x@127.0.0.1/x")

    def test_deskgym_needs_no_driver_until_a_server_is_named(self):
        code = "import sys, deskgym.store; sys.exit('psycopg' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_connection_that_is_refused_lowers_the_number_of_slots_once(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
):
    tried: list[str] = []

    class Refused:
        def __init__(self, url: str, base: Base) -> None:
            tried.append(url)
            raise DatabaseUnavailable("full")

    worlds = [engine.open(TEMPLATE) for _ in range(3)]
    call(worlds[0], SELL)
    monkeypatch.setattr(engines, "Lease", Refused)
    for world in worlds:
        call(world, SELL)
    assert len(tried) == 1
    assert worlds[0].rows(STOCK) == [(3,)]
