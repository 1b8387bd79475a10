"""What an HTML page holds, for tests without a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})
_HIDDEN: Final = frozenset({"script", "style", "title"})


class Reading(HTMLParser):
    """The elements and texts of a page.

    Attributes:
        tags: the names of its elements.
        attributes: every attribute's name.
        links: where its links lead.
        anchors: the ids that it has.
        text: what is read, with blanks between the elements.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.anchors: set[str] = set()
        self.open: list[str] = []
        self._texts: list[str] = []
        self.feed(html)
        self.close()
        self.text = " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "href" and tag == "a" and value is not None:
                self.links.append(value)
            if name == "src" and value is not None:
                self.sources.append(value)
            if name == "id" and value is not None:
                self.anchors.add(value)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in _HIDDEN:
            self._texts.append(data)


def reward_shown(html: str) -> str:
    """The reward beside the step that a run's page shows."""
    found = re.search(r'<p class="now">\s*<span class="reward"><span class="number">([^<]*)<', html)
    assert found is not None, "the page shows no reward beside a step"
    return found[1]


def section(html: str, start: str, stop: str) -> Reading:
    """The part of a page between two pieces of its source."""
    return Reading(html.partition(start)[2].partition(stop)[0])


def as_shown(reward: float) -> str:
    """A reward as pages have it."""
    points = round(reward * 10_000)
    if points == 0:
        return "0.00"
    return f"{reward:+.2f}" if points % 100 == 0 else f"{reward:+.4f}"
