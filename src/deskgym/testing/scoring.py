"""Checks of rewards: what controls and idleness earn, and that scoring is a pure function."""

from __future__ import annotations

from collections.abc import Iterator

from deskgym.agents import null
from deskgym.rubric import Score
from deskgym.runner import play
from deskgym.testing.declaration import settings
from deskgym.testing.finding import Flaw
from deskgym.testing.gate import judge
from deskgym.testing.subject import Subject
from deskgym.testing.trace import actual_digest, first_departure, scores_of


def controls_earn(subject: Subject) -> Iterator[Flaw]:
    """Every control earns exactly what it declares, by every version of the rubric."""
    for run, trace in subject.episodes:
        where = run.name
        if trace.failure is not None:
            yield Flaw(run.seed, where, f"raised {trace.failure}")
        for bug in trace.bugs:
            yield Flaw(run.seed, where, f"met a tool that failed: {bug}")
        if run.control is None or trace.failure is not None:
            continue
        with subject.environment(run.parameters) as environment:
            play(environment, run.script, run.seed)
            for rubric in subject.suite.rubrics:
                score = environment.score(rubric.version)
                expected = run.control.reward_by(rubric.version)
                for sentence in _score_flaws(score, rubric.version, expected):
                    yield Flaw(run.seed, where, sentence)


def _score_flaws(score: Score, version: str, expected: float) -> Iterator[str]:
    if score.rubric != version:
        yield f"was scored by {score.rubric} where {version} was asked"
    if score.reward != expected:
        yield f"earned {score.reward} by {version} and not {expected}: {score.explain()}"
    if type(score.points) is not int or not -1 <= score.reward <= 1:
        yield f"earned {score.reward!r} by {version}, which is no reward from -1 to 1"
    if not score.explain().strip():
        yield f"was scored by {version} without an explanation"


def null_earns_nothing(subject: Subject) -> Iterator[Flaw]:
    """The agent that does nothing earns nothing, whatever the fixture is built with."""
    for where, given in settings(subject).items():
        with subject.environment(given) as environment:
            for seed in subject.seeds:
                play(environment, null, seed)
                for rubric in subject.suite.rubrics:
                    reward = environment.score(rubric.version).reward
                    if reward > 0:
                        sentence = f"doing nothing earns {reward} by {rubric.version}"
                        yield Flaw(seed, f"null with {where}", sentence)


def gates(subject: Subject) -> Iterator[Flaw]:
    """Right controls earn enough and more than wrong ones; forbidden ones less than idleness.

    By the default version only: an older one may be kept for the faults that it is known for.
    """
    result = judge(subject.suite, subject.task, subject.seeds)
    for reason in result.reasons:
        yield Flaw(None, f"controls by {result.rubric}", reason)


def pure(subject: Subject) -> Iterator[Flaw]:
    """Scores come out the same once or twice, after each step or at the end, and change nothing."""
    for run, trace in subject.episodes:
        if trace.failure is not None:
            continue
        got = subject.trace(run, actions=trace.actions, score_steps=False)
        departure = first_departure(trace, got)
        if departure is not None:
            sentence = f"scored only at the end, {departure.sentence}"
            yield Flaw(run.seed, f"{run.name} {departure.where}", sentence)
        with subject.environment(run.parameters) as environment:
            environment.reset(run.seed)
            for action in trace.actions:
                environment.step(action)
            world = environment.world
            rows, digest, log = actual_digest(world), world.digest(), world.log
            first, second = scores_of(environment), scores_of(environment)
            if first != second:
                yield Flaw(run.seed, f"{run.name} end", "scored a second time, it earns otherwise")
            if (actual_digest(world), world.digest(), world.log) != (rows, digest, log):
                yield Flaw(run.seed, f"{run.name} end", "scoring changed the world")
