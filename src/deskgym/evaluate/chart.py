"""Charts as SVG: rewards with their intervals, pass^k, and tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from deskgym.evaluate.report import AgentReport, PassHat
from deskgym.evaluate.text import figure, interval, shown_hats

COLORS: Final = 6
"""How many colours there are; the page's style sheet defines them for light and dark."""

_WIDTH: Final = 760
_LABEL: Final = 260
_RIGHT: Final = 24
_ROW: Final = 26
_TOP: Final = 12
_AXIS: Final = 30
_NAME_MAX: Final = 38


def rewards(reports: Sequence[AgentReport]) -> str:
    """Each agent's mean reward, with its interval as a line."""
    shown = [report for report in reports if report.reward.mean is not None]
    ends = [end for report in shown for end in (report.reward.low, report.reward.mean) if end]
    scale = _Scale(min([0.0, *ends]), max([1.0, *(report.reward.high or 0 for report in shown)]))
    marks: list[str] = []
    for place, report in enumerate(shown):
        y = _TOP + place * _ROW + _ROW / 2
        mean, low, high = report.reward.mean or 0.0, report.reward.low, report.reward.high
        marks.append(_name(report.name, y))
        told = f"{report.name}: {figure(mean)}, 95% interval {interval(report.reward)}"
        inside = f"<title>{escape(told)}</title>"
        if low is not None and high is not None:
            inside += (
                f'<line class="s{place % COLORS}" x1="{scale.x(low)}" x2="{scale.x(high)}" '
                f'y1="{y}" y2="{y}"/>'
            )
        inside += f'<circle class="f{place % COLORS}" cx="{scale.x(mean)}" cy="{y}" r="5"/>'
        marks.append(f"<g>{inside}</g>")
    return _svg("Mean reward of each agent with its 95% interval", len(shown), scale, marks)


def tasks(reports: Sequence[AgentReport]) -> str:
    """Each task's mean reward, a bar for each agent."""
    by_task: dict[str, list[tuple[int, str, float]]] = {}
    for place, report in enumerate(reports):
        for task in report.tasks:
            if task.reward is not None:
                by_task.setdefault(task.task, []).append((place, report.name, task.reward))
    values = [reward for bars in by_task.values() for _, _, reward in bars]
    scale = _Scale(min([0.0, *values]), 1.0)
    marks: list[str] = []
    for row, (task, bars) in enumerate(by_task.items()):
        top = _TOP + row * _ROW
        marks.append(_name(task, top + _ROW / 2))
        height = (_ROW - 6) / len(bars)
        for number, (place, name, reward) in enumerate(bars):
            left, right = sorted((scale.x(0), scale.x(reward)))
            marks.append(
                f'<rect class="f{place % COLORS}" x="{left}" width="{max(right - left, 1.5):.1f}" '
                f'y="{top + 3 + number * height:.1f}" height="{height:.1f}">'
                f"<title>{escape(f'{task}, {name}: {figure(reward)}')}</title></rect>"
            )
    return _svg("Mean reward of each task by agent", len(by_task), scale, marks)


def pass_hats(reports: Sequence[AgentReport]) -> str:
    """pass^k against k, a line for each agent; empty where nobody has two trials."""
    hats = [shown_hats(report.pass_hat) for report in reports]
    ks = sorted({hat.k for own in hats for hat in own})
    if len(ks) < 2:
        return ""
    height, left = 220, 56
    step = (_WIDTH - left - _RIGHT) / (len(ks) - 1)

    def point(hat: PassHat) -> tuple[float, float]:
        x = left + ks.index(hat.k) * step
        return round(x, 1), round(_TOP + (1 - hat.value) * (height - _TOP), 1)

    marks = [
        f'<text x="{left - 8}" y="{_TOP + (1 - y) * (height - _TOP) + 4:.1f}" class="end">{y:g}'
        f'</text><line class="grid" x1="{left}" x2="{_WIDTH - _RIGHT}" '
        f'y1="{_TOP + (1 - y) * (height - _TOP):.1f}" y2="{_TOP + (1 - y) * (height - _TOP):.1f}"/>'
        for y in (0, 0.25, 0.5, 0.75, 1)
    ]
    marks += [
        f'<text x="{left + place * step:.1f}" y="{height + 20}" class="middle">{k}</text>'
        for place, k in enumerate(ks)
    ]
    for place, (report, own) in enumerate(zip(reports, hats, strict=True)):
        points = " ".join(f"{x},{y}" for x, y in map(point, own))
        marks.append(f'<polyline class="s{place % COLORS}" points="{points}"/>')
        for hat in own:
            x, y = point(hat)
            told = escape(f"{report.name}: pass^{hat.k} {figure(hat.value)}")
            marks.append(
                f'<circle class="f{place % COLORS}" cx="{x}" cy="{y}" r="4">'
                f"<title>{told}</title></circle>"
            )
    return _wrap("pass^k by agent, against k", height + 30, marks)


def legend(reports: Sequence[AgentReport]) -> str:
    """Which colour is whose."""
    names = (
        f'<li><svg width="12" height="12" aria-hidden="true"><rect class="f{place % COLORS}" '
        f'width="12" height="12"/></svg> {escape(report.name)}</li>'
        for place, report in enumerate(reports)
    )
    return f'<ul class="legend">{"".join(names)}</ul>'


class _Scale:
    """From rewards to places on a page."""

    def __init__(self, low: float, high: float) -> None:
        # Whole quarters, so that the axis has round numbers.
        self.low = math.floor(low * 4) / 4
        self.high = math.ceil(high * 4) / 4

    def x(self, value: float) -> float:
        inside = (value - self.low) / (self.high - self.low)
        return round(_LABEL + inside * (_WIDTH - _LABEL - _RIGHT), 1)

    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / 0.25)
        return [self.low + 0.25 * number for number in range(count + 1)]


def _name(text: str, y: float) -> str:
    short = text if len(text) <= _NAME_MAX else text[: _NAME_MAX - 1] + "…"
    return (
        f'<text x="{_LABEL - 12}" y="{y + 4}" class="end">{escape(short)}'
        f"<title>{escape(text)}</title></text>"
    )


def _svg(label: str, rows: int, scale: _Scale, marks: Iterable[str]) -> str:
    bottom = _TOP + rows * _ROW
    axis = (
        f'<line class="{"zero" if tick == 0 else "grid"}" x1="{scale.x(tick)}" '
        f'x2="{scale.x(tick)}" y1="{_TOP}" y2="{bottom}"/>'
        f'<text x="{scale.x(tick)}" y="{bottom + 18}" class="middle">{tick:g}</text>'
        for tick in scale.ticks()
    )
    return _wrap(label, bottom + _AXIS, [*axis, *marks])


def _wrap(label: str, height: float, marks: Iterable[str]) -> str:
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {_WIDTH} {height}">'
        f"{''.join(marks)}</svg>"
    )
