"""What an API may answer with, as far as it is read, checked where it comes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deskgym.models.chat import ModelFault


class Answer(BaseModel):
    """A part of an answer. What is not read may be anything; None is as good as left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Count = Annotated[int, Field(ge=0)]
"""A number of tokens."""

A = TypeVar("A", bound=Answer)


def read_as(kind: type[A], value: Mapping[str, Any]) -> A:
    """An answer of a kind; raises `ModelFault` for one that is none."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ModelFault("garbled", f"the answer is none: {place}: {first['msg']}") from None
