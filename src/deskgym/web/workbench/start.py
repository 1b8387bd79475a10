"""The start of an episode: which suite, which task, with what, and how."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from deskgym.errors import InvalidParameter, UsageError
from deskgym.runstore import NewEpisode
from deskgym.suite import Suite, load_suite, suite_names
from deskgym.task import SEED_MAX, Parameter, Task, checked_seed
from deskgym.web.site import Page, Visit
from deskgym.web.workbench import desk
from deskgym.web.workbench.source import Source, source_of

DIGITS_MAX: Final = 20


@dataclass(frozen=True)
class Setting:
    """A whole number to start with.

    Attributes:
        parameter: its name, default, limits and what it sets.
        value: what stands in its field.
        problem: what is wrong with that, if anything is.
    """

    parameter: Parameter
    value: str
    problem: str = ""

    @property
    def limits(self) -> str:
        """What is allowed, in words."""
        item = self.parameter
        steps = f", divisible by {item.multiple_of}" if item.multiple_of > 1 else ""
        return f"{item.minimum:,} to {item.maximum:,}{steps}; {item.default:,} if nothing is said"


SEED: Final = Parameter("seed", 0, 0, SEED_MAX, "draws the case's names, times and numbers")


async def show(visit: Visit) -> Response:
    """Choose what to start, or go on with what was started."""
    return await page(visit, dict(visit.request.query_params))


async def page(
    visit: Visit, given: Mapping[str, str], problems: Mapping[str, str] | None = None
) -> Response:
    """The start page.

    Args:
        visit: who asks.
        given: what is chosen so far, by name.
        problems: what is wrong with it, by name.
    """
    source = await _source(visit, given.get("from", ""))
    if source is not None and "suite" not in given:
        given = {**source.settings, **given}
    suite = _chosen_suite(given)
    task = _chosen_task(suite, given)
    found = problems or {}
    context: dict[str, Any] = {
        "all_suites": [load_suite(name) for name in suite_names()],
        "suite": suite,
        "task": task,
        "settings": [
            Setting(item, given.get(item.name, str(item.default)), found.get(item.name, ""))
            for item in (SEED, *task.parameters)
        ],
        "rubrics": [rubric.version for rubric in suite.rubrics],
        "rubric": given.get("rubric", suite.rubric().version),
        "mode": "blind" if given.get("mode") == "blind" else "workbench",
        "problems": found,
        "id": secrets.token_hex(16),
        "source": source,
        "episodes": await _own(visit),
        "place_of": desk.place_of,
        "again": desk.start_again,
        "choose": _choose,
    }
    refused = bool(found) and "hx-request" not in visit.request.headers
    return visit.render("workbench/start.html", 422 if refused else 200, **context)


async def _own(visit: Visit) -> Sequence[Any]:
    """One's episodes of both modes, the newest first."""
    found = [
        *await desk.own_episodes(visit, desk.HUMAN),
        *await desk.own_episodes(visit, desk.BLIND),
    ]
    return sorted(found, key=lambda state: state.created_ms, reverse=True)[: desk.LISTED_MAX]


async def _source(visit: Visit, reference: str) -> Source | None:
    return await source_of(visit, reference) if reference else None


def _choose(**chosen: object) -> str:
    """The query of a choice; what is None is left out."""
    return urlencode({name: value for name, value in chosen.items() if value is not None})


def _chosen_suite(given: Mapping[str, str]) -> Suite:
    """The suite that is asked for; raises `UnknownName`."""
    name = given.get("suite") or given.get("task", "").rpartition("/")[0] or "service"
    return load_suite(name)


def _chosen_task(suite: Suite, given: Mapping[str, str]) -> Task:
    """The task that is asked for, or the suite's first; raises `UnknownName`."""
    name = given.get("task", "")
    return suite.task(name) if name else suite.tasks[0]


async def start(visit: Visit) -> Response:
    """Start an episode and open it."""
    given = {name: visit.text(name) for name in visit.form}
    suite = _chosen_suite(given)
    task = _chosen_task(suite, given)
    problems: dict[str, str] = {}
    seed = _number(SEED, given, problems)
    parameters = {item.name: _number(item, given, problems) for item in task.parameters}
    rubric = given.get("rubric") or suite.rubric().version
    if rubric not in {item.version for item in suite.rubrics}:
        problems["rubric"] = f"{suite.name} has no rubric {rubric!r}"
    if problems:
        return await page(visit, given, problems)
    agent = desk.BLIND if given.get("mode") == "blind" else desk.HUMAN
    new = NewEpisode(
        f"{suite.name}/{task.name}", seed, parameters, rubric, given.get("id") or None, agent,
        visit.trainer.holder,
    )  # fmt: skip
    state = await visit.run(visit.service.episodes.state, await _created(visit, new))
    return visit.go(desk.place_of(state))


async def _created(visit: Visit, new: NewEpisode) -> str:
    """The id of the new episode; a form that is sent twice starts one.

    A form that came back from the browser's history with other settings is another episode's.
    """
    try:
        (made,) = await visit.service.create([new])
    except UsageError as error:
        if type(error) is not UsageError:
            raise
        (made,) = await visit.service.create([NewEpisode(
            new.task, new.seed, new.parameters, new.rubric, None, new.agent, new.holder
        )])  # fmt: skip
    return made.id


def _number(parameter: Parameter, given: Mapping[str, str], problems: dict[str, str]) -> int:
    """The value of a field, or its default where it is empty; what is wrong goes to `problems`."""
    typed = given.get(parameter.name, "").strip()
    if not typed:
        return parameter.default
    value: object = typed
    digits = typed.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(typed) <= DIGITS_MAX:
        value = int(typed)
    try:
        return checked_seed(value) if parameter is SEED else parameter.check(value)
    except InvalidParameter as error:
        problems[parameter.name] = str(error)
        return parameter.default


PAGES = (
    Page("workbench", "/workbench", show),
    Page("workbench_start", "/workbench", start, method="POST"),
)
