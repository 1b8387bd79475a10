"""A results file: an episode a line, appended as it ends, and taken up again after a crash."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import orjson

from deskgym.errors import UsageError
from deskgym.evaluate.result import (
    FORMAT,
    EpisodeKey,
    EpisodeResult,
    InvalidResults,
    parse_episode,
    parse_line,
)
from deskgym.recording import DOCUMENT_BYTES_MAX, Recording, parse
from deskgym.rubric.held import checks_of

try:
    import fcntl
except ImportError:  # Windows has no such lock; two runs into one file are not noticed there.
    fcntl = None

_START: Final = b'{"results":%d,"result":{' % FORMAT


class Planned(NamedTuple):
    """An episode that a run asks for, and the settings that its result has to have."""

    key: EpisodeKey
    settings: Mapping[str, Any]


class _Place(NamedTuple):
    offset: int
    length: int


class ResultsFile:
    """A results file that is open to be continued.

    Opening it reads what an earlier run of the same command left. A last line that was cut off is
    dropped, and its episode counts as not run. One process writes a file at a time.

    Attributes:
        done: the results that are there already; the last one where an episode was run again.
    """

    def __init__(self, path: Path, plan: Sequence[Planned], *, force: bool = False) -> None:
        """Open or create the file.

        Args:
            path: the file.
            plan: every episode of the run, in the order in which the finished file holds them.
            force: forget what is there.

        Raises:
            InvalidResults: the file holds something else, or was changed.
            UsageError: its results are of other settings or episodes, another run is writing it,
                or it cannot be written.
        """
        self._path: Final = path
        # Through a symbolic link, so that the link stays one when the lines are ordered.
        self._stored: Final = path.resolve()
        self._order: Final = [item.key for item in plan]
        self._places: dict[EpisodeKey, _Place] = {}
        self.done: dict[EpisodeKey, EpisodeResult] = {}
        try:
            self._file: Final[BinaryIO] = path.open("a+b", buffering=0)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        try:
            if not self._stored.is_file():
                raise UsageError(f"{path} is no file that results can be read from again")
            self._lock()
            self._end = 0 if force else self._take_up({item.key: item.settings for item in plan})
            self._file.truncate(self._end)
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{self._path} is being written by another run") from None
        except OSError:
            return  # a file system that knows no locks

    def _take_up(self, plan: Mapping[EpisodeKey, Mapping[str, Any]]) -> int:
        """Read what is there and return where the next line goes."""
        offset = 0
        with self._path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                where = f"{self._path}:{number}"
                if not line.endswith(b"\n"):
                    if not _is_ours(line):
                        raise self._foreign()
                    break  # cut off in the middle of a write
                try:
                    result = parse_line(line, where)
                except InvalidResults as error:
                    raise (self._foreign() if number == 1 else error) from error
                self._fits(result, plan)
                self.done[result.key] = result
                self._places[result.key] = _Place(offset, len(line))
                offset += len(line)
        return offset

    def _foreign(self) -> InvalidResults:
        return InvalidResults(f"{self._path} exists and is no results file; --force overwrites it")

    def _fits(self, result: EpisodeResult, plan: Mapping[EpisodeKey, Mapping[str, Any]]) -> None:
        """Refuse to mix results of two runs."""
        advice = "name another file, or --force to begin it anew"
        if result.key not in plan:
            raise UsageError(
                f"{self._path} holds {result.key}, which this run does not ask for: {advice}"
            )
        wanted = plan[result.key]
        for name in dict.fromkeys((*result.settings, *wanted)):
            made, asked = result.settings.get(name), plain(wanted.get(name))
            if made != asked:
                raise UsageError(
                    f"{self._path} was made with {name} {_told(made)}, and this run asks for "
                    f"{_told(asked)}: {advice}"
                )

    def append(self, result: EpisodeResult, line: bytes) -> None:
        """Add an episode as one whole line.

        Raises:
            UsageError: it cannot be written; the file is left as it was before.
        """
        try:
            left = memoryview(line)
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            with suppress(OSError):  # what is cut off here is dropped when the file is taken up
                self._file.truncate(self._end)
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from error
        self.done[result.key] = result
        self._places[result.key] = _Place(self._end, len(line))
        self._end += len(line)

    def recordings(self, keys: Collection[EpisodeKey]) -> Iterator[Recording]:
        """The recordings of some of the results that are there, in the order of the plan.

        Raises:
            InvalidResults: a result was changed.
            InvalidRecording: a recording was changed, or is not the result's.
        """
        with self._stored.open("rb") as source:
            for key in self._order:
                place = self._places.get(key)
                if place is None or key not in keys:
                    continue
                source.seek(place.offset)
                episode = parse_episode(source.read(place.length), f"{self._path}: {key}")
                if episode.recording is not None:
                    yield episode.recording

    def finish(self) -> None:
        """Bring the lines into the order of the plan, in one move, when every episode is there.

        Episodes end in any order. The finished file is the same whatever the order was, and
        however often the run was interrupted.
        """
        places = [self._places[key] for key in self._order]
        ends = [place.offset + place.length for place in places]
        if [place.offset for place in places] == [0, *ends[:-1]] and ends[-1:] == [self._end]:
            return
        ordered = self._stored.with_name(f".{self._stored.name}.ordered")
        try:
            with ordered.open("wb") as file, self._stored.open("rb") as source:
                for place in places:
                    source.seek(place.offset)
                    file.write(source.read(place.length))
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(self._stored, ordered)
            ordered.replace(self._stored)
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from error

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _is_ours(start: bytes) -> bool:
    """Whether a line that was cut off may be a result that we wrote."""
    return start.startswith(_START) or _START.startswith(start)


def plain(value: object) -> Any:
    """A value as it is read back from JSON."""
    return orjson.loads(orjson.dumps(value))


def _told(value: object) -> str:
    return "none" if value is None else orjson.dumps(value).decode()


def result_of_recording(recording: Recording) -> EpisodeResult:
    """The result of a recording that was saved alone."""
    header, footer = recording.header, recording.footer
    judged = footer.status == "reward"
    run = footer.run or {}
    return EpisodeResult(
        task=header.task,
        agent=header.agent,
        seed=header.seed,
        trial=0,
        parameters=header.parameters,
        settings={"rubric": header.rubric},
        status=footer.status,
        reward=recording.reward if judged else None,
        termination=str(run.get("termination", footer.ended or "agent_stopped")),
        detail=str(run.get("detail", "")),
        verdict=footer.score["verdict"] if judged else None,
        reasons=footer.score["reasons"] if judged else [],
        actions=len(recording.steps),
        checks=checks_of(footer.score) if judged else {},
        usage=None,
    )


def check_results(path: Path, name: str | None = None) -> None:
    """Check every result of a file against its recording; lines of recordings alone are passed by.

    Raises:
        InvalidResults: a result was changed.
        InvalidRecording: a recording was changed, or is not the result's.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.startswith(b'{"results":'):
                parse_episode(line, f"{name or path}:{number}")


def read_results(path: Path, name: str | None = None) -> Iterator[EpisodeResult]:
    """The results of a file, one at a time; a recording that stands alone in a line is one too.

    A last line that was cut off is left out, so a file can be read while a run is writing it.

    Args:
        path: the file.
        name: what messages call it; its path if None.

    Raises:
        InvalidResults: the file is empty, cannot be read, was changed, or holds something else.
        InvalidRecording: a recording in it was changed.
    """
    shown = name or str(path)
    count = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(DOCUMENT_BYTES_MAX + 1):
                if len(line) > DOCUMENT_BYTES_MAX:
                    raise InvalidResults(f"{shown}:{count + 1} is longer than 64 MB")
                if not line.endswith(b"\n") and _is_ours(line):
                    break
                count += 1
                where = f"{shown}:{count}"
                if line.startswith(b'{"header":'):
                    yield result_of_recording(parse(line, where))
                else:
                    yield parse_line(line, where)
    except OSError as error:
        raise InvalidResults(f"{shown} cannot be read: {error.strerror}") from error
    if not count:
        raise InvalidResults(f"{shown} holds no results")
