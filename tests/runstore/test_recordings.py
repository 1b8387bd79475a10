"""Recordings and evaluation runs in the database: filters, pages, and values that are only data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deskgym.errors import DeskgymError, UnknownName, UsageError
from deskgym.evaluate import EpisodeSpec, run_episode
from deskgym.recording import InvalidRecording, Recording
from deskgym.runstore import EpisodeFilter, Episodes, RecordingFilter, RunStore, open_run_store
from deskgym.runstore.archive import page_statement
from deskgym.runstore.tables import actions, documents, metadata, recordings
from deskgym.runstore.upkeep import check, prune
from deskgym.trajectory import Observation, call
from tests.runstore.store import SOLUTION, TASK, emptied, solved

INJECTIONS = [
    "'; DROP TABLE episodes; --",
    "' OR '1'='1",
    '" OR ""="',
    "x' UNION SELECT token_hash FROM episodes --",
    "%",
    "_",
    "\\",
    "$1",
    ":id",
    "%(id)s",
    "?",
    "a\0b",
    "\ud800",
    "{}",
    "pg_sleep(10)",
    "1; SELECT 1",
]


def made(agent: str, seed: int = 0, task: str = TASK) -> Recording:
    return run_episode(EpisodeSpec(task, agent, seed))


@pytest.fixture
def kept(store: RunStore) -> RunStore:
    """A store with recordings of several agents, seeds and tasks."""
    for seed in range(4):
        store.recordings.save(made("oracle", seed))
        store.recordings.save(made("null", seed))
    store.recordings.save(made("oracle", 0, "tickets/easy"))
    return store


def test_a_recording_comes_back_to_the_byte(store: RunStore) -> None:
    recording = made("oracle")
    id = store.recordings.save(recording)
    assert store.recordings.document(id).encode() == recording.to_json()
    assert store.recordings.get(id) == recording
    summary = store.recordings.summary(id)
    assert (summary.task, summary.reward, summary.steps) == (TASK, 1.0, len(recording.steps))
    assert summary.bytes == len(recording.to_json())


def test_an_equal_recording_is_imported_once(store: RunStore) -> None:
    first, new = store.recordings.import_(made("oracle"))
    assert new
    assert store.recordings.import_(made("oracle")) == (first, False)
    assert store.recordings.import_(made("oracle", 1))[1]


def test_recordings_are_found_by_what_they_are(kept: RunStore) -> None:
    def count(**fields: Any) -> int:
        return kept.recordings.count(RecordingFilter(**fields))

    assert count() == 9
    assert count(suite="service") == 8
    assert count(task="tickets/easy") == count(task="easy") == 1
    assert count(agent="null", seed=2) == 1
    assert count(reward_min=0.5) == 5
    assert count(suite="service", reward_max=0.5) == 4
    assert count(status="reward", verdict="resolved", suite="service") == 4
    assert count(task="service/easy") == 0


@pytest.mark.parametrize("sort", ["newest", "oldest", "highest", "lowest"])
def test_pages_hold_each_recording_once_and_in_order(kept: RunStore, sort: Any) -> None:
    seen = []
    token = None
    while True:
        page = kept.recordings.list(sort=sort, limit=2, page=token)
        seen += page.items
        token = page.next
        if token is None:
            break
    assert len({item.id for item in seen}) == len(seen) == 9
    key = "created_ms" if sort in ("newest", "oldest") else "reward"
    values = [getattr(item, key) for item in seen]
    assert values == sorted(values, reverse=sort in ("newest", "highest"))


@pytest.mark.parametrize("token", ["", "x", "é", "!!!!", "bnVsbA", *INJECTIONS])
def test_what_is_no_page_token_is_refused(kept: RunStore, token: str) -> None:
    for pages in (kept.recordings.list, kept.list_episodes, kept.evaluations.list):
        with pytest.raises(UsageError, match="page token"):
            pages(page=token)


def test_a_token_of_another_order_is_refused(kept: RunStore) -> None:
    token = kept.recordings.list(limit=1, sort="highest").next
    with pytest.raises(UsageError, match="page token"):
        kept.recordings.list(limit=1, sort="newest", page=token)
    with pytest.raises(UsageError, match="1 to 1000"):
        kept.recordings.list(limit=0)
    with pytest.raises(UnknownName):
        kept.recordings.list(sort="reward; --")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", INJECTIONS)
def test_text_in_any_filter_or_id_is_only_data(
    kept: RunStore, episodes: Episodes, text: str
) -> None:
    made = episodes.create(TASK, agent=text.replace("\0", "").replace("\ud800", ""))
    for name in ("suite", "task", "agent", "rubric", "status", "verdict", "evaluation", "episode",
                 "hash"):  # fmt: skip
        assert kept.recordings.count(RecordingFilter(**{name: text})) == 0  # type: ignore[arg-type]
    for name in ("status", "suite", "task", "holder"):
        assert kept.list_episodes(EpisodeFilter(**{name: text})).items == ()
    for ask in (kept.recordings.get, kept.recordings.summary, kept.recordings.delete,
                kept.evaluations.get, kept.evaluations.delete, kept.evaluations.end):  # fmt: skip
        with pytest.raises(UnknownName):
            ask(text)
    for action in (
        call(text),
        call("get_order", order_id=text),
        call("get_order", **{"x" + text: text}),
        call("issue_refund", order_id="S-410", payment_id=text, amount_cents=1, reason=text),
    ):
        assert isinstance(episodes.step(made.id, action), Observation)
    assert kept.recordings.count() == 9
    with kept.episodes() as other:
        assert other.observe(made.id) == episodes.observe(made.id)


def test_text_that_no_database_takes_is_refused_or_replaced(episodes: Episodes) -> None:
    for text in ("a\0b", "\ud800"):
        id = episodes.create(TASK, agent=text, holder=text).id
        assert episodes.state(id).agent not in ("", text)


def test_ten_thousand_recordings_are_paged_by_their_indexes(tmp_path: Path) -> None:
    with open_run_store(f"sqlite:///{tmp_path}/runs.db") as store:
        store.recordings.save(made("oracle"))
        with store.database.begin() as connection:
            row = connection.execute(recordings.select()).mappings().one()
            connection.execute(
                recordings.insert(),
                [
                    {**row, "id": f"r{n:05}", "agent": f"agent-{n % 10}", "created_ms": n}
                    for n in range(10_000)
                ],
            )
        for which, sort in (
            (RecordingFilter(agent="agent-3"), "newest"),
            (RecordingFilter(suite="service", task=TASK), "newest"),
            (RecordingFilter(), "highest"),
            (RecordingFilter(), "newest"),
        ):
            plan = _plan(store, which, sort)
            assert "USING INDEX" in plan, plan
            assert "TEMP B-TREE FOR ORDER BY" not in plan.replace("LAST TERM OF ", ""), plan


def _plan(store: RunStore, which: RecordingFilter, sort: Any) -> str:
    """How the database looks for a page, in its own words."""
    with store.database.read() as connection:
        text = page_statement(which, sort, 50, None).compile(
            dialect=connection.dialect, compile_kwargs={"literal_binds": True}
        )
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}").all()
    return "\n".join(row[3] for row in rows)


def test_an_evaluation_run_has_its_recordings(store: RunStore) -> None:
    run = store.evaluations.start("night", {"task": TASK})
    assert store.evaluations.get(run).status == "running"
    store.recordings.save_many([made("oracle", seed) for seed in range(3)], evaluation=run)
    store.recordings.save(made("null"))
    store.evaluations.end(run, {"mean": 1.0})
    found = store.evaluations.get(run)
    assert (found.status, found.summary, found.recordings) == ("finished", {"mean": 1.0}, 3)
    assert [item.id for item in store.evaluations.list().items] == [run]
    each = list(store.recordings.each(RecordingFilter(evaluation=run)))
    assert [recording.header.seed for _, recording in each] == [0, 1, 2]
    store.evaluations.delete(run)
    assert store.recordings.count() == 1


def test_a_check_counts_what_is_there_and_finds_nothing_wrong(
    kept: RunStore, episodes: Episodes
) -> None:
    solved(episodes)
    episodes.close(solved(episodes))
    found = check(kept.database)
    assert found.holds
    assert found.rows == {"episodes": 2, "actions": 10, "scores": 1, "recordings": 10,
                          "documents": 10, "broken_checks": 24, "evaluations": 0}  # fmt: skip
    assert found.live == 1
    assert found.bytes > 0


def test_a_check_finds_changed_missing_and_forged_rows(store: RunStore, episodes: Episodes) -> None:
    changed, missing, shortened = (solved(episodes) for _ in range(3))
    episodes.close(shortened)
    whole = store.recordings.document(store.recordings.list().items[0].id)
    with store.database.begin() as connection:
        connection.execute(
            actions.update()
            .where(actions.c.episode == changed, actions.c.number == 4)
            .values(result="{}")
        )
        connection.execute(
            actions.delete().where(actions.c.episode == missing, actions.c.number == 2)
        )
        connection.execute(
            actions.delete().where(actions.c.episode == shortened, actions.c.number == 5)
        )
        connection.execute(documents.update().values(document=whole.replace("PAY-B", "PAY-A", 1)))
    found = check(store.database)
    assert not found.holds
    text = "\n".join(found.problems)
    assert f"step 4 of the episode {changed} was changed" in text
    assert f"step 2 of the episode {missing} is missing" in text
    assert f"{shortened} ended after 5 steps, and 4 are stored" in text
    assert "was changed at" in text
    assert found.problems_found == 4
    with pytest.raises(InvalidRecording):
        episodes.recording(shortened)


def test_pruning_deletes_what_ended_and_keeps_what_is_live_or_new(store: RunStore) -> None:
    now = [1_000.0]
    timed = RunStore(store.database, clock=lambda: now[0])
    with timed.episodes() as episodes:
        live, old, late = (solved(episodes) for _ in range(3))
        episodes.close(old)
        run = timed.evaluations.start("old", {})
        timed.recordings.save(made("oracle"), evaluation=run)
        timed.evaluations.end(run)
        now[0] += 100
        episodes.close(late)
        would = prune(store.database, 1_050_000, dry_run=True)
        assert (would.episodes, would.recordings, would.evaluations) == (1, 2, 1)
        assert check(store.database).rows["episodes"] == 3
        gone = prune(store.database, 1_050_000)
        assert (gone.episodes, gone.recordings, gone.evaluations) == (1, 2, 1)
        assert {item.id for item in timed.list_episodes().items} == {live, late}
        assert episodes.step(live, call("get_order", order_id="S-410")).ok
        assert episodes.recording(late).reward == 1.0
        kept = prune(store.database, 2_000_000, keep_recordings=True)
        assert (kept.episodes, kept.recordings) == (1, 0)
    assert check(store.database).holds


def test_ended_episodes_leave_nothing_behind_when_pruned(url: str) -> None:
    with emptied(url) as store, store.episodes() as episodes:
        for _ in range(2):
            ids = [solved(episodes) for _ in range(8)]
            for id in ids:
                episodes.close(id)
            prune(store.database, 2**50)
            sizes = check(store.database)
            assert set(sizes.rows.values()) == {0}
        assert episodes.in_memory() == 0
        assert sizes.bytes < 2 * 2**20
        assert {table.name for table in metadata.sorted_tables} == set(sizes.rows)


def test_worlds_in_postgres_give_the_same_episode(own_database: str) -> None:
    with emptied(own_database) as store, open_run_store(own_database) as server:
        with server.episodes() as there, store.episodes() as here:
            one, two = solved(there), solved(here)
            assert here.observe(one).to_json() == there.observe(two).to_json()
            assert there.score(two).to_dict() == here.score(one).to_dict()
            closed = there.close(two), here.close(one)
        assert closed[0].digest == closed[1].digest
        assert closed[0].reward == 1.0
        assert len(SOLUTION) == closed[0].steps


def test_an_error_of_the_store_is_in_the_tree_of_errors() -> None:
    from deskgym import errors

    for name in ("UnknownEpisode", "EpisodeClosed", "StepConflict", "TooManyEpisodes",
                 "DatabaseDamaged", "DatabaseUnavailable", "InvalidDatabase"):  # fmt: skip
        assert issubclass(getattr(errors, name), DeskgymError)
        assert name in (errors.__doc__ or "")
