"""Documents: the Markdown that documents deskgym, as pages of the app.

They are the files of docs/, which the package carries. Nothing in them acts: of HTML, only line
breaks are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

_CARRIED: Final = Path(str(files("deskgym.web") / "pages"))
_SOURCE: Final = Path(__file__).parents[3] / "docs"

PICTURES: Final[Mapping[str, str]] = {".png": "image/png", ".svg": "image/svg+xml"}
"""What pictures there may be, by the ends of their names."""


class Heading(NamedTuple):
    """A heading with its anchor."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Document:
    """A document, or a part of one.

    Attributes:
        name: its path below /docs, such as `suites/service`.
        title: its first heading, or the part's.
        headings: those below it.
        body: what follows its first heading, as HTML.
    """

    name: str
    title: str
    headings: tuple[Heading, ...]
    body: Markup


def folder() -> Path:
    """Where the documents are: in the package, or in the repository that it is run from."""
    return _CARRIED if _CARRIED.is_dir() else _SOURCE


@cache
def names() -> tuple[str, ...]:
    """The names of all documents, in alphabetical order; none where the package lost them."""
    root = folder()
    found = root.rglob("*.md")
    return tuple(sorted(path.relative_to(root).with_suffix("").as_posix() for path in found))


@cache
def pictures() -> Mapping[str, Path]:
    """The pictures of the documents, by name."""
    found = (folder() / "images").glob("*")
    return {path.name: path for path in found if path.suffix in PICTURES}


@cache
def title(name: str) -> str:
    """A document's title."""
    return _source(name).partition("\n")[0].removeprefix("# ").strip()


@cache
def document(name: str, prefix: str) -> Document:
    """A document, its links to others leading to their pages.

    Args:
        name: one of `names`.
        prefix: what the app's paths start with.
    """
    tokens = _parse(_source(name))
    return _rendered(name, title(name), tokens[3:], prefix)


@cache
def section(name: str, anchor: str, prefix: str) -> Document | None:
    """The part of a document below a heading; None where there is no such heading."""
    tokens = _parse(_source(name))
    start = next(
        (
            place
            for place, token in enumerate(tokens)
            if token.type == "heading_open" and token.attrs.get("id") == anchor
        ),
        None,
    )
    if start is None:
        return None
    level = tokens[start].tag
    stop = next(
        (
            place
            for place, token in enumerate(tokens[start + 1 :], start=start + 1)
            if token.type == "heading_open" and token.tag <= level
        ),
        len(tokens),
    )
    heading = _text(tokens[start + 1])
    return _rendered(name, heading, tokens[start + 3 : stop], prefix)


def _source(name: str) -> str:
    return (folder() / f"{name}.md").read_text("utf-8")


def _parse(text: str) -> list[Token]:
    """The tokens of a document: without instructions to its tools, each heading with an anchor."""
    tokens = [token for token in _MARKDOWN.parse(text) if token.type != "html_block"]
    seen: Counter[str] = Counter()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            # As GitHub names them.
            slug = re.sub(r"[^\w\- ]", "", _text(inline).lower()).replace(" ", "-")
            opening.attrs["id"] = f"{slug}-{seen[slug]}" if seen[slug] else slug
            seen[slug] += 1
    return tokens


def _text(inline: Token) -> str:
    children = inline.children or []
    return "".join(child.content for child in children if child.type != "html_inline").strip()


def _rendered(name: str, heading: str, tokens: Sequence[Token], prefix: str) -> Document:
    for token in tokens:
        for child in token.children or []:
            _relink(child, name, prefix)
    html: str = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return Document(name, heading, tuple(_headings(tokens)), Markup(html))


def _headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            yield Heading(int(opening.tag[1]), _text(inline), str(opening.attrs["id"]))


def _relink(token: Token, name: str, prefix: str) -> None:
    """Lead a link to the page of its document, and a picture to where it is served."""
    for attribute in ("href", "src"):
        target = token.attrs.get(attribute)
        if target is None or str(target).startswith("#"):
            continue
        parts = urlsplit(str(target))
        path = normpath(join(dirname(name), parts.path))
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        if parts.scheme in ("http", "https") and attribute == "href":
            token.attrs["rel"] = "noreferrer"
        elif path.removesuffix(".md") in names() and path.endswith(".md"):
            token.attrs[attribute] = f"{prefix}/docs/{path.removesuffix('.md')}{fragment}"
        elif path.startswith("images/") and path.removeprefix("images/") in pictures():
            token.attrs[attribute] = f"{prefix}/docs/{path}"
        else:
            # A file of the repository, which the package does not carry.
            del token.attrs[attribute]


def _fence(_: RendererHTML, tokens: Sequence[Token], place: int, *__: object) -> str:
    escaped = Markup.escape(tokens[place].content)
    return f'<pre class="code" tabindex="0"><code>{escaped}</code></pre>\n'


def _html_inline(_: RendererHTML, tokens: Sequence[Token], place: int, *__: object) -> str:
    return "<br>" if re.fullmatch(r"<br\s*/?>", tokens[place].content) else ""


def _html_block(*_: object) -> str:
    return ""


def _table_open(*_: object) -> str:
    return '<div class="wide" tabindex="0" role="group" aria-label="Table"><table>\n'


def _table_close(*_: object) -> str:
    return "</table></div>\n"


def _markdown() -> MarkdownIt:
    """Wide things scroll by themselves, and by keyboard; of HTML only line breaks are kept."""
    made = MarkdownIt("commonmark").enable("table")
    made.add_render_rule("fence", _fence)
    made.add_render_rule("html_inline", _html_inline)
    made.add_render_rule("html_block", _html_block)
    made.add_render_rule("table_open", _table_open)
    made.add_render_rule("table_close", _table_close)
    return made


_MARKDOWN: Final = _markdown()
