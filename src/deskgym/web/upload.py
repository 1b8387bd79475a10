"""Files of recordings that people bring: each recording is taken, or refused with its reason."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, NamedTuple

from starlette.datastructures import UploadFile

from deskgym.recording import InvalidRecording, Located, Recording, parse_each
from deskgym.serve.problem import Problem
from deskgym.web.show import shortened
from deskgym.web.site import Visit

UPLOAD_MAX: Final = 1_000
"""How many recordings a file may bring."""


class Entry(NamedTuple):
    """A recording of a file.

    Attributes:
        where: the file, or the file and the line.
        recording: what it holds; None where it is none.
        id: what it is kept by; empty where it is refused.
        new: whether it was not there before.
        problem: why it is refused; empty where it is taken.
    """

    where: str
    recording: Recording | None = None
    id: str = ""
    new: bool = False
    problem: str = ""


@dataclass(frozen=True)
class Upload:
    """A file, and what became of its recordings."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def added(self) -> list[Entry]:
        """Those that were not there before."""
        return [entry for entry in self.entries if entry.new]

    @property
    def known(self) -> list[Entry]:
        """Those that were there already."""
        return [entry for entry in self.entries if entry.id and not entry.new]

    @property
    def refused(self) -> list[Entry]:
        """Those that are no recordings, or were changed."""
        return [entry for entry in self.entries if entry.problem]


class File(NamedTuple):
    """A file as it came: what it is called, in a few words, and its content."""

    name: str
    content: bytes


async def brought(visit: Visit, field: str = "file") -> File:
    """The file that a form brings; raises `Problem` where it brings none."""
    file = visit.form.get(field)
    if not isinstance(file, UploadFile) or not file.filename:
        raise Problem("invalid_value", "choose a file first")
    return File(shortened(file.filename, 80), await file.read())


async def keep(visit: Visit) -> Upload:
    """Take the recordings of the file that a form brings.

    They are checked in a thread: a large one takes long, and other pages have not to wait for it.

    Raises `Problem` where there is no file.
    """
    name, content = await brought(visit)
    try:
        found = await asyncio.to_thread(
            lambda: list(parse_each(content, name, lines_max=UPLOAD_MAX))
        )
    except InvalidRecording as error:  # of the file as a whole
        found = [error]
    return Upload(name, tuple([await _kept(visit, name, item) for item in found]))


async def _kept(visit: Visit, name: str, item: Located | InvalidRecording) -> Entry:
    if isinstance(item, InvalidRecording):
        return Entry(name, problem=str(item))
    try:
        id, new = await visit.run(visit.service.store.recordings.import_, item.recording)
    except InvalidRecording as error:
        return Entry(item.where, problem=str(error))
    await asyncio.sleep(0)  # other pages have not to wait for all of them
    return Entry(item.where, item.recording, id, new)
