"""Replay: re-execute a recording in a fresh world and name the first difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import orjson

from deskgym.environment import Environment
from deskgym.recording import RecordedStep, Recording, by_name
from deskgym.rubric import Score
from deskgym.store import WorldEngine
from deskgym.suite import Suite, load_suite

_Object = dict[str, object]
_List = list[object]


@dataclass(frozen=True)
class Difference:
    """Where a replay first departed from its recording.

    Attributes:
        step: the step's number; 0 for the initial world, None for the end.
        what: what differs, as a path into the step.
        recorded: what the recording says.
        replayed: what came out.
    """

    step: int | None
    what: str
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        place = {0: "the start", None: "the end"}.get(self.step, f"step {self.step}")
        return (
            f"{place}: {self.what} was recorded as {_short(self.recorded)} "
            f"and replayed as {_short(self.replayed)}"
        )


@dataclass(frozen=True)
class Replay:
    """A replayed recording.

    Attributes:
        difference: the first one; None when every result, row, reward and digest came out again.
        score: the score of the replayed episode.
        rescored: the recording's own rubric, when another version scored the replay. Then rewards
            are not compared.
    """

    recording: Recording
    difference: Difference | None
    score: Score
    rescored: str | None


def replay(
    recording: Recording,
    *,
    rubric: str | None = None,
    engine: WorldEngine | None = None,
    suite: Suite | None = None,
) -> Replay:
    """Re-execute a recording.

    Args:
        recording: what was recorded.
        rubric: another version to score with; the recording's own if None.
        engine: where the fresh world lives; the process's own engine if None.
        suite: where its task is; the installed suite that the task's id names if None.

    Raises:
        UnknownName: its suite, task or rubric is not installed.
        InvalidParameter: its task no longer takes those parameters.
    """
    header = recording.header
    environment = _environment(recording, rubric, engine, suite)
    rescored = header.rubric if environment.rubric.version != header.rubric else None
    with environment:
        environment.reset(header.seed)
        difference = _first_difference(recording, environment, compare_scores=rescored is None)
        return Replay(recording, difference, environment.score(), rescored)


@dataclass(frozen=True)
class Trace:
    """The scores of a recorded run with their whole breakdowns, of which it keeps only the last.

    Attributes:
        scores: the one before the first action, then one after each, up to where the replay
            departed from the recording.
        difference: where it did; None where it never does.
    """

    scores: tuple[Score, ...]
    difference: Difference | None


def trace(
    recording: Recording, *, engine: WorldEngine | None = None, suite: Suite | None = None
) -> Trace:
    """Re-execute a recording and keep every score, by the rubric that scored it.

    Raises what `replay` raises.
    """
    scores: list[Score] = []
    with _environment(recording, engine=engine, suite=suite) as environment:
        environment.reset(recording.header.seed)
        difference = _first_difference(
            recording,
            environment,
            compare_scores=True,
            agreed=lambda: scores.append(environment.score()),
        )
    return Trace(tuple(scores), difference)


def _environment(
    recording: Recording,
    rubric: str | None = None,
    engine: WorldEngine | None = None,
    suite: Suite | None = None,
) -> Environment:
    header = recording.header
    owner = suite or load_suite(header.task.partition("/")[0])
    return Environment(
        owner,
        owner.task(header.task),
        parameters=dict(header.parameters),
        rubric=rubric or header.rubric,
        engine=engine,
    )


def _first_difference(
    recording: Recording,
    environment: Environment,
    *,
    compare_scores: bool,
    agreed: Callable[[], None] = lambda: None,
) -> Difference | None:
    """Where it departs; `agreed` is called where the start, and then each step, does not."""
    header, footer = recording.header, recording.footer
    recorded: dict[str, Any] = {"template": header.template, "opening": header.opening}
    replayed: dict[str, Any] = {
        "template": environment.fixture.template.id,
        "opening": environment.opening().to_dict(),
    }
    if header.initial is not None:
        recorded["initial"], replayed["initial"] = header.initial, _rows(environment)
    found = _compare(0, "", recorded, _json(replayed))
    for step in recording.steps:
        if found is not None:
            return found
        agreed()
        found = _compare_step(step, environment, compare_scores=compare_scores)
    if found is not None:
        return found
    agreed()
    recorded = {
        "ended": footer.ended,
        "digest": footer.digest,
        "changes": footer.changes,
        "score": footer.score,
    }
    world = environment.world
    replayed = {
        "ended": environment.ended,
        "digest": world.digest(),
        "changes": [change.to_dict() for change in world.changes()],
        "score": environment.score().to_dict(),
    }
    if not compare_scores:
        del recorded["score"], replayed["score"]
    if footer.final is not None:
        recorded["final"], replayed["final"] = footer.final, _rows(environment)
    return _compare(None, "", recorded, _json(replayed))


def _compare_step(
    step: RecordedStep, environment: Environment, *, compare_scores: bool
) -> Difference | None:
    taken = len(environment.steps)
    step.retake(environment)
    if len(environment.steps) == taken:
        return Difference(step.step, "the step", step.action, "episode_over")
    made = environment.steps[-1]
    recorded: dict[str, Any] = {
        "action": step.action,
        "result": step.result,
        "changes": step.changes,
        "ended": step.ended,
        "score": step.score,
    }
    replayed: dict[str, Any] = {
        "action": made.action.to_dict(),
        "result": orjson.loads(made.result_json),
        "changes": [change.to_dict() for change in made.changes],
        "ended": made.ended,
        "score": environment.score().brief() if compare_scores else step.score,
    }
    if step.reply is not None:
        recorded["reply"] = step.reply.model_dump()
        replayed["reply"] = None if made.reply is None else made.reply._asdict()
    return _compare(step.step, "", recorded, _json(replayed))


def _compare(step: int | None, path: str, recorded: object, replayed: object) -> Difference | None:
    """The first place where two JSON values differ, depth first; 4800 and 4800.0 do."""
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        return _compare_objects(step, path, cast(_Object, recorded), cast(_Object, replayed))
    if isinstance(recorded, list) and isinstance(replayed, list):
        return _compare_lists(step, path, cast(_List, recorded), cast(_List, replayed))
    same = type(recorded) is type(replayed) and recorded == replayed  # pyright: ignore[reportUnknownArgumentType]
    return None if same else Difference(step, path, recorded, replayed)


def _compare_objects(
    step: int | None, path: str, recorded: _Object, replayed: _Object
) -> Difference | None:
    for name in dict.fromkeys((*recorded, *replayed)):
        inner = f"{path}.{name}" if path else name
        if name not in recorded or name not in replayed:
            return Difference(step, inner, recorded.get(name), replayed.get(name))
        found = _compare(step, inner, recorded[name], replayed[name])
        if found is not None:
            return found
    return None


def _compare_lists(
    step: int | None, path: str, recorded: _List, replayed: _List
) -> Difference | None:
    for place, (left, right) in enumerate(zip(recorded, replayed, strict=False)):
        found = _compare(step, f"{path}[{place}]", left, right)
        if found is not None:
            return found
    if len(recorded) != len(replayed):
        return Difference(step, f"the length of {path}", len(recorded), len(replayed))
    return None


def _json(value: object) -> Any:
    """A value as it is read back from JSON."""
    return orjson.loads(orjson.dumps(value))


def _short(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 200 else text[:197] + "..."


World = dict[str, list[dict[str, Any]]]
"""Rows by table, each by column name."""


def initial_world(recording: Recording) -> World:
    """Every row of the initial world, from the recording or, for a large one, its fixture."""
    if recording.header.initial is not None:
        return recording.header.initial
    return _rebuilt(recording, steps=0)


def final_world(recording: Recording) -> World:
    """Every row of the final world, from the recording or, for a large one, by replaying it."""
    if recording.footer.final is not None:
        return recording.footer.final
    return _rebuilt(recording, steps=len(recording.steps))


def _rows(environment: Environment) -> World:
    """Every row of an environment's world as it is now, by column name."""
    return by_name(environment.world.snapshot())


def _rebuilt(recording: Recording, *, steps: int) -> World:
    with _environment(recording) as environment:
        environment.reset(recording.header.seed)
        for step in recording.steps[:steps]:
            step.retake(environment)
        return _rows(environment)
