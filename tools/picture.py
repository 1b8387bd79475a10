"""Makes the README's picture: `python tools/picture.py` runs ten scripts and draws the board."""

from __future__ import annotations

import re
from pathlib import Path

from rich.console import Console

from deskgym.cli.controls import board
from deskgym.evaluate import run_controls
from deskgym.suite import load_suite

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "controls.svg"
COLUMNS = 156


def main() -> None:
    """Draw the five cases' board."""
    cases = [f"service/{task.name}" for task in load_suite("service").tasks[:5]]
    console = Console(record=True, width=COLUMNS, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(board(list(run_controls(cases))))
    drawing = console.export_svg(title="deskgym controls service")
    # The page that shows the picture need not ask another host for a font.
    local = re.sub(r"@font-face \{.*?\}", "", drawing, flags=re.DOTALL)
    PICTURE.write_text(local, encoding="utf-8")


if __name__ == "__main__":
    main()
