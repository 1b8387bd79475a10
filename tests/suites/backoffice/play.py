"""Run a script through an episode, for the tests of this folder."""

from typing import Any

from deskgym import Action, Environment
from deskgym.rubric.checks import CheckBreakdown
from deskgym.suites.backoffice import suite
from deskgym.task import Script


def play(task: str, script: Script, seed: int = 0, **parameters: int) -> Environment:
    """The episode after the script has run."""
    environment = Environment(suite, suite.task(task), parameters=parameters)
    moves = script(environment.reset(seed))
    try:
        action = next(moves)
        while not environment.done:
            action = moves.send(environment.step(action))
    except StopIteration:
        pass
    return environment


def control_run(task: str, control: str, seed: int = 0) -> Environment:
    """The episode after one of the task's controls has run."""
    chosen = suite.task(task).control(control)
    return play(task, chosen.script, seed, **chosen.parameters)


def broken(environment: Environment) -> dict[str, str]:
    """The checks that do not hold, by name, with their reasons."""
    breakdown = environment.score().breakdown
    assert isinstance(breakdown, CheckBreakdown)
    return {item.name: item.reason() for item in breakdown.findings if not item.holds}


def forbidden(environment: Environment) -> set[str]:
    """The names of the forbidden checks that do not hold."""
    breakdown = environment.score().breakdown
    assert isinstance(breakdown, CheckBreakdown)
    return {item.name for item in breakdown.broken}


def actions_of(task: str, control: str, seed: int = 0) -> list[Action]:
    """The actions that a control takes."""
    return [step.action for step in control_run(task, control, seed).steps]


def change(environment: Environment, *statements: str) -> None:
    """Change the store behind the tools' back."""
    world = environment.world

    def work() -> None:
        for statement in statements:
            world.rows(statement)

    world.atomic(work)


def rows(environment: Environment, sql: str, *bindings: object) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    return environment.world.rows(sql, bindings)


def value(environment: Environment, sql: str, *bindings: object) -> Any:
    """The first value of a query."""
    return environment.world.rows(sql, bindings)[0][0]
