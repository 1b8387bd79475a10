"""Probes: every tool called with arguments that fit, and with arguments that cannot.

The values that fit are those that the task's controls used and that observations showed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from deskgym.environment import Environment
from deskgym.store.draw import Draw
from deskgym.task import Script
from deskgym.testing.trace import described
from deskgym.tool import Parameter, Tool, Toolbox
from deskgym.trajectory import Action, Observation

GARBAGE: Final[tuple[object, ...]] = (
    None, True, -1, 0, 7, 2**31, 2**70, 1.5, float("nan"), "", " ", "x\x00y", "\ud800", "nobody's",
    "' OR 1=1 --", "x" * 3_000, [], ["x"], {}, {"x": 1},
)  # fmt: skip
"""What a model may send for any argument."""

NO_OBJECTS: Final[tuple[object, ...]] = (None, [], "text", 3)
"""What a model may send for all of the arguments."""

WANDER_STEPS_MAX: Final = 30
_UNKNOWN: Final = "owner_of_nothing"


class Values:
    """Values that fit arguments, by the argument's name or its last word."""

    def __init__(self, actions: Iterable[Action]) -> None:
        self._known: dict[str, list[object]] = {}
        for action in actions:
            self.learn(action.arguments)

    def learn(self, value: object) -> None:
        """Note each named text and number in a JSON value."""
        if isinstance(value, Mapping):
            for name, item in cast(Mapping[str, object], value).items():
                if isinstance(item, str | int):
                    known = self._known.setdefault(name, [])
                    if item not in known:
                        known.append(item)
                else:
                    self.learn(item)
        elif isinstance(value, list | tuple):
            for item in cast(Sequence[object], value):
                self.learn(item)

    def of(self, parameter: Parameter) -> list[object]:
        """What may fit an argument; never empty."""
        last = parameter.name.rpartition("_")[2]
        found = list(self._known.get(parameter.name, ()))
        for part in (parameter.schema, *parameter.schema.get("anyOf", ())):
            found.extend(part.get("enum", ()))
            found.extend(_typical(part))
        found.extend(
            value
            for name, values in self._known.items()
            if name.rpartition("_")[2] == last
            for value in values
            if value not in found
        )
        return found or ["x"]


def _typical(schema: Mapping[str, Any]) -> list[object]:
    """Values of a type of which no text is one."""
    if schema.get("type") == "boolean":
        return [True, False]
    if schema.get("type") == "integer":
        return [value for value in (schema.get("minimum", 1), schema.get("maximum")) if value]
    return [[]] if schema.get("type") == "array" else []


class Probe(NamedTuple):
    """One call and what it did.

    Attributes:
        place: at the start, or after a run's actions.
        digests: of the world before and after it.
        bug: what the tool raised by mistake; None when it did not.
    """

    place: str
    action: Action
    observation: Observation
    digests: tuple[str, str]
    bug: str | None


def wander(toolbox: Toolbox, known: Sequence[Action], seed: int) -> Script:
    """A script that tries tools at random with what it has seen, the same way for a seed."""

    def script(first: Observation) -> Generator[Action, Observation, None]:
        draw = Draw(seed, "deskgym/wander")
        values = Values(known)
        values.learn(first.data)
        tools = [tool for tool in toolbox.values() if tool.kind != "end"]
        for _ in range(WANDER_STEPS_MAX if tools else 0):
            tool = draw.pick(tools)
            arguments = {
                parameter.name: draw.pick(values.of(parameter))
                for parameter in tool.parameters
                if parameter.required or draw.integer(0, 1)
            }
            seen = yield Action(tool.name, arguments)
            values.learn(seen.data)

    return script


def _attempts(tool: Tool, values: Values) -> Iterator[object]:
    """Arguments for a tool: two that may fit, and then what cannot."""
    fitting = [{item.name: values.of(item)[0] for item in tool.parameters}]
    fitting.append({item.name: values.of(item)[-1] for item in tool.parameters if item.required})
    yield from fitting
    yield from NO_OBJECTS
    yield {}
    yield {**fitting[0], _UNKNOWN: "x"}
    for parameter in tool.parameters:
        for item in GARBAGE:
            yield {**fitting[0], parameter.name: item}


def probe_all(
    environment: Environment, seed: int, known: Sequence[Action], prefix: Sequence[Action]
) -> Iterator[Probe]:
    """Call every tool in many ways, each from the state after `prefix` or one soon after it."""
    values = Values(known)
    place = f"after {len(prefix)} steps" if prefix else "at the start"

    def prepare() -> None:
        environment.reset(seed)
        for action in prefix:
            observation = environment.step(action)
            values.learn(observation.data)
            if environment.done:  # the state before the end is what is wanted
                environment.reset(seed)
                for earlier in prefix[: observation.step - 1]:
                    environment.step(earlier)
                return

    with environment:
        prepare()
        for action in _actions(environment.tools, values):
            if environment.done:
                prepare()
            before = environment.world.digest()
            bugs = len(environment.bugs)
            observation = environment.step(action)
            bug = described(environment.bugs[-1]) if len(environment.bugs) > bugs else None
            after = environment.world.digest()
            yield Probe(place, action, observation, (before, after), bug)


def _actions(toolbox: Toolbox, values: Values) -> Iterator[Action]:
    for name in ("", "no_such_tool", cast(Any, None)):
        yield Action(name, {})
    for tool in toolbox.values():
        for arguments in _attempts(tool, values):
            yield Action(tool.name, arguments)
