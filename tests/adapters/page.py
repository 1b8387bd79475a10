"""A page of the documentation whose examples need a framework: run here instead of by the tools."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

TRAINING = Path(__file__).parents[2] / "docs/training"
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(name: str) -> list[str]:
    """The Python of a page, a block each, in order."""
    found = [
        body for kind, body in _BLOCK.findall((TRAINING / name).read_text()) if kind == "python"
    ]
    assert found, f"{name} shows no Python"
    return found


def run_page(name: str, **given: Any) -> None:
    """Run a page's Python blocks in one namespace, and hold them to the outputs below them.

    Args:
        name: the page's file name.
        given: what a reader has: names such as URL and MODEL.
    """
    namespace: dict[str, Any] = {"__name__": "__page__", **given}
    printed, shown = "", False
    text = (TRAINING / name).read_text()
    for kind, body in _BLOCK.findall(text):
        if kind == "text":
            assert printed == body, f"{name} prints otherwise"
            shown = True
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(body, name, "exec", dont_inherit=True), namespace)
        printed = out.getvalue()
    assert shown, f"{name} shows no output"
