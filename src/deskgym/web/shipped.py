"""The recorded runs that come with deskgym: read, checked against their seals and acted out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from deskgym.errors import UnknownName
from deskgym.recording import Recording, read, shipped, shipped_suites
from deskgym.replay import replay
from deskgym.rubric.held import broken_of
from deskgym.runstore import RecordingFilter
from deskgym.store import Engine
from deskgym.web.choice import Sort
from deskgym.web.run import Run
from deskgym.web.site import Visit


class Shipped(NamedTuple):
    """A recorded run that comes with a suite.

    Attributes:
        number: its place in the suite's file, from 1.
        difference: where it does not replay; empty where it does, exactly.
        broken: what kept its reward from being full.
    """

    suite: str
    number: int
    recording: Recording
    difference: str
    broken: tuple[str, ...]

    @property
    def path(self) -> str:
        """Its page."""
        return f"/shipped/{self.suite}/{self.number}"

    @property
    def run(self) -> Run:
        """It, to be looked at."""
        header = self.recording.header
        verified = f"but it does not replay: {self.difference}" if self.difference else "verified"
        return Run(
            self.recording,
            f"{header.task.partition('/')[2]} by {header.agent}",
            self.path,
            f"shipped with deskgym, {verified}",
            ("/recordings?from=shipped", "Runs shipped with deskgym"),
        )


async def all_shipped(visit: Visit) -> list[Shipped]:
    """Every run that comes with deskgym; they are acted out once, when first asked for."""
    return [run for suite in shipped_suites() for run in await shipped_of(visit, suite)]


async def shipped_of(visit: Visit, suite: str) -> Sequence[Shipped]:
    """The runs that come with a suite; raises `UnknownName` if none do."""
    kept = visit.site.kept
    shipped(suite)
    return await kept.get("shipped", suite, lambda: _read(suite, kept.engine))


async def shipped_run(visit: Visit, suite: str, number: str) -> Shipped:
    """One of them; raises `UnknownName`."""
    runs = await shipped_of(visit, suite)
    place = int(number) if number.isascii() and number.isdecimal() and len(number) < 7 else 0
    if not 1 <= place <= len(runs):
        raise UnknownName(f"run shipped with {suite}", number[:40], [f"1 to {len(runs)}"])
    return runs[place - 1]


def _read(suite: str, engine: Engine) -> tuple[Shipped, ...]:
    found: list[Shipped] = []
    for number, item in enumerate(read(shipped(suite)), start=1):
        difference = replay(item.recording, engine=engine).difference
        told = "" if difference is None else str(difference)
        broken = broken_of(item.recording.footer.score)
        found.append(Shipped(suite, number, item.recording, told, broken))
    return tuple(found)


def fitting(runs: Sequence[Shipped], which: RecordingFilter, sort: Sort) -> list[Shipped]:
    """The runs that a filter fits, in an order; the file's order is that of their making."""
    order = _ORDERS[sort]
    found = [run for run in runs if _fits(run, which)]
    return sorted(found, key=order[0], reverse=order[1])


_ORDERS: Final[Mapping[Sort, tuple[Callable[[Shipped], float], bool]]] = {
    "newest": (lambda run: 0, False),
    "oldest": (lambda run: 0, False),
    "highest": (lambda run: run.recording.reward, True),
    "lowest": (lambda run: run.recording.reward, False),
}


def _fits(run: Shipped, which: RecordingFilter) -> bool:
    header, footer = run.recording.header, run.recording.footer
    facts = {
        "suite": run.suite,
        "task": header.task,
        "agent": header.agent,
        "status": footer.status,
        "verdict": footer.score["verdict"],
    }
    low = -1.0 if which.reward_min is None else which.reward_min
    high = 1.0 if which.reward_max is None else which.reward_max
    return (
        all(getattr(which, name) in (None, value) for name, value in facts.items())
        and (which.broken is None or which.broken in run.broken)
        and low <= run.recording.reward <= high
    )
