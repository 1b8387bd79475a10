"""Look for phrases in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from deskgym.rubric.language.fold import words


class Match(NamedTuple):
    """A phrase found in some words: the name it stands for, as written, where, how many words."""

    name: str
    written: str
    at: int
    length: int


class Phrasebook:
    """Phrases to look for, each standing for a name. The longest that fits is taken."""

    def __init__(self, phrases: Iterable[tuple[str, str]]) -> None:
        """phrases: (phrase, the name it stands for)."""
        by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for phrase, name in phrases:
            parts = words(phrase)
            by_first.setdefault(parts[0], []).append((parts, name))
        self._by_first = {
            first: tuple(sorted(entries, key=lambda entry: -len(entry[0])))
            for first, entries in by_first.items()
        }

    def find(self, tokens: tuple[str, ...]) -> Iterator[Match]:
        """Every match from left to right; matches do not overlap."""
        if self._by_first.keys().isdisjoint(tokens):
            return
        at = 0
        while at < len(tokens):
            for parts, name in self._by_first.get(tokens[at], ()):
                if tokens[at : at + len(parts)] == parts:
                    yield Match(name, " ".join(parts), at, len(parts))
                    at += len(parts)
                    break
            else:
                at += 1
