"""Checks of what is declared: the tools' texts and schemas, the task, and its fixtures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import orjson

from deskgym.dispatch import COMMON_CODES
from deskgym.errors import DeskgymError
from deskgym.store import Engine
from deskgym.task import Fixture
from deskgym.testing.finding import Flaw
from deskgym.testing.subject import Subject
from deskgym.testing.trace import actual_digest, described
from deskgym.tool import Tool


def declarations(subject: Subject) -> Iterator[Flaw]:
    """Everything that an agent or a person reads is there, and the schemas are strict."""
    texts = {
        "the suite's instructions": subject.suite.instructions,
        "the suite's title": subject.suite.title,
        "the task's title": subject.task.title,
        "the task's question": subject.task.question,
    }
    for control in subject.task.controls:
        texts[f"the title of control {control.name}"] = control.title
    for where, text in texts.items():
        if not text.strip():
            yield Flaw(None, where, "is empty")
    if not subject.suite.toolbox:
        yield Flaw(None, "the suite's toolbox", "is empty")
    for tool in subject.suite.toolbox.values():
        for sentence in _tool_flaws(tool):
            yield Flaw(None, f"tool {tool.name}", sentence)
    for control in subject.task.controls:
        try:
            subject.task.values(control.parameters)
        except DeskgymError as error:
            yield Flaw(None, f"control {control.name}", f"has parameters that do not fit: {error}")


def _tool_flaws(tool: Tool) -> Iterator[str]:
    if not tool.description.strip():
        yield "has no description"
    if not tool.codes:
        yield "declares no code"
    reserved = sorted(set(tool.codes) & set(COMMON_CODES))
    if reserved:
        yield f"declares {', '.join(reserved)}, which any call can be answered with"
    schema = tool.schema
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        yield "has a schema that is no object without further properties"
    for parameter in tool.parameters:
        if not str(parameter.schema.get("description", "")).strip():
            yield f"does not say what {parameter.name} is"
        if not {"type", "enum", "const", "anyOf", "$ref"} & set(parameter.schema):
            yield f"accepts anything at all as {parameter.name}"
    for form in (tool.openai(), tool.anthropic(), tool.mcp()):
        try:
            orjson.dumps(form)
        except TypeError as error:
            yield f"has a schema that is no JSON: {error}"


def settings(subject: Subject) -> dict[str, dict[str, int]]:
    """What fixtures are built with: the defaults, each parameter's limits, and each control's."""
    found: dict[str, dict[str, int]] = {"the defaults": {}}
    for parameter in subject.task.parameters:
        step = parameter.multiple_of
        for value in (-(-parameter.minimum // step) * step, parameter.maximum // step * step):
            found[f"{parameter.name} {value}"] = {parameter.name: value}
    for control in subject.task.controls:
        found[f"the parameters of {control.name}"] = dict(control.parameters)
    return found


def fixtures(subject: Subject) -> Iterator[Flaw]:
    """Every fixture builds twice to the same start, of rows that the store's schema allows."""
    engine = Engine(slots_max=1)
    for where, given in settings(subject).items():
        for seed in subject.seeds:
            try:
                values = subject.task.values(given)
                fixture = subject.task.fixture(seed, values)
                again = subject.task.fixture(seed, values)
                sentences = list(_fixture_flaws(fixture, again, engine))
            except Exception as error:  # a fixture is the author's code
                sentences = [f"the fixture raised {described(error)}"]
            for sentence in sentences:
                yield Flaw(seed, f"the fixture with {where}", sentence)
    engine.close()


def _fixture_flaws(fixture: Fixture, again: Fixture, engine: Engine) -> Iterator[str]:
    pairs: Mapping[str, tuple[object, object]] = {
        "rows": (fixture.template.rows, again.template.rows),
        "base": (fixture.template.base.rows, again.template.base.rows),
        "now": (fixture.now, again.now),
        "opening": (fixture.opening, again.opening),
        "account": (fixture.account, again.account),
        "data": (orjson.dumps(dict(fixture.data)), orjson.dumps(dict(again.data))),
        "private": (fixture.private, again.private),
    }
    for name, (first, second) in pairs.items():
        if first != second:
            yield f"builds other {name} for the same seed the second time"
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", fixture.now):
        yield f"says that it is {fixture.now!r}, which is no time like 2026-03-16T09:00:00Z"
    if not fixture.opening.strip():
        yield "tells the agent nothing"
    world = engine.open(fixture.template)
    digest = actual_digest(world)
    world.park()
    if digest not in (None, fixture.template.id):
        yield "loads as other rows than it declares"
