"""The page that asks for a key, on servers that have keys."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from deskgym.web.session import COOKIE
from deskgym.web.site import HEADERS, Page, Visit


async def show(visit: Visit) -> Response:
    """Ask for a key."""
    return visit.render("login.html", next=_inside(visit.query("next")), wrong=False)


async def enter(visit: Visit) -> Response:
    """Let a browser in that shows a key."""
    after = _inside(visit.text("next"))
    response = RedirectResponse(after, 303, headers=HEADERS)
    secure = visit.request.url.scheme == "https"
    if visit.site.session.let_in(visit.text("key"), response, secure=secure):
        return response
    return visit.render("login.html", 403, next=after, wrong=True)


async def leave(visit: Visit) -> Response:
    """Forget the browser's key."""
    response = visit.go("/login")
    response.delete_cookie(COOKIE)
    return response


def _inside(path: str) -> str:
    """A path of this site; a link to the page cannot lead to another one."""
    local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if local else "/"


PAGES = (
    Page("login", "/login", show, public=True),
    Page("enter", "/login", enter, method="POST", public=True),
    Page("leave", "/logout", leave, method="POST"),
)
