"""Checks of refusals: a closed set of codes, a sentence, and nothing changed."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from deskgym.dispatch import COMMON_CODES
from deskgym.environment import Environment
from deskgym.testing.finding import Flaw
from deskgym.testing.probe import Probe
from deskgym.testing.subject import Subject
from deskgym.tool import Toolbox
from deskgym.trajectory import Action


def refusals(subject: Subject) -> Iterator[Flaw]:
    """Whatever a tool is called with, it answers by its codes; a refusal changes nothing."""
    seen: set[tuple[str, str, str]] = set()
    for probe in subject.probes:
        for sentence in _probe_flaws(subject.suite.toolbox, probe):
            told = (probe.place, probe.action.tool, sentence.partition(":")[0])
            if told not in seen:  # one example of each is enough
                seen.add(told)
                yield Flaw(subject.seeds[0], f"{_text(probe.action)} {probe.place}", sentence)


def _probe_flaws(toolbox: Toolbox, probe: Probe) -> Iterator[str]:
    ok, code, message = probe.observation[:3]
    tool = toolbox.get(probe.action.tool)
    declared = (*COMMON_CODES, *(tool.codes if tool is not None else ()))
    if probe.bug is not None:
        yield f"the tool failed: {probe.bug}"
    elif code not in declared:
        yield f"it answered {code}, which it does not declare"
    if not message.strip():
        yield f"it answered {code} without a sentence"
    if not ok and probe.digests[0] != probe.digests[1]:
        yield f"it was refused with {code} and changed the world"


def whole_worlds(subject: Subject) -> Iterator[Flaw]:
    """At the end of every episode the world holds just the rows that its changes say."""
    for run, trace in subject.episodes:
        recorded = trace.moments[-1].digest if trace.moments else None
        if trace.rows_digest not in (None, recorded):
            sentence = (
                "the world holds other rows than its changes say: "
                "something wrote past the log, or a refused call left something behind"
            )
            yield Flaw(run.seed, f"{run.name} end", sentence)


def after_the_end(subject: Subject) -> Iterator[Flaw]:
    """After the end every action is refused with `episode_over` and nothing changes."""
    for run, trace in subject.episodes:
        environment = subject.environment(run.parameters)
        with environment:
            environment.reset(run.seed)
            for action in trace.actions:
                environment.step(action)
            while not environment.done:  # the same observation again and again ends it
                environment.step(Action("", {}))
            before = _state_of(environment)
            for action in (Action("", {}), *trace.actions[-3:]):
                observation = environment.step(action)
                where = f"{run.name} {_text(action)} after the end"
                if observation.ok or observation.code != "episode_over" or not observation.done:
                    sentence = f"was answered {observation.code} and not refused as episode_over"
                    yield Flaw(run.seed, where, sentence)
                if _state_of(environment) != before:
                    yield Flaw(run.seed, where, "changed the world, the trajectory or the score")


def _state_of(environment: Environment) -> tuple[object, ...]:
    world, score = environment.world, environment.score()
    return world.digest(), world.log, environment.steps, environment.ended, score.to_dict()


def _text(action: Action) -> str:
    encoded = orjson.loads(action.to_json())
    arguments = orjson.dumps(encoded["arguments"]).decode()
    if len(arguments) > 120:
        arguments = arguments[:119] + "…"
    return f"{encoded['tool'] or 'no tool'} {arguments}"
