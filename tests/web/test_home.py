"""The first page, in a browser."""

from __future__ import annotations

import asyncio

from playwright.sync_api import Page, expect

from tests.web.browser import assert_accessible
from tests.web.conftest import NewPage


def test_the_first_page_names_the_suites_and_leads_to_their_boards(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "What did the agent do to the records?"
    )
    for suite in ("backoffice", "service", "tickets"):
        link = page.get_by_role("link", name=suite, exact=True)
        assert link.get_attribute("href") == f"/board/{suite}"


def test_the_first_page_is_accessible_in_every_look(page: Page) -> None:
    page.goto("/")
    assert_accessible(page)


def test_the_first_page_reads_without_scripts(new_page: NewPage) -> None:
    page = new_page(scripts=False)
    page.goto("/")
    expect(page.get_by_role("heading", name="tickets")).to_be_visible()


def test_the_browser_leaves_event_loops_to_other_tests() -> None:
    async def nothing() -> int:
        return 1

    assert asyncio.run(nothing()) == 1
