"""Runs by their names: `recordings/ID`, `shipped/SUITE/NUMBER` or `board/SUITE/TASK/SCRIPT`."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs

from deskgym.errors import InvalidParameter
from deskgym.recording import Recording, parse
from deskgym.runstore.archive import RecordingSummary
from deskgym.serve.problem import Problem
from deskgym.task import checked_seed
from deskgym.web.board import scripted_run
from deskgym.web.run import Run
from deskgym.web.shipped import shipped_run
from deskgym.web.show import moment
from deskgym.web.site import Visit

INLINE_BYTES_MAX: Final = 100_000
"""How large a recording may be that is read at once; a larger one is read in a thread."""


async def find_run(visit: Visit, name: str) -> Run:
    """A run by its name.

    Raises:
        Problem: that is no run's name.
        UnknownName: there is none of that name.
        InvalidRecording: a recording was changed since it was saved.
    """
    path, _, query = name.partition("?")
    match path.strip("/").split("/"):
        case ["recordings", id]:
            return await stored_run(visit, id)
        case ["shipped", suite, number]:
            return (await shipped_run(visit, suite, number)).run
        case ["board", suite, task, script]:
            return await scripted_run(visit, suite, task, script, _seed(query))
        case _:
            raise Problem(
                "not_found",
                f"{name[:80]!r} names no run: runs are recordings/ID, shipped/SUITE/NUMBER or "
                "board/SUITE/TASK/SCRIPT",
            )


def _seed(query: str) -> int:
    text = parse_qs(query).get("seed", ["0"])[-1]
    if not (text.isascii() and text.isdecimal()) or len(text) > 10:
        raise InvalidParameter(f"a seed is a whole number, not {text[:40]!r}")
    return checked_seed(int(text))


async def stored_run(visit: Visit, id: str) -> Run:
    """A recording of the run store. Raises as `find_run`."""
    store = visit.service.store.recordings
    summary = await visit.run(store.summary, id)
    recording = await _recording(visit, summary)
    header = recording.header
    return Run(
        recording,
        f"{header.task.partition('/')[2] or header.task} by {header.agent}",
        f"/recordings/{summary.id}",
        f"{_ORIGINS[summary.origin]} {moment(summary.created_ms)}",
        _up(summary),
        removable=True,
    )


_ORIGINS: Final = {"own": "run here,", "uploaded": "uploaded,"}


def _up(summary: RecordingSummary) -> tuple[str, str]:
    if summary.evaluation is not None:
        return f"/evaluations/{summary.evaluation}", "Its evaluation run"
    return f"/recordings?from={summary.origin}", "Recordings"


async def _recording(visit: Visit, summary: RecordingSummary) -> Recording:
    store, id = visit.service.store.recordings, summary.id
    if summary.bytes <= INLINE_BYTES_MAX:
        return await visit.run(store.get, id)
    document = await visit.run(store.document, id)
    kept = visit.site.kept
    return await kept.get(
        "document", (id, summary.hash), lambda: parse(document, f"recording {id}")
    )
