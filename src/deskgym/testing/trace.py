"""Traces: an episode as it is compared, byte for byte."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Sequence
from typing import Final, NamedTuple

import orjson

from deskgym.environment import Environment
from deskgym.runner import play
from deskgym.store import RowChange, World
from deskgym.store.digest import as_text, rows_digest
from deskgym.task import Script
from deskgym.trajectory import Action, Observation

WHOLE_WORLD_ROWS_MAX: Final = 2_000
"""A world with more rows is not read whole to see whether its digest tells the truth."""

_SHOWN_CHARACTERS: Final = 90


class Moment(NamedTuple):
    """An episode after an action, or at its start.

    Attributes:
        action: what was done; None at the start.
        observation: what the agent saw, as canonical JSON.
        changes: the net row changes of the step.
        digest: the digest of the world.
        scores: the score by each version of the rubric, as JSON; empty where nobody scored.
    """

    action: Action | None
    observation: bytes
    changes: tuple[RowChange, ...]
    digest: str
    scores: tuple[bytes, ...]


class Trace(NamedTuple):
    """An episode from its start.

    Attributes:
        moments: the start, then one for each action.
        failure: what the script or the scoring raised, and where; None when nothing was.
        bugs: what tools raised by mistake.
        rows_digest: the digest of the rows that the world holds in the end, read whole; None for
            a large world.
    """

    moments: tuple[Moment, ...]
    failure: str | None
    bugs: tuple[str, ...]
    rows_digest: str | None

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done."""
        return tuple(item.action for item in self.moments if item.action is not None)


def take(
    environment: Environment,
    script: Script,
    seed: int,
    *,
    score_steps: bool = True,
    between: Callable[[int], None] = lambda _: None,
) -> Trace:
    """Run an episode and keep what is compared.

    Args:
        environment: where to act; it is reset.
        script: the agent.
        seed: the episode's seed.
        score_steps: whether to score after each step, or only once at the end.
        between: called with the step's number after each step, to disturb.
    """
    moments: list[Moment] = []
    failure: str | None = None

    def note(_: Environment, *, scored: bool = score_steps) -> None:
        steps = environment.steps
        scores = tuple(scores_of(environment)) if scored else ()
        moments.append(
            Moment(
                steps[-1].action if steps else None,
                environment.observe().to_json(),
                steps[-1].changes if steps else (),
                environment.world.digest(),
                scores,
            )
        )
        between(len(steps))

    def watched(first: Observation) -> Generator[Action, Observation, None]:
        note(environment)
        return script(first)

    try:
        play(environment, watched, seed, after_step=note)
        if not score_steps:
            moments.pop()
            note(environment, scored=True)
    except Exception as error:  # whatever a task's own code raises is for its author to see
        failure = described(error)
    bugs = tuple(described(bug) for bug in environment.bugs)
    rows = actual_digest(environment.world) if moments else None
    return Trace(tuple(moments), failure, bugs, rows)


def scores_of(environment: Environment) -> list[bytes]:
    """The score so far by each version of the rubric, as JSON."""
    versions = [rubric.version for rubric in environment.suite.rubrics]
    return [orjson.dumps(environment.score(version).to_dict()) for version in versions]


def actual_digest(world: World) -> str | None:
    """The digest of the rows that the world really holds; None for a large world."""
    template = world.template
    if sum(map(len, (*template.base.rows.values(), *template.rows.values()))) > (
        WHOLE_WORLD_ROWS_MAX
    ):
        return None
    total = sum(rows_digest(name, rows) for name, rows in world.snapshot().items())
    return as_text(total % (1 << 256))


def repeat(actions: Sequence[Action]) -> Script:
    """A script that takes these actions, whatever it sees."""

    def script(_: Observation) -> Generator[Action, Observation, None]:
        for action in actions:
            _ = yield action

    return script


def described(error: Exception) -> str:
    """An exception and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{error!r} (at {frames[-1].filename}:{frames[-1].lineno})" if frames else repr(error)


class Departure(NamedTuple):
    """Where one trace first departs from another."""

    where: str
    sentence: str


def first_departure(expected: Trace, got: Trace) -> Departure | None:
    """The first difference between two traces of the same actions; None for the same bytes."""
    for number, (was, now) in enumerate(zip(expected.moments, got.moments, strict=False)):
        place = "start" if was.action is None else f"step {number} {was.action.tool}"
        for name in Moment._fields:
            before, after = getattr(was, name), getattr(now, name)
            if before != after and not (name == "scores" and not (before and after)):
                return Departure(place, f"the {name} {_apart(before, after)}")
    if len(expected.moments) != len(got.moments):
        steps = len(expected.moments) - 1, len(got.moments) - 1
        why = f" ({got.failure or expected.failure})" if got.failure or expected.failure else ""
        return Departure("end", f"the episode had {steps[0]} steps and then {steps[1]}{why}")
    return None


def _apart(before: object, after: object) -> str:
    """Two different values, from a little before the place where they part."""
    old, new = (str(value) for value in (before, after))
    same = next(
        (place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
        min(len(old), len(new)),
    )
    start = max(0, same - _SHOWN_CHARACTERS // 3)
    shown = (_excerpt(text, start) for text in (old, new))
    return "was {} and then {}".format(*shown)


def _excerpt(text: str, start: int) -> str:
    end = start + _SHOWN_CHARACTERS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
