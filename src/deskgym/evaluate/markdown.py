"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from deskgym.evaluate.text import Section

_SPECIAL: Final = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>|~#"} | {"\n": " "})


def markdown(title: str, sections: Iterable[Section]) -> str:
    """A page of tables. What an agent or a provider wrote is shown as it is, without effect."""
    lines = [f"# {title}"]
    for section in sections:
        right = [":--" if place < section.words else "--:" for place in range(len(section.columns))]
        lines += ["", f"## {section.title}", "", _row(section.columns), _row(right, raw=True)]
        lines += [_row(row) for row in section.rows]
        if section.note:
            lines += ["", section.note]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str], *, raw: bool = False) -> str:
    return f"| {' | '.join(cell if raw else cell.translate(_SPECIAL) for cell in cells)} |"
