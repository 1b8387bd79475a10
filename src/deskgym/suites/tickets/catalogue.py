"""All the scenarios of the suite."""

from deskgym.errors import UnknownName
from deskgym.suites.tickets.scenario import Category, Scenario
from deskgym.suites.tickets.scenarios import account, billing, refund, shipping, technical

SCENARIOS: tuple[Scenario, ...] = (
    *refund.SCENARIOS,
    *technical.SCENARIOS,
    *shipping.SCENARIOS,
    *billing.SCENARIOS,
    *account.SCENARIOS,
)


def scenario(name: str) -> Scenario:
    """The scenario of that name; raises `UnknownName`."""
    for candidate in SCENARIOS:
        if candidate.name == name:
            return candidate
    raise UnknownName("scenario", name, [candidate.name for candidate in SCENARIOS])


def others(category: Category) -> tuple[Scenario, ...]:
    """The scenarios of every other category."""
    return tuple(candidate for candidate in SCENARIOS if candidate.category != category)
