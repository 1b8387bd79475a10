"""The board: every scripted run of a suite, whose reward is known, against what it earns."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from deskgym.environment import Environment
from deskgym.errors import InvalidParameter
from deskgym.evaluate import ControlRun, run_controls
from deskgym.recording import Recording
from deskgym.rubric import Verdict
from deskgym.runner import record
from deskgym.store import Engine
from deskgym.suite import Suite, load_suite, suite_names
from deskgym.task import Control, Task, checked_seed
from deskgym.web.run import Run
from deskgym.web.show import call_text
from deskgym.web.site import Page, Visit
from deskgym.web.viewer import act, show

FIRST_SUITE: Final = "service"


class Effect(NamedTuple):
    """An action that changed a record: its step, and the call in short."""

    step: int
    tool: str
    about: str


class Row(NamedTuple):
    """A scripted run as the board shows it."""

    number: int
    title: str
    kind: str
    path: str
    effects: tuple[Effect, ...]
    reward: float
    expected: float
    verdict: Verdict
    holds: bool


class Case(NamedTuple):
    """A task with its scripted runs."""

    task: str
    title: str
    question: str
    rows: tuple[Row, ...]


class Board(NamedTuple):
    """A suite's scripted runs for a seed."""

    rubric: str
    cases: tuple[Case, ...]

    @property
    def rows(self) -> list[Row]:
        """All of them."""
        return [row for case in self.cases for row in case.rows]


async def first(visit: Visit) -> Response:
    """Go to the first suite's board."""
    names = suite_names()
    return visit.go(f"/board/{FIRST_SUITE if FIRST_SUITE in names else names[0]}")


async def board(visit: Visit) -> Response:
    """Show a suite's scripted runs, grouped by case."""
    suite, seed = load_suite(visit.path["suite"]), _seed(visit)
    made = await board_of(visit, suite, seed)
    return visit.render("board.html", suite=suite, seed=seed, board=made, names=suite_names())


async def board_of(visit: Visit, suite: Suite, seed: int = 0) -> Board:
    """A suite's scripted runs; worked out once while they are kept."""
    kept = visit.site.kept
    return await kept.get("board", (suite.name, seed), lambda: _board(suite, seed, kept.engine))


async def scripted(visit: Visit) -> Response:
    """Show a scripted run step by step."""
    return await show(visit, await _run(visit))


async def scripted_again(visit: Visit) -> Response:
    """Act a scripted run's recording out again."""
    return await act(visit, await _run(visit))


async def scripted_run(visit: Visit, suite_name: str, task_name: str, name: str, seed: int) -> Run:
    """A control's run for a seed. Raises `UnknownName` where there is none."""
    suite = load_suite(suite_name)
    task = suite.task(task_name)
    control = task.control(name)
    kept = visit.site.kept
    recording = await kept.get(
        "script",
        (suite.name, task.name, control.name, seed),
        lambda: _record(suite, task, control, seed, kept.engine),
    )
    path = f"/board/{suite.name}/{task.name}/{control.name}"
    return Run(
        recording,
        f"{task.title}: {control.title}",
        f"{path}?seed={seed}" if seed else path,
        f"a script ({control.kind.replace('_', ' ')})",
        (f"/board/{suite.name}" + (f"?seed={seed}" if seed else ""), f"The {suite.name} board"),
        expected=control.reward_by(recording.header.rubric),
    )


async def _run(visit: Visit) -> Run:
    path = visit.path
    return await scripted_run(visit, path["suite"], path["task"], path["control"], _seed(visit))


def _seed(visit: Visit) -> int:
    text = visit.query("seed", "0").strip() or "0"
    if not (text.isascii() and text.isdecimal()) or len(text) > 10:
        raise InvalidParameter(f"a seed is a whole number from 0 to 2147483647, not {text[:40]!r}")
    return checked_seed(int(text))


def _record(suite: Suite, task: Task, control: Control, seed: int, engine: Engine) -> Recording:
    with Environment(suite, task, parameters=control.parameters, engine=engine) as environment:
        return record(environment, control.script, seed, agent=f"script {control.name}")


def _board(suite: Suite, seed: int, engine: Engine) -> Board:
    version = suite.rubric().version
    runs = run_controls([suite.name], seeds=[seed], rubrics=[version], engine=engine)
    by_task: dict[str, list[Row]] = {task.name: [] for task in suite.tasks}
    for run in runs:
        by_task[run.task.name].append(_row(run))
    cases = (
        Case(task.name, task.title, task.question, tuple(by_task[task.name]))
        for task in suite.tasks
    )
    return Board(version, tuple(cases))


def _row(run: ControlRun) -> Row:
    path = f"/board/{run.suite.name}/{run.task.name}/{run.control.name}"
    return Row(
        run.number,
        run.control.title,
        run.control.kind,
        path + (f"?seed={run.seed}" if run.seed else ""),
        tuple(
            Effect(step.number, step.action.tool, call_text(step.action.arguments, names_only=True))
            for step in run.steps
            if step.changes
        ),
        run.reward,
        run.expected,
        run.score.verdict,
        run.holds,
    )


PAGES = (
    Page("boards", "/board", first),
    Page("board", "/board/{suite}", board),
    Page("scripted", "/board/{suite}/{task}/{control}", scripted),
    Page("scripted_again", "/board/{suite}/{task}/{control}", scripted_again, method="POST"),
)
