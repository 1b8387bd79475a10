"""The tickets suite: language-only support tickets in three tiers."""

from importlib.resources import files

from deskgym.suite import Speech, Suite, tasks_in
from deskgym.suites.tickets import tasks
from deskgym.suites.tickets.acceptance import objections
from deskgym.suites.tickets.conversation import TicketEnvironment
from deskgym.suites.tickets.models import SupportAction, SupportObservation, SupportState
from deskgym.suites.tickets.panels import PANELS
from deskgym.suites.tickets.reckoning import reckon
from deskgym.suites.tickets.rubric import V1, V2
from deskgym.suites.tickets.tools import respond
from deskgym.tool import Toolbox

__all__ = [
    "SupportAction",
    "SupportObservation",
    "SupportState",
    "TicketEnvironment",
    "suite",
]

suite = Suite(
    name="tickets",
    title="Support tickets: classify, answer, hold a conversation",
    instructions=files("deskgym.suites.tickets").joinpath("policy.md").read_text(encoding="utf-8"),
    toolbox=Toolbox(respond),
    rubrics=(V2, V1),
    tasks=tasks_in(tasks),
    steps_max=10,
    speech=Speech("respond", "message"),
    reckon=reckon,
    objections=objections,
    panels=PANELS,
)
