"""An episode that a person acts in: whose it is, how it stands, and one action of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar
from urllib.parse import urlencode

from deskgym.environment import Environment
from deskgym.errors import EpisodeClosed, StepConflict
from deskgym.runstore import EpisodeFilter, RecordingFilter
from deskgym.runstore.state import EpisodeState
from deskgym.serve.problem import Problem
from deskgym.suite import load_suite
from deskgym.tool import Tool, Toolbox
from deskgym.trajectory import Action
from deskgym.web.site import Visit
from deskgym.web.workbench.form import KINDS, PREFIX, action_from, command_from

T = TypeVar("T")

HUMAN: Final = "human"
BLIND: Final = "blind"
LISTED_MAX: Final = 12

ENDINGS: Final[Mapping[str, str]] = {
    "closed": "the agent closed the case",
    "submitted": "the agent handed the work in",
    "no_progress": "three identical observations in a row changed nothing",
    "action_limit": "every action was used",
    "customer_done": "the customer had nothing more to say",
    "completed": "the task had run its course",
}
"""Why an episode ended by its own rules, in words."""


async def state_of(visit: Visit) -> EpisodeState:
    """The episode that the path names; raises `UnknownEpisode`."""
    return await visit.run(visit.service.episodes.state, visit.path["episode"])


def is_hidden(state: EpisodeState) -> bool:
    """Whether an episode shows an agent's part of it and nothing else."""
    return state.agent == BLIND and state.live


async def seen_in(visit: Visit, id: str, look: Callable[[Environment], T]) -> T:
    """What is seen in an episode's environment."""

    def work() -> T:
        with visit.service.episodes.environment(id) as environment:
            return look(environment)

    return await visit.run(work)


def toolbox_of(state: EpisodeState) -> Toolbox:
    """The tools of an episode."""
    return load_suite(state.task.partition("/")[0]).toolbox


def by_kind(toolbox: Toolbox) -> list[tuple[str, list[Tool]]]:
    """Tools by what they are for, in the order of a case's work."""
    found = [(name, [tool for tool in toolbox.values() if tool.kind == kind])
             for kind, name in KINDS.items()]  # fmt: skip
    return [(name, tools) for name, tools in found if tools]


def why_over(state: EpisodeState) -> str:
    """Why an episode is over, in words; empty for one that is not."""
    if state.ended is not None:
        return ENDINGS.get(state.ended, state.ended)
    if state.status == "expired":
        return "nobody acted for too long"
    return "" if state.live else "it was closed by hand"


async def take(visit: Visit, state: EpisodeState) -> None:
    """Take the action that a form asks for, and keep the recording of an episode that it ended.

    Raises:
        FormProblem: the form asks for none; nothing was done.
        StepConflict: another action has its number; nothing was done.
        EpisodeClosed: the episode is over; nothing was done.
    """
    number = visit.text("number")
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise Problem("bad_request", "the form has no number of a step")
    observation = await visit.service.step(state.id, _action(visit, state), int(number))
    if observation.done:
        await visit.run(visit.service.episodes.close, state.id)


def _action(visit: Visit, state: EpisodeState) -> Action:
    if "command" in visit.form:
        return command_from(visit.text("command"))
    return action_from(toolbox_of(state), visit.text("tool"), typed_in(visit))


def typed_in(visit: Visit) -> dict[str, str]:
    """What was typed into a tool's form, by argument."""
    names = [name for name in visit.form if name.startswith(PREFIX)]
    return {name.removeprefix(PREFIX): visit.text(name) for name in names}


async def recording_id(visit: Visit, id: str) -> str | None:
    """Where an episode's recording is in the library; None if it is not there."""
    recordings = visit.service.store.recordings
    page = await visit.run(recordings.list, RecordingFilter(episode=id), limit=1)
    return page.items[0].id if page.items else None


async def own_episodes(visit: Visit, agent: str) -> Sequence[EpisodeState]:
    """One's latest episodes in a mode, the newest first."""
    which = EpisodeFilter(agent=agent, holder=visit.trainer.holder)
    page = await visit.run(visit.service.store.list_episodes, which, limit=LISTED_MAX)
    return page.items


def start_again(state: EpisodeState) -> str:
    """The query of the start page with an episode's settings."""
    suite, _, task = state.task.partition("/")
    mode = {"mode": "blind"} if state.agent == BLIND else {}
    fields = {"suite": suite, "task": task, "seed": state.seed, "rubric": state.rubric, **mode}
    return urlencode({**state.parameters, **fields})


def place_of(state: EpisodeState) -> str:
    """The path of the page where an episode is taken."""
    return f"/blind/{state.id}" if state.agent == BLIND else f"/workbench/{state.id}"


def not_taken(error: StepConflict | EpisodeClosed) -> str:
    """Why an action was not taken, for whoever sent it."""
    if isinstance(error, StepConflict):
        return (
            "Nothing was done: another action has that number already, perhaps from another tab "
            f"or a second click. The episode stands as shown; the next action is {error.expected}."
        )
    return "Nothing was done: the episode is over."
