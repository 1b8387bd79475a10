"""The library, comparisons and evaluation runs in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from playwright.sync_api import Page, expect

from deskgym.evaluate import EpisodeSpec, run_episode, run_episodes
from tests.web.browser import NARROW, Watch, assert_accessible
from tests.web.conftest import NewPage, Site
from tests.web.planted import document_of

SPECS = [
    EpisodeSpec(f"backoffice/{task}", agent, seed)
    for agent in ("careful", "eager")
    for task in ("late-return", "damaged-item")
    for seed in (1, 2)
]


@pytest.fixture(scope="module")
def evaluation(site: Site) -> Iterator[str]:
    """An evaluation run of two agents, of whom one breaks checks."""
    store = site.store
    id = store.evaluations.start("careful against eager", {})
    store.recordings.save_many(run_episodes(SPECS), evaluation=id)
    store.evaluations.end(id)
    yield id
    store.evaluations.delete(id)


def rows(page: Page) -> int:
    return page.locator("table.listing tbody tr").count()


def test_a_filter_narrows_the_list_at_once_and_stays_in_the_address(
    page: Page, evaluation: str
) -> None:
    page.goto("/recordings?from=own&task=backoffice/late-return")
    before = rows(page)
    assert before >= 4
    page.get_by_label("Agent").fill("eager")
    page.get_by_label("Agent").press("Tab")
    expect(page.locator("table.listing tbody tr")).to_have_count(2)
    assert "agent=eager" in page.url
    assert "verdict=" not in page.url, "what is empty is not in the address"
    expect(page.get_by_label("Broken check")).to_be_focused()
    page.reload()
    assert rows(page) == 2
    page.get_by_role("link", name="Clear").click()
    assert rows(page) > before


def test_two_runs_are_chosen_and_compared_by_keyboard_alone(page: Page, evaluation: str) -> None:
    page.goto("/recordings?from=own&task=backoffice/late-return&sort=oldest")
    boxes = page.get_by_role("checkbox")
    for place in (0, 2):
        boxes.nth(place).focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Compare").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Where two runs part")
    expect(page.locator("#parting")).to_contain_text("They part at step")
    folded = page.locator("details.before")
    if folded.count():
        assert not folded.evaluate("item => item.open")
    page.get_by_role("link", name="Swap sides").click()
    expect(page.locator("#parting")).to_contain_text("They part at step")


@pytest.mark.long
def test_a_file_is_brought_refused_where_it_was_edited_and_then_deleted(
    page: Page, watch: Watch, tmp_path: Path
) -> None:
    recording = run_episode(EpisodeSpec("service/parcel-moving", "oracle", 11))
    page.goto("/recordings?from=uploaded")
    document = document_of(recording)
    document["steps"][1]["result"]["message"] = "I was edited"

    edited = tmp_path / "edited.json"
    edited.write_bytes(orjson.dumps(document))
    page.get_by_label("Add recordings from a file").set_input_files(edited)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("alert")).to_contain_text("1 of 1 refused")
    expect(page.get_by_text("edited.json was changed at step 2")).to_be_visible()
    watch.expect("422")
    assert_accessible(page)

    good = tmp_path / "good.json"
    good.write_bytes(recording.to_json())
    page.goto("/recordings?from=uploaded")
    page.get_by_label("Add recordings from a file").set_input_files(good)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("parcel-moving")
    page.get_by_role("button", name="Replay it now").click()
    expect(page.get_by_text("It replays exactly")).to_be_visible()
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete this recording?")
    assert_accessible(page)
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("status")).to_contain_text("deleted")


@pytest.mark.long
def test_a_file_that_is_too_large_is_answered_with_a_page(
    page: Page, watch: Watch, tmp_path: Path
) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    page.goto("/recordings?from=uploaded")
    page.get_by_label("Add recordings from a file").set_input_files(huge)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The body is too large")
    watch.expect("413")


@pytest.mark.long
@pytest.mark.parametrize(
    "path",
    [
        "/recordings?from=shipped&sort=lowest&task=backoffice/late-return",
        "/recordings?from=own&agent=eager",
        "/recordings?from=uploaded",
        "/compare?a=shipped/backoffice/1&b=shipped/backoffice/25",
        "/compare?a=shipped/backoffice/1",
        "/evaluations",
        "/evaluations/{evaluation}",
    ],
)
def test_pages_are_accessible_in_every_look(page: Page, evaluation: str, path: str) -> None:
    page.goto(path.replace("{evaluation}", evaluation))
    assert_accessible(page)


@pytest.mark.long
def test_pages_read_and_forms_work_without_scripts_on_a_phone(
    new_page: NewPage, evaluation: str
) -> None:
    page = new_page(scripts=False, width=NARROW)
    page.goto("/recordings?from=own")
    page.get_by_label("Broken check").select_option("only-task-rows-changed")
    page.get_by_label("Task").select_option("backoffice/late-return")
    page.get_by_role("button", name="Show").click()
    assert 0 < rows(page) <= 2
    page.locator("table.listing tbody a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("late-return")
    page.goto(f"/evaluations/{evaluation}")
    expect(page.get_by_role("img", name="Mean reward of each agent")).to_be_visible()
    page.locator("table.listing tbody a").first.click()
    page.get_by_role("link", name="Its evaluation run").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("careful against eager")
