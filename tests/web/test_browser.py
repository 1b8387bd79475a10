"""The browser tests would notice: each thing that they hold pages to, broken on purpose."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error, Page

from tests.web.browser import NARROW, Watch, assert_accessible, look, overflow
from tests.web.conftest import Site


def test_what_keeps_people_out_is_found(page: Page) -> None:
    page.goto("/")
    page.evaluate("document.querySelector('main').append(new Image())")
    with pytest.raises(AssertionError, match="image-alt"):
        assert_accessible(page)


def test_a_page_that_scrolls_sideways_is_found(page: Page) -> None:
    page.goto("/")
    look(page, "light", NARROW)
    assert overflow(page) == []
    page.evaluate("document.querySelector('h1').style.width = '2000px'")
    assert overflow(page)


def test_errors_are_found(page: Page, watch: Watch) -> None:
    page.goto("/")
    page.evaluate("fetch('https://example.test/').catch(() => console.error('planted'))")
    page.goto("/nowhere")
    for wrong in ("Connecting to 'https://example.test/", "Fetch API", "planted", "404"):
        watch.expect(wrong)


def test_requests_to_other_hosts_are_found(page: Page, site: Site, watch: Watch) -> None:
    elsewhere = f"http://127.0.0.2:{site.server.port}/"
    with pytest.raises(Error, match="ERR_CONNECTION_REFUSED"):
        page.goto(elsewhere)
    watch.expect(elsewhere)
