"""Run stores for the tests: a SQLite file each, and a database of the run's private server."""

from __future__ import annotations

from deskgym.runstore import Episodes, RunStore, open_run_store
from deskgym.runstore.tables import metadata
from deskgym.store import default_engine
from deskgym.trajectory import call

KINDS = ["sqlite", "postgres"]
TASK = "service/two-full-captures"
REFUND = {"order_id": "S-410", "payment_id": "PAY-B", "amount_cents": 4800}
SOLUTION = [
    call("get_order", order_id="S-410"),
    call("list_order_payments", order_id="S-410"),
    call("propose", remedy="refund", **REFUND),
    call("issue_refund", **REFUND, reason="charged twice"),
    call("report", claim="refunded", order_id="S-410"),
]
"""Actions that earn the whole reward of the task."""


def emptied(url: str) -> RunStore:
    """The run store of a database, with nothing in it.

    Worlds live in SQLite: where they live is none of its business, and a server's take their time.
    """
    store = open_run_store(url, engine=default_engine())
    with store.database.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
    return store


def solved(episodes: Episodes, *, count: int | None = None) -> str:
    """An episode whose first actions, or all, were taken; its id."""
    made = episodes.create(TASK)
    for number, action in enumerate(SOLUTION[:count], start=1):
        episodes.step(made.id, action, number)
    return made.id
