"""Tickets: a scenario in one wording, found by seed or by its words, and a task's start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from deskgym.errors import UsageError
from deskgym.rubric import Reader
from deskgym.store import Template
from deskgym.suites.tickets.catalogue import SCENARIOS, scenario
from deskgym.suites.tickets.customer import customer_of
from deskgym.suites.tickets.scenario import (
    CATEGORIES,
    TIERS,
    Scenario,
    Tier,
    Wording,
    tier_of,
)
from deskgym.suites.tickets.tools import turn_data
from deskgym.task import Fixture

_NOW: Final = "2026-03-16T09:00:00Z"


class Ticket(NamedTuple):
    """A scenario, and which of its wordings."""

    scenario: Scenario
    number: int

    @property
    def wording(self) -> Wording:
        """The customer's messages."""
        return self.scenario.wordings[self.number]


def _in_turn() -> tuple[Ticket, ...]:
    """Every ticket: five in a row are of five categories, fifteen in a row of 15 scenarios."""
    by_category = [[one for one in SCENARIOS if one.category == name] for name in CATEGORIES]
    scenarios = [one for row in zip(*by_category, strict=True) for one in row]
    wordings = len(scenarios[0].wordings)
    return tuple(
        Ticket(one, (block + place) % wordings)
        for block in range(wordings)
        for place, one in enumerate(scenarios)
    )


TICKETS: Final = _in_turn()
_BY_OPENING: Final = {ticket.wording.opening: ticket for ticket in TICKETS}


def ticket_of(seed: int) -> Ticket:
    """The ticket of a seed: successive seeds go through all 45, a scenario and category apart."""
    return TICKETS[seed % len(TICKETS)]


def recognise(opening: str) -> Ticket:
    """The ticket that opens with these words, for agents that know every one by heart.

    Raises:
        UsageError: none does.
    """
    try:
        return _BY_OPENING[opening]
    except KeyError:
        raise UsageError(f"no ticket opens with {opening[:80]!r}") from None


def fixture_of(tier: Tier) -> Callable[[int, Mapping[str, int]], Fixture]:
    """How a tier's task builds its start from a seed."""

    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        del values
        return _fixture(tier, ticket_of(seed))

    return fixture


@lru_cache(maxsize=len(TIERS) * len(TICKETS))
def _fixture(tier: Tier, ticket: Ticket) -> Fixture:
    """One for each ticket, so that seeds which share it share its template."""
    opening = ticket.wording.opening
    customer = customer_of(tier, ticket.wording)
    rows = {
        "env_ticket": [(tier, ticket.scenario.name, ticket.number)],
        "env_message": [(0, "customer", opening)],
    }
    return Fixture(
        template=Template(rows),
        now=_NOW,
        opening=opening,
        case=None,
        customer=customer,
        data=turn_data(customer, 1),
    )


class Asked(NamedTuple):
    """What a world's ticket asks: the task, and the scenario."""

    tier: Tier
    scenario: Scenario


def asked_in(world: Reader) -> Asked:
    """What the ticket of a world asks, from its rows."""
    ((tier, name),) = world.rows("SELECT tier, scenario FROM env_ticket")
    return Asked(tier_of(tier), scenario(str(name)))
