"""The trajectory viewer: any recording, a step at a time, with what each did and earned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlencode

from starlette.responses import Response

from deskgym.errors import UsageError
from deskgym.recording import RecordedStep, Recording
from deskgym.replay import Replay, replay
from deskgym.serve.problem import Problem
from deskgym.web.run import Run, Why, explain
from deskgym.web.show import ROWS_MAX
from deskgym.web.site import HEADERS, Visit

STEPS_MAX: Final = 200
"""How many steps are listed at once; no suite of ours allows as many, a recording may hold any."""

CHART_WIDTH: Final = 640
CHART_HEIGHT: Final = 190


class Point(NamedTuple):
    """A step on the chart, in its units."""

    step: int
    reward: float
    x: float
    y: float


class Level(NamedTuple):
    """A line of the chart for a reward."""

    reward: float
    y: float


class Chart(NamedTuple):
    """The reward after each step, as linked points.

    Attributes:
        told: the same in words.
    """

    width: int
    height: int
    points: tuple[Point, ...]
    levels: tuple[Level, ...]
    line: str
    told: str


class Shown(NamedTuple):
    """The step that is looked at; 0 is the start, before the first action.

    Attributes:
        step: what was recorded; None for the start.
        customer: what the customer said to it; empty where nothing was.
        why: the whole score after it; None where the replay had departed from the recording.
        recorded: the score as the recording has it; None where it has none, at the start.
        gained: how much the reward rose or fell with it; None at the start.
    """

    number: int
    step: RecordedStep | None
    customer: str
    why: Why | None
    recorded: Mapping[str, Any] | None
    gained: float | None


class Facts(NamedTuple):
    """How a run with models or people went; all empty where a recording says nothing of it."""

    termination: str
    invalid: str
    detail: str
    customer: str
    turns: str
    malformed_calls: str
    transcript: object


async def show(visit: Visit, run: Run) -> Response:
    """The page of a run.

    In its query are `step`, the last one by default; `whole`, to show equal columns too; and
    `download`, for the recording itself.

    Raises:
        Problem: there is no such step.
    """
    if visit.query("download"):
        return _download(run.recording)
    return await _page(visit, run, None)


async def act(visit: Visit, run: Run) -> Response:
    """What a POST to a run's page asks for: act the recording out again, now."""
    engine = visit.site.kept.engine
    again: Replay | str
    try:
        again = await visit.site.kept.work_out(lambda: replay(run.recording, engine=engine))
    except UsageError as error:
        again = str(error)
    return await _page(visit, run, again)


async def _page(visit: Visit, run: Run, again: Replay | str | None) -> Response:
    recording = run.recording
    number = _step(visit, recording)
    explained = await explain(visit, recording)
    start = explained.after(0)
    first = start.score["reward"] if start is not None else None
    listed = _listed(len(recording.steps), number)
    rewards = [recording.steps[step - 1].score["reward"] for step in listed]
    if listed.start == 1 and first is not None:
        rewards.insert(0, first)
    return visit.render(
        "run.html",
        run=run,
        recording=recording,
        header=recording.header,
        footer=recording.footer,
        facts=_facts(recording),
        task=run.task,
        again=again,
        explained=explained,
        first=first,
        whole=bool(visit.query("whole")),
        shown=_shown(recording, number, explained.after(number), first),
        chart=chart(rewards, listed.stop - len(rewards)),
        listed=listed,
        last=len(recording.steps),
        workbench=_workbench(recording),
        rows_max=ROWS_MAX,
    )


def _step(visit: Visit, recording: Recording) -> int:
    """The step that the query names; the last one by default."""
    last = len(recording.steps)
    text = visit.query("step")
    if not text:
        return last
    if not (text.isascii() and text.isdecimal()) or len(text) > 6 or int(text) > last:
        raise Problem("not_found", f"this run has the steps 0 to {last}, and no {text[:20]!r}")
    return int(text)


def _listed(last: int, number: int) -> range:
    """The steps that are listed beside one: all, or those around it."""
    start = max(1, min(number - STEPS_MAX // 2, last + 1 - STEPS_MAX))
    return range(start, min(start + STEPS_MAX, last + 1))


def _shown(recording: Recording, number: int, why: Why | None, first: float | None) -> Shown:
    if number == 0:
        return Shown(0, None, "", why, None, None)
    step = recording.steps[number - 1]
    before = first if number == 1 else recording.steps[number - 2].score["reward"]
    gained = None if before is None else step.score["reward"] - before
    return Shown(number, step, _customer(step), why, step.score, gained)


def _customer(step: RecordedStep) -> str:
    """The customer's words: those recorded beside the step, or those that the tool passes on."""
    if step.reply is not None:
        return step.reply.message
    words = cast(Mapping[str, object], step.result["data"]).get("customer")
    return words if isinstance(words, str) else ""


def chart(rewards: Sequence[float], first: int = 0) -> Chart:
    """The rewards after each step, from step `first`, as a chart."""
    held = [max(-1.0, min(1.0, reward)) for reward in rewards]
    low = -1.0 if min(held, default=0.0) < 0 else 0.0
    left, right, top, bottom = 40, 14, 14, 34
    width, height = CHART_WIDTH - left - right, CHART_HEIGHT - top - bottom

    def y(reward: float) -> float:
        return round(top + (1 - reward) / (1 - low) * height, 1)

    count = max(len(held) - 1, 1)
    points = tuple(
        Point(first + place, rewards[place], round(left + place / count * width, 1), y(reward))
        for place, reward in enumerate(held)
    )
    levels = tuple(Level(reward, y(reward)) for reward in (1.0, 0.0, -1.0) if reward >= low)
    # A reward holds from its step until the next one.
    line = " ".join(
        [f"{point.x},{point.y} {after.x},{point.y}" for point, after in pairwise(points)]
        + [f"{point.x},{point.y}" for point in points[-1:]]
    )
    told = ", ".join(f"{point.step}: {point.reward:+.2f}" for point in points)
    return Chart(CHART_WIDTH, CHART_HEIGHT, points, levels, line, f"Reward after each step: {told}")


def _facts(recording: Recording) -> Facts:
    facts = recording.footer.run or {}

    def text(name: str) -> str:
        value = facts.get(name)
        return "" if value is None else str(value)

    texts = ("termination", "invalid", "detail", "customer", "turns", "malformed_calls")
    return Facts(*map(text, texts), transcript=facts.get("transcript"))


def _workbench(recording: Recording) -> str:
    """The page that starts the same task with the same settings."""
    header = recording.header
    query: dict[str, object] = {
        "suite": header.task.partition("/")[0],
        "task": header.task,
        "seed": header.seed,
        **header.parameters,
    }
    return f"/workbench?{urlencode(query)}"


def _download(recording: Recording) -> Response:
    name = "".join(
        character if character.isascii() and character.isalnum() else "-"
        for character in f"{recording.header.task}-{recording.header.seed}"
    )
    disposition = f'attachment; filename="{name[:80]}.json"'
    return Response(
        recording.to_json(),
        media_type="application/json",
        headers={**HEADERS, "Content-Disposition": disposition},
    )


__all__ = ["act", "chart", "show"]
