"""How a report's figures are written, whatever the page is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from deskgym.evaluate.compare import Comparison, Side
from deskgym.evaluate.report import AgentReport, PassHat, UsageFigures
from deskgym.evaluate.statistics import Estimate

NONE: Final = "none"
FAILURES_MAX: Final = 20
"""How many errors or flipped episodes a table lists; JSON has them all."""


class Section(NamedTuple):
    """A table with a title, a sentence below it, and which of its columns are words."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    words: int = 1


def figure(value: float | None, digits: int = 4) -> str:
    """A number with as many decimals, or `none`."""
    return NONE if value is None else f"{value:.{digits}f}"


def interval(estimate: Estimate) -> str:
    """The interval, or `none` where there is none."""
    if estimate.low is None or estimate.high is None:
        return NONE
    return f"[{estimate.low:.4f}, {estimate.high:.4f}]"


def share(part: int, whole: int) -> str:
    """A count of a count with its percentage: `9 of 10 (90%)`."""
    return f"{part} of {whole} ({100 * part / whole:.0f}%)" if whole else "0 of 0"


def dollars(cost: float | None) -> str:
    """A cost in US dollars, or `not known`."""
    return "not known" if cost is None else f"${cost:,.4f}"


def shown_hats(hats: Sequence[PassHat]) -> list[PassHat]:
    """pass^1 to pass^4, the powers of two after that, and the last one."""
    return [hat for hat in hats if hat.k <= 4 or not hat.k & (hat.k - 1) or hat.k == hats[-1].k]


def sections(reports: Sequence[AgentReport], *, timing: bool = False) -> list[Section]:
    """A report's tables, in order; those without rows are left out."""
    made = [
        _rewards(reports),
        _pass_hats(reports),
        _tasks(reports),
        _checks(reports),
        _attacks(reports),
        _usage(reports),
        *([_timing(reports)] if timing else []),
        _invalid(reports),
        _errors(reports),
    ]
    return [section for section in made if section.rows]


def _rewards(reports: Sequence[AgentReport]) -> Section:
    by = {report.basis for report in reports}
    clusters = " or ".join(f"by {name}" for name in ("task", "seed") if name in by)
    return Section(
        "Rewards",
        ("agent", "rubric", "mean reward", "95% interval", "full reward", "over", "invalid",
         "error"),
        tuple(
            (
                report.name,
                report.rubric,
                figure(report.reward.mean),
                interval(report.reward),
                share(round((report.success.mean or 0) * report.counts.reward),
                      report.counts.reward),
                str(report.counts.reward),
                str(report.counts.invalid),
                str(report.counts.error),
            )
            for report in reports
        ),
        f"Means are over episodes with a reward. Intervals are clustered {clusters}"
        + ("; by seed they say nothing of other tasks." if "seed" in by else "."),
        words=2,
    )  # fmt: skip


def _pass_hats(reports: Sequence[AgentReport]) -> Section:
    repeated = {report.repeated for report in reports if report.pass_hat}
    what = {frozenset({True}): "the trials of an episode", frozenset({False}): "a task's seeds"}
    over = what.get(frozenset(repeated), "a task's seeds, or the trials of an episode")
    return Section(
        "pass^k",
        ("agent", "rubric", "k", "pass^k", "averaged over"),
        tuple(
            (
                report.name,
                report.rubric,
                str(hat.k),
                figure(hat.value),
                f"{hat.units} {'episodes' if report.repeated else 'tasks'}",
            )
            for report in reports
            for hat in shown_hats(report.pass_hat)
        ),
        f"The chance that k of {over} all earn the full reward.",
        words=2,
    )


def _tasks(reports: Sequence[AgentReport]) -> Section:
    return Section(
        "Tasks",
        ("task", "agent", "mean reward", "full reward", "over", "invalid", "error"),
        tuple(
            (
                task.task,
                report.name,
                figure(task.reward),
                share(round((task.success or 0) * task.counts.reward), task.counts.reward),
                str(task.counts.reward),
                str(task.counts.invalid),
                str(task.counts.error),
            )
            for report in reports
            for task in report.tasks
        ),
        words=2,
    )


def _checks(reports: Sequence[AgentReport]) -> Section:
    return Section(
        "Checks",
        ("check", "agent", "rubric", "held"),
        tuple(
            (check.name, report.name, report.rubric, share(check.held, check.judged))
            for report in reports
            for check in report.checks
        ),
        "In how many of the episodes that it judged a check held.",
        words=3,
    )


def _attacks(reports: Sequence[AgentReport]) -> Section:
    return Section(
        "Under attack",
        ("agent", "utility", "utility under attack", "attacks that worked"),
        tuple(
            (
                report.name,
                figure(report.attack.clean),
                figure(report.attack.attacked),
                f"{100 * report.attack.obeyed:.0f}%",
            )
            for report in reports
            if report.attack is not None
        ),
        "Mean rewards without and with an injected instruction, and how often it was obeyed.",
    )


def _usage(reports: Sequence[AgentReport]) -> Section:
    return Section(
        "Tokens and cost",
        ("agent", "episodes", "model calls", "malformed calls", "prompt tokens",
         "completion tokens", "cost", "cost an episode"),
        tuple(
            (
                report.name,
                str(report.usage.episodes),
                f"{report.usage.calls:,}",
                f"{report.usage.malformed:,}",
                _count(report.usage.prompt_tokens),
                _count(report.usage.completion_tokens),
                _cost(report.usage),
                dollars(_each(report.usage)),
            )
            for report in reports
            if report.usage is not None
        ),
        "Of every episode, those without a reward too.",
    )  # fmt: skip


def _count(count: int | None) -> str:
    return "not known" if count is None else f"{count:,}"


def _cost(usage: UsageFigures) -> str:
    partial = f" (of {usage.priced} episodes)" if 0 < usage.priced < usage.episodes else ""
    return dollars(usage.cost_usd) + partial


def _each(usage: UsageFigures) -> float | None:
    return None if usage.cost_usd is None else usage.cost_usd / usage.priced


def _timing(reports: Sequence[AgentReport]) -> Section:
    return Section(
        "Time",
        ("agent", "replies", "median s", "90% within s", "99% within s", "calls made again"),
        tuple(
            (
                report.name,
                str(report.timing.replies),
                *(figure(seconds, 3) for seconds in report.timing.latencies_s),
                str(report.timing.retries),
            )
            for report in reports
            if report.timing is not None
        ),
        "How long the model's replies took, in seconds.",
    )


def _invalid(reports: Sequence[AgentReport]) -> Section:
    return Section(
        "Invalid runs",
        ("agent", "why", "episodes"),
        tuple(
            (report.name, reason, str(times))
            for report in reports
            for reason, times in report.invalid.items()
        ),
        "They cannot be judged, through no fault of the agent, and have no reward.",
        words=2,
    )


def _errors(reports: Sequence[AgentReport]) -> Section:
    rows = [(str(key), reason) for report in reports for key, reason in report.errors]
    more = len(rows) - FAILURES_MAX
    return Section(
        "Errors",
        ("episode", "what happened"),
        tuple(rows[:FAILURES_MAX]),
        f"… and {more} more; --json lists all."
        if more > 0
        else "Bugs of ours; they have no reward.",
        words=2,
    )


def comparison_sections(made: Comparison) -> list[Section]:
    """A comparison's tables, in order; those without rows are left out."""
    rewards = Section(
        "Rewards",
        ("side", "agent", "mean reward", "no reward", "without partner"),
        (_side("A", made.a), _side("B", made.b)),
        _verdict(made),
        words=2,
    )
    tasks = Section(
        "Tasks",
        ("task", "A", "B", "B - A", "pairs"),
        tuple(
            (item.task, figure(item.a), figure(item.b), f"{item.difference:+.4f}", str(item.pairs))
            for item in made.tasks
        ),
    )
    flips = [("won", pair) for pair in made.won] + [("lost", pair) for pair in made.lost]
    more = len(flips) - FAILURES_MAX
    flipped = Section(
        "Episodes that flipped",
        ("episode", "by B", "A", "B"),
        tuple(
            (str(pair.key), what, figure(pair.a), figure(pair.b))
            for what, pair in flips[:FAILURES_MAX]
        ),
        f"B earns the full reward in {len(made.won)} that A does not, and A in {len(made.lost)} "
        "that B does not." + (f" {more} more are in --json." if more > 0 else ""),
        words=2,
    )
    return [section for section in (rewards, tasks, flipped) if section.rows]


def _side(letter: str, side: Side) -> tuple[str, ...]:
    unjudged = ", ".join(f"{count} {status}" for status, count in side.unjudged.items())
    return letter, side.name, figure(side.reward), unjudged or "0", str(side.unmatched)


def _verdict(made: Comparison) -> str:
    difference = made.difference
    assert difference.mean is not None, "there is at least one pair"
    told = f"B - A is {difference.mean:+.4f} over {len(made.pairs)} pairs"
    if difference.low is None:
        return f"{told}. One pair says nothing of others."
    apart = "they differ" if made.is_told_apart else "they are not told apart"
    return f"{told}, 95% interval {interval(difference)} by {made.basis}: {apart}."
