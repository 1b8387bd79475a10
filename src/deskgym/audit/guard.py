"""Guards: what a tool refuses, allowed in turn.

Each statement of a suite's tools that refuses is taken out of a second copy of their modules, and
the runs in which it refused are played again with the tools of that copy. A guard is noticed where
such a run earns something else. Where it is only answered otherwise, it is held a second time, by
another guard or a constraint of the store, or no reward depends on it.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType
from typing import Any, Final, NamedTuple

from deskgym.audit.attack import Target
from deskgym.audit.mutant import mutants
from deskgym.audit.mutated_oracles import RIGHT, Trial, act_out
from deskgym.environment import Environment
from deskgym.runner import play
from deskgym.suite import Suite
from deskgym.task import Task
from deskgym.testing.trace import repeat
from deskgym.tool import Tool, Toolbox
from deskgym.trajectory import Action

RUNS_MAX: Final = 12
"""How many runs in which a guard refused are played again without it."""
REFUSING: Final = "refuse"
"""What a tool calls to refuse."""


class Guard(NamedTuple):
    """A statement that refuses.

    Attributes:
        module: where it stands.
        line: on which line.
        function: in which function; a tool's has the tool's name.
        code: what it answers.
    """

    module: str
    line: int
    function: str
    code: str

    def __str__(self) -> str:
        return f"{self.module.rpartition('.')[2]}.{self.code} at line {self.line}"


class Refused(NamedTuple):
    """A run in which something was refused, and what it earned."""

    task: Task
    seed: int
    parameters: Mapping[str, int]
    actions: tuple[Action, ...]
    reward: float
    codes: tuple[str, ...]

    def met(self, guard: Guard, suite: Suite) -> bool:
        """Whether a guard may have refused something in it."""
        named = guard.function in suite.toolbox
        return any(
            code == guard.code and (not named or action.tool == guard.function)
            for action, code in zip(self.actions, self.codes, strict=True)
        )


@dataclass
class Guards:
    """How the guards of a suite came out."""

    total: int = 0
    noticed: int = 0
    answered: int = 0
    episodes: int = 0
    left: list[str] = field(default_factory=list[str])


def guards_of(suite: Suite) -> list[Guard]:
    """Every refusal in the modules that a suite's tools are written in."""
    return [
        Guard(module.__name__, node.lineno, function.name, code)
        for module in _modules(suite)
        for function in ast.parse(inspect.getsource(module)).body
        if isinstance(function, ast.FunctionDef)
        for node, code in _refusals(function)
    ]


def _modules(suite: Suite) -> list[ModuleType]:
    """The modules of a suite's tools that refuse, and those of the suite that they import."""
    names = dict.fromkeys(tool.function.__module__ for tool in suite.toolbox.values())
    found: dict[str, ModuleType] = {}
    for name in names:
        module = import_module(name)
        for value in vars(module).values():
            owner = getattr(value, "__module__", "") or ""
            if inspect.isfunction(value) and REFUSING in value.__code__.co_names:
                found.setdefault(owner, import_module(owner))
        found[name] = module
    return list(found.values())


def _refusals(tree: ast.FunctionDef) -> Iterator[tuple[ast.If, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
            code = _refused(node.body[0])
            if code is not None:
                yield node, code


def _refused(statement: ast.stmt) -> str | None:
    """The code with which a statement refuses; None if it does not."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value
        if isinstance(called.func, ast.Name) and called.func.id == REFUSING:
            first = called.args[0]
            return str(first.value) if isinstance(first, ast.Constant) else None
    return None


class _Allow(ast.NodeTransformer):
    def __init__(self, line: int) -> None:
        self._line = line

    def visit_If(self, node: ast.If) -> ast.AST:
        if node.lineno == self._line and len(node.body) == 1 and _refused(node.body[0]):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)


def without(suite: Suite, guard: Guard) -> Suite:
    """The suite with tools of which one no longer refuses something."""
    modules = _modules(suite)
    copies: dict[str, ModuleType] = {}
    originals = {module.__name__: module for module in modules}
    try:
        for module in sorted(modules, key=lambda item: item.__name__ != guard.module):
            copies[module.__name__] = _copy(module, guard)
            sys.modules[module.__name__] = copies[module.__name__]
    finally:
        sys.modules.update(originals)
    tools = [_counterpart(tool, copies) for tool in suite.toolbox.values()]
    return replace(suite, toolbox=Toolbox(*tools))


def _copy(module: ModuleType, guard: Guard) -> ModuleType:
    tree: ast.AST = ast.parse(inspect.getsource(module))
    if module.__name__ == guard.module:
        tree = ast.fix_missing_locations(_Allow(guard.line).visit(tree))
    copy = ModuleType(module.__name__)
    copy.__file__ = module.__file__
    copy.__package__ = module.__package__
    code: Any = compile(tree, str(module.__file__), "exec")  # pyright: ignore[reportArgumentType]
    # The copy is looked up by its name while its dataclasses are made.
    sys.modules[module.__name__] = copy
    exec(code, copy.__dict__)
    return copy


def _counterpart(tool: Tool, copies: Mapping[str, ModuleType]) -> Tool:
    copy = copies.get(tool.function.__module__)
    found = getattr(copy, tool.function.__name__, None) if copy is not None else None
    return found if isinstance(found, Tool) else tool


def hunt(target: Target) -> Guards:
    """Take each guard of a suite's tools away, and play the runs in which it refused."""
    result = Guards()
    if len(target.tasks) < len(target.suite.tasks):
        return result
    guards = guards_of(target.suite)
    result.total = len(guards)
    runs = list(_refused_runs(target, {guard.code for guard in guards}))
    for guard in guards:
        mine = [run for run in runs if run.met(guard, target.suite)]
        verdict = _try(without(target.suite, guard), mine[:RUNS_MAX], guard, result)
        result.noticed += verdict == "noticed"
        result.answered += verdict == "answered otherwise"
        if not verdict:
            result.left.append(str(guard))
    return result


def _refused_runs(target: Target, codes: set[str]) -> Iterator[Refused]:
    """Runs that were refused something: of each tool and code as many as are played again."""
    seed = target.seeds[0]
    seen: Counter[tuple[str, str]] = Counter()
    for task in target.tasks:
        for control in task.controls:
            with Environment(target.suite, task, parameters=control.parameters) as environment:
                play(environment, control.script, seed)
                yield from _if_refused(environment, codes, seen)
            if control.kind in RIGHT:
                trial = Trial.of(target.suite, task, control, seed)
                with trial.environment:
                    for mutant in mutants(trial.original()):
                        act_out(trial.environment, seed, mutant.actions)
                        yield from _if_refused(trial.environment, codes, seen)
    with Environment(target.suite, target.tasks[0]) as environment:
        for action in _nonsense(target.suite):
            act_out(environment, seed, [action])
            yield from _if_refused(environment, codes, seen)


def _nonsense(suite: Suite) -> Iterator[Action]:
    """Every tool that needs no argument, with a text in each that it can be given."""
    for tool in suite.toolbox.values():
        if not any(parameter.required for parameter in tool.parameters):
            for parameter in tool.parameters:
                yield Action(tool.name, {parameter.name: "nothing of the kind"})


def _if_refused(
    environment: Environment, codes: set[str], seen: Counter[tuple[str, str]]
) -> Iterator[Refused]:
    actions = tuple(step.action for step in environment.steps)
    answers = tuple(step.result.code for step in environment.steps)
    refused = {
        (action.tool, code) for action, code in zip(actions, answers, strict=True) if code in codes
    }
    wanted = [item for item in refused if seen[item] < RUNS_MAX]
    if wanted:
        seen.update(wanted)
        yield Refused(
            environment.task, environment.seed, environment.parameters, actions,
            environment.score().reward, answers,
        )  # fmt: skip


def _try(suite: Suite, runs: Sequence[Refused], guard: Guard, result: Guards) -> str:
    """How a guard's absence shows: in a reward, in an answer only, or in no run at all."""
    verdict = ""
    for run in runs:
        with Environment(suite, run.task, parameters=run.parameters) as environment:
            play(environment, repeat(run.actions), run.seed)
            result.episodes += 1
            codes = tuple(step.result.code for step in environment.steps)
            if environment.score().reward != run.reward or environment.bugs:
                return "noticed"
            if codes != run.codes:
                verdict = "answered otherwise"
    return verdict
