"""A Chromium for the tests: where it is, how it is started, and what a page must not do in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, sync_playwright

from tools.browser import HEIGHT, LOOKS, MISSING, NARROW, WIDE, Scheme, launch, look

_RULES: Final = [
    "wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"
]  # fmt: skip
TIMEOUT_MS: Final = 15_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; the test is skipped where there is none, and fails on CI."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        if browser is not None:
            loop = asyncio.get_running_loop()
            leave_loop()
            yield browser
            enter_loop(loop)
            browser.close()
            return
    if os.environ.get("CI") == "true":
        pytest.fail(MISSING)
    pytest.skip(MISSING)


def leave_loop() -> None:
    """Let other tests of this process run event loops: Playwright's stays marked as running."""
    asyncio._set_running_loop(None)


def enter_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Mark Playwright's event loop as running again, before it is called."""
    asyncio._set_running_loop(loop)


@dataclass
class Watch:
    """What went wrong in pages: errors in the console, in scripts, and requests elsewhere.

    Attributes:
        host: the host and port that may be asked.
        found: what went wrong so far.
    """

    host: str
    found: list[str] = field(default_factory=list)

    def over(self, page: Page) -> Page:
        """Watch a page from now on."""
        page.on("console", lambda message: self._note(message.type == "error", message.text))
        page.on("pageerror", lambda error: self._note(True, f"script: {error}"))
        page.on("request", lambda request: self._note(self._elsewhere(request.url), request.url))
        return page

    def expect(self, text: str) -> None:
        """Take one thing that went wrong, as a test wanted it to: the status of an answer."""
        match = next((item for item in self.found if text in item), None)
        assert match is not None, f"no {text!r} in {self.found}"
        self.found.remove(match)

    def _elsewhere(self, url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme not in ("data", "blob", "about") and parts.netloc != self.host

    def _note(self, wrong: bool, text: str) -> None:
        if wrong:
            self.found.append(text)


def assert_accessible(page: Page, *, include: str | None = None) -> None:
    """No rule of WCAG 2.2 AA is broken, light and dark, on a screen and on a phone.

    Nor does the page scroll sideways on a phone, which the rules name too (reflow).

    Args:
        page: an open page; its look is as it was afterwards.
        include: a CSS selector of the part to check; the whole page if None.
    """
    for scheme, width in LOOKS:
        look(page, scheme, width)
        assert overflow(page) == [], f"wider than {width} px: {overflow(page)}"
        broken = _broken(page, include)
        assert broken == [], f"{page.url}, {scheme}, {width} px:\n" + "\n".join(broken)
    look(page, "light", WIDE)


def overflow(page: Page) -> list[str]:
    """What makes the page scroll sideways; nothing where it does not."""
    return page.evaluate(
        """() => {
          const room = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= room) return [];
          return [...document.querySelectorAll("body *")]
            .filter((item) => item.getBoundingClientRect().right > room + 1)
            .filter((item) => !item.parentElement.closest(".wide"))
            .slice(0, 5).map((item) => item.outerHTML.slice(0, 200));
        }"""
    ) or ([] if _fits(page) else ["something without a box"])


def _fits(page: Page) -> bool:
    return page.evaluate(
        "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


def _broken(page: Page, include: str | None) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate(
        "([part, rules]) => axe.run(part ?? document, "
        "{runOnly: {type: 'tag', values: rules}, resultTypes: ['violations']})",
        [include, _RULES],
    )
    return [
        f"{item['id']}: {item['help']}: {node['html'][:300]} ({node['failureSummary']})"
        for item in found["violations"]
        for node in item["nodes"]
    ]


__all__ = [
    "HEIGHT",
    "LOOKS",
    "MISSING",
    "NARROW",
    "TIMEOUT_MS",
    "WIDE",
    "Scheme",
    "Watch",
    "assert_accessible",
    "chromium",
    "enter_loop",
    "leave_loop",
    "look",
    "overflow",
]
