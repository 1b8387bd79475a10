"""Blind mode: a case as an agent gets it, and the same scorer's verdict once it is handed in."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from deskgym.environment import Environment
from deskgym.errors import EpisodeClosed, StepConflict
from deskgym.runstore.state import EpisodeState
from deskgym.suite import load_suite
from deskgym.trajectory import Observation, Step
from deskgym.web.site import Page, Visit
from deskgym.web.workbench import desk, episode
from deskgym.web.workbench.form import FormProblem


async def show(visit: Visit) -> Response:
    """Show what an agent is shown; once the episode is over, what it earned and why."""
    state = await desk.state_of(visit)
    if state.agent != desk.BLIND:
        return visit.go(desk.place_of(state))
    return await page(visit, state)


async def page(
    visit: Visit, state: EpisodeState, *, trouble: str = "", problems: dict[str, str] | None = None
) -> Response:
    """An episode's page in blind mode: an agent's part of it, or after the end all of it."""
    if not state.live:
        return await episode.page(visit, state, trouble=trouble)
    opening, seen, steps = await desk.seen_in(visit, state.id, _agents_part)
    context: dict[str, Any] = {
        "state_id": state.id,
        "opening": opening,
        "observation": seen,
        "steps": [(step.number, step.action.to_dict(), step.result) for step in steps],
        "instructions": load_suite(state.task.partition("/")[0]).instructions,
        "trouble": trouble,
        "here": f"/blind/{state.id}",
        "choose": _query,
        **episode.tool_context(visit, state, steps, {}, problems),
    }
    refused = bool(trouble or problems) and "hx-request" not in visit.request.headers
    return visit.render("workbench/blind.html", 422 if refused else 200, **context)


def _query(**chosen: str) -> str:
    return urlencode(chosen)


def _agents_part(
    environment: Environment,
) -> tuple[Observation, Observation, tuple[Step, ...]]:
    """All that an agent has been shown: what it was told first, the latest, and all between."""
    return environment.opening(), environment.observe(), environment.steps


async def step(visit: Visit) -> Response:
    """Take one action."""
    state = await desk.state_of(visit)
    if state.agent != desk.BLIND:
        return visit.go(desk.place_of(state))
    try:
        await desk.take(visit, state)
    except FormProblem as problem:
        return await page(visit, state, problems=problem.fields)
    except (StepConflict, EpisodeClosed) as error:
        now = await desk.state_of(visit)
        return await page(visit, now, trouble=desk.not_taken(error), problems={})
    return visit.go(f"/blind/{state.id}?{episode.after_step(visit)}#observation")


async def submit(visit: Visit) -> Response:
    """Hand the work in: the episode ends, and its verdict is shown."""
    state = await desk.state_of(visit)
    if state.agent == desk.BLIND:
        await visit.run(visit.service.episodes.close, state.id)
    return visit.go(desk.place_of(state))


PAGES = (
    Page("blind", "/blind/{episode}", show),
    Page("blind_step", "/blind/{episode}/steps", step, method="POST"),
    Page("blind_submit", "/blind/{episode}/submit", submit, method="POST"),
)
