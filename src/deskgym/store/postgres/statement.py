"""Statements: a text as tools and checks write it, in PostgreSQL's words.

Tools and checks are written once, in what the two engines share. A text is read once and kept:
placeholders are numbered, `main.` and `before.` name the slot's two sets of tables, and whatever
SQLite's authorizer would refuse (a clock, chance, the log, another catalogue) is refused here by
what the text names, so that it needs no role or grant of the user's server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from deskgym.errors import ConstraintViolation, StoreError
from deskgym.store.place import Bindings
from deskgym.store.postgres.ddl import BEFORE_PREFIX
from deskgym.store.schema import LOG_PREFIX, TABLES

STATEMENTS_KEPT: Final = 2_000
INTEGER_MAX: Final = 2**63 - 1

_TOKEN: Final = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<text>'(?:[^']|'')*')"
    r"|(?P<quoted>\"(?:[^\"]|\"\")*\")"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?)"
    r"|(?P<placeholder>\?|:[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<mark><>|<=|>=|!=|\|\||[-+*/%<>=(),.;])",
    re.DOTALL,
)

_VERBS: Final = frozenset({"select", "with", "values", "insert", "update", "delete"})
_WRITES: Final = frozenset({"insert", "update", "delete"})
# What may stand before a bracket: the functions that both engines have and that answer alike, …
_FUNCTIONS: Final = frozenset(
    {"count", "sum", "min", "max", "coalesce", "nullif", "cast", "length", "substr", "lower",
     "upper", "abs", "replace", "trim", "ltrim", "rtrim", "row_number", "rank", "dense_rank",
     "lag", "lead", "first_value", "last_value"}
)  # fmt: skip
# … and words of the language.
_WORDS: Final = frozenset(
    {"in", "and", "or", "not", "exists", "values", "where", "on", "as", "when", "then", "else",
     "from", "join", "by", "having", "union", "all", "except", "intersect", "over", "filter",
     "using", "set", "distinct", "limit", "offset", "between", "select", "case", "is", "with",
     "materialized", "conflict", "returning", "recursive", "partition"}
)  # fmt: skip
# Clocks, who is signed in, and where a row lies.
_NAMES_DENIED: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
     "current_user", "session_user", "user", "current_role", "current_catalog", "current_schema",
     "system_user", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "for", "tablesample"}
)  # fmt: skip
_PREFIXES_DENIED: Final = ("pg_", "sqlite_", "dbstat", "information_schema", "deskgym_")


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def name(self) -> str:
        """A bare name in lower case; empty for anything else."""
        return self.text.lower() if self.kind == "name" else ""


class Statement(NamedTuple):
    """A statement as PostgreSQL runs it.

    Attributes:
        text: with its placeholders numbered.
        names: those of its placeholders, in order; None where they are positions.
        values_count: how many values it takes.
        writes: whether it may write.
        reads_log: whether it names one of the environment's own tables.
    """

    text: bytes
    names: tuple[str, ...] | None
    values_count: int
    writes: bool
    reads_log: bool

    def values(self, bindings: Bindings) -> list[object]:
        """The values for its placeholders; raises `StoreError` for what no row can hold."""
        if isinstance(bindings, Mapping):
            if self.names is None and self.values_count:
                raise StoreError("a statement with ? takes its values in order, not by name")
            given: Sequence[object] = [bindings.get(name) for name in self.names or ()]
        else:
            given = bindings
            if len(given) != self.values_count:
                raise StoreError(
                    f"the statement takes {self.values_count} values, not {len(given)}"
                )
        return [value if type(value) is str else _storable(value) for value in given]


def _storable(value: object) -> object:
    """A value as SQLite would take it: True is 1, and a whole float a whole number."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        if not -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
            raise StoreError(f"the integer {value} has more than 64 bits")
        return int(value)
    if isinstance(value, (str, float)):
        return value
    if isinstance(value, bytes):
        raise ConstraintViolation("cannot store bytes: the store has no column for them")
    raise StoreError(f"the store holds texts and whole numbers, no {type(value).__name__}")


@lru_cache(maxsize=STATEMENTS_KEPT)
def translate(sql: str) -> Statement:
    """A statement in PostgreSQL's words.

    Raises:
        StoreError: the text is no single statement of the shared language, or names what a tool
            or check must not reach.
    """
    tokens = _tokens(sql)
    bare = [token for token in tokens if token.kind != "space"]
    _require_allowed(bare)
    text, placeholders = _rewritten(tokens)
    named = [name for name in placeholders if name != "?"]
    if named and len(named) != len(placeholders):
        raise StoreError("a statement's placeholders are all ? or all names")
    return Statement(
        text.encode(),
        tuple(name[1:] for name in named) or None,
        len(placeholders),
        any(token.name in _WRITES for token in bare),
        any(token.name.startswith(LOG_PREFIX) for token in bare),
    )


def _tokens(sql: str) -> list[_Token]:
    found: list[_Token] = []
    place = 0
    stripped = sql.rstrip().removesuffix(";")
    while place < len(stripped):
        match = _TOKEN.match(stripped, place)
        if match is None:
            raise StoreError(f"unrecognized token: {stripped[place : place + 20]!r}")
        kind = match.lastgroup
        assert kind is not None, "every alternative has a name"
        found.append(_Token(kind, match.group()))
        place = match.end()
    return found


def _require_allowed(tokens: Sequence[_Token]) -> None:
    if not tokens or tokens[0].name not in _VERBS:
        raise StoreError("not authorized: a statement reads or writes rows, and nothing else")
    _require_own_schema(tokens)
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else _NOTHING
        after = tokens[place + 1] if place + 1 < len(tokens) else _NOTHING
        if token.text == ";":
            raise StoreError("not authorized: one statement at a time")
        if token.kind == "quoted":
            raise StoreError(f"no such name: {token.text} (texts stand in single quotes)")
        # E'…' and the like: PostgreSQL has texts of kinds that SQLite has not.
        if token.kind == "text" and before.kind == "name" and len(before.text) == 1:
            raise StoreError(f"unrecognized token: {before.text}{token.text}")
        if token.kind == "name":
            _require_name(token.name, before, after, _is_cte(tokens, place))
            _require_target(tokens, place)


_NOTHING: Final = _Token("", "")


def _require_name(name: str, before: _Token, after: _Token, is_cte: bool) -> None:
    if name in _NAMES_DENIED or name.startswith(_PREFIXES_DENIED):
        raise StoreError(f"not authorized: {name}")
    if name.startswith(BEFORE_PREFIX) and name.removeprefix(BEFORE_PREFIX) in TABLES:
        raise StoreError(f"no such table: {name}")
    if name == "into" and before.name != "insert":
        raise StoreError("not authorized: SELECT INTO makes a table")
    callable_names = (_FUNCTIONS, _WORDS, TABLES)
    if after.text == "(" and not is_cte and not any(name in known for known in callable_names):
        raise StoreError(f"not authorized to use function: {name}")


def _require_own_schema(tokens: Sequence[_Token]) -> None:
    """Refuse a table of another schema: whatever stands before a dot is an alias or a table."""
    following = [*tokens[1:], _NOTHING]
    qualifiers = {token.name for token, after in zip(tokens, following, strict=True)
                  if token.name and after.text == "."}  # fmt: skip
    alone = {token.name for token, after in zip(tokens, following, strict=True)
             if after.text != "."}  # fmt: skip
    strangers = qualifiers - alone - TABLES.keys() - {"main", "before", "excluded"}
    if strangers:
        raise StoreError(f"unknown database or table: {', '.join(sorted(strangers))}")


def _require_target(tokens: Sequence[_Token], place: int) -> None:
    """A statement writes the store's own tables as they are now, and no others."""
    names = [token.name for token in tokens[place : place + 2]]
    if names[:1] == ["update"] and (place == 0 or tokens[place - 1].name != "do"):
        target = tokens[place + 1 :]
    elif names in (["insert", "into"], ["delete", "from"]):
        target = tokens[place + 2 :]
    else:
        return
    written = [token.name or token.text for token in target[:2]] + [""]
    if written[:2] == ["before", "."] or written[0].startswith(LOG_PREFIX):
        raise StoreError(f"not authorized to write {written[0]}")


def _is_cte(tokens: Sequence[_Token], place: int) -> bool:
    """Whether a name before a bracket is a common table's, with its columns: `WITH t (a) AS (…`."""
    before = [token.name or token.text for token in tokens[max(0, place - 2) : place]]
    if before[-1:] not in (["with"], ["recursive"]) and before != [")", ","]:
        return False
    depth = 0
    for at in range(place + 1, len(tokens)):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if depth == 0:
            after = [token.name or token.text for token in tokens[at + 1 : at + 3]]
            return after in (["as", "("], ["as", "materialized"], ["as", "not"])
    return False


def _rewritten(tokens: Sequence[_Token]) -> tuple[str, list[str]]:
    """The text for PostgreSQL, and its placeholders in their order."""
    parts: list[str] = []
    placeholders: list[str] = []
    casts = _integer_casts(tokens)
    for place, token in enumerate(tokens):
        if place in casts:
            parts.append(casts[place])
        elif token.kind == "placeholder":
            if token.text == "?" or token.text not in placeholders:
                placeholders.append(token.text)
                number = len(placeholders)
            else:
                number = placeholders.index(token.text) + 1
            parts.append(f"${number}")
        elif _names_database(tokens, place):
            parts.append(BEFORE_PREFIX if token.name == "before" else "")
        elif token.text == "." and place and _names_database(tokens, place - 1):
            continue
        else:
            parts.append(token.text)
    return "".join(parts), placeholders


def _names_database(tokens: Sequence[_Token], place: int) -> bool:
    """Whether a token is the `main` or `before` of `main.orders`."""
    return (
        tokens[place].name in ("main", "before")
        and place + 2 < len(tokens)
        and tokens[place + 1].text == "."
        and tokens[place + 2].name in TABLES
    )


def _integer_casts(tokens: Sequence[_Token]) -> dict[int, str]:
    """What replaces which token, so that `CAST(x AS INTEGER)` takes any text, as in SQLite."""
    replaced: dict[int, str] = {}
    opened: list[int] = []
    named = [place for place, token in enumerate(tokens) if token.kind != "space"]
    for at, place in enumerate(named):
        if tokens[place].text == "(":
            opened.append(at)
        elif tokens[place].text == ")" and opened:
            cast = named[opened.pop() - 1]
            last = named[at - 2 : at]
            if tokens[cast].name == "cast" and [tokens[i].name for i in last] == ["as", "integer"]:
                replaced.update({cast: "whole_number"} | dict.fromkeys(last, ""))
    return replaced
