"""The schema as PostgreSQL's DDL: a slot's tables, their copies as they were, guards and log.

It is made of the same text as SQLite's. Ids and texts compare as bytes whatever the database's
locale, integers have 64 bits, and every table is unlogged: a slot's rows are a template's and an
episode's, both of which the client knows, so a crash costs a refill and no row is written twice.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from deskgym.store.schema import GUARDS, STATEMENTS, STORE_TABLES, TABLES

BEFORE_PREFIX: Final = "before_"
"""What the table of a world's start is called: beside each table stands its copy."""
CALL_SETTING: Final = "deskgym.call"
"""On while a tool's statements run: only then do guards refuse, and are changes told."""
CHANGE_MARK: Final = "deskgym "
"""How a message of the change log begins."""
STATE_TABLE: Final = "deskgym_state"

_IN_CALL: Final = f"current_setting('{CALL_SETTING}', true) = 'on'"


def _table(statement: str) -> str:
    text = re.sub(r"^CREATE TABLE", "CREATE UNLOGGED TABLE", statement)
    text = re.sub(r"\bTEXT\b", 'TEXT COLLATE "C"', text)
    text = re.sub(r"\bINTEGER\b", "BIGINT", text)
    return re.sub(r"(REFERENCES \w+ \([^)]*\))", r"\1 DEFERRABLE", text)


def _guards() -> list[str]:
    """A function and a trigger for each rule over several rows."""
    made: list[str] = []
    for guard in GUARDS:
        made.append(
            f"CREATE FUNCTION {guard.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" IF {guard.refuses} THEN RAISE EXCEPTION USING MESSAGE = '{guard.name}',"
            " ERRCODE = 'check_violation'; END IF; RETURN NEW; END $$"
        )
        made.append(
            f"CREATE TRIGGER {guard.name} BEFORE INSERT OR UPDATE ON {guard.table}"
            f" FOR EACH ROW WHEN ({_IN_CALL}) EXECUTE FUNCTION {guard.name}()"
        )
    return made


def _change_log() -> list[str]:
    """Tell the client of each row that a tool writes.

    The message comes back with the statement's own answer: no table grows, nothing has to be
    fetched, and what is rolled back needs no undoing. INFO reaches the client whatever the
    session's settings, and by default no server's log.
    """
    made = [
        "CREATE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" RAISE INFO USING MESSAGE = '{CHANGE_MARK}' ||"
        " json_build_array(TG_TABLE_NAME, to_json(OLD), to_json(NEW));"
        " RETURN NULL; END $$"
    ]
    made.extend(
        f"CREATE TRIGGER tell_change AFTER INSERT OR UPDATE OR DELETE ON {name}"
        f" FOR EACH ROW WHEN ({_IN_CALL}) EXECUTE FUNCTION tell_change()"
        for name in STORE_TABLES
    )
    return made


# What SQLite's CAST to an integer does with a text: the number that it begins with, or 0.
_WHOLE_NUMBER: Final = (
    "CREATE FUNCTION whole_number(value text) RETURNS bigint LANGUAGE sql IMMUTABLE AS"
    r" $$ SELECT COALESCE(substring(value FROM '^\s*([-+]?[0-9]{1,18})'), '0')::bigint $$",
    "CREATE FUNCTION whole_number(value numeric) RETURNS bigint LANGUAGE sql IMMUTABLE AS"
    " $$ SELECT trunc(value)::bigint $$",
    "CREATE FUNCTION whole_number(value bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS"
    " $$ SELECT value $$",
)


def _slot_ddl() -> tuple[str, ...]:
    made = [
        _table(statement) if statement.startswith("CREATE TABLE") else statement
        for statement in STATEMENTS
    ]
    made.extend(
        f"CREATE UNLOGGED TABLE {BEFORE_PREFIX}{name} (LIKE {name} INCLUDING INDEXES)"
        for name in TABLES
    )
    made.append(f"CREATE UNLOGGED TABLE {STATE_TABLE} (base TEXT NOT NULL)")
    return (*made, *_guards(), *_change_log(), *_WHOLE_NUMBER)


SLOT_DDL: Final = _slot_ddl()
"""What makes an empty slot, in the schema that the search path names."""

LAYOUT: Final = sha256("\n".join(SLOT_DDL).encode()).hexdigest()[:16]
"""What tells a slot of this version from one of another."""


def guard_query(name: str, refuses: str) -> str:
    """The keys of rows that a guard would have refused, among the keys in `$1`."""
    return f"SELECT new.id FROM {name} new WHERE new.id = ANY($1) AND ({refuses}) LIMIT 1"
