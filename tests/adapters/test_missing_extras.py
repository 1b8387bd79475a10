"""A framework that is not installed is named, with what installs it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("framework", "adapter", "extra"),
    [
        ("verifiers", "deskgym.adapters.verifiers", "verifiers"),
        ("verifiers", "deskgym_verifiers", "verifiers"),
        ("inspect_ai", "deskgym.adapters.inspect", "inspect"),
    ],
)
def test_an_adapter_without_its_framework_says_which_extra_it_needs(
    framework: str, adapter: str, extra: str
) -> None:
    program = f"import sys; sys.modules[{framework!r}] = None; import {adapter}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(f"pip install 'deskgym[{extra}]'")
    assert "MissingExtra" in done.stderr
