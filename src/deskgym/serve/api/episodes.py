"""Operations on episodes, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from deskgym.desk import CustomerReply
from deskgym.environment import Environment
from deskgym.errors import UsageError
from deskgym.rubric import Score
from deskgym.runstore import Created, EpisodeFilter, NewEpisode
from deskgym.serve.access import Trainer
from deskgym.serve.api import forms
from deskgym.serve.operation import Asked, NoForm, NoQuery, Operation, Reply
from deskgym.serve.problem import Problem
from deskgym.serve.service import Service
from deskgym.trajectory import Action, Step

T = TypeVar("T")


def new_episode(form: forms.NewEpisodeForm, trainer: Trainer) -> NewEpisode:
    """The episode that a form asks for, in the name of who asks."""
    return NewEpisode(
        form.task, form.seed, form.parameters, form.rubric, form.id, form.agent, trainer.holder,
        with_token=form.with_token,
    )  # fmt: skip


def action_of(form: forms.ActionForm) -> Action:
    """The action that a form asks for."""
    return Action(form.tool, form.arguments)


def reply_of(form: forms.ReplyForm | None) -> CustomerReply | None:
    """The customer's reply that a form brings, if it does."""
    return None if form is None else CustomerReply(form.message, form.accepts, form.done)


def created_json(made: Created) -> dict[str, Any]:
    """A new episode as JSON."""
    return {"id": made.id, "observation": made.observation.to_dict(), "token": made.token}


def score_json(score: Score) -> dict[str, Any]:
    """A score as JSON."""
    return {
        **score.to_dict(),
        "brief": score.brief(),
        "explanation": score.explain(),
        "actions": list(score.actions or ()),
    }


async def looked_at(service: Service, id: str, look: Callable[[Environment], T]) -> T:
    """What is seen in an episode's environment."""

    def work() -> T:
        with service.episodes.environment(id) as environment:
            return look(environment)

    return await service.run(work)


async def create(asked: Asked[forms.NewEpisodeForm, NoQuery]) -> Reply:
    """Start an episode.

    It is stored when the answer comes. With an id of your own the request can be repeated.
    """
    try:
        made = await asked.service.create([new_episode(asked.form, asked.trainer)])
    except UsageError as error:
        raise taken_or(error) from None
    location = ("location", f"/api/episodes/{made[0].id}")
    return Reply(orjson.dumps(created_json(made[0]), dict), headers=(location,))


def taken_or(error: UsageError) -> Exception:
    """An id that is taken is a conflict, and so told apart from other wrong values."""
    if type(error) is UsageError and "is there already" in str(error):
        return Problem("episode_exists", str(error))
    return error


async def step(asked: Asked[forms.StepForm, NoQuery]) -> Reply:
    """Take one action.

    The step is stored when the answer comes. With its number the request can be repeated; after
    the episode's end the answer is `episode_over`, and nothing changes.
    """
    form = asked.form
    observation = await asked.service.step(
        asked.path["id"], action_of(form.action), form.number, reply_of(form.reply)
    )
    return Reply(observation.to_json())


async def question(asked: Asked[forms.QuestionForm, NoQuery]) -> dict[str, Any]:
    """Show what an action would put to the customer; it is tried and undone.

    Whoever speaks for the customer answers it, and the answer goes into the step as its reply.
    """
    service = asked.service
    found = await service.run(
        service.episodes.question, asked.path["id"], action_of(asked.form.action)
    )
    if found is None:
        return {"words": None, "proposal": False}
    return {"words": found.words, "proposal": found.proposal}


async def observe(asked: Asked[NoForm, NoQuery]) -> Reply:
    """Show the latest observation again; it takes no action."""
    service = asked.service
    return Reply((await service.run(service.episodes.observe, asked.path["id"])).to_json())


async def state(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Show what is stored of an episode: what it is, how far it came, what it earned."""
    service = asked.service
    return (await service.run(service.episodes.state, asked.path["id"])).to_dict()


async def score(asked: Asked[NoForm, forms.ScoreQuery]) -> dict[str, Any]:
    """Score an episode as it is now, with the breakdown that explains the reward."""
    service, rubric = asked.service, asked.query.rubric
    return score_json(await service.run(service.episodes.score, asked.path["id"], rubric))


async def steps(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Show the trajectory: every action, its result and the rows that it changed."""
    taken = await looked_at(asked.service, asked.path["id"], lambda played: played.steps)
    return {"steps": [step_json(item) for item in taken]}


def step_json(item: Step) -> dict[str, Any]:
    """A step as JSON."""
    return {
        "number": item.number,
        "action": item.action.to_dict(),
        "result": orjson.loads(item.result_json),
        "changes": [change.to_dict() for change in item.changes],
        "ended": item.ended,
        "reply": None if item.reply is None else item.reply._asdict(),
    }


async def world(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Show the net row changes of the episode so far, and the digest of its world."""
    return await looked_at(
        asked.service,
        asked.path["id"],
        lambda played: {
            "changes": [change.to_dict() for change in played.changes()],
            "digest": played.world.digest(),
        },
    )


async def close(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """End an episode and store its score and its recording.

    Closing again changes nothing.
    """
    service = asked.service
    return (await service.run(service.episodes.close, asked.path["id"])).to_dict()


async def token(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Make a new token for the episode's agent; an earlier one is no longer valid."""
    service, id = asked.service, asked.path["id"]
    return {"id": id, "token": await service.run(service.episodes.issue_token, id)}


async def recording(asked: Asked[NoForm, NoQuery]) -> Reply:
    """Show the episode's recording, whole; that of a live one is as it is now."""
    service = asked.service
    return Reply((await service.run(service.episodes.recording, asked.path["id"])).to_json())


async def list_(asked: Asked[NoForm, forms.EpisodesQuery]) -> dict[str, Any]:
    """List episodes, newest first."""
    query, service = asked.query, asked.service
    which = EpisodeFilter(query.status, query.suite, query.task, query.agent)
    page = await service.run(service.store.list_episodes, which, limit=query.limit, page=query.page)
    return {"items": [item.to_dict() for item in page.items], "next": page.next}


_EPISODE = "/episodes/{id}"
_UNKNOWN = ("unknown_episode", "database_damaged")
OPERATIONS = (
    # The first one is by far the most used.
    Operation(
        "step_episode", "POST", f"{_EPISODE}/steps", step, forms.ObservationAnswer,
        form=forms.StepForm,
        problems=(*_UNKNOWN, "step_conflict", "episode_closed", "invalid_value"),
    ),
    Operation("ask_episode", "POST", f"{_EPISODE}/question", question, forms.QuestionAnswer,
              form=forms.QuestionForm, problems=_UNKNOWN),
    Operation("list_steps", "GET", f"{_EPISODE}/steps", steps, forms.StepsAnswer,
              problems=_UNKNOWN),
    Operation("observe_episode", "GET", f"{_EPISODE}/observation", observe,
              forms.ObservationAnswer, problems=_UNKNOWN),
    Operation("score_episode", "GET", f"{_EPISODE}/score", score, forms.ScoreAnswer,
              query=forms.ScoreQuery, problems=(*_UNKNOWN, "unknown_name")),
    Operation(
        "create_episode", "POST", "/episodes", create, forms.EpisodeAnswer,
        form=forms.NewEpisodeForm, status=201,
        problems=("unknown_name", "invalid_parameter", "invalid_value", "episode_exists",
                  "too_many_episodes"),
    ),
    Operation("list_episodes", "GET", "/episodes", list_, forms.EpisodesAnswer,
              query=forms.EpisodesQuery, problems=("invalid_value",)),
    Operation("get_episode", "GET", _EPISODE, state, forms.StateAnswer, problems=_UNKNOWN),
    Operation("show_world", "GET", f"{_EPISODE}/world", world, forms.WorldAnswer,
              problems=_UNKNOWN),
    Operation("close_episode", "POST", f"{_EPISODE}/close", close, forms.StateAnswer,
              problems=_UNKNOWN),
    Operation("issue_token", "POST", f"{_EPISODE}/token", token, forms.TokenAnswer,
              problems=_UNKNOWN),
    Operation("record_episode", "GET", f"{_EPISODE}/recording", recording,
              forms.WholeRecordingAnswer, problems=_UNKNOWN),
)  # fmt: skip
