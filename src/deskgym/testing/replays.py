"""The check of recordings: each one replays, and a changed one is refused with its step named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from deskgym.recording import InvalidRecording, Recording, parse
from deskgym.replay import replay
from deskgym.runner import record
from deskgym.testing.finding import Flaw
from deskgym.testing.subject import Run, Subject


def replays(subject: Subject) -> Iterator[Flaw]:
    """A recording of every control verifies and replays without a difference."""
    for run, trace in subject.played:
        if trace.failure is not None:
            continue
        with subject.environment(run.parameters) as environment:
            recording = record(environment, run.script, run.seed, agent=run.name)
        yield from _recording_flaws(subject, run, recording)
        if run.seed == subject.seeds[0] and recording.steps:
            yield from _tampering_flaws(subject, run, recording)


def _recording_flaws(subject: Subject, run: Run, recording: Recording) -> Iterator[Flaw]:
    try:
        read = parse(recording.to_json())
    except InvalidRecording as error:
        yield Flaw(run.seed, f"{run.name} recording", f"cannot be read back: {error}")
        return
    if read != recording:
        yield Flaw(run.seed, f"{run.name} recording", "is read back as another one")
    difference = replay(read, engine=subject.engine, suite=subject.suite).difference
    if difference is not None:
        yield Flaw(run.seed, f"{run.name} recording", f"replays otherwise: {difference}")


def _tampering_flaws(subject: Subject, run: Run, recording: Recording) -> Iterator[Flaw]:
    """Change a recording in ways that somebody might, and see that each is noticed."""
    for what, document, step in _tampered(recording):
        where = f"{run.name} recording with {what}"
        try:
            parse(orjson.dumps(document))
        except InvalidRecording as error:
            if f"step {step}" not in str(error):
                yield Flaw(run.seed, where, f"is refused without naming step {step}: {error}")
        else:
            yield Flaw(run.seed, where, "is taken for a true one")
    step = len(recording.steps)
    forged = recording.model_copy(deep=True)
    forged.steps[-1].result["message"] += " Forged."
    difference = replay(forged, engine=subject.engine, suite=subject.suite).difference
    if difference is None or difference.step != step:
        sentence = f"replays as if it were true up to {difference or 'the end'}"
        yield Flaw(run.seed, f"{run.name} recording with a forged step {step}", sentence)


def _tampered(recording: Recording) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Changed documents, what was changed in each, and the step that has to be named."""
    count = len(recording.steps)
    middle = (count + 1) // 2

    def fresh() -> dict[str, Any]:
        return orjson.loads(recording.to_json())

    changed = fresh()
    changed["steps"][middle - 1]["result"]["message"] += " Changed."
    yield f"step {middle} changed", changed, middle
    better = fresh()
    better["footer"]["score"]["reward"] = 2.0
    yield "another final reward", better, count
    cut = fresh()
    del cut["steps"][-1]
    if count > 1:
        yield "the last step cut off", cut, count - 1
        missing = fresh()
        del missing["steps"][0]
        yield "the first step missing", missing, 1
        swapped = fresh()
        swapped["steps"][:2] = reversed(swapped["steps"][:2])
        yield "two steps swapped", swapped, 1
