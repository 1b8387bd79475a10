"""A tool of ours that fails by mistake, for the tests of what a framework makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deskgym import Suite


def break_tool(monkeypatch: pytest.MonkeyPatch, suite: Suite, name: str) -> None:
    """Make a tool divide by zero."""

    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a planted bug")

    tools: dict[str, Any] = suite.toolbox._tools  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setitem(tools, name, replace(tools[name], function=fail))
