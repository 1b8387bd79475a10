"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

import orjson

from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.report import Report, sentence_of

FINDINGS_SHOWN: Final = 200

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --good: #17803d; --bad: #c0262d; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.n { text-align: right; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
details { margin: .3rem 0; } summary { cursor: pointer; }
pre { overflow-x: auto; background: #8881; padding: .6rem; font-size: 13px; }
"""


def page(report: Report) -> str:
    """The report as HTML."""
    findings = len(report.findings)
    verdict = (
        f'<span class="bad">{findings} findings</span>'
        if findings
        else '<span class="good">no findings</span>'
    )
    seeds = f"{len(report.seeds):,} seeds ({report.seeds[0]} to {report.seeds[-1]})"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>deskgym audit: {len(report.tasks)} tasks</title><style>{_STYLE}</style></head>",
        f"<body><h1>Audit of {len(report.tasks)} tasks: {verdict}</h1>",
        f"<p>deskgym {escape(report.version)}, {seeds}, {report.trajectories:,} episodes in "
        f"{report.elapsed_s:.0f} s with {report.jobs} processes.</p>",
        _summary(report),
        *map(_section, report.sections),
        "<h2>The Agentic Benchmark Checklist</h2>",
        "<p>Items of Zhu et al. 2025, arXiv 2507.02825, in short words.</p>",
        _rows(
            ("code", "item", "standing", "evidence"),
            [item.to_dict().values() for item in report.checklist],
        ),
        "</body></html>",
    ]
    return "\n".join(parts)


def _summary(report: Report) -> str:
    rows = [
        (section.attack, sentence_of(section.attack), section.trajectories,
         round(section.cpu_s, 1), len(section.findings))
        for section in report.sections
    ]  # fmt: skip
    return _rows(("attack", "what has to hold", "episodes", "CPU seconds", "findings"), rows)


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.attack.capitalize())}</h2>"]
    counts = ", ".join(f"{count:,} {name}" for name, count in section.counts.items())
    parts.append(f"<p>{escape(counts)}</p>")
    parts += [_finding(item, "bad") for item in section.findings[:FINDINGS_SHOWN]]
    if len(section.findings) > FINDINGS_SHOWN:
        parts.append(f"<p>… and {len(section.findings) - FINDINGS_SHOWN:,} more findings.</p>")
    if section.accepted:
        listed = "".join(_finding(item, "good") for item in section.accepted)
        parts.append(
            f"<details><summary>Paid and right: {len(section.accepted)} runs, at most two for each "
            f"task and actor</summary>{listed}</details>"
        )
    parts += map(_table, section.tables)
    return "\n".join(parts)


def _table(table: Table) -> str:
    rows = _rows(table.columns, table.rows)
    opened = " open" if len(table.rows) <= 40 else ""
    return f"<details{opened}><summary>{escape(table.title)}</summary>{rows}</details>"


def _finding(item: Finding, look: str) -> str:
    actions = "\n".join(orjson.dumps(action.to_dict()).decode() for action in item.actions)
    return (
        f'<details><summary><span class="{look}">{escape(item.id)}</span> {escape(item.by)}, seed '
        f"{item.seed}, reward {item.reward}: {escape(item.got)}</summary>"
        f"<p>Expected: {escape(item.expected)}.</p><pre>{escape(actions)}</pre></details>"
    )


def _rows(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    look = ' class="n"' if isinstance(value, int | float) else ""
    return f"<td{look}>{escape(str(value))}</td>"
