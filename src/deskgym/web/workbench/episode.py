"""The page of an episode: act as the agent, with the records and the reward beside it."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import Response

from deskgym.errors import EpisodeClosed, StepConflict
from deskgym.replay import Replay
from deskgym.replay import replay as replay_recording
from deskgym.runstore.state import EpisodeState
from deskgym.suite import load_suite
from deskgym.tool import Tool
from deskgym.trajectory import Step
from deskgym.web.run import Run, why
from deskgym.web.site import HEADERS, Page, Visit
from deskgym.web.viewer import act as act_on_run
from deskgym.web.viewer import show as show_run
from deskgym.web.workbench import code, desk
from deskgym.web.workbench.form import FormProblem, carried, fields_of
from deskgym.web.workbench.sight import Sight, sight_of

Answer = Callable[[Visit, EpisodeState], Awaitable[Response]]


def unhidden(answer: Answer) -> Callable[[Visit], Awaitable[Response]]:
    """What is answered of an episode; one that is taken blind shows its own page until it ends."""

    async def answered(visit: Visit) -> Response:
        state = await desk.state_of(visit)
        if desk.is_hidden(state):
            return visit.go(desk.place_of(state))
        return await answer(visit, state)

    answered.__doc__ = answer.__doc__
    return answered


async def show(visit: Visit, state: EpisodeState) -> Response:
    """Show an episode: what was seen last, what can be done, and the records beside it."""
    if state.agent == desk.BLIND:
        return visit.go(desk.place_of(state))
    return await page(visit, state)


async def page(
    visit: Visit,
    state: EpisodeState,
    *,
    trouble: str = "",
    problems: Mapping[str, str] | None = None,
    replay: Replay | None = None,
) -> Response:
    """An episode's page.

    Args:
        visit: who asks, and what was typed in.
        state: the episode.
        trouble: why an action was not taken.
        problems: what is wrong with its form, by argument.
        replay: how the episode came out in a fresh world, if that was asked.
    """
    sight = await desk.seen_in(
        visit, state.id, lambda environment: sight_of(environment, visit.request.query_params)
    )
    acting = state.live and state.agent == desk.HUMAN
    context: dict[str, Any] = {
        "state": state,
        "sight": sight,
        "why": why(sight.score),
        "instructions": load_suite(state.task.partition("/")[0]).instructions,
        "differs": _digits(visit.query("differs")),
        "acting": acting,
        "why_over": desk.why_over(state),
        "again": desk.start_again(state),
        "recording": None if state.live else await desk.recording_id(visit, state.id),
        "snippets": code.snippets(visit, state, [step.action for step in sight.steps]),
        "trouble": trouble,
        "replay": replay,
        "here": f"/workbench/{state.id}",
        "new_id": secrets.token_hex(16),
        "kept": kept(sight),
        "opened": urlencode(sight.chosen),
        **tool_context(visit, state, sight.steps, sight.suggestions, problems),
        "answers": _answers(state, sight),
    }
    # A script that asked takes any page in; the console would show another status as an error.
    refused = bool(trouble or problems) and "hx-request" not in visit.request.headers
    return visit.render("workbench/episode.html", 422 if refused else 200, **context)


def _digits(text: str) -> str:
    """A number of the query, if it is one."""
    return text if text.isascii() and text.isdecimal() and len(text) < 7 else ""


def kept(sight: Sight) -> Callable[..., str]:
    """Makes the query that keeps what is open beside the case, and changes what is given."""

    def query(**changed: str) -> str:
        return urlencode({**sight.chosen, **changed})

    return query


def tool_context(
    visit: Visit,
    state: EpisodeState,
    steps: tuple[Step, ...] | Any,
    suggestions: Mapping[str, Any],
    problems: Mapping[str, str] | None,
) -> dict[str, Any]:
    """The tools, and the form of the one that is chosen: by the form that came, or the query."""
    toolbox = desk.toolbox_of(state)
    posted = visit.request.method == "POST" and bool(problems is not None)
    raw = "command" in visit.form if posted else bool(visit.query("raw"))
    name = visit.text("tool") if posted else visit.query("tool")
    tool: Tool = toolbox.get(name) or next(iter(toolbox.values()))
    query = visit.request.query_params
    # What may be left out is left to a person: a value too many can be a wrong call.
    known = {**carried(steps), **query}
    needed = {item.name: known[item.name] for item in tool.parameters if item.required
              and item.name in known}  # fmt: skip
    typed = desk.typed_in(visit) if posted else needed
    if raw:
        shown = visit.text("command") if posted else code.empty_command(tool)
        return {
            "tools": desk.by_kind(toolbox), "tool": None, "fields": [], "command": shown,
            "problems": problems or {}, "number": len(steps) + 1,
        }  # fmt: skip
    return {
        "tools": desk.by_kind(toolbox),
        "tool": tool,
        "fields": fields_of(tool, typed, suggestions, problems),
        "command": "",
        "problems": problems or {},
        "number": len(steps) + 1,
    }


def _answers(state: EpisodeState, sight: Sight) -> dict[str, Any]:
    """The forms that stand beside records, by the title of their panel."""
    toolbox = desk.toolbox_of(state)
    found: dict[str, Any] = {}
    for beside in sight.beside:
        tool = toolbox.get(beside.panel.answer) if beside.panel.answer else None
        if tool is not None:
            fields = [field for field in fields_of(tool, {}, {}) if field.name not in beside.chosen]
            found[beside.panel.title] = {"tool": tool, "fields": fields, "given": beside.chosen}
    return found


async def step(visit: Visit, state: EpisodeState) -> Response:
    """Take one action, and show what came of it."""
    if state.agent != desk.HUMAN:
        return visit.go(desk.place_of(state))
    try:
        await desk.take(visit, state)
    except FormProblem as problem:
        return await page(visit, state, problems=problem.fields)
    except (StepConflict, EpisodeClosed) as error:
        return await page(
            visit, await desk.state_of(visit), trouble=desk.not_taken(error), problems={}
        )
    return visit.go(f"/workbench/{state.id}?{after_step(visit)}#observation")


def after_step(visit: Visit) -> str:
    """The query of the page after a step: the same tool, and what is open beside the case."""
    query = {
        name: value
        for name, value in visit.request.query_params.items()
        if name not in ("tool", "raw", "differs")
    }
    chosen = {"raw": "1"} if "command" in visit.form else {"tool": visit.text("tool")}
    return urlencode({**query, **chosen})


async def close(visit: Visit, state: EpisodeState) -> Response:
    """End an episode, store its recording, and open that."""
    if state.live and state.agent != desk.HUMAN:
        return visit.go(desk.place_of(state))  # somebody else acts in it
    await visit.run(visit.service.episodes.close, state.id)
    recording = await desk.recording_id(visit, state.id)
    return visit.go(f"/workbench/{state.id}" if recording is None else f"/recordings/{recording}")


async def export(visit: Visit, state: EpisodeState) -> Response:
    """Download the recording of an episode, as it is now."""
    recording = await visit.run(visit.service.episodes.recording, state.id)
    name = quote(f"{state.task.replace('/', '-')}-seed-{state.seed}-{state.id[-8:]}.json")
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(recording.to_json(), headers=headers, media_type="application/json")


async def replay(visit: Visit, state: EpisodeState) -> Response:
    """Take an episode's actions again in a fresh world, and say whether all comes out the same."""
    recording = await visit.run(visit.service.episodes.recording, state.id)
    engine = visit.site.kept.engine
    made = await visit.site.kept.work_out(lambda: replay_recording(recording, engine=engine))
    return await page(visit, state, replay=made)


async def trajectory(visit: Visit, state: EpisodeState) -> Response:
    """Step through what was done so far."""
    return await show_run(visit, await _run(visit, state))


async def act_again(visit: Visit, state: EpisodeState) -> Response:
    """What the page that steps through asks for: act it out again."""
    return await act_on_run(visit, await _run(visit, state))


async def _run(visit: Visit, state: EpisodeState) -> Run:
    recording = await visit.run(visit.service.episodes.recording, state.id)
    task = load_suite(state.task.partition("/")[0]).task(state.task)
    return Run(
        recording,
        f"{task.title}, so far" if state.live else task.title,
        f"/workbench/{state.id}/trajectory",
        "an episode of the workbench",
        (desk.place_of(state), "The episode"),
        live=state.live,
    )


PAGES = (
    Page("workbench_episode", "/workbench/{episode}", unhidden(show)),
    Page("workbench_step", "/workbench/{episode}/steps", unhidden(step), method="POST"),
    Page("workbench_close", "/workbench/{episode}/close", unhidden(close), method="POST"),
    Page("workbench_replay", "/workbench/{episode}/replay", unhidden(replay), method="POST"),
    Page("workbench_export", "/workbench/{episode}/recording.json", unhidden(export)),
    Page("workbench_trajectory", "/workbench/{episode}/trajectory", unhidden(trajectory)),
    Page(
        "workbench_act_again",
        "/workbench/{episode}/trajectory",
        unhidden(act_again),
        method="POST",
    ),
)
