"""Where recordings came from, what they broke, and both for those that were there before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text

from deskgym.evaluate import EpisodeSpec, run_episode
from deskgym.recording import InvalidRecording, Recording, parse, shipped
from deskgym.rubric.held import BROKEN_MAX, broken_of
from deskgym.runstore import RecordingFilter, RunStore, open_run_store
from deskgym.runstore.address import parse_url
from deskgym.runstore.archive import page_statement
from deskgym.runstore.database import Database
from deskgym.runstore.migrate import migrations
from deskgym.runstore.tables import SCHEMA, broken_checks
from deskgym.runstore.upkeep import check
from deskgym.store import default_engine
from tests.recordings import sealed

TASK = "service/damaged-lamp"


def made(agent: str, task: str = TASK) -> Recording:
    return run_episode(EpisodeSpec(task, agent, 0))


def ids(store: RunStore, **fields: Any) -> set[str]:
    return {item.id for item in store.recordings.list(RecordingFilter(**fields)).items}


def test_own_and_uploaded_recordings_are_told_apart(store: RunStore) -> None:
    own = store.recordings.save(made("oracle"))
    uploaded, new = store.recordings.import_(made("null"))
    assert new
    assert ids(store, origin="own") == {own}
    assert ids(store, origin="uploaded") == {uploaded}
    assert store.recordings.summary(uploaded).origin == "uploaded"
    assert store.recordings.import_(made("oracle")) == (own, False)
    assert store.recordings.summary(own).origin == "own"


def test_recordings_are_found_by_what_they_broke(store: RunStore) -> None:
    whole = store.recordings.save(made("oracle"))
    nothing = store.recordings.save(made("null"))
    ticket = store.recordings.save(made("null", "tickets/easy"))
    named = store.recordings.broken()
    # Not one read, no report and no record changed: what the rubric says of an agent that is idle.
    assert {
        "outcome", "prior evidence", "supported report", "ceiling no_complete_outcome",
        "ceiling nothing_read_or_changed", "replacement: return-open",
    } <= set(named)  # fmt: skip
    assert named == sorted(named)
    for name in named:
        assert ids(store, broken=name) == {nothing}
    assert ids(store, broken="outcome", agent="oracle") == set()
    assert ids(store) == {whole, nothing, ticket}
    store.recordings.delete(nothing)
    assert store.recordings.broken() == []


def test_an_episodes_recording_is_found_by_what_it_broke(store: RunStore) -> None:
    with store.episodes() as episodes:
        id = episodes.create(TASK).id
        episodes.close(id)
    found = store.recordings.list(RecordingFilter(broken="outcome")).items
    assert [item.episode for item in found] == [id]


def test_what_was_not_judged_broke_nothing(store: RunStore) -> None:
    recording = made("null")
    unjudged = sealed(recording, footer={"status": "invalid"})
    store.recordings.import_(unjudged)
    assert store.recordings.broken() == []


@pytest.mark.parametrize(
    "breakdown",
    [
        None, [], "x", 1, {"checks": 1}, {"checks": [1]}, {"checks": [{}]}, {"parts": [None]},
        {"outcomes": [{"name": 1}], "outcome": 1}, {"turns": [{"parts": 1}]}, {"gates": [[]]},
        {"checks": [{"name": "\0" * 9, "holds": 0}]}, {"ceilings": {"name": "x"}},
        {"checks": [{"name": "x" * 5_000 + str(n), "holds": False} for n in range(500)]},
        {"checks": [{"name": f"{n}", "holds": False} for n in range(BROKEN_MAX + 9)]},
        {"checks": [{"name": "é" * 5_000, "holds": False}]},
    ],
)  # fmt: skip
def test_a_breakdown_of_any_shape_is_kept(store: RunStore, breakdown: Any) -> None:
    score = {"reward": 0.0, "verdict": "x" * 9_000, "reasons": [], "breakdown": breakdown}
    recording = sealed(
        made("null"),
        header={"agent": "a\0b" * 9_000, "rubric": "r" * 9_000, "task": "t/" + "é" * 9_000},
        footer={"score": score, "ended": "e\0" * 9_000},
    )
    id, _ = store.recordings.import_(recording)
    assert store.recordings.get(id) == recording
    assert len(store.recordings.broken()) <= BROKEN_MAX
    assert len(store.recordings.summary(id).agent) == 200
    assert ids(store, agent="a\0b" * 9_000) == {id}


def test_a_seed_that_no_database_takes_is_refused(store: RunStore) -> None:
    with pytest.raises(InvalidRecording, match="64 bits"):
        store.recordings.import_(sealed(made("null"), header={"seed": 2**63}))
    assert store.recordings.count() == 0


def test_the_shipped_runs_broke_what_their_scores_say(store: RunStore) -> None:
    lines = shipped("backoffice").read_bytes().splitlines()
    recordings = [parse(line) for line in lines]
    kept = store.recordings.save_many(recordings)
    for id, recording in zip(kept, recordings, strict=True):
        checks = recording.footer.score["breakdown"]["checks"]
        unheld = {item["name"] for item in checks if not item["holds"]}
        assert unheld <= set(broken_of(recording.footer.score))
        for name in unheld:
            assert id in ids(store, broken=name)


def older(url: str) -> Database:
    """A database of the schema before."""
    database = Database(parse_url(url))
    with database.begin() as connection:
        if database.postgres:
            connection.execute(text(f"CREATE SCHEMA {SCHEMA}"))
            connection.execute(text(f"SET LOCAL search_path TO {SCHEMA}"))
        config: Config = migrations()
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        if not database.postgres:
            connection.execute(text("PRAGMA application_id = 0x44534B47"))
    return database


def test_recordings_that_were_there_are_found_as_if_saved_today(fresh: str, tmp_path: Path) -> None:
    with open_run_store(f"sqlite:///{tmp_path}/new.db") as new:
        evaluation = new.evaluations.start("night", {})
        new.recordings.save(made("null"), evaluation=evaluation)
        new.recordings.import_(made("oracle"))
        new.recordings.import_(made("null", "tickets/easy"))
        with new.database.begin() as connection:
            rows = {
                name: connection.execute(text(f"SELECT * FROM {name}")).mappings().all()
                for name in ("evaluations", "recordings", "documents")
            }
        names = new.recordings.broken()
        uploaded = ids(new, origin="uploaded")
        broke = ids(new, broken="outcome")
    database = older(fresh)
    with database.begin() as connection:
        if database.postgres:
            connection.execute(text(f"SET LOCAL search_path TO {SCHEMA}"))
        for name, found in rows.items():
            for row in found:
                fields = {key: value for key, value in row.items() if key != "origin"}
                told = ", ".join(fields)
                values = ", ".join(f":{key}" for key in fields)
                connection.execute(text(f"INSERT INTO {name} ({told}) VALUES ({values})"), fields)
        damaged = {"id": "damaged", "document": orjson.dumps({"footer": []}).decode()}
        source = ", ".join("'damaged'" if key in ("id", "hash") else key for key in fields_of(rows))
        told = ", ".join(fields_of(rows))
        connection.execute(
            text(f"INSERT INTO recordings ({told}) SELECT {source} FROM recordings LIMIT 1")
        )
        connection.execute(text("INSERT INTO documents VALUES (:id, :document)"), damaged)
    database.close()
    with open_run_store(fresh, engine=default_engine()) as store:
        assert store.recordings.broken() == names != []
        assert ids(store, origin="uploaded") - {"damaged"} == uploaded
        assert ids(store, broken="outcome") == broke
        assert all("damaged" in problem for problem in check(store.database).problems)


def fields_of(rows: Any) -> list[str]:
    return [key for key in rows["recordings"][0] if key != "origin"]


def test_ten_thousand_broken_checks_are_searched_by_an_index(tmp_path: Path) -> None:
    with open_run_store(f"sqlite:///{tmp_path}/runs.db") as store:
        id = store.recordings.save(made("null"))
        with store.database.begin() as connection:
            connection.execute(
                broken_checks.insert(),
                [{"recording": id, "name": f"check {n}"} for n in range(10_000)],
            )
        with store.database.read() as connection:
            statement = page_statement(RecordingFilter(broken="check 7"), "newest", 50, None)
            shown = statement.compile(
                dialect=connection.dialect, compile_kwargs={"literal_binds": True}
            )
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {shown}").all()
        plan = "\n".join(row[3] for row in rows)
        assert "SEARCH broken_checks USING" in plan, plan
