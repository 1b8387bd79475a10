"""Makes the pictures of the app: `make screenshots` writes those of the README.

`python -m tools.screenshots look /board /recordings` shows pages as people see them, light and
dark, on a screen and on a phone, as files in build/look. Both start a server of their own, with an
empty run store; `--url URL` looks at one that runs.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.sync_api import Browser, sync_playwright

from tools.browser import LOOKS, MISSING, WIDE, launch, look

ROOT: Final = Path(__file__).parent.parent
IMAGES: Final = ROOT / "docs" / "images"
HEIGHT: Final = 860

TASK: Final = "service/two-full-captures"
ACTIONS: Final[tuple[dict[str, Any], ...]] = (
    {"tool": "get_order", "arguments": {"order_id": "S-410"}},
    {"tool": "list_order_payments", "arguments": {"order_id": "S-410"}},
    {
        "tool": "propose",
        "arguments": {
            "remedy": "refund", "order_id": "S-410", "payment_id": "PAY-B", "amount_cents": 4_800,
        },
    },
)  # fmt: skip
"""What was done in the workbench's picture: the customer has agreed to a refund."""


@contextmanager
def serving() -> Generator[str]:
    """A server with an empty run store; its address."""
    program = str(Path(sys.executable).with_name("deskgym"))
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/runs.db"
        command = [program, "serve", "--json", "--port", "0", "--log-level", "warning",
                   "--database", database]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            text = ""
            while not text.rstrip().endswith("}"):
                line = process.stdout.readline()
                if not line:
                    sys.exit("the server did not start")
                text += line
            yield json.loads(text)["url"]
        finally:
            process.terminate()
            process.wait()


def main() -> None:
    """Make the pictures, or look at pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", help="look PATH…; nothing for the README's pictures")
    parser.add_argument("--url", help="a server that runs; one of its own if not given")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "look", help="a folder")
    asked = parser.parse_args()
    if asked.what and asked.what[0] != "look":
        parser.error("say `look` and the pages' paths, or nothing")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        if browser is None:
            sys.exit(MISSING)
        if asked.url:
            run(browser, asked.url.rstrip("/"), asked.what[1:], asked.out)
        else:
            with serving() as url:
                run(browser, url, asked.what[1:], asked.out)
        browser.close()


def run(browser: Browser, url: str, paths: list[str], out: Path) -> None:
    """Look at the paths, or make the README's pictures where there are none."""
    if paths:
        for path in paths:
            look_at(browser, url, path, out)
        return
    for name, path in pictures(url).items():
        page = browser.new_page(viewport={"width": WIDE, "height": HEIGHT}, color_scheme="light")
        _open(page, url + path)
        write(IMAGES / f"{name}.png", page.screenshot())
        page.close()


def pictures(url: str) -> dict[str, str]:
    """The path of each of the README's pictures, by its name."""
    return {
        "board": "/board/service",
        "replay": f"/board/{TASK}/refund-first?step=4",
        "workbench": f"/workbench/{workbench_episode(url)}",
    }


def workbench_episode(url: str) -> str:
    """An episode in which something was done already; its id."""
    with httpx.Client(base_url=url) as client:
        made = client.post("/api/episodes", json={"task": TASK, "agent": "human"})
        id = made.raise_for_status().json()["id"]
        for number, action in enumerate(ACTIONS, start=1):
            body = {"action": action, "number": number}
            client.post(f"/api/episodes/{id}/steps", json=body).raise_for_status()
    return id


def look_at(browser: Browser, url: str, path: str, out: Path) -> None:
    """Write a page's looks, whole, as files."""
    out.mkdir(parents=True, exist_ok=True)
    page = browser.new_page()
    _open(page, url + path)
    name = "".join(c if c.isalnum() else "-" for c in path.strip("/")).strip("-") or "home"
    for scheme, width in LOOKS:
        look(page, scheme, width)
        file = out / f"{name[:60]}-{scheme}-{width}.png"
        page.screenshot(path=file, full_page=True)
        print(file)
    page.close()


def _open(page: Any, address: str) -> None:
    answer = page.goto(address)
    if answer is None or not answer.ok:
        sys.exit(f"{address} answers {answer and answer.status}")


def write(file: Path, picture: bytes) -> None:
    """Write a PNG file, packed as small as it goes without a change of a pixel."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(packed(picture))
    print(f"{file.relative_to(ROOT)}, {file.stat().st_size / 1_000:,.0f} KB")


def packed(picture: bytes) -> bytes:
    """A PNG with its pixels deflated anew, harder."""
    start, rest = picture[:8], picture[8:]
    chunks: list[tuple[bytes, bytes]] = []
    while rest:
        (length,) = struct.unpack(">I", rest[:4])
        chunks.append((rest[4:8], rest[8 : 8 + length]))
        rest = rest[12 + length :]
    pixels = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    small = zlib.compress(pixels, 9)
    kept = [chunk for chunk in chunks if chunk[0] in (b"IHDR", b"PLTE", b"tRNS")]
    made = [*kept, (b"IDAT", small), (b"IEND", b"")]
    return start + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in made
    )


if __name__ == "__main__":
    main()
