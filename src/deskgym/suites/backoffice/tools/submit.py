"""The tool that ends an episode."""

from __future__ import annotations

from deskgym.argument import Text
from deskgym.desk import Desk, Result
from deskgym.suites.backoffice.facts import normalised
from deskgym.tool import tool


@tool("end", codes=("submitted",))
def submit(desk: Desk, summary: Text) -> Result:
    """Hand the work in. Nothing can be done after it.

    Args:
        summary: what was done, for the store; no customer reads it.
    """
    desk.log("env_submission", summary, normalised(summary))
    desk.end("submitted")
    return Result(True, "submitted", "The work is handed in.")
