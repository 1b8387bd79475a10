"""Operations on many episodes at once, for trainers that roll out hundreds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from deskgym.errors import DatabaseUnavailable, DeskgymError, InvalidDatabase, UsageError
from deskgym.runstore import NextStep
from deskgym.serve.api import forms
from deskgym.serve.api.episodes import (
    action_of,
    created_json,
    new_episode,
    reply_of,
    score_json,
    taken_or,
)
from deskgym.serve.operation import Asked, NoQuery, Operation
from deskgym.serve.problem import Problem, problem_of
from deskgym.trajectory import Observation

T = TypeVar("T")


async def create(asked: Asked[forms.NewEpisodesForm, NoQuery]) -> dict[str, Any]:
    """Start many episodes: all of them, or none."""
    new = [new_episode(form, asked.trainer) for form in asked.form.episodes]
    try:
        made = await asked.service.create(new)
    except UsageError as error:
        raise taken_or(error) from None
    return {"episodes": [created_json(item) for item in made]}


async def step(asked: Asked[forms.StepsForm, NoQuery]) -> dict[str, Any]:
    """Take steps of many episodes, and answer each in its place.

    A problem of one is answered in its place and disturbs no other. With numbers the request can
    be repeated.
    """
    service = asked.service
    steps = [NextStep(form.episode, action_of(form.action), form.number, reply_of(form.reply))
             for form in asked.form.steps]  # fmt: skip
    answers = await service.step_many(steps)
    return {
        "results": [
            {"episode": next_.id, **_step_result(answer)}
            for next_, answer in zip(steps, answers, strict=True)
        ]
    }


def _step_result(answer: Observation | DeskgymError) -> dict[str, Any]:
    if isinstance(answer, DeskgymError):
        return {"problem": problem_of(answer).to_dict()}
    return {"observation": answer.to_dict()}


async def score(asked: Asked[forms.EpisodeIdsForm, NoQuery]) -> dict[str, Any]:
    """Score many episodes as they are now."""
    episodes = asked.service.episodes
    return await _each(asked, "score", lambda id: score_json(episodes.score(id)))


async def close(asked: Asked[forms.EpisodeIdsForm, NoQuery]) -> dict[str, Any]:
    """End many episodes, and store their scores and recordings."""
    episodes = asked.service.episodes
    return await _each(asked, "state", lambda id: episodes.close(id).to_dict())


async def _each(
    asked: Asked[forms.EpisodeIdsForm, NoQuery], name: str, work: Callable[[str], dict[str, Any]]
) -> dict[str, Any]:
    """The answers for each episode, one after another; what fails of one is its own."""

    def result(id: str) -> dict[str, Any]:
        try:
            return {"episode": id, name: work(id)}
        except (DatabaseUnavailable, InvalidDatabase):
            raise  # nobody's answer can be had
        except DeskgymError as error:
            return {"episode": id, "problem": problem_of(error).to_dict()}
        except Problem as problem:
            return {"episode": id, "problem": problem.to_dict()}

    results: list[dict[str, Any]] = []
    for id in asked.form.episodes:
        results.append(await asked.service.run(result, id))
        await asyncio.sleep(0)  # closing takes milliseconds, and others have their turn
    return {"results": results}


OPERATIONS = (
    Operation("step_episodes", "POST", "/batch/steps", step, forms.StepResults,
              form=forms.StepsForm),
    Operation(
        "create_episodes", "POST", "/batch/episodes", create, forms.NewEpisodesAnswer,
        form=forms.NewEpisodesForm, status=201,
        problems=("unknown_name", "invalid_parameter", "invalid_value", "episode_exists",
                  "too_many_episodes"),
    ),
    Operation("score_episodes", "POST", "/batch/scores", score, forms.ScoreResults,
              form=forms.EpisodeIdsForm),
    Operation("close_episodes", "POST", "/batch/close", close, forms.StateResults,
              form=forms.EpisodeIdsForm),
)  # fmt: skip
