"""The check that the score stays the trainer's: nothing of it is in what an agent is shown."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import orjson

from deskgym.rubric import Check, Gate, Outcome
from deskgym.testing.finding import Flaw
from deskgym.testing.subject import Subject
from deskgym.tool import Toolbox

SCORE_KEYS: Final = frozenset({"reward", "rubric", "verdict"})
_REWARD_TOLD: Final = re.compile(r"\b(reward|score)\b[^\n.;]{0,12}?[-+]?\d", re.IGNORECASE)


def hidden_score(subject: Subject) -> Iterator[Flaw]:
    """No text for an agent holds a rubric's version, a reward, a check, or a private value."""
    public = _vocabulary(subject.suite.toolbox)
    always = _secrets(subject, public, subject.seeds[0], {})
    for where, told in _shown_always(subject):
        for sentence in _leaks(told, always):
            yield Flaw(None, where, sentence)
    for run, trace in subject.episodes:
        secrets = _secrets(subject, public, run.seed, run.parameters)
        written = ""
        for number, moment in enumerate(trace.moments):
            if moment.action is not None:
                written += _text(orjson.loads(moment.action.to_json()))
            known = {value: what for value, what in secrets.items() if value not in written}
            for sentence in _leaks(orjson.loads(moment.observation), known):
                yield Flaw(run.seed, f"{run.name} step {number}", sentence)
    for probe in subject.probes:
        written = _text(orjson.loads(probe.action.to_json()))
        known = {value: what for value, what in always.items() if value not in written}
        for sentence in _leaks(orjson.loads(probe.observation.to_json()), known):
            where = f"{probe.action.tool or 'no tool'} {probe.place}"
            yield Flaw(subject.seeds[0], where, sentence)


def _shown_always(subject: Subject) -> Iterator[tuple[str, object]]:
    yield "the suite's instructions", subject.suite.instructions
    for tool in subject.suite.toolbox.values():
        yield f"tool {tool.name}", orjson.loads(orjson.dumps(tool.openai()))


def _secrets(
    subject: Subject, public: frozenset[str], seed: int, parameters: Mapping[str, int]
) -> dict[str, str]:
    """What no agent may see, in folded case, and what it is."""
    task = subject.task
    fixture = task.build(seed, task.values(parameters))
    found = {rubric.version: "the rubric's version" for rubric in subject.suite.rubrics}
    for item in _declared(fixture.case):
        what = type(item).__name__.lower()
        # A single word may be anybody's; a joined one is a name that somebody gave.
        if re.search(r"\w[-_]\w", item.name) and item.name not in public:
            found[item.name] = f"the name of a {what}"
    found.update(dict.fromkeys(fixture.private, "a private value of the case"))
    return {" ".join(value.casefold().split()): what for value, what in found.items() if value}


def _declared(value: object, depth: int = 0) -> Iterator[Check | Outcome | Gate]:
    """The checks, outcomes and gates in a case, however it is built."""
    if depth > 8:
        return
    if isinstance(value, Check | Outcome | Gate):
        yield value
    if isinstance(value, Mapping):
        parts: Sequence[object] = list(cast(Mapping[object, object], value).values())
    elif isinstance(value, list | tuple | frozenset | set):
        parts = list(cast(Sequence[object], value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        return
    for part in parts:
        yield from _declared(part, depth + 1)


def _vocabulary(toolbox: Toolbox) -> frozenset[str]:
    """The words that an agent is given to use: tools, arguments and enumerated values."""
    found: set[str] = set(toolbox.names)
    for tool in toolbox.values():
        found.update(tool.codes)
        for parameter in tool.parameters:
            found.add(parameter.name)
            for part in (parameter.schema, *parameter.schema.get("anyOf", ())):
                found.update(str(value) for value in part.get("enum", ()))
    return frozenset(found)


def _leaks(told: object, secrets: Mapping[str, str]) -> Iterator[str]:
    text = _text(told)
    for secret, what in secrets.items():
        if secret in text and re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", text):
            yield f"shows {secret!r}, {what}"
    for key in sorted(_keys(told) & SCORE_KEYS):
        yield f"shows a {key}"
    reward = _REWARD_TOLD.search(text)
    if reward:
        yield f"tells of a reward: {reward[0]!r}"


def _text(value: Any) -> str:
    """All text in a JSON value, in folded case and with single spaces."""
    return " ".join(" ".join(_texts(value)).casefold().split())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _texts(item)


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        items = cast(dict[str, Any], value)
        return set(items).union(*map(_keys, items.values()))
    if isinstance(value, list):
        return set[str]().union(*map(_keys, cast(list[Any], value)))
    return set()
