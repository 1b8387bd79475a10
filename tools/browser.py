"""A Chromium that the machine has: where it is, how it is started, how a page is looked at."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page, Playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING: Final = (
    "no Chromium is found: install one with `apt-get install chromium` (Debian), or with "
    "`.venv/bin/playwright install chromium`, or name one in DESKGYM_CHROMIUM"
)
ARGUMENTS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--font-render-hinting=none",
)  # fmt: skip

WIDE: Final = 1_280
NARROW: Final = 360
HEIGHT: Final = 800
Scheme = Literal["light", "dark"]
LOOKS: Final[tuple[tuple[Scheme, int], ...]] = (
    ("light", WIDE), ("dark", WIDE), ("dark", NARROW), ("light", NARROW)
)  # fmt: skip
"""How each page is looked at: colours, and the width in CSS pixels."""


def find_chromium(playwright: Playwright) -> str | None:
    """The program to start: one that is named, on PATH, or Playwright's own."""
    named = os.environ.get("DESKGYM_CHROMIUM")
    if named:
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    own = playwright.chromium.executable_path
    return found or (own if Path(own).exists() else None)


def launch(playwright: Playwright) -> Browser | None:
    """Start a browser; None where there is none."""
    program = find_chromium(playwright)
    if program is None:
        return None
    return playwright.chromium.launch(executable_path=program, args=[*ARGUMENTS])


def look(page: Page, scheme: Scheme, width: int) -> None:
    """Show a page in these colours at this width."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": HEIGHT})
