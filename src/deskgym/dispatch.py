"""Dispatch: one call, carried out whole or refused.

A call is atomic: it keeps all of its rows or none. What a tool refuses is a result, with a closed
set of codes; what it raises by mistake is a bug, and is told apart from both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from deskgym.desk import Desk, Result
from deskgym.errors import (
    ConstraintViolation,
    CustomerAsked,
    DatabaseUnavailable,
    InvalidDefinition,
    Refusal,
)
from deskgym.store import RowChange, World
from deskgym.tool import Kind, Tool, Toolbox

COMMON_CODES: Final[Mapping[str, str]] = {
    "unknown_tool": "There is no such tool.",
    "invalid_arguments": "The arguments do not fit the tool's schema; nothing was done.",
    "conflict": "The store's records do not allow this; nothing was done.",
    "internal_error": "The tool failed, which is not your fault; nothing was done.",
    "episode_over": "The episode is over; nothing was done.",
}
"""Codes that any call can be answered with, beside those that its tool declares."""


class Dispatched(NamedTuple):
    """One call, carried out or refused.

    Attributes:
        result_json: the result as canonical JSON.
        kind: the tool's kind; None for a tool that does not exist.
        arguments: as validated; None when they did not fit.
        changes: the net row changes that the call left.
        bug: what the tool raised by mistake; then the result is `internal_error`.
    """

    result: Result
    result_json: bytes
    kind: Kind | None
    arguments: Mapping[str, Any] | None = None
    changes: tuple[RowChange, ...] = ()
    bug: Exception | None = None


def dispatch(
    toolbox: Toolbox, world: World, desk: Desk, name: str, arguments: object
) -> Dispatched:
    """Carry out one call: all of it, or nothing and a refusal.

    Raises:
        DatabaseUnavailable: the world's server is gone; the call did not happen.
    """
    chosen = toolbox.get(name)
    if chosen is None:
        return _answered(_unknown_tool(toolbox), None)
    try:
        values = chosen.validate(arguments)
    except ValidationError as error:
        return _answered(_invalid_arguments(chosen, arguments, error), chosen.kind)
    try:
        kept = world.atomic(lambda: _checked(chosen, desk, chosen.function(desk, **values)))
    except Refusal as refusal:
        desk.log_rows.clear()
        try:
            return _answered(_refused(chosen, refusal), chosen.kind, values)
        except (InvalidDefinition, TypeError) as error:
            bug: Exception = error
    except ConstraintViolation:
        desk.log_rows.clear()
        return _answered(_common("conflict"), chosen.kind, values)
    except DatabaseUnavailable:
        # Nobody's failure, and nothing happened: the step can be taken again.
        raise
    except Exception as error:
        desk.log_rows.clear()
        bug = error
    else:
        return Dispatched(*kept.value, chosen.kind, values, kept.changes)
    return _answered(_common("internal_error"), chosen.kind, values, bug)


class _Tried(Exception):
    """A call that was only tried asked nobody; raised so that it is undone."""


def tried_call(
    toolbox: Toolbox, world: World, desk: Desk, name: str, arguments: object
) -> CustomerAsked | None:
    """What a call would put to the customer, if anything; the call is undone, whatever it did."""
    chosen = toolbox.get(name)
    if chosen is None:
        return None
    try:
        values = chosen.validate(arguments)
    except ValidationError:
        return None

    def attempt() -> None:
        chosen.function(desk, **values)
        raise _Tried

    try:
        world.atomic(attempt)
    except CustomerAsked as asked:
        return asked
    except DatabaseUnavailable:
        raise
    except Exception:
        # It asked nobody. Whatever else there is to say, a bug too, is said when it is carried out.
        return None
    raise AssertionError("a call that was tried is undone")


def _answered(
    result: Result,
    kind: Kind | None,
    arguments: Mapping[str, Any] | None = None,
    bug: Exception | None = None,
) -> Dispatched:
    return Dispatched(result, result.to_json(), kind, arguments, bug=bug)


def _refused(chosen: Tool, refusal: Refusal) -> Result:
    if refusal.code not in chosen.codes:
        raise InvalidDefinition(f"{chosen.name} refused with {refusal.code}, undeclared")
    return Result(False, refusal.code, refusal.sentence, refusal.data)


def _checked(chosen: Tool, desk: Desk, result: Result) -> tuple[Result, bytes]:
    """The result, if the tool kept to what it declares; runs before the call is kept."""
    if result.code not in chosen.codes:
        raise InvalidDefinition(f"{chosen.name} answered {result.code}, which it does not declare")
    if (chosen.kind != "write" or not result.ok) and desk.touched:
        raise InvalidDefinition(f"{chosen.name} changed rows, which a {chosen.kind} must not")
    return result, result.to_json()


def _common(code: str) -> Result:
    return Result(False, code, COMMON_CODES[code])


def _unknown_tool(toolbox: Toolbox) -> Result:
    return Result(
        False,
        "unknown_tool",
        f"There is no such tool. The tools are: {', '.join(toolbox.names)}.",
    )


def _invalid_arguments(chosen: Tool, arguments: object, error: ValidationError) -> Result:
    problems = chosen.problems(arguments, error)
    sentence = "; ".join(f"`{name}` {problem}" for name, problem in problems.items())
    return Result(
        False, "invalid_arguments", f"Nothing was done: {sentence}.", {"problems": problems}
    )
