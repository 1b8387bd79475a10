"""A run that can be looked at: a recording, where it is in the app, and every score in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from deskgym.errors import UsageError
from deskgym.recording import Recording
from deskgym.replay import Difference, trace
from deskgym.rubric import CEILING_FIRST, CheckBreakdown, OutcomeBreakdown, Score, TurnBreakdown
from deskgym.store import Engine
from deskgym.suite import load_suite
from deskgym.task import Task
from deskgym.web.site import Visit


@dataclass(frozen=True)
class Run:
    """A recording and what can be done with it.

    Attributes:
        recording: the recording.
        title: what the page is called.
        path: its page, after the site's prefix, without a step: `/shipped/backoffice/3`.
        origin: where it comes from, in a few words: `shipped with deskgym`.
        up: the page of the list that it is in, and what that is called.
        expected: what it must earn, where that is known.
        live: whether its episode still goes on.
        removable: whether it can be deleted, on a page of its own below its page.
    """

    recording: Recording
    title: str
    path: str
    origin: str
    up: tuple[str, str]
    expected: float | None = None
    live: bool = False
    removable: bool = False

    @property
    def name(self) -> str:
        """What `/compare` knows it by."""
        return self.path.removeprefix("/")

    def at(self, **query: object) -> str:
        """Its page with more in the query, such as a step."""
        more = urlencode({name: value for name, value in query.items() if value is not None})
        return self.path + (("&" if "?" in self.path else "?") + more if more else "")

    @property
    def task(self) -> Task | None:
        """Its task, if that is installed."""
        try:
            return load_suite(self.recording.header.task.partition("/")[0]).task(
                self.recording.header.task
            )
        except UsageError:
            return None


class Why(NamedTuple):
    """A score as pages show it.

    Attributes:
        kind: which of the breakdowns it is; `lines` for a suite's own.
        score: the score as JSON.
        lines: the explanation as lines of text.
        deductions_last: of outcomes, whether the deductions come after the lowest ceiling.
    """

    kind: str
    score: dict[str, Any]
    lines: list[str]
    deductions_last: bool = False


def why(score: Score) -> Why:
    """A score as pages show it."""
    breakdown = score.breakdown
    last = False
    match breakdown:
        case OutcomeBreakdown():
            kind, last = "outcomes", breakdown.order == CEILING_FIRST
        case CheckBreakdown():
            kind = "checks"
        case TurnBreakdown():
            kind = "turns"
        case _:
            kind = "lines"
    return Why(kind, score.to_dict(), breakdown.lines(), last)


class Explained(NamedTuple):
    """Why a run earned what it did after each step, by acting it out again.

    Attributes:
        scores: before the first action, then after each, as far as the replay agrees.
        difference: where it does not; None where it always does.
        refused: why it could not be acted out at all; empty where it could.
    """

    scores: tuple[Why, ...] = ()
    difference: Difference | None = None
    refused: str = ""

    def after(self, step: int) -> Why | None:
        """The score after a step; None where the replay had departed from the recording."""
        return self.scores[step] if step < len(self.scores) else None


async def explain(visit: Visit, recording: Recording) -> Explained:
    """Every score of a run; worked out once while it is kept."""
    kept = visit.site.kept
    return await kept.get("run", recording.hash, lambda: _explained(recording, kept.engine))


async def breakdown(visit: Visit, recording: Recording, step: int) -> Why | None:
    """The whole score after a step; None where the run does not replay that far."""
    return (await explain(visit, recording)).after(step)


def _explained(recording: Recording, engine: Engine) -> Explained:
    try:
        found = trace(recording, engine=engine)
    except UsageError as error:
        return Explained(refused=str(error))
    return Explained(tuple(map(why, found.scores)), found.difference)
