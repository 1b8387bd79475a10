"""Episodes from what is stored of them: made again, held to their chain, and ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import orjson

from deskgym.environment import Environment
from deskgym.errors import DatabaseDamaged, StepConflict, UsageError
from deskgym.runstore.chain import StoredStep, stored_step
from deskgym.runstore.log import Ending, EpisodeRow
from deskgym.store import WorldEngine
from deskgym.suite import load_suite
from deskgym.trajectory import Action, Observation


def environment_of(
    task: str, parameters: Mapping[str, object], rubric: str | None, engine: WorldEngine | None
) -> Environment:
    """The environment that an episode asks for; raises what `deskgym.make` does."""
    suite = load_suite(task.partition("/")[0])
    return Environment(suite, suite.task(task), parameters=parameters, rubric=rubric, engine=engine)


def replayed(
    id: str,
    environment: Environment,
    steps: Sequence[StoredStep],
    chain: str,
    after_step: Callable[[Environment], None] | None = None,
) -> str:
    """Take stored steps again, each with the outcome that was stored; the chain's last hash."""
    for stored in steps:
        if not stored.holds_after(chain):
            raise DatabaseDamaged(
                f"step {stored.number} of the episode {id} was changed after it was stored"
            )
        try:
            action = Action.from_json(orjson.loads(stored.action))
            environment.step(action, stored.customer_reply())
        except (orjson.JSONDecodeError, TypeError, UsageError) as error:
            raise DatabaseDamaged(
                f"step {stored.number} of the episode {id} cannot be read: {error}"
            ) from error
        taken = environment.steps[-1:]
        again = stored_step(taken[0], chain) if taken else None
        if again != stored:
            raise DatabaseDamaged(
                f"step {stored.number} of the episode {id} does not come out as it was stored: "
                "the task is of another version, or the row was changed and sealed again"
            )
        chain = stored.chain
        if after_step is not None:
            after_step(environment)
    return chain


def answered_again(environment: Environment, id: str, action: Action, number: int) -> Observation:
    """The observation of a step that was taken, if the action is the same."""
    step = environment.steps[number - 1]
    if action.to_json() != step.action_json:
        expected = len(environment.steps) + 1
        raise StepConflict(
            f"step {number} of {id} was another action; the next step is {expected}", expected
        )
    return Observation(
        *step.result, number, environment.suite.steps_max, step.ended is not None, step.ended
    )


def ending_of(environment: Environment, status: str) -> Ending:
    """How an episode ends as it is now: what it earned, and its world's digest."""
    score = environment.score()
    return Ending(
        status=status,
        outcome="error" if environment.bugs else "reward",
        ended=environment.ended,
        steps=len(environment.steps),
        reward=score.reward,
        verdict=score.verdict,
        digest=environment.world.digest(),
        rubric=score.rubric,
        score=canonical_json(score.to_dict()),
    )


def ended_row(row: EpisodeRow, ending: Ending, ended_ms: int) -> EpisodeRow:
    """A live episode's row as its ending leaves it."""
    return row._replace(
        status=ending.status,
        outcome=ending.outcome,
        ended=ending.ended,
        steps=ending.steps,
        reward=ending.reward,
        digest=ending.digest,
        ended_ms=ended_ms,
    )


def canonical_json(value: object) -> str:
    """JSON that is the same for the same value."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
