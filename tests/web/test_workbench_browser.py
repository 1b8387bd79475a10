"""The workbench and blind mode in a browser: by mouse, by keys, on a phone, without scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from deskgym.recording import parse
from tests.web.browser import NARROW, assert_accessible, overflow
from tests.web.conftest import NewPage
from tests.web.desk import LAMP, SOLVED


def start(page: Page, task: str, *, blind: bool = False) -> None:
    """Choose a task on the start page, and start it."""
    suite, _, name = task.partition("/")
    page.goto("/workbench")
    page.locator(f"#suite-{suite}").click()
    expect(page.locator(f"#suite-{suite}")).to_have_attribute("aria-current", "true")
    page.locator(f"#task-{name}").click()
    expect(page.locator(f"#task-{name}")).to_have_attribute("aria-current", "true")
    if blind:
        page.get_by_role("radio", name="Blind").check()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#desk")).to_be_visible()


def act(page: Page, tool: str, number: int, arguments: dict[str, str]) -> None:
    """Choose a tool, fill its form in, send it, and wait for what comes of it."""
    if page.locator("#act form > h3").inner_text() != tool:
        page.locator(f"#tool-{tool}").click()
        expect(page.locator("#act form > h3")).to_have_text(tool)
    for name, value in arguments.items():
        field = page.locator(f"#act-{name}")
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value.replace("\r\n", "\n"))
    page.locator("#act form > button").click()
    expect(page.locator("#observation-title")).to_have_text(f"Action {number}: {tool}")


@pytest.mark.parametrize(
    "task",
    [pytest.param(task, marks=[] if task == LAMP else [pytest.mark.long]) for task in SOLVED],
)
def test_a_case_of_each_suite_is_solved_by_hand(page: Page, task: str) -> None:
    start(page, task)
    for number, (tool, arguments) in enumerate(SOLVED[task], start=1):
        act(page, tool, number, arguments)
    expect(page.get_by_role("heading", name="The episode is over")).to_be_visible()
    expect(page.locator("#why-title")).to_have_text("The reward now: +1.00")
    if task == LAMP:
        assert_accessible(page)
    page.get_by_role("link", name="Open its recording").click()
    expect(page.locator(".run-result .number")).to_have_text("+1.00")


@pytest.mark.long
def test_focus_goes_to_what_was_seen_and_it_is_said(page: Page) -> None:
    start(page, LAMP)
    act(page, "get_order", 1, {"order_id": "S-410"})
    expect(page.locator("#observation")).to_be_focused()
    expect(page.locator("#announce")).to_contain_text("order found.")
    # A form that stands for no action leads to the field instead.
    page.locator("#tool-raw-json").click()
    page.locator("#command").fill("nonsense")
    page.locator("#act form > button").click()
    expect(page.locator("#command-wrong")).to_contain_text("Nothing was done")
    expect(page.locator("#command")).to_be_focused()
    expect(page.locator("#command")).to_have_value("nonsense")


@pytest.mark.long
def test_cents_are_shown_as_money_while_they_are_typed(page: Page) -> None:
    start(page, LAMP)
    page.locator("#tool-issue_refund").click()
    page.locator("#act-amount_cents").fill("123456")
    expect(page.locator("#act-amount_cents-money")).to_have_text("$1,234.56")
    page.locator("#act-amount_cents").fill("12.5")
    expect(page.locator("#act-amount_cents-money")).to_have_text("")


@pytest.mark.long
def test_two_tabs_do_not_act_twice(page: Page, new_page: NewPage) -> None:
    start(page, LAMP)
    other = new_page()
    other.goto(page.url)
    act(page, "get_order", 1, {"order_id": "S-410"})
    other.locator("#tool-message").click()
    # The tools of the older page still lead on: only its number is old.
    other.goto(page.url + "?tool=message")
    act(page, "search_inventory", 2, {})
    other.locator("#act-text").fill("From another tab")
    other.locator("#act form > button").click()
    expect(other.get_by_role("alert")).to_contain_text("Nothing was done")
    expect(other.locator("#act-text")).to_have_value("From another tab")
    expect(other.locator(".desk-facts")).to_contain_text("2 of 48 actions used")


def test_an_export_comes_in_again_and_an_edited_one_is_refused(page: Page, tmp_path: Path) -> None:
    start(page, LAMP)
    act(page, "get_order", 1, {"order_id": "S-410"})
    act(page, "message", 2, {"text": "One moment, please."})
    with page.expect_download() as got:
        page.get_by_role("link", name="Download the recording").click()
    file = tmp_path / "run.json"
    got.value.save_as(file)
    assert len(parse(file.read_bytes()).steps) == 2
    page.get_by_role("button", name="Replay it in a fresh world").click()
    expect(page.get_by_role("status").filter(has_text="It replays exactly")).to_be_visible()

    document = json.loads(file.read_bytes())
    document["steps"][1]["action"]["arguments"]["text"] = "Another one."
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(document))
    page.goto("/workbench")
    page.get_by_label("A recording (JSON)").set_input_files(edited)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text("edited.json was changed at step 2")
    page.get_by_label("A recording (JSON)").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="Go on from a recording")).to_be_visible()
    page.get_by_role("button", name="Go on from there").click()
    expect(page.locator(".desk-facts")).to_contain_text("2 of 48 actions used")


@pytest.mark.long
def test_code_is_copied(new_page: NewPage) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    start(page, LAMP)
    act(page, "get_order", 1, {"order_id": "S-410"})
    page.get_by_text("As code: Python").click()
    page.locator("[data-copy=code-python]").click()
    expect(page.locator("[data-copy=code-python]")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "deskgym.call('get_order', order_id='S-410')" in copied


@pytest.mark.long
def test_a_case_is_solved_by_keys_alone(page: Page) -> None:
    """Only keys are pressed from the first page on: Tab to the place, Enter, typing."""
    page.goto("/")
    tab_to(page, "header nav a[href$='/workbench']")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Take a case yourself")).to_be_visible()
    tab_to(page, "#suite-tickets")
    page.keyboard.press("Enter")
    expect(page.locator("#suite-tickets")).to_have_attribute("aria-current", "true")
    expect(page.locator("#suite-tickets")).to_be_focused()
    tab_to(page, "#settings button")
    page.keyboard.press("Enter")
    expect(page.locator("#desk")).to_be_visible()
    ((_, arguments),) = SOLVED["tickets/easy"]
    tab_to(page, "#act-message")
    page.keyboard.type(arguments["message"])
    tab_to(page, "#act-intent")
    page.keyboard.type("cl")
    assert page.locator("#act-intent").input_value() == "classify"
    tab_to(page, "#act form > button")
    page.keyboard.press("Enter")
    expect(page.locator("#why-title")).to_have_text("The reward now: +1.00")
    expect(page.locator("#observation")).to_be_focused()


def tab_to(page: Page, selector: str, *, most: int = 120) -> None:
    """Press Tab until that has the focus, which has to be seen then."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid", f"the focus on {selector} is not seen"
            return
    raise AssertionError(f"no way by Tab to {selector}")


def test_on_a_phone_a_case_is_acted_in_with_the_records_below(new_page: NewPage) -> None:
    page = new_page(width=NARROW, has_touch=True)
    start(page, LAMP)
    act(page, "get_order", 1, {"order_id": "S-410"})
    assert overflow(page) == []
    boxes = {name: page.locator(f".desk-{name}").bounding_box() for name in ("main", "side")}
    main, side = boxes["main"], boxes["side"]
    assert main is not None
    assert side is not None
    assert side["y"] >= main["y"] + main["height"]
    for link in page.locator(".tools a").all():
        box = link.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 24


@pytest.mark.long
def test_without_scripts_the_forms_work(new_page: NewPage) -> None:
    page = new_page(scripts=False)
    start(page, "tickets/easy")
    ((tool, arguments),) = SOLVED["tickets/easy"]
    act(page, tool, 1, arguments)
    expect(page.locator("#why-title")).to_have_text("The reward now: +1.00")
    start(page, LAMP, blind=True)
    act(page, "get_order", 1, {"order_id": "S-410"})
    page.get_by_role("button", name="Hand in").click()
    expect(page.get_by_role("heading", name="The episode is over")).to_be_visible()


@pytest.mark.long
def test_blind_mode_shows_the_verdict_once_it_is_handed_in(page: Page) -> None:
    start(page, LAMP, blind=True)
    for number, (tool, arguments) in enumerate(SOLVED[LAMP][:-1], start=1):
        act(page, tool, number, arguments)
    assert_accessible(page)
    assert "/blind/" in page.url
    assert re.search("reward", page.locator("#observation").inner_text()) is None
    expect(page.locator(".desk-side, #why")).to_have_count(0)
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#why-title")).to_have_text("The reward now: +1.00")


@pytest.mark.long
def test_the_pages_are_accessible_in_every_look(page: Page) -> None:
    page.goto("/workbench?suite=backoffice")
    page.get_by_role("textbox", name="large").fill("2")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#set-large")).to_be_focused()
    assert_accessible(page)
    start(page, "backoffice/damaged-item")
    page.locator("#tool-raw-json").click()
    expect(page.locator("#command")).to_be_visible()
    page.locator("#command").fill("[]")
    page.locator("#act form > button").click()
    expect(page.locator("#command")).to_be_focused()
    for summary in page.locator("summary").all():
        summary.click()
    assert_accessible(page)
