"""Recordings: a saved trajectory that anyone can check and replay.

A recording is one JSON document, or a line of a JSON Lines file. Each part of it is sealed by a
hash that covers everything before it, so that a changed value, a missing step or another order
is found and named. Reading one runs nothing; replaying one runs the task's tools and no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, BinaryIO, Final, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from deskgym.desk import CustomerReply
from deskgym.environment import Environment
from deskgym.errors import UnknownName, UsageError
from deskgym.rubric import Score
from deskgym.store.change import Row
from deskgym.store.schema import TABLES
from deskgym.trajectory import Action, Observation

FORMAT: Final = 2
"""The newest format. A recording without what it added, a customer's replies and how a run with
models went, is written in format 1. An older one is read; a newer one is refused."""

DOCUMENT_BYTES_MAX: Final = 64 * 2**20
WHOLE_WORLD_ROWS_MAX: Final = 200
"""A world with more rows is recorded as its template's digest and its net changes."""

Status = Literal["reward", "invalid", "error"]
"""How a run ended: with a reward; not to be judged, through no fault of the agent; or by a bug of
ours. The three are never averaged together."""


class InvalidRecording(UsageError):
    """A file that is no recording, or one that was changed after it was made."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _holding(**fields: type | tuple[type, ...]) -> AfterValidator:
    """Hold an object to what its readers take from it; the object itself stays as it is."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        for name, kinds in fields.items():
            if name not in value:
                raise PydanticCustomError("missing", "{name} is missing", {"name": name})
            if not isinstance(value[name], kinds):
                raise PydanticCustomError("type", "{name} has the wrong type", {"name": name})
        return value

    return AfterValidator(check)


_OBJECT_OR_NULL: Final = (dict, NoneType)
_Opening = Annotated[dict[str, Any], _holding(message=str, steps_max=int)]
_Action = Annotated[dict[str, Any], _holding(tool=str, arguments=object)]
_Result = Annotated[dict[str, Any], _holding(ok=bool, code=str, message=str, data=dict)]
_Change = Annotated[
    dict[str, Any],
    _holding(table=str, key=list, before=_OBJECT_OR_NULL, after=_OBJECT_OR_NULL),
]
_Run = Annotated[dict[str, Any], _holding(termination=str, invalid=(str, NoneType))]
_StepScore = Annotated[dict[str, Any], _holding(reward=float, verdict=str)]
_Score = Annotated[dict[str, Any], _holding(reward=float, verdict=str, reasons=list)]


class Header(_Model):
    """What was run.

    Attributes:
        format: the format's version.
        task: the task's id.
        agent: who acted.
        rubric: the version that scored it.
        initial: the initial world, whole; None when it is large.
        template: the digest of the initial world.
        opening: the first observation.
    """

    format: int
    task: str
    seed: int
    parameters: dict[str, int]
    agent: str
    rubric: str
    template: str
    initial: dict[str, list[dict[str, Any]]] | None
    opening: _Opening


class RecordedReply(_Model):
    """What a customer who is no script said to a step."""

    message: str
    accepts: bool
    done: bool

    @model_validator(mode="after")
    def _check(self) -> RecordedReply:
        try:
            self.reply.checked()
        except UsageError as error:
            raise PydanticCustomError("reply", "{why}", {"why": str(error)}) from error
        return self

    @property
    def reply(self) -> CustomerReply:
        """The reply, as `step` takes it."""
        return CustomerReply(self.message, self.accepts, self.done)


class RecordedStep(_Model):
    """One step: the action, its result, the rows that it changed, and the score after it.

    `reply` is what a customer who is no script said to it, so that it replays without one.
    """

    step: int
    action: _Action
    result: _Result
    changes: list[_Change]
    score: _StepScore
    ended: str | None
    reply: RecordedReply | None = None
    hash: str

    def retake(self, environment: Environment) -> Observation:
        """Take the recorded action again, with the recorded reply."""
        reply = None if self.reply is None else self.reply.reply
        return environment.step(Action.from_json(self.action), reply)


class Footer(_Model):
    """How it ended.

    Attributes:
        status: whether the run has a reward.
        ended: why the episode ended, or None if the agent stopped.
        score: the final score with its breakdown.
        digest: the digest of the final world.
        changes: the net row changes of the whole episode.
        final: the final world, whole; None when it is large.
        run: how a run with models or people went: why it ended, whether it is invalid, what was
            said and what it cost; None for other runs.
    """

    status: Status
    ended: str | None
    score: _Score
    digest: str
    changes: list[_Change]
    final: dict[str, list[dict[str, Any]]] | None
    run: _Run | None = None


class Recording(_Model):
    """A recorded run. `hash` seals it."""

    header: Header
    steps: list[RecordedStep]
    footer: Footer
    hash: str

    @property
    def reward(self) -> float:
        """The final reward."""
        return self.footer.score["reward"]

    def to_json(self) -> bytes:
        """The recording as one line of JSON."""
        # What a format 1 recording does not have is not written into it.
        return orjson.dumps(self.model_dump(exclude_unset=True))


def recording_of(
    environment: Environment,
    *,
    agent: str,
    step_scores: Sequence[Score],
    status: Status | None = None,
    run: Mapping[str, Any] | None = None,
) -> Recording:
    """Record an environment's episode.

    Args:
        environment: the environment, whose episode may still be open.
        agent: who acted, for people.
        step_scores: the score after each step.
        status: whether it has a reward; by whether a tool failed by mistake if None.
        run: how a run with models or people went; has `termination` and `invalid`.

    Raises:
        UsageError: there is no episode, or not one score a step.
    """
    if len(step_scores) != len(environment.steps):
        raise UsageError("a recording needs one score for each step")
    plain = run is None and not any(step.reply for step in environment.steps)
    header = _header(environment, agent, 1 if plain else FORMAT)
    seal = _seal("", header)
    steps: list[dict[str, Any]] = []
    for step, score in zip(environment.steps, step_scores, strict=True):
        body: dict[str, Any] = {
            "step": step.number,
            "action": step.action.to_dict(),
            "result": orjson.loads(step.result_json),
            "changes": [change.to_dict() for change in step.changes],
            "score": score.brief(),
            "ended": step.ended,
        }
        if step.reply is not None:
            body["reply"] = step.reply._asdict()
        seal = _seal(seal, body)
        steps.append({**body, "hash": seal})
    footer = _footer(environment, step_scores[-1] if step_scores else environment.score())
    if status is not None:
        footer["status"] = status
    if run is not None:
        footer["run"] = dict(run)
    document = {"header": header, "steps": steps, "footer": footer, "hash": _seal(seal, footer)}
    return Recording.model_validate(orjson.loads(orjson.dumps(document)))


def _header(environment: Environment, agent: str, version: int) -> dict[str, Any]:
    fixture = environment.fixture
    rows = {**fixture.template.base.rows, **fixture.template.rows}
    small = sum(map(len, rows.values())) <= WHOLE_WORLD_ROWS_MAX and not fixture.template.base.rows
    initial = {name: items for name, items in rows.items() if not TABLES[name].is_log}
    return {
        "format": version,
        "task": environment.id,
        "seed": environment.seed,
        "parameters": dict(environment.parameters),
        "agent": agent,
        "rubric": environment.rubric.version,
        "template": fixture.template.id,
        "initial": by_name(initial) if small else None,
        "opening": environment.opening().to_dict(),
    }


def _footer(environment: Environment, score: Score) -> dict[str, Any]:
    world = environment.world
    small = not environment.fixture.template.base.rows
    final = world.snapshot() if small else {}
    small = small and sum(map(len, final.values())) <= WHOLE_WORLD_ROWS_MAX
    return {
        "status": "error" if environment.bugs else "reward",
        "ended": environment.ended,
        "score": score.to_dict(),
        "digest": world.digest(),
        "changes": [change.to_dict() for change in world.changes()],
        "final": by_name(final) if small else None,
    }


def by_name(rows: Mapping[str, Sequence[Row]]) -> dict[str, list[dict[str, object]]]:
    """Rows by column name, in key order; tables without rows are left out."""
    return {
        name: [TABLES[name].as_dict(row) for row in sorted(items, key=TABLES[name].key_of)]
        for name, items in rows.items()
        if items
    }


def _seal(before: str, body: Mapping[str, Any]) -> str:
    """The next hash of the chain: SHA-256 of the one before and the part's canonical JSON."""
    canonical = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return sha256(before.encode() + canonical).hexdigest()


# Reading.


def parse(document: bytes | str, where: str = "the recording") -> Recording:
    """A recording from its JSON, checked whole.

    Raises:
        InvalidRecording: it is no JSON, names a field twice, is no recording, of a newer format,
            or was changed; the message names the step at which it broke.
    """
    try:
        value = orjson.loads(document)
    except orjson.JSONDecodeError as error:
        raise InvalidRecording(f"{where} is not JSON: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("header"), dict):  # pyright: ignore[reportUnknownMemberType]
        raise InvalidRecording(f"{where} is no recording: it has no header")
    fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
    version = fields["header"].get("format")
    if type(version) is not int or version < 1:
        raise InvalidRecording(f"{where} is no recording: its header names no format")
    if version > FORMAT:
        raise InvalidRecording(
            f"{where} has format {version}, and this version reads up to {FORMAT}: "
            "install a newer deskgym"
        )
    try:
        recording = Recording.model_validate(fields)
    except ValidationError as error:
        raise InvalidRecording(f"{where} is no recording: {_first_problem(error)}") from error
    try:
        _check_chain(fields, where)
    except orjson.JSONEncodeError as error:
        # It can be read deeper than it can be written.
        raise InvalidRecording(f"{where} is nested too deep") from error
    _check_names(document, fields, where)
    return recording


def _check_names(document: bytes | str, fields: Mapping[str, Any], where: str) -> None:
    """Refuse an object that names a field twice: another reader might take the other value."""
    written = document.encode() if isinstance(document, str) else document
    if written.strip() == orjson.dumps(fields):
        return  # as we write it, with nothing between

    def check(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise InvalidRecording(f"{where} names the field {name!r} of an object twice")

    try:
        json.loads(written, object_pairs_hook=check, parse_int=float)
    except RecursionError as error:
        raise InvalidRecording(f"{where} is nested too deep") from error


def _first_problem(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    place = list(detail["loc"])
    if place[:1] == ["steps"] and len(place) > 1:
        place[:2] = [f"step {int(place[1]) + 1}"]
    return f"{'.'.join(map(str, place))}: {detail['msg']}"


def _check_chain(fields: Mapping[str, Any], where: str) -> None:
    """Name the first place at which a recording is not what was sealed."""
    seal = _seal("", fields["header"])
    steps = fields["steps"]
    for number, step in enumerate(steps, start=1):
        body = {name: value for name, value in step.items() if name != "hash"}
        expected = _seal(seal, body)
        if step["step"] != number:
            raise InvalidRecording(
                f"{where} was changed: step {step['step']} stands in the place of step {number}"
            )
        if step["hash"] != expected:
            at = "step 1 or the header" if number == 1 else f"step {number}"
            raise InvalidRecording(f"{where} was changed at {at}: it is not what was recorded")
        seal = expected
    if fields["hash"] != _seal(seal, fields["footer"]):
        last = f"after step {len(steps)}" if steps else "in the header or after it"
        raise InvalidRecording(
            f"{where} was changed {last}: a step is missing, or the end is not what was recorded"
        )


def shipped(suite: str) -> Path:
    """The file of recorded runs that comes with a suite; raises `UnknownName` if none does."""
    known = _shipped()
    if suite not in known:
        raise UnknownName("suite with shipped recordings", suite, known)
    return known[suite]


def shipped_suites() -> list[str]:
    """The suites that recorded runs come with."""
    return list(_shipped())


def _shipped() -> dict[str, Path]:
    folder = Path(__file__).parent / "suites"
    return {path.parent.name: path for path in sorted(folder.glob("*/recordings.jsonl"))}


@dataclass(frozen=True)
class Located:
    """A recording and where it was read: `file`, or `file:line`."""

    where: str
    recording: Recording


def read(path: Path | str) -> Iterator[Located]:
    """The recordings of a file, one at a time, so that a file of any length can be read.

    A file is one JSON document, or JSON Lines with a recording a line. A line of a results file
    holds its recording in a field; a run that failed before there was a world has none.

    Raises:
        InvalidRecording: the file is empty, cannot be read, or holds something else; names where.
    """
    file_path = Path(path)
    try:
        with file_path.open("rb") as file:
            yield from _read_open(file, str(path))
    except OSError as error:
        raise InvalidRecording(f"{path} cannot be read: {error.strerror}") from error


def parse_each(
    content: bytes, name: str, *, lines_max: int | None = None
) -> Iterator[Located | InvalidRecording]:
    """The recordings in a file's content, to its end: where one is none, what is wrong with it.

    Args:
        content: one JSON document, or JSON Lines as `read` takes them.
        name: what messages call it.
        lines_max: how many lines it may have; any number if None.

    Raises:
        InvalidRecording: it holds nothing, or too many lines.
    """
    lines = content.split(b"\n")
    if not content.strip():
        raise InvalidRecording(f"{name} is empty")
    if not _is_json(lines[0]):
        yield _located(content, name)
        return
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if lines_max is not None and len(filled) > lines_max:
        raise InvalidRecording(f"{name} has {len(filled):,} lines, and may have {lines_max:,}")
    for number, line in filled:
        where = name if len(filled) == 1 else f"{name}:{number}"
        try:
            document = _enclosed(line, where) if line.startswith(_RESULT) else line
        except InvalidRecording as error:
            yield error
        else:
            if document:
                yield _located(document, where)


def _located(document: bytes, where: str) -> Located | InvalidRecording:
    try:
        return Located(where, parse(document, where))
    except InvalidRecording as error:
        return error


def _read_open(file: BinaryIO, name: str) -> Iterator[Located]:
    first = _line(file, name, 1)
    if not first.strip():
        rest = file.read(1)
        if not rest:
            raise InvalidRecording(f"{name} is empty")
        raise InvalidRecording(f"{name} is no recording: its first line is empty")
    if not _is_json(first):
        document = first + file.read(DOCUMENT_BYTES_MAX)
        if len(document) > DOCUMENT_BYTES_MAX:
            raise InvalidRecording(f"{name} is one document of more than 64 MB")
        yield Located(name, parse(document, name))
        return
    number, line = 1, first
    while line:
        where = f"{name}:{number}"
        document = _enclosed(line, where) if line.startswith(_RESULT) else line
        if document.strip():
            yield Located(where, parse(document, where))
        number += 1
        line = _line(file, name, number)


_RESULT: Final = b'{"results":'
"""How a line of a results file starts."""


def _enclosed(line: bytes, where: str) -> bytes:
    """The recording in a line of a results file; empty where there is none."""
    try:
        fields: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidRecording(f"{where} is not JSON: {error}") from error
    _check_names(line, fields, where)
    recording = fields.get("recording")
    return b"" if recording is None else orjson.dumps(recording)


def _line(file: BinaryIO, name: str, number: int) -> bytes:
    line = file.readline(DOCUMENT_BYTES_MAX + 1)
    if len(line) > DOCUMENT_BYTES_MAX:
        raise InvalidRecording(f"{name}:{number} is longer than 64 MB")
    return line


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
