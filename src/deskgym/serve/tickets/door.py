"""The seven endpoints, over episodes that are kept like all others."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from deskgym.errors import StepConflict
from deskgym.runstore import Created
from deskgym.serve.door import Door
from deskgym.serve.openapi import DOCS_POLICY, docs_page, openapi_of
from deskgym.serve.operation import Asked, NoForm, NoQuery, Operation, routes_of
from deskgym.serve.service import Service
from deskgym.serve.tickets import forms
from deskgym.serve.tickets.session import SUITE, Sessions
from deskgym.suites.tickets.baseline import Baseline, baseline
from deskgym.suites.tickets.conversation import observation_of, state_of
from deskgym.suites.tickets.models import SupportAction, SupportObservation
from deskgym.suites.tickets.scenario import TIERS, TURNS, Tier
from deskgym.suites.tickets.ticket import TICKETS, ticket_of
from deskgym.task import SEED_MAX
from deskgym.trajectory import call

TITLE: Final = "deskgym tickets"
NAME: Final = "customer_support_env"
ABOUT: Final = """
Support tickets in three tiers: classify one, answer one, hold a conversation of three turns.

POST /reset starts an episode and names its session; POST /step sends a reply; POST /grader tells
the score. What is answered holds rewards: show an agent the conversation only.
"""
ORACLE: Final = "oracle"
OVER: Final = "episode_over"
MAX_STEPS: Final[Mapping[Tier, int]] = {"easy": 1, "medium": 1, "hard": 10}
"""As published: the hard tier takes three turns, and ten steps are a guard."""

DESCRIPTIONS: Final[Mapping[Tier, str]] = {
    "easy": "Name the category of a ticket: refund, technical, shipping, billing or account.",
    "medium": "Solve a ticket in one reply.",
    "hard": "Hold a conversation of three turns: ask, solve, close.",
}


def door(service: Service, prefix: str) -> Door:
    """The tickets' door, its description in OpenAPI, and a page to try it on."""
    operations = operations_of(Desk(service))
    page = docs_page(TITLE, f"{prefix}/openapi.json")

    @cache
    def described() -> bytes:
        return orjson.dumps(openapi_of(TITLE, version("deskgym"), ABOUT, prefix, operations))

    def openapi(request: Request) -> Response:
        return Response(described(), media_type="application/json")

    def docs(request: Request) -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": DOCS_POLICY})

    return Door(
        [
            *routes_of(service, prefix, operations),
            Route(f"{prefix}/openapi.json", openapi),
            Route(f"{prefix}/docs", docs),
        ]
    )


class Desk:
    """What the endpoints do."""

    def __init__(self, service: Service) -> None:
        self._service: Final = service
        self._sessions: Final = Sessions(service.episodes)

    async def health(self, asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
        """Say that the server is up."""
        return {
            "status": "ok",
            "env": NAME,
            "version": self._service.store.version,
            "description": "Support tickets: classify, answer, hold a conversation.",
        }

    async def reset(self, asked: Asked[forms.ResetForm, NoQuery]) -> dict[str, Any]:
        """Start an episode, in a new session or as the next one of a session.

        The episode that a session played before is closed. The seed picks the ticket.
        """
        form, holder = asked.form, asked.trainer.holder
        # Chance is the caller's wish here; the seed is answered, so the episode can come again.
        seed = secrets.randbelow(SEED_MAX + 1) if form.seed is None else form.seed
        episodes, run = self._service.episodes, self._service.run

        def create(id: str | None) -> Created:
            return episodes.create(
                f"{SUITE}/{form.task_name}", seed, rubric=form.rubric, id=id, agent=SUITE,
                holder=holder,
            )  # fmt: skip

        opened = await run(self._sessions.open, form.session_id, holder, create)
        observation = await run(self._observation, opened.episode)
        return {
            "session_id": opened.session,
            "observation": observation.model_dump(),
            "seed": seed,
        }

    async def step(self, asked: Asked[forms.StepForm, NoQuery]) -> dict[str, Any]:
        """Send a reply. It is judged at once.

        After the end nothing changes: the last observation comes again, with a reward of 0.
        """
        form, run = asked.form, self._service.run
        state = await run(self._sessions.current, form.session_id, asked.trainer.holder)
        if form.number is not None and form.number < state.steps:
            raise StepConflict(
                f"step {form.number} was followed by others; the next is {state.steps + 1}",
                state.steps + 1,
            )
        action = call("respond", message=form.message, intent=form.intent)
        seen = await self._service.step(state.id, action, form.number)
        observation = await run(self._observation, state.id)
        if seen.code == OVER:
            update = {"reward": 0.0, "info": "The episode is over; POST /reset starts another."}
            observation = observation.model_copy(update=update)
        return {"session_id": form.session_id, "observation": observation.model_dump()}

    async def state(self, asked: Asked[NoForm, forms.StateQuery]) -> dict[str, Any]:
        """Show how a session stands. It does not tell the category or a keyword."""
        run, session = self._service.run, asked.query.session_id
        found = await run(self._sessions.current, session, asked.trainer.holder)

        def standing() -> dict[str, Any]:
            with self._service.episodes.environment(found.id) as environment:
                return state_of(environment).model_dump()

        return {"session_id": session, "state": await run(standing)}

    async def tasks(self, asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
        """List the tiers, each with the schema of its actions."""
        schema = SupportAction.model_json_schema()
        return {
            "tasks": [
                {
                    "name": tier,
                    "description": DESCRIPTIONS[tier],
                    "difficulty": tier,
                    "max_steps": MAX_STEPS[tier],
                    "action_schema": schema,
                }
                for tier in TIERS
            ]
        }

    async def grader(self, asked: Asked[forms.GraderForm, NoQuery]) -> dict[str, Any]:
        """Grade a session's episode: its score, and what each turn was paid for."""
        run, session = self._service.run, asked.form.session_id
        found = await run(self._sessions.current, session, asked.trainer.holder)
        return {"session_id": session, **await run(self._grade, found.id)}

    async def baseline(self, asked: Asked[forms.BaselineForm, NoQuery]) -> dict[str, Any]:
        """Run the built-in agents on every tier, and average what they earn."""
        form = asked.form
        # It takes some hundred steps, so it has a thread, and the server goes on answering.
        ran = await asyncio.to_thread(baseline, form.rubric, seeds=range(form.episodes))
        return _baseline_json(ran)

    def _observation(self, episode: str) -> SupportObservation:
        with self._service.episodes.environment(episode) as environment:
            return observation_of(environment)

    def _grade(self, episode: str) -> dict[str, Any]:
        with self._service.episodes.environment(episode) as environment:
            observation, score = observation_of(environment), environment.score()
            steps, seed = len(environment.steps), environment.seed
        turns = TURNS[observation.task_name]
        message = None
        if not steps:
            message = "There is no reply yet; POST /step sends one."
        elif not observation.done:
            message = f"{len(observation.turn_scores)} of {turns} turns were taken."
        return {
            "score": observation.cumulative_reward if steps else None,
            "message": message,
            "task": observation.task_name,
            "steps": steps,
            "done": observation.done,
            "cumulative_reward": observation.cumulative_reward,
            "turn_scores": observation.turn_scores,
            "resolved": observation.done and score.verdict == "resolved",
            "issue_type": ticket_of(seed).scenario.category if observation.done else None,
            "rubric": score.rubric,
            "breakdown": score.breakdown.to_dict() if observation.done else None,
        }


def _baseline_json(ran: Baseline) -> dict[str, Any]:
    averages = ran.averages()
    scores: dict[str, list[float]] = {tier: [] for tier in TIERS}
    for episode in ran.episodes:
        if episode.agent == ORACLE and episode.reward is not None:
            scores[episode.task_name].append(episode.reward)
    return {
        **averages[ORACLE],
        "details": {
            tier: {"average_score": averages[ORACLE][tier], "scores": scores[tier]}
            for tier in TIERS
        },
        "agents": averages,
        "rubric": ran.rubric,
    }


def operations_of(desk: Desk) -> tuple[Operation, ...]:
    """The seven endpoints."""
    assert len(TICKETS) >= 45, "a baseline may run as many episodes as there are tickets"
    unknown = ("unknown_episode",)
    return (
        Operation("health", "GET", "/", desk.health, forms.Health),
        Operation(
            "reset", "POST", "/reset", desk.reset, forms.Started, form=forms.ResetForm,
            problems=("unknown_name", "episode_exists", "too_many_episodes"),
        ),
        Operation(
            "step", "POST", "/step", desk.step, forms.Observed, form=forms.StepForm,
            problems=(*unknown, "step_conflict", "episode_closed"),
        ),
        Operation(
            "state", "GET", "/state", desk.state, forms.Standing, query=forms.StateQuery,
            problems=unknown,
        ),
        Operation("tasks", "GET", "/tasks", desk.tasks, forms.Tasks),
        Operation(
            "grader", "POST", "/grader", desk.grader, forms.Grade, form=forms.GraderForm,
            problems=unknown,
        ),
        Operation(
            "baseline", "POST", "/baseline", desk.baseline, forms.BaselineScores,
            form=forms.BaselineForm, problems=("unknown_name",),
        ),
    )  # fmt: skip
