"""Looking at runs in a browser: by mouse, by keyboard alone, and without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from deskgym.environment import Environment
from deskgym.runner import record
from deskgym.suite import load_suite
from deskgym.task import Control, Task
from tests.web.browser import NARROW, WIDE, assert_accessible, look, overflow
from tests.web.conftest import NewPage, Site
from tests.web.page import as_shown
from tests.web.planted import hostile_document, resealed

SERVICE = load_suite("service")
TEN = [(task, control) for task in SERVICE.tasks for control in task.controls][:10]
RUN = "/board/service/damaged-lamp/replace-and-refund"
HEADING = re.compile(r"^(Step \d|The start)")


def heading(page: Page) -> str:
    return page.get_by_role("heading", level=2, name=HEADING).inner_text()


@pytest.mark.parametrize(
    ("task", "control"),
    [
        pytest.param(
            task,
            control,
            marks=[pytest.mark.long] if number > 1 else [],
            id=f"{task.name}-{control.name}",
        )
        for number, (task, control) in enumerate(TEN)
    ],
)
def test_each_of_the_ten_scripts_is_stepped_through_by_keyboard(
    page: Page, task: Task, control: Control
) -> None:
    with Environment(SERVICE, task, parameters=control.parameters) as environment:
        steps = record(environment, control.script, agent="x").steps
    page.goto(f"/board/service/{task.name}/{control.name}")
    now = page.locator(".now .number")
    expect(now).to_have_text(as_shown(control.reward))
    page.keyboard.press("Home")
    expect(page.get_by_role("heading", name="The start")).to_be_visible()
    for step in steps:
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("heading", level=2, name=f"Step {step.step} of")).to_be_visible()
        expect(now).to_have_text(as_shown(step.score["reward"]))
        expect(page.locator(".timeline a[aria-current=step] b")).to_have_text(step.action["tool"])
    page.keyboard.press("ArrowRight")  # there is no further one
    page.keyboard.press("ArrowLeft")
    before = len(steps) - 1
    expect(page.get_by_role("heading", level=2, name=f"Step {before} of")).to_be_visible()
    page.keyboard.press("End")
    expect(now).to_have_text(as_shown(control.reward))


def test_a_step_has_an_address_that_opens_it_again(page: Page) -> None:
    page.goto(RUN)
    page.keyboard.press("Home")
    expect(page.get_by_role("heading", name="The start")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"step=1$"))
    assert "Step 1 of 9" in page.title()
    page.reload()
    assert heading(page) == "Step 1 of 9: get_order"


@pytest.mark.long
def test_only_the_steps_part_of_the_page_is_swapped(page: Page) -> None:
    page.goto(f"{RUN}?step=1")
    page.evaluate("document.querySelector('h1').dataset.planted = 'still here'")
    page.get_by_role("link", name="issue_refund").click()
    expect(page.get_by_role("heading", name="Step 8 of 9")).to_be_visible()
    assert page.locator("h1").get_attribute("data-planted") == "still here"
    expect(page.locator("#announce")).to_have_text("Step 8 of 9: issue_refund, done, reward -0.40")


@pytest.mark.long
def test_the_list_keeps_the_focus_and_follows_up_and_down(page: Page) -> None:
    page.goto(f"{RUN}?step=1")
    page.locator("#step-1").focus()
    for key, number in (("ArrowDown", 2), ("ArrowDown", 3), ("ArrowUp", 2), ("End", 9)):
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=f"Step {number} of 9")).to_be_visible()
        expect(page.locator(f"#step-{number}")).to_be_focused()


@pytest.mark.long
def test_a_button_that_is_pressed_keeps_the_focus(page: Page) -> None:
    page.goto(f"{RUN}?step=1")
    next_one = page.get_by_role("link", name="Next step")
    next_one.focus()
    for number in (2, 3):
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=f"Step {number} of 9")).to_be_visible()
        expect(page.get_by_role("link", name="Next step")).to_be_focused()
    page.goto(f"{RUN}?step=8")
    page.get_by_role("link", name="Next step").focus()
    page.keyboard.press("Enter")  # the last one has no next one
    expect(page.get_by_role("heading", name="Step 9 of 9")).to_be_visible()
    expect(page.locator(".pager a").first).to_be_focused()


@pytest.mark.long
def test_whole_records_are_a_switch(page: Page) -> None:
    page.goto("/board/service/damaged-lamp/return-and-replace?step=5")
    rows = page.locator(".did .change")
    expect(rows.first).not_to_contain_text("threshold")
    page.get_by_role("link", name="Show whole records").click()
    expect(rows.first).to_contain_text("threshold")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("link", name="Show only what differs")).to_be_visible()


@pytest.mark.long
def test_a_point_of_the_chart_opens_its_step(page: Page) -> None:
    page.goto(RUN)
    page.locator(".chart .point").nth(6).click()
    expect(page.get_by_role("heading", name="Step 6 of 9")).to_be_visible()


@pytest.mark.long
def test_keys_are_left_to_who_types_or_scrolls(page: Page) -> None:
    page.goto("/board/service")
    seed = page.get_by_label("Seed")
    seed.fill("12")
    seed.press("Home")
    seed.press("ArrowRight")
    assert page.url.endswith("/board/service")
    page.goto(f"{RUN}?step=8")
    page.keyboard.press("Control+ArrowLeft")
    page.keyboard.press("Shift+Home")
    assert heading(page) == "Step 8 of 9: issue_refund"


def test_from_the_board_to_a_run_and_a_replay_by_keyboard_alone(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "replace, and refund as well":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("replace, and refund as well")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Replay it now":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_text("It replays exactly")).to_be_visible()


@pytest.mark.long
def test_another_seed_is_shown_on_demand(page: Page) -> None:
    page.goto("/board/backoffice")
    page.get_by_label("Seed").fill("5")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"/board/backoffice\?seed=5$"))
    expect(page.get_by_text("108 of 108 earn exactly what they must")).to_be_visible()
    page.get_by_role("link", name="tickets", exact=True).click()
    expect(page).to_have_url(re.compile(r"/board/tickets\?seed=5$"))


def test_runs_are_read_and_replayed_without_scripts(new_page: NewPage) -> None:
    page = new_page(scripts=False)
    page.goto("/board")
    page.get_by_role("link", name="replace, and refund as well").click()
    page.get_by_role("link", name="Previous step").click()
    assert heading(page) == "Step 8 of 9: issue_refund"
    page.get_by_role("link", name="Show whole records").click()
    assert "whole=1" in page.url
    page.get_by_role("button", name="Replay it now").click()
    expect(page.get_by_text("It replays exactly")).to_be_visible()
    page.get_by_role("link", name="Docs").click()
    page.get_by_role("link", name="How the reward decides").click()
    expect(page.get_by_text("the committed writes lie inside no single outcome")).to_be_visible()


@pytest.mark.long
@pytest.mark.parametrize(
    "path",
    [
        "/board/tickets?seed=3",
        f"{RUN}?step=8&whole=1",
        "/board/backoffice/damaged-item/refund-on-top",
        "/board/tickets/hard/near_miss?step=2",
        "/docs",
        "/docs/suites/tickets/agent",
        "/board/service",
        f"{RUN}?step=0",
        "/board/service/account-boundary/forbidden",
        "/docs/reward",
        "/docs/suites/service",
        "/docs/suites/backoffice/agent",
        "/docs/command-line",
    ],
)
def test_pages_are_accessible_in_every_look(page: Page, path: str) -> None:
    page.goto(path)
    assert_accessible(page)


def test_strangers_texts_neither_act_nor_widen_the_page(page: Page, site: Site) -> None:
    task = SERVICE.task("damaged-lamp")
    with Environment(SERVICE, task) as environment:
        made = record(environment, task.control("oracle").script, agent="x")
    acting = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
    text = f"{acting} \u202eabc {'long' * 800}"
    id, _ = site.store.recordings.import_(resealed(hostile_document(made, text)))
    for step in (0, 1, 6):
        page.goto(f"/recordings/{id}?step={step}&whole=1")
        assert "taken" not in page.title()
        assert page.locator("main img").count() == 0
        expect(page.get_by_text("document.title = 'taken'").first).to_be_visible()
        look(page, "light", NARROW)
        assert overflow(page) == []
        look(page, "light", WIDE)
        assert overflow(page) == []


def test_a_phone_shows_a_run_from_top_to_bottom(new_page: NewPage) -> None:
    page = new_page(width=NARROW)
    page.goto(f"{RUN}?step=8")
    tops = [
        box["y"]
        for part in (".chart", ".timeline", ".did", ".earned")
        if (box := page.locator(part).bounding_box()) is not None
    ]
    assert len(tops) == 4
    assert tops == sorted(tops)
    for link in page.locator(".pager a").all():
        box = link.bounding_box()
        assert box is not None
        assert box["height"] >= 36
        assert box["width"] >= 44
