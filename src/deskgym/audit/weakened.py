"""Weakened queries: a check's SQL without one part of a union, or without one of its permits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"'(?:[^']|'')*'|[()]|\bUNION ALL\b|\bUNION\b|\bORDER BY\b|\bOR\b|\bFROM\b"
)
CHARACTERS_SHOWN_MAX: Final = 90


class Weakened(NamedTuple):
    """A query and what it lacks."""

    lacks: str
    sql: str


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    depth: int


def weakened(sql: str) -> list[Weakened]:
    """Every query that lacks one part: of a union at any depth, or of `NOT (… OR …)`."""
    found = {item.sql: item for item in (*_without_parts(sql), *_without_permits(sql))}
    found.pop(sql, None)
    return list(found.values())


def _tokens(sql: str) -> list[_Token]:
    depth = 0
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(sql):
        text = match[0]
        depth -= text == ")"
        tokens.append(_Token(text, match.start(), match.end(), depth))
        depth += text == "("
    return tokens


def _without_parts(sql: str) -> Iterator[Weakened]:
    """The part after each UNION goes with it, and the first one with the UNION after it."""
    tokens = _tokens(sql)
    for place, token in enumerate(tokens):
        if not token.text.startswith("UNION"):
            continue
        end = _end_of(tokens, place, ("UNION", "ORDER"), len(sql))
        # A part that an expression goes on after (`… UNION SELECT …)`) ends with its parentheses.
        yield Weakened(_shown(sql[token.end : end]), f"{sql[: token.start]} {sql[end:]}")


def _without_permits(sql: str) -> Iterator[Weakened]:
    """The alternatives of the first `NOT (…)`: what a check of changes permits."""
    opening = sql.find("NOT (")
    if opening < 0 or "env_change c WHERE NOT (" not in sql:
        return
    tokens = [item for item in _tokens(sql) if item.start > opening]
    inside = tokens[0].depth + 1
    ors = [item for item in tokens if item.text == "OR" and item.depth == inside]
    close = next(item for item in tokens[1:] if item.text == ")" and item.depth == inside - 1)
    edges = [tokens[0].end, *(item.start for item in ors), close.start]
    parts = [
        sql[edges[at] : edges[at + 1]].removeprefix("OR").strip() for at in range(len(edges) - 1)
    ]
    for at, part in enumerate(parts):
        rest = " OR ".join((*parts[:at], *parts[at + 1 :])) or "1 = 0"
        yield Weakened(_shown(part), f"{sql[: edges[0]]}{rest}{sql[close.start :]}")


_OF_CHANGES: Final = "SELECT c.operation, c.table_name, c.row_key FROM env_change c WHERE "


def skipping(sql: str, table: str) -> str | None:
    """A check that every change is permitted, blind to one table; None for any other check."""
    if not sql.startswith(_OF_CHANGES) or "NOT (" not in sql:
        return None
    return sql.replace(_OF_CHANGES, f"{_OF_CHANGES}c.table_name <> '{table}' AND ", 1)


def _end_of(tokens: list[_Token], place: int, ends: tuple[str, ...], last: int) -> int:
    """Where a part ends: at the next one of its own depth, or with its parentheses."""
    at = tokens[place].depth
    for token in tokens[place + 1 :]:
        if token.depth < at or (token.depth == at and token.text.startswith(ends)):
            return token.start
    return last


def _shown(sql: str) -> str:
    text = " ".join(sql.split())
    return text if len(text) <= CHARACTERS_SHOWN_MAX else f"{text[: CHARACTERS_SHOWN_MAX - 1]}…"
