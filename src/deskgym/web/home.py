"""The first page: what there is to see."""

from __future__ import annotations

from starlette.responses import Response

from deskgym.suite import load_suite, suite_names
from deskgym.web.board import FIRST_SUITE, board_of
from deskgym.web.site import Page, Visit


async def home(visit: Visit) -> Response:
    """Show one case with what three agents earned in it, the suites, and what can be done."""
    found = [load_suite(name) for name in suite_names()]
    shown = next((suite for suite in found if suite.name == FIRST_SUITE), found[0])
    board = await board_of(visit, shown)
    return visit.render("home.html", found=found, shown=shown, case=board.cases[0])


PAGES = (Page("home", "/", home),)
