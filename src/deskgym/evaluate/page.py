"""A report as one HTML page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from deskgym.evaluate import chart
from deskgym.evaluate.report import AgentReport
from deskgym.evaluate.text import Section, sections

_LIGHT: Final = ("#2563a8", "#b4540a", "#2e7d4f", "#8a3fa0", "#a8324a", "#56657a")
_DARK: Final = ("#7ab3ef", "#f0a35e", "#7fcf9f", "#cf97e3", "#f08ca0", "#a9b7c9")


def _colors(values: Sequence[str]) -> str:
    return "".join(f"--c{number}:{value};" for number, value in enumerate(values))


_CLASSES: Final = "".join(
    f".s{number}{{stroke:var(--c{number});stroke-width:2;fill:none}}"
    f".f{number}{{fill:var(--c{number})}}"
    for number in range(chart.COLORS)
)
_STYLE: Final = (
    f":root{{color-scheme:light dark;--ink:#1d2430;--paper:#fff;--line:#d7dce4;{_colors(_LIGHT)}}}"
    "@media(prefers-color-scheme:dark){"
    f":root{{--ink:#e6eaf0;--paper:#14181f;--line:#38414f;{_colors(_DARK)}}}}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.3rem .8rem .3rem 0;text-align:right;border-bottom:1px solid var(--line);"
    "vertical-align:top}"
    ".word{text-align:left;min-width:8rem;overflow-wrap:break-word}"
    "svg{max-width:100%;height:auto}svg text{fill:var(--ink);font-size:13px}"
    ".end{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:var(--line)}"
    ".zero{stroke:var(--ink)}"
    ".legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem}"
    f"{_CLASSES}"
)
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing is loaded and no script runs, whatever stands in the results."""


def page(title: str, reports: Sequence[AgentReport], *, timing: bool = False) -> str:
    """The report with its charts, for light and dark screens and for print."""
    charts = {
        "Rewards": chart.rewards(reports),
        "pass^k": chart.pass_hats(reports),
        "Tasks": chart.tasks(reports),
    }
    body = "".join(
        _section(section, charts.get(section.title, ""))
        for section in sections(reports, timing=timing)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>{chart.legend(reports)}{body}</main></body></html>\n"
    )


def _section(section: Section, drawn: str) -> str:
    head = "".join(
        f'<th scope="col"{_word(section, place)}>{escape(name)}</th>'
        for place, name in enumerate(section.columns)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_word(section, place)}>{escape(cell)}</td>" for place, cell in enumerate(row)
        )
        + "</tr>\n"
        for row in section.rows
    )
    note = f"<p>{escape(section.note)}</p>" if section.note else ""
    return (
        f"\n<h2>{escape(section.title)}</h2>{drawn}"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>'
        f"</div>{note}"
    )


def _word(section: Section, place: int) -> str:
    return ' class="word"' if place < section.words else ""
