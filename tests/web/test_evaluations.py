"""Evaluation runs: the report of the command, on a page."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from deskgym.evaluate import EpisodeSpec, read_results, run_episodes
from deskgym.evaluate.report import report_on
from deskgym.evaluate.text import sections
from deskgym.runstore import RunStore
from deskgym.web.evaluations import with_trials
from tests.serve.inside import Inside
from tests.web.page import Reading

SPECS = [
    EpisodeSpec(f"backoffice/{task}", agent, seed)
    for agent in ("careful", "eager")
    for task in ("late-return", "damaged-item")
    for seed in (1, 2)
]


@pytest.fixture
def run(inside: Inside) -> str:
    store: RunStore = inside.service.store
    id = store.evaluations.start("<b>night</b>\u202e", {"tasks": ["backoffice"]})
    store.recordings.save_many(run_episodes(SPECS), evaluation=id)
    store.evaluations.end(id)
    return id


@pytest.fixture
def reading(inside: Inside, run: str) -> Reading:
    answer = inside.get(f"/evaluations/{run}")
    assert answer.status_code == 200, answer.text
    return Reading(answer.text)


def test_the_report_has_the_tables_and_figures_of_the_command(
    reading: Reading, tmp_path: Path
) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_bytes(b"".join(run.to_json() + b"\n" for run in run_episodes(SPECS)))
    expected = sections(report_on(read_results(file)))
    assert [section.title for section in expected][:3] == ["Rewards", "pass^k", "Tasks"]
    for section in expected:
        assert section.title in reading.text
        for row in section.rows:
            assert " ".join(row) in reading.text


def test_charts_are_there_without_style_and_episodes_are_linked(
    inside: Inside, run: str, reading: Reading
) -> None:
    assert "svg" in reading.tags
    assert "style" not in reading.attributes | reading.tags
    episodes = [link for link in reading.links if link.startswith("/recordings/")]
    assert len(episodes) == len(SPECS)
    page = inside.get(episodes[0])
    assert f"/evaluations/{run}" in Reading(page.text).links


def test_runs_are_listed_the_latest_first(inside: Inside, run: str) -> None:
    store = inside.service.store.evaluations
    second = store.start("second", {})
    links = [
        link
        for link in Reading(inside.get("/evaluations").text).links
        if link.startswith("/evaluations/")
    ]
    assert links == [f"/evaluations/{second}", f"/evaluations/{run}"]
    text = Reading(inside.get("/evaluations").text).text
    assert "<b>night</b>" in text
    assert "running" in text
    empty = inside.get(f"/evaluations/{second}")
    assert "No episode has ended yet" in Reading(empty.text).text


def test_a_run_that_goes_on_has_what_ended_so_far(inside: Inside) -> None:
    store = inside.service.store
    id = store.evaluations.start("going on", {})
    made = list(run_episodes(SPECS[:2]))
    for count, recording in enumerate(made, start=1):
        store.recordings.save(recording, evaluation=id)
        text = Reading(inside.get(f"/evaluations/{id}").text).text
        assert f"careful backoffice-reward.v1 1.0000 none {count} of {count}" in text.replace(
            "[1.0000, 1.0000]", "none"
        )
    assert "so far" in text


def test_an_episode_that_was_repeated_counts_as_trials(inside: Inside) -> None:
    store = inside.service.store
    id = store.evaluations.start("trials", {})
    [recording] = run_episodes(SPECS[:1])
    store.recordings.save_many([recording] * 3, evaluation=id)
    text = Reading(inside.get(f"/evaluations/{id}").text).text
    assert "There is no report" not in text
    assert "3 of 3 (100%)" in text
    assert "trials of an episode" in text
    assert with_trials([]) == []


def test_a_recording_that_was_changed_in_the_database_is_named(inside: Inside, run: str) -> None:
    from deskgym.runstore.tables import documents

    with inside.service.store.database.begin() as connection:
        row = connection.execute(documents.select()).mappings().first()
        assert row is not None
        document = orjson.loads(row["document"])
        document["footer"]["score"]["reward"] = 0.5
        connection.execute(
            documents.update()
            .where(documents.c.recording == row["recording"])
            .values(document=orjson.dumps(document).decode())
        )
    text = Reading(inside.get(f"/evaluations/{run}").text).text
    assert f"There is no report: the recording {row['recording']} was changed" in text


def test_a_run_is_deleted_with_its_recordings(inside: Inside, run: str) -> None:
    asked = Reading(inside.get(f"/evaluations/{run}/delete").text).text
    assert "with its 8 recordings" in asked
    done = inside.post(f"/evaluations/{run}/delete")
    assert done.status_code == 303
    assert inside.service.store.recordings.count() == 0
    assert inside.get(f"/evaluations/{run}").status_code == 404
    assert "None yet" in Reading(inside.get("/evaluations").text).text
