"""Recordings in: an upload is checked whole; an episode can go on from any recorded step."""

from __future__ import annotations

from urllib.parse import urlencode

import orjson
from starlette.datastructures import UploadFile
from starlette.responses import Response

from deskgym.errors import UnknownName
from deskgym.recording import InvalidRecording, RecordedStep, parse
from deskgym.runstore import NewEpisode
from deskgym.serve.problem import Problem
from deskgym.suite import load_suite
from deskgym.trajectory import Action, Observation
from deskgym.web.site import Page, Visit
from deskgym.web.upload import brought
from deskgym.web.workbench import desk
from deskgym.web.workbench.source import source_of
from deskgym.web.workbench.start import page as start_page


async def import_(visit: Visit) -> Response:
    """Take a recording in, checked whole, and offer to go on from it.

    One that was changed after it was made is refused, with the place where it broke.
    """
    file = visit.form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return await start_page(visit, {}, {"file": "choose a recording's file first"})
    name, document = await brought(visit)
    try:
        # A large document takes long to check, and other requests have not to wait for it.
        recording = await visit.site.kept.work_out(lambda: parse(document, name))
        id, _ = await visit.run(visit.service.store.recordings.import_, recording)
    except InvalidRecording as error:
        return await start_page(visit, {}, {"file": str(error)})
    suite, _, task = recording.header.task.partition("/")
    try:
        load_suite(suite).task(task)
    except UnknownName:
        return visit.go(f"/recordings/{id}")  # it can be looked at, but not gone on with
    chosen = {"suite": suite, "task": task, "from": f"recordings/{id}"}
    return visit.go(f"/workbench?{urlencode(chosen)}#from")


async def go_on(visit: Visit) -> Response:
    """Start an episode with a recording's settings, and take its first actions again.

    It stops at the first step that does not come out as it was recorded; the episode can be gone
    on with from there all the same.
    """
    source = await source_of(visit, visit.text("from"))
    recording = source.recording
    count = _count(visit.text("steps"), len(recording.steps))
    steps = recording.steps[:count]
    header = recording.header
    # A form that is sent twice starts one episode; with another count it is another one.
    id = f"{visit.text('id')}-{count}" if visit.text("id") else None
    new = NewEpisode(
        header.task, header.seed, dict(header.parameters), header.rubric, id, desk.HUMAN,
        visit.trainer.holder,
    )  # fmt: skip
    (made,) = await visit.service.create([new])
    different = await _retake(visit, made.id, steps)
    note = "" if different is None else f"?differs={different}"
    return visit.go(f"/workbench/{made.id}{note}")


async def _retake(visit: Visit, id: str, steps: list[RecordedStep]) -> int | None:
    """Take recorded steps; the number of the first that comes out otherwise, or None."""
    for step in steps:
        reply = None if step.reply is None else step.reply.reply
        seen = await visit.service.step(id, Action.from_json(step.action), step.step, reply)
        if _as_recorded(seen) != step.result:
            return step.step
        if seen.done:
            await visit.run(visit.service.episodes.close, id)
            return None
    return None


def _as_recorded(seen: Observation) -> object:
    result = {"ok": seen.ok, "code": seen.code, "message": seen.message, "data": dict(seen.data)}
    return orjson.loads(orjson.dumps(result))


def _count(typed: str, most: int) -> int:
    """How many steps to take again; all if nothing is said."""
    text = typed.strip()
    if not text:
        return most
    if not (text.isascii() and text.isdecimal() and len(text) < 7 and int(text) <= most):
        raise Problem("bad_request", f"the steps to take again are a whole number from 0 to {most}")
    return int(text)


PAGES = (
    Page("workbench_import", "/workbench/import", import_, method="POST", files_max=1),
    Page("workbench_continue", "/workbench/continue", go_on, method="POST"),
)
