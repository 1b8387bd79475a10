"""The environment: one episode of one task, an action at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from copy import deepcopy
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar

from deskgym.desk import CustomerReply, Desk, Ending, Result
from deskgym.dispatch import COMMON_CODES, Dispatched, dispatch, tried_call
from deskgym.errors import CustomerAsked, InvalidDefinition, UsageError
from deskgym.rubric import Reader, Score
from deskgym.store import RowChange, World, WorldEngine, default_engine
from deskgym.store.change import Row
from deskgym.suite import Rubric, Suite, load_suite
from deskgym.task import Fixture, Task
from deskgym.tool import Toolbox, ToolSchema
from deskgym.trajectory import Action, Observation, Step

T = TypeVar("T")

IDENTICAL_OBSERVATIONS_MAX: Final = 3

ENVIRONMENT_LOG: Final = __name__
"""The logger that tells of a tool that failed by mistake."""
_log = logging.getLogger(ENVIRONMENT_LOG)


class AnyEnvironment(Protocol):
    """What a training loop may hold: an `Environment` in this process, or one on a server.

    `deskgym.make` makes the one, `deskgym.Client(url).make` the other; what each member means is
    said at `Environment`.
    """

    @property
    def id(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, int]: ...
    @property
    def tools(self) -> Mapping[str, ToolSchema]: ...
    @property
    def instructions(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def ended(self) -> Ending | None: ...
    @property
    def done(self) -> bool: ...
    def changes(self) -> tuple[RowChange, ...]: ...
    def reset(self, seed: int = 0) -> Observation: ...
    def observe(self) -> Observation: ...
    def step(self, action: Action, reply: CustomerReply | None = None) -> Observation: ...
    def question(self, action: Action) -> CustomerAsked | None: ...
    def score(self, rubric: str | None = None) -> Score: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Environment:
    """One episode of a task: `reset`, then `step` until `done`, and `score` at any time.

    The score is the trainer's; no observation shows it. One instance serves one caller at a time;
    instances may be used from several threads.

    Attributes:
        suite: the suite of the task.
        task: the task.
        parameters: what its fixture is built with.
        bugs: what our own tools raised by mistake; an episode with any is no agent's failure.
    """

    def __init__(
        self,
        suite: Suite,
        task: Task,
        *,
        parameters: Mapping[str, object] | None = None,
        rubric: str | None = None,
        engine: WorldEngine | None = None,
    ) -> None:
        """`make` is the shorter way.

        Raises:
            InvalidParameter: a parameter is unknown or out of its limits.
            UnknownName: the suite has no such rubric.
        """
        self.suite: Final = suite
        self.task: Final = task
        self.parameters: Final = task.values(parameters or {})
        self.bugs: list[Exception] = []
        self._rubric: Final = suite.rubric(rubric)
        self._engine: Final = engine or default_engine()
        self._fixture: Fixture | None = None
        self._world: World | None = None
        self._seed = 0
        self._steps: list[Step] = []
        self._ended: Ending | None = None
        self._identical = 0

    @property
    def id(self) -> str:
        """The task's id, such as `service/damaged-lamp`."""
        return f"{self.suite.name}/{self.task.name}"

    @property
    def tools(self) -> Toolbox:
        """What the agent can call."""
        return self.suite.toolbox

    @property
    def instructions(self) -> str:
        """The policy that an agent gets before its first action."""
        return self.suite.instructions

    @property
    def rubric(self) -> Rubric:
        """The rubric that `score` uses."""
        return self._rubric

    @property
    def seed(self) -> int:
        """The seed of the current episode."""
        return self._seed

    @property
    def steps(self) -> tuple[Step, ...]:
        """The trajectory so far."""
        return tuple(self._steps)

    @property
    def ended(self) -> Ending | None:
        """Why the episode ended, or None while it goes on."""
        return self._ended

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._ended is not None

    @property
    def fixture(self) -> Fixture:
        """The episode's start; holds what an agent must not see."""
        self._started()
        assert self._fixture is not None, "a started episode has a fixture"
        return self._fixture

    @property
    def world(self) -> World:
        """The episode's store; holds what an agent must not see."""
        return self._started()

    def changes(self) -> tuple[RowChange, ...]:
        """The net row changes of the episode so far."""
        return self._started().changes()

    def reset(self, seed: int = 0) -> Observation:
        """Start an episode and return what the agent is told first.

        Raises:
            InvalidParameter: the seed is no whole number from 0 to 2**31 - 1.
            InvalidDefinition: the task is solved before anything is done.
        """
        fixture = self.task.build(seed, self.parameters)
        with self._engine.lock:
            if self._world is not None and self._world.template is fixture.template:
                self._world.reset()
            else:
                self.close()
                self._world = self._engine.open(fixture.template)
        self._fixture = fixture
        self._seed = seed
        self._steps = []
        self._ended = None
        self._identical = 0
        self.bugs = []
        if self._rubric.version not in self.task.vetted:
            self._vet()
        return self.observe()

    def _vet(self) -> None:
        """Refuse a task that is solved before anything is done, once for each rubric."""
        score = self.score()
        if score.verdict == "resolved":
            raise InvalidDefinition(
                f"{self.id} is solved before anything is done (seed {self._seed}, reward "
                f"{score.reward} by {score.rubric}): give it a check that an untouched world fails"
            )
        self.task.vetted.add(score.rubric)

    def observe(self) -> Observation:
        """The latest observation again; it takes no action."""
        return self._observation(self._steps[-1].result) if self._steps else self.opening()

    def opening(self) -> Observation:
        """What the agent was told first."""
        fixture = self.fixture
        # The fixture serves other episodes, so an agent gets a copy of its data.
        data = deepcopy(dict(fixture.data)) if fixture.data else {}
        return Observation(True, "ready", fixture.opening, data, 0, self.suite.steps_max)

    def step(self, action: Action, reply: CustomerReply | None = None) -> Observation:
        """Take one action and return what the agent sees.

        Whatever the action holds, the answer is an observation. After the end it is
        `episode_over`, nothing changes, and the action is not recorded.

        Args:
            action: what the agent does.
            reply: what a customer who is no script says to it; the task's own customer answers if
                None. An action that asks no customer leaves it unused and unrecorded.

        Raises:
            UsageError: there is no episode yet, or the reply cannot be recorded.
        """
        world = self._world or self._started()
        if reply is not None:
            reply = reply.checked()
        if self._ended is not None:
            return self._observation(Result(False, "episode_over", COMMON_CODES["episode_over"]))
        action = action.canonical()
        number = len(self._steps) + 1
        with self._engine.lock:
            desk = self._desk(world, number, reply)
            done = dispatch(self.suite.toolbox, world, desk, action.tool, action.arguments)
        if done.bug is not None:
            self.bugs.append(done.bug)
            _log.error("%s: tool %s failed", self.id, action.tool, exc_info=done.bug)
        desk.log_rows.append(("env_call", _call_row(number, action.tool, done)))
        world.append(desk.log_rows)
        return self._record(desk, action, done)

    def question(self, action: Action) -> CustomerAsked | None:
        """What an action would put to the customer, or None if it asks nothing.

        The action is tried and undone: the world, the trajectory and the score stay as they are.
        Whoever speaks for the customer answers it, and the answer goes into `step`.

        Raises:
            UsageError: there is no episode yet.
        """
        world = self._started()
        if self._ended is not None:
            return None
        tried = action.canonical()
        with self._engine.lock:
            desk = self._desk(world, len(self._steps) + 1, None, asking=True)
            return tried_call(self.suite.toolbox, world, desk, tried.tool, tried.arguments)

    def score(self, rubric: str | None = None) -> Score:
        """What the episode has earned so far, by this environment's rubric or another version.

        Raises:
            UnknownName: the suite has no such rubric.
            UsageError: there is no episode yet.
        """
        chosen = self._rubric if rubric is None else self.suite.rubric(rubric)
        world = self._started()
        with self._engine.lock:
            world.settle()
            score = chosen.score(world, self.fixture.case)
        return score.after(len(self._steps), self.suite.steps_max)

    def look(self, seen: Callable[[Reader], T]) -> T:
        """What somebody other than the agent sees in the world, its own log included.

        `seen` reads with the reader that it gets, and keeps neither it nor writes with it.

        Raises:
            UsageError: there is no episode yet.
        """
        world = self._started()
        with self._engine.lock:
            world.settle()
            return seen(world)

    def close(self) -> None:
        """Give the episode's place in memory back. The trajectory and the score stay."""
        if self._world is not None:
            with self._engine.lock:
                self._world.park()

    def __enter__(self) -> Environment:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> World:
        if self._world is None:
            raise UsageError(f"{self.id}: there is no episode yet; call reset(seed=…) first")
        return self._world

    def _desk(
        self,
        world: World,
        number: int,
        reply: CustomerReply | None,
        *,
        asking: bool = False,
    ) -> Desk:
        fixture = self._fixture
        assert fixture is not None, "a started episode has a fixture"
        return Desk(
            world.seat(),
            step=number,
            now=fixture.now,
            account=fixture.account,
            customer=fixture.customer,
            reply=reply,
            asking=asking,
        )

    def _record(self, desk: Desk, action: Action, done: Dispatched) -> Observation:
        result, result_json, changes = done.result, done.result_json, done.changes
        if changes:
            self._identical = 0
        elif self._steps and self._steps[-1].result_json == result_json:
            self._identical += 1
        else:
            self._identical = 1
        if desk.ending is not None and done.bug is None and result.ok:
            self._ended = desk.ending
        elif self._identical >= IDENTICAL_OBSERVATIONS_MAX:
            self._ended = "no_progress"
        elif desk.step >= self.suite.steps_max:
            self._ended = "action_limit"
        reply = desk.reply if desk.replied else None
        self._steps.append(Step(desk.step, action, result_json, changes, self._ended, reply))
        return self._observation(result)

    def _observation(self, result: Result) -> Observation:
        return Observation(
            result.ok,
            result.code,
            result.message,
            result.data,
            len(self._steps),
            self.suite.steps_max,
            self._ended is not None,
            self._ended,
        )


def _call_row(step: int, name: str, done: Dispatched) -> Row:
    """The action as a row of `env_call`: what it was about, by the names of its arguments."""
    argument = (done.arguments or {}).get
    result = done.result
    return (
        step,
        name,
        done.kind or "unknown",
        result.code,
        1 if result.ok else 0,
        1 if done.changes else 0,
        argument("order_id") or "",
        argument("item_id") or argument("payment_id") or argument("shipment_id")
        or argument("thread_id") or "",
        argument("sku") or argument("replacement_sku") or "",
        argument("amount_cents") or 0,
    )  # fmt: skip


def make(
    task: str, *, rubric: str | None = None, engine: WorldEngine | None = None, **parameters: object
) -> Environment:
    """An environment for a task: `make("service/damaged-lamp", stock=0)`.

    Args:
        task: the task's id, `suite/task`.
        rubric: the rubric's version; the suite's default if None.
        engine: where worlds live; the process's own SQLite engine if None.
        **parameters: the task's parameters.

    Raises:
        UnknownName: there is no such suite, task or rubric.
        InvalidParameter: a parameter is unknown or out of its limits.
    """
    suite_name, _, _ = task.partition("/")
    suite = load_suite(suite_name)
    return Environment(suite, suite.task(task), parameters=parameters, rubric=rubric, engine=engine)
