"""What an API may answer with, as far as it is read, checked where it comes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from deskgym.models.chat import ModelFault


class Answer(BaseModel):
    """A part of an answer. What is not read may be anything; None is as good as left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


TOKENS_MAX: Final = 10**12
"""More is a mistake, and many of them together have to fit into 64 bits."""


def _or_none(value: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(value)
    except ValidationError:
        return None


OrNone: Final = WrapValidator(_or_none)
"""For what is good to know and no reason to refuse a reply over: strange, it is not known."""

Count = Annotated[Annotated[int, Field(ge=0, le=TOKENS_MAX)] | None, OrNone]
"""A number of tokens, or None where none was told."""


def _as_id(value: object) -> object:
    return str(value) if isinstance(value, int) else value


CallId = Annotated[str | None, BeforeValidator(_as_id), OrNone]
"""What a call is known by; some servers count them."""

A = TypeVar("A", bound=Answer)


def read_as(kind: type[A], value: Mapping[str, Any]) -> A:
    """An answer of a kind; raises `ModelFault` for one that is none."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ModelFault("garbled", f"the answer is none: {place}: {first['msg']}") from None
