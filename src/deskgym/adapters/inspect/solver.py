"""The solver: Inspect's `react` at a desk, and the recording that it leaves."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from inspect_ai.agent import AgentContinue, AgentPrompt, AgentState, as_solver, react
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from deskgym.adapters.inspect.customer import inspect_customer
from deskgym.adapters.inspect.desk import Desk, open_desk
from deskgym.adapters.inspect.sample import ROW, keep_recording, metadata_of, row_of
from deskgym.adapters.inspect.tools import refuse_in_the_episode, tools_of
from deskgym.adapters.judgement import raise_unless_judged
from deskgym.adapters.rows import Row
from deskgym.agents.model import native_system, seen_text, thought
from deskgym.agents.player import AgentTurn
from deskgym.customers import Customer
from deskgym.dialogue import Limits
from deskgym.dialogue.limits import TURNS_MAX
from deskgym.environment import Environment
from deskgym.errors import RunInvalid


@solver
def desk_agent(
    customer: str | None = None, turns_max: int = TURNS_MAX, **react_options: Any
) -> Solver:
    """`react` with the episode's tools, and the customer who hears what is said without a call.

    Args:
        customer: the manner of a model that speaks for the customer, such as `curt` or
            `pushy,confused`; it is Inspect's model role `customer`. The task's own script if None.
        turns_max: how often the agent may speak to the customer.
        react_options: further options of `react`, such as `compaction` or `retry_refusals`.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        row = row_of(state.metadata)
        state.store.set(ROW, metadata_of(row))
        with row.environment() as environment:
            # How often tools are called is limited by the suite's own number of actions.
            limits = Limits(turns_max, rounds_max=environment.suite.steps_max)
            who = None if customer is None else inspect_customer(customer)
            async with _at_desk(state, row, environment, who, limits) as desk:
                agent = react(
                    prompt=_prompt(desk),
                    tools=tools_of(desk),
                    submit=False,
                    on_continue=_going_on(desk),
                    **react_options,
                )
                state = await as_solver(agent)(state, generate)
        return state

    return solve


@asynccontextmanager
async def _at_desk(
    state: TaskState, row: Row, environment: Environment, customer: Customer | None, limits: Limits
) -> AsyncGenerator[Desk]:
    """A desk; at the end its recording is kept, and an episode without a reward is an error.

    A limit of Inspect's, of time too, ends the episode as if the agent had stopped, and what was
    done until then is scored: so has it Inspect.
    """
    desk = await open_desk(
        environment,
        agent=f"inspect:{state.model}",
        seed=row.seed,
        customer=customer,
        limits=limits,
    )
    failure: RunInvalid | None = None
    try:
        yield desk
    except LimitExceededError:
        raise
    except RunInvalid as error:
        failure = error
        raise
    except Exception as error:
        failure = RunInvalid("provider_failure", f"{type(error).__name__}: {error}"[:1_000])
        raise
    finally:
        with anyio.CancelScope(shield=True):
            played = await desk.leave(failure)
        keep_recording(state, played.recording)
    raise_unless_judged(played, environment)


def _prompt(desk: Desk) -> AgentPrompt:
    """The policy, and nothing of what `react` adds for other tasks."""
    return AgentPrompt(
        instructions=native_system(desk.briefing),
        handoff_prompt=None,
        assistant_prompt=None,
        submit_prompt=None,
    )


def _going_on(desk: Desk) -> AgentContinue:
    """What `react` asks after each turn: whether to go on, and what to tell the model first."""

    async def go_on(state: AgentState) -> bool | str:
        if state.output.stop_reason == "content_filter":
            raise RunInvalid("refused_output", "the provider or the model withheld its answer")
        message = state.output.message
        if message.tool_calls:
            await refuse_in_the_episode(desk, state.messages)
            return not desk.over
        private, text = thought(message.text)
        if state.output.stop_reason in ("max_tokens", "model_length"):
            turn = AgentTurn(private=message.text, cut=True)
        else:
            turn = AgentTurn(speech=text.strip(), private=private)
        seen = await desk.take(turn)
        return False if seen is None else seen_text(seen) or "[Go on.]"

    return go_on
