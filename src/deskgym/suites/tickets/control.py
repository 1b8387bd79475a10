"""The scripts of the controls: agents with known scores, acting through the tool."""

from __future__ import annotations

from collections.abc import Generator

from deskgym.suites.tickets import agents
from deskgym.suites.tickets.agents import Agent
from deskgym.suites.tickets.scenario import TURNS, tier_of
from deskgym.suites.tickets.ticket import recognise
from deskgym.trajectory import Action, Observation, call

Moves = Generator[Action, Observation, None]


def _replies(agent: Agent, first: Observation) -> Moves:
    """Let an agent take every turn of the ticket that was opened."""
    ticket = recognise(first.message)
    tier = tier_of(first.data["task_name"])
    for turn in range(TURNS[tier]):
        reply = agent(tier, turn, ticket)
        yield call("respond", message=reply.message, intent=reply.intent)


def oracle(first: Observation) -> Moves:
    """What a good agent says, which knows every ticket."""
    return _replies(agents.oracle, first)


def no_reply(_: Observation) -> Moves:
    """Not a word."""
    yield from ()


def polite(first: Observation) -> Moves:
    """The same polite words to everybody, which solve nothing."""
    return _replies(agents.polite_words, first)


def synonym(first: Observation) -> Moves:
    """The category, by another name."""
    return _replies(agents.synonym, first)


def escalating(first: Observation) -> Moves:
    """The solution, declared as an escalation."""
    return _replies(agents.escalating, first)


def solving_each_turn(first: Observation) -> Moves:
    """The solution in every turn."""
    return _replies(agents.solving_each_turn, first)


def everything(first: Observation) -> Moves:
    """Every word that could be paid for."""
    return _replies(agents.keyword_stuffing, first)
