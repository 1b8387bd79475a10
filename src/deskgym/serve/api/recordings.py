"""Operations on recordings."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from deskgym.recording import Recording, parse
from deskgym.replay import replay as replay_recording
from deskgym.runstore import RecordingFilter
from deskgym.serve.api import forms
from deskgym.serve.api.episodes import score_json
from deskgym.serve.operation import Asked, NoForm, NoQuery, Operation, Reply


async def list_(asked: Asked[NoForm, forms.RecordingsQuery]) -> dict[str, Any]:
    """List recordings that fit a filter, a page at a time."""
    query, service = asked.query, asked.service
    fields = query.model_dump(exclude={"sort", "limit", "page"})
    page = await service.run(
        service.store.recordings.list,
        RecordingFilter(**fields),
        sort=query.sort,
        limit=query.limit,
        page=query.page,
    )
    return {"items": [item.to_dict() for item in page.items], "next": page.next}


async def import_(asked: Asked[NoForm, NoQuery]) -> Reply:
    """Import a recording, checked whole; an equal one is kept once.

    The body is the recording's JSON, as `deskgym run --out` writes a line of it.
    """
    service = asked.service
    # A large document takes long to check, and other requests have not to wait for it.
    recording = await asyncio.to_thread(parse, asked.body)
    id, new = await service.run(service.store.recordings.import_, recording)
    location = ("location", f"/api/recordings/{id}")
    return Reply(orjson.dumps({"id": id, "new": new}), 201 if new else 200, (location,))


async def get(asked: Asked[NoForm, NoQuery]) -> Reply:
    """Show a recording, whole, as it was saved."""
    service = asked.service
    document = await service.run(service.store.recordings.document, asked.path["id"])
    return Reply(document.encode())


async def summary(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Show what a list shows of a recording."""
    service = asked.service
    return (await service.run(service.store.recordings.summary, asked.path["id"])).to_dict()


async def replay(asked: Asked[forms.ReplayForm, NoQuery]) -> dict[str, Any]:
    """Re-execute a recording in a fresh world, and name the first difference."""
    service = asked.service
    recording = await service.run(service.store.recordings.get, asked.path["id"])
    made = await asyncio.to_thread(replay_recording, recording, rubric=asked.form.rubric)
    difference = made.difference
    return {
        "same": difference is None,
        "difference": None if difference is None else vars(difference),
        "score": score_json(made.score),
        "rescored": made.rescored,
    }


async def delete(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Delete a recording."""
    service, id = asked.service, asked.path["id"]
    await service.run(service.store.recordings.delete, id)
    return {"id": id}


_ONE = "/recordings/{id}"
_UNKNOWN = ("unknown_name",)
OPERATIONS = (
    Operation("list_recordings", "GET", "/recordings", list_, forms.RecordingsAnswer,
              query=forms.RecordingsQuery, problems=("invalid_value",)),
    Operation(
        "import_recording", "POST", "/recordings", import_, forms.ImportedAnswer, raw=Recording,
        status=201, other_statuses=((200, "An equal one was there."),),
        problems=("invalid_recording",),
    ),
    Operation("get_recording", "GET", _ONE, get, forms.WholeRecordingAnswer, problems=_UNKNOWN),
    Operation("delete_recording", "DELETE", _ONE, delete, forms.DeletedAnswer, problems=_UNKNOWN),
    Operation("get_recording_summary", "GET", f"{_ONE}/summary", summary,
              forms.RecordingSummaryAnswer, problems=_UNKNOWN),
    Operation("replay_recording", "POST", f"{_ONE}/replay", replay, forms.ReplayAnswer,
              form=forms.ReplayForm,
              problems=(*_UNKNOWN, "invalid_recording", "invalid_parameter")),
)  # fmt: skip
