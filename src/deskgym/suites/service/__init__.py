"""The service suite: nine identity-bound tools, and one coherent outcome for each case."""

from importlib.resources import files

from deskgym.suite import Speech, Suite, tasks_in
from deskgym.suites.service import tasks
from deskgym.suites.service.acceptance import objections
from deskgym.suites.service.panels import PANELS
from deskgym.suites.service.reads import get_order, list_order_payments, search_inventory
from deskgym.suites.service.reckoning import ceilings, reckon
from deskgym.suites.service.rubric import V2, V3
from deskgym.suites.service.sweep import cases
from deskgym.suites.service.talk import close, message, propose, report
from deskgym.suites.service.writes import (
    cancel_order,
    create_replacement,
    create_return,
    create_stock_notification,
    issue_refund,
    request_delivery_intercept,
)
from deskgym.tool import Toolbox

suite = Suite(
    name="service",
    title="Customer service: nine tools, one coherent outcome",
    instructions=files("deskgym.suites.service").joinpath("policy.md").read_text(encoding="utf-8"),
    toolbox=Toolbox(
        get_order,
        list_order_payments,
        search_inventory,
        cancel_order,
        request_delivery_intercept,
        create_return,
        issue_refund,
        create_replacement,
        create_stock_notification,
        propose,
        report,
        message,
        close,
    ),
    rubrics=(V3, V2),
    tasks=tasks_in(tasks),
    steps_max=48,
    sweep=tuple(cases()),
    speech=Speech("message", "text"),
    reckon=reckon,
    ceilings=ceilings,
    objections=objections,
    panels=PANELS,
)
