"""The web app: what an agent did to the records, for people to see, and episodes to take.

It is a door of the server, at its root. Pages are rendered here, from the functions that the
command line and the API use; a browser scores nothing, and reading pages need no script.
"""

from __future__ import annotations

from deskgym.serve.door import Door
from deskgym.serve.service import Service
from deskgym.web import (
    board,
    comparison,
    evaluations,
    home,
    library,
    login,
    manual,
    workbench,
)
from deskgym.web.site import Site

PAGES = (
    *home.PAGES,
    *login.PAGES,
    *board.PAGES,
    *library.PAGES,
    *comparison.PAGES,
    *evaluations.PAGES,
    *manual.PAGES,
    *workbench.PAGES,
)
"""Every page of the app; the first that fits is answered."""


def door(service: Service, prefix: str) -> Door:
    """The pages and what they need."""
    return Door(Site(service, prefix).routes(PAGES))
