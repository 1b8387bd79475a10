"""The app on a server of its own, and pages in a browser that are watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from deskgym.runstore import RunStore, open_run_store
from deskgym.store import default_engine
from tests.serve.inside import Inside
from tests.serve.server import Server, serving
from tests.web.browser import HEIGHT, TIMEOUT_MS, WIDE, Watch, chromium, enter_loop, leave_loop

NewPage = Callable[..., Page]


@dataclass(frozen=True)
class Site:
    """A server with the app, and the run store that it writes to.

    Attributes:
        server: its process.
        store: the same database, opened here as well.
    """

    server: Server
    store: RunStore

    @property
    def url(self) -> str:
        """Where the app is, without a slash at the end."""
        return self.server.url


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that several tests use: each makes what it looks at, under names of its own."""
    folder = tmp_path_factory.mktemp("site")
    url = f"sqlite:///{folder}/runs.db"
    with (
        serving(folder, database=url) as server,
        open_run_store(url, engine=default_engine()) as store,
    ):
        yield Site(server, store)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a worker."""
    with chromium() as made:
        yield made


@pytest.fixture
def watch(site: Site) -> Iterator[Watch]:
    """What went wrong in the test's pages; nothing may be left at its end."""
    made = Watch(urlsplit(site.url).netloc)
    yield made
    assert made.found == []


@pytest.fixture
def new_page(browser: Browser, site: Site, watch: Watch) -> Iterator[NewPage]:
    """Makes a page of a browser without a past: `new_page(width=360, dark=True, scripts=False)`.

    Relative addresses are the app's: `page.goto("/board")`. Further arguments are those of
    Playwright's `new_context`.
    """
    enter_loop(_loop_of(browser))
    contexts: list[Any] = []

    def make(
        *, width: int = WIDE, dark: bool = False, scripts: bool = True, **more: Any
    ) -> Page:  # fmt: skip
        context = browser.new_context(
            base_url=site.url,
            viewport={"width": width, "height": HEIGHT},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            reduced_motion="reduce",
            **more,
        )
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        return watch.over(context.new_page())

    yield make
    for context in contexts:
        context.close()
    leave_loop()


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """A page of the usual size, in light colours, with scripts."""
    return new_page()


@pytest.fixture
def inside(tmp_path: Any) -> Iterator[Inside]:
    """The app in this process, without a socket or a browser: `inside.get("/board")`.

    Not for tests that have a page as well: the browser's event loop runs in this thread.
    """
    with Inside(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """As `inside`, with one run store for a module's tests: each starts episodes of its own."""
    with Inside(tmp_path_factory.mktemp("bench")) as made:
        yield made


def _loop_of(browser: Browser) -> asyncio.AbstractEventLoop:
    return browser._impl_obj._loop
