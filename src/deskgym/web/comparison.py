"""Two runs of one task side by side, at the step where they part."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from deskgym.errors import UnknownName
from deskgym.recording import Header, RecordedStep, Recording
from deskgym.runstore import RecordingFilter
from deskgym.suite import load_suite
from deskgym.web import parting
from deskgym.web.found import find_run
from deskgym.web.run import Run
from deskgym.web.shipped import all_shipped
from deskgym.web.site import Page, Visit

CANDIDATES_MAX: Final = 30
"""How many runs of one kind are offered to compare with."""


class Pair(NamedTuple):
    """A step of both runs; None where one has ended."""

    number: int
    a: RecordedStep | None
    b: RecordedStep | None


class Candidate(NamedTuple):
    """A run that may be compared with: what the page knows it by, and what it is called."""

    name: str
    title: str
    same_seed: bool


async def compare(visit: Visit) -> Response:
    """Show two runs side by side, or what the one that is named can be compared with."""
    names = [visit.query("a"), visit.query("b")]
    picked = visit.request.query_params.getlist("run")
    if picked:
        asked = urlencode(dict(zip(("a", "b"), picked, strict=False)))
        return visit.go(f"/compare?{asked}")
    named = list(filter(None, names))
    if len(named) < 2:
        return await _pick(visit, await find_run(visit, named[0]) if named else None)
    a, b = await find_run(visit, names[0]), await find_run(visit, names[1])
    left, right = a.recording, b.recording
    parts = parting.parting(left, right)
    same = left.header.task == right.header.task
    pairs = _pairs(left, right)
    # Where the records are others from the start, no step is the same as one of the other run.
    start = len(pairs) if parts.step is None else max(parts.step - 1, 0)
    return visit.render(
        "comparison.html",
        a=a,
        b=b,
        same=same,
        parting=parts,
        settings=parting.settings(left, right),
        before=pairs[:start],
        first=pairs[start] if start < len(pairs) else None,
        after=pairs[start + 1 :],
        arguments=parting.arguments(pairs[start].a, pairs[start].b) if start < len(pairs) else [],
        changes=parting.changes(left, right),
        held=parting.held(left, right),
        swapped=f"/compare?{urlencode({'a': b.name, 'b': a.name})}",
    )


def _pairs(a: Recording, b: Recording) -> list[Pair]:
    count = max(len(a.steps), len(b.steps))
    return [Pair(number, _step(a, number), _step(b, number)) for number in range(1, count + 1)]


def _step(recording: Recording, number: int) -> RecordedStep | None:
    return recording.steps[number - 1] if number <= len(recording.steps) else None


async def _pick(visit: Visit, run: Run | None) -> Response:
    if run is None:
        return visit.render("compare_with.html", a=None, groups={})
    header = run.recording.header
    groups = {
        "Recordings": await _stored(visit, header),
        "Shipped with deskgym": await _shipped(visit, header),
        "Scripted runs whose reward is known": _scripts(header),
    }
    others = {
        title: [item for item in items if item.name != run.name] for title, items in groups.items()
    }
    return visit.render("compare_with.html", a=run, groups=others)


async def _stored(visit: Visit, header: Header) -> list[Candidate]:
    """Those of the same seed first."""
    store = visit.service.store.recordings
    found: dict[str, Candidate] = {}
    for seed in (header.seed, None):
        which = RecordingFilter(task=header.task, seed=seed)
        page = await visit.run(store.list, which, limit=CANDIDATES_MAX)
        for item in page.items:
            title = f"{item.agent}, seed {item.seed}, " + (
                f"{item.reward:+.2f}" if item.status == "reward" else item.status
            )
            same = item.seed == header.seed
            found.setdefault(item.id, Candidate(f"recordings/{item.id}", title, same))
    return list(found.values())[:CANDIDATES_MAX]


async def _shipped(visit: Visit, header: Header) -> list[Candidate]:
    found = [
        Candidate(
            item.path.removeprefix("/"),
            f"{item.recording.header.agent}, seed {item.recording.header.seed}, "
            f"{item.recording.reward:+.2f}",
            item.recording.header.seed == header.seed,
        )
        for item in await all_shipped(visit)
        if item.recording.header.task == header.task
    ]
    return sorted(found, key=lambda item: not item.same_seed)[:CANDIDATES_MAX]


def _scripts(header: Header) -> list[Candidate]:
    suite_name, _, task_name = header.task.partition("/")
    try:
        task = load_suite(suite_name).task(task_name)
    except UnknownName:
        return []
    seed = f"?seed={header.seed}" if header.seed else ""
    return [
        Candidate(
            f"board/{suite_name}/{task.name}/{control.name}{seed}",
            f"{control.title}, {control.reward:+.2f}",
            True,
        )
        for control in task.controls
    ][:CANDIDATES_MAX]


PAGES = (Page("compare", "/compare", compare),)
