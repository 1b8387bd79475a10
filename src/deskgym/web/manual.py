"""The documentation in the app: the documents, and what the suites themselves say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from starlette.responses import FileResponse, Response

from deskgym.dispatch import COMMON_CODES
from deskgym.serve.problem import Problem
from deskgym.suite import Suite, load_suite, suite_names
from deskgym.web import document
from deskgym.web.document import Document
from deskgym.web.site import HEADERS, Page, Visit

REWARD: Final = "reward"
AGENT: Final = "agent"

REWARD_SECTIONS: Final = (
    ("suites/service", "how-the-reward-decides"),
    ("suites/backoffice", "how-it-is-scored"),
    ("suites/tickets", "how-replies-are-rewarded"),
    ("concepts", "the-score-is-the-trainers"),
)
"""Where the documents say how a reward comes about."""

GROUPS: Final = (
    ("Start", (REWARD, "concepts", "web", "workbench")),
    ("Look and compare", ("evaluation", "recordings", "models", "audit")),
    ("Build", ("writing-a-task", "trainers", "protocol", "command-line", "architecture")),
    ("Serve", ("serving", "mcp", "openenv", "run-store", "postgresql")),
)
"""The documents in the order that they are read in; others stand below."""


class Entry(NamedTuple):
    """A page of the documentation, as its table of contents has it."""

    name: str
    title: str


class Group(NamedTuple):
    """Pages that belong together."""

    title: str
    entries: tuple[Entry, ...]


def contents() -> tuple[Group, ...]:
    """The table of contents."""
    return tuple(group for group in _groups() if group.entries)


def _groups() -> Iterator[Group]:
    known = document.names()
    first, *others = GROUPS
    yield Group(first[0], tuple(_entries(first[1])))
    suites: list[Entry] = []
    for name in suite_names():
        suites.append(Entry(f"suites/{name}", f"The {name} suite"))
        suites.append(Entry(f"suites/{name}/{AGENT}", f"{name}: policy and tools"))
    yield Group("Suites", tuple(suites))
    for heading, names in others:
        yield Group(heading, tuple(_entries(names)))
    placed = {name for _, names in GROUPS for name in names}
    left = [name for name in known if name not in placed and not name.startswith("suites/")]
    yield Group("More", tuple(_entries(left)))


def _entries(names: tuple[str, ...] | list[str]) -> Iterator[Entry]:
    for name in names:
        if name == REWARD:
            yield Entry(name, "How the reward decides")
        elif name in document.names():
            yield Entry(name, document.title(name))


async def index(visit: Visit) -> Response:
    """Show what is documented."""
    return visit.render("docs.html", contents=contents())


async def page(visit: Visit) -> Response:
    """Show a document, what an agent of a suite is given, or how rewards come about."""
    name = visit.path["page"]
    prefix = visit.site.prefix
    if name == REWARD:
        return _show(visit, name, "How the reward decides", _reward(prefix))
    folder, _, rest = name.partition("/")
    if folder == "suites":
        return _suite_page(visit, name, *rest.split("/"))
    if name not in document.names():
        raise Problem("not_found", f"there is no document {name[:80]!r}")
    found = document.document(name, prefix)
    return _show(visit, name, found.title, (found,))


async def picture(visit: Visit) -> Response:
    """Serve a picture of the documents."""
    name = visit.path["name"]
    path = document.pictures().get(name)
    if path is None:
        raise Problem("not_found", f"there is no picture {name[:80]!r}")
    # A picture that is opened by itself may have styles of its own, and nothing else.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    headers = {**HEADERS, "Content-Security-Policy": policy, "Cache-Control": "max-age=3600"}
    return FileResponse(path, media_type=document.PICTURES[path.suffix], headers=headers)


def _suite_page(visit: Visit, name: str, suite_name: str, *rest: str) -> Response:
    if rest not in ((), (AGENT,)):
        raise Problem("not_found", f"there is no document {name[:80]!r}")
    suite = load_suite(suite_name)
    if rest:
        return _show(visit, name, f"What an agent of {suite.name} is given", (), agent_of=suite)
    if name in document.names():
        found = document.document(name, visit.site.prefix)
        return _show(visit, name, found.title, (found,))
    return _show(visit, name, f"The {suite.name} suite", (), tasks_of=suite)


def _reward(prefix: str) -> tuple[Document, ...]:
    sections = (document.section(name, anchor, prefix) for name, anchor in REWARD_SECTIONS)
    return tuple(found for found in sections if found is not None)


def _show(
    visit: Visit,
    name: str,
    title: str,
    parts: tuple[Document, ...],
    *,
    agent_of: Suite | None = None,
    tasks_of: Suite | None = None,
) -> Response:
    return visit.render(
        "document.html",
        contents=contents(),
        name=name,
        title=title,
        parts=parts,
        titles={part.name: document.title(part.name) for part in parts},
        agent_of=agent_of,
        tasks_of=tasks_of,
        common_codes=COMMON_CODES,
    )


PAGES = (
    Page("docs", "/docs", index),
    Page("picture", "/docs/images/{name}", picture),
    Page("document", "/docs/{page:path}", page),
)
