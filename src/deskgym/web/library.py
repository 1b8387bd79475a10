"""The recordings library: what was run here, what was brought, and what comes with deskgym."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from starlette.responses import Response

from deskgym.errors import UnknownName
from deskgym.runstore import RecordingFilter
from deskgym.runstore.archive import RecordingSummary
from deskgym.suite import load_suite, suite_names
from deskgym.web.choice import SHELVES, SORTS, Choice, Shelf, chosen
from deskgym.web.found import stored_run
from deskgym.web.shipped import Shipped, all_shipped, fitting, shipped_run
from deskgym.web.show import label
from deskgym.web.site import Page, Visit
from deskgym.web.upload import UPLOAD_MAX, keep
from deskgym.web.viewer import act, show

ROWS: Final = 30
"""How many recordings a page of the list has."""


class Row(NamedTuple):
    """A recording as the list shows it.

    Attributes:
        path: its page.
        when: when it was saved, in milliseconds since 1970; None for those that are shipped.
        broken: what kept its reward from being full.
        replays: whether it replays exactly; None where nobody has looked.
        note: where it does not replay.
    """

    path: str
    task: str
    agent: str
    seed: int
    status: str
    reward: float
    verdict: str
    steps: int
    when: int | None
    broken: Sequence[str]
    replays: bool | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """What `/compare` knows it by."""
        return self.path.removeprefix("/")


class Listed(NamedTuple):
    """A page of the list: its rows, how many there are in all, and the token of the next page."""

    rows: list[Row]
    total: int
    next: str | None


class Choices(NamedTuple):
    """What can be filtered by."""

    tasks: dict[str, list[tuple[str, str]]]
    agents: list[str]
    broken: list[str]


async def library(visit: Visit) -> Response:
    """Show recordings, those of one shelf at a time, by a filter and a page at a time."""
    choice = chosen(visit)
    shelf = await _shelf(visit)
    listed = await (
        _shipped(visit, choice) if shelf == "shipped" else _stored(visit, choice, shelf)
    )
    return visit.render(
        "library.html",
        shelf=shelf,
        shelves=SHELVES,
        sorts=SORTS,
        choice=choice,
        choices=await _choices(visit, shelf),
        listed=listed,
        deeper=bool(visit.query("page")),
        deleted=visit.query("deleted") == "1",
        upload_max=UPLOAD_MAX,
        bytes_max=visit.service.settings.import_bytes_max,
    )


async def _shelf(visit: Visit) -> Shelf:
    asked = visit.query("from")
    if asked in SHELVES:
        return cast(Shelf, asked)
    if asked:
        raise UnknownName("place of recordings", asked[:40], list(SHELVES))
    store = visit.service.store.recordings
    some = await visit.run(store.list, RecordingFilter(origin="own"), limit=1)
    return "own" if some.items else "shipped"


async def _stored(visit: Visit, choice: Choice, shelf: Shelf) -> Listed:
    store = visit.service.store.recordings
    which = choice.within(shelf)
    page = await visit.run(
        store.list, which, sort=choice.sort, limit=ROWS, page=visit.query("page") or None
    )
    rows = await stored_rows(visit, page.items)
    return Listed(rows, await visit.run(store.count, which), page.next)


async def stored_rows(visit: Visit, items: Sequence[RecordingSummary]) -> list[Row]:
    """Recordings of the store as a list shows them."""
    store = visit.service.store.recordings
    broken = await visit.run(store.broken_by, [item.id for item in items])
    return [
        Row(f"/recordings/{item.id}", item.task, item.agent, item.seed, item.status, item.reward,
            item.verdict, item.steps, item.created_ms, _telling(broken.get(item.id, ())))
        for item in items
    ]  # fmt: skip


async def _shipped(visit: Visit, choice: Choice) -> Listed:
    found = fitting(await all_shipped(visit), choice.which, choice.sort)
    text = visit.query("page")
    start = int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0
    rows = [_shipped_row(run) for run in found[start : start + ROWS]]
    following = start + ROWS
    return Listed(rows, len(found), str(following) if following < len(found) else None)


def _shipped_row(run: Shipped) -> Row:
    header, footer = run.recording.header, run.recording.footer
    return Row(
        run.path, header.task, header.agent, header.seed, footer.status, run.recording.reward,
        footer.score["verdict"], len(run.recording.steps), None, _telling(run.broken),
        not run.difference, run.difference,
    )  # fmt: skip


def _telling(broken: Sequence[str]) -> list[str]:
    """The names that tell most come first: a ceiling binds because something else is broken."""
    return sorted(broken, key=lambda name: name.startswith("ceiling "))


async def _choices(visit: Visit, shelf: Shelf) -> Choices:
    tasks = {
        name: [(f"{name}/{task.name}", task.title) for task in load_suite(name).tasks]
        for name in suite_names()
    }
    if shelf == "shipped":
        runs = await all_shipped(visit)
        agents = sorted({run.recording.header.agent for run in runs})
        return Choices(tasks, agents, sorted({name for run in runs for name in run.broken}))
    store = visit.service.store.recordings
    agents, broken = await visit.run(store.agents), await visit.run(store.broken)
    # A name that a stranger chose to mislead is found by who types it, and not offered.
    return Choices(tasks, _honest(agents), _honest(broken))


def _honest(names: Sequence[str]) -> list[str]:
    return [name for name in names if label(name, len(name)) == name]


async def upload(visit: Visit) -> Response:
    """Take a file of recordings: to the page of the one that it holds, or what became of each."""
    done = await keep(visit)
    if len(done.entries) == 1 and done.entries[0].id:
        return visit.go(f"/recordings/{done.entries[0].id}")
    status = 200 if done.added or done.known else 422
    return visit.render("uploaded.html", status, upload=done)


async def recording(visit: Visit) -> Response:
    """Show a recording step by step."""
    return await show(visit, await stored_run(visit, visit.path["id"]))


async def recording_again(visit: Visit) -> Response:
    """Act a recording out again."""
    return await act(visit, await stored_run(visit, visit.path["id"]))


async def ask_to_delete(visit: Visit) -> Response:
    """Ask whether a recording is to be deleted."""
    store = visit.service.store.recordings
    summary = await visit.run(store.summary, visit.path["id"])
    return visit.render("delete.html", summary=summary, evaluation=None)


async def delete(visit: Visit) -> Response:
    """Delete a recording."""
    store, id = visit.service.store.recordings, visit.path["id"]
    summary = await visit.run(store.summary, id)
    await visit.run(store.delete, id)
    return visit.go(f"/recordings?from={summary.origin}&deleted=1")


async def shipped(visit: Visit) -> Response:
    """Show a run that comes with a suite step by step."""
    found = await shipped_run(visit, visit.path["suite"], visit.path["number"])
    return await show(visit, found.run)


async def shipped_again(visit: Visit) -> Response:
    """Act a run that comes with a suite out again."""
    found = await shipped_run(visit, visit.path["suite"], visit.path["number"])
    return await act(visit, found.run)


PAGES = (
    Page("library", "/recordings", library),
    Page("upload", "/recordings", upload, method="POST", files_max=1),
    Page("recording", "/recordings/{id}", recording),
    Page("recording_again", "/recordings/{id}", recording_again, method="POST"),
    Page("ask_to_delete", "/recordings/{id}/delete", ask_to_delete),
    Page("delete", "/recordings/{id}/delete", delete, method="POST"),
    Page("shipped", "/shipped/{suite}/{number}", shipped),
    Page("shipped_again", "/shipped/{suite}/{number}", shipped_again, method="POST"),
)
