"""What a trainer's data set says of an episode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from deskgym.errors import UsageError


def parameters_of(given: object) -> dict[str, Any]:
    """The parameters of a row: a mapping, its JSON, or None.

    A table of Arrow fills up with None what a row does not name, so that those are left out.

    Raises:
        UsageError: they are something else.
    """
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError as error:
            raise UsageError(f"a row's parameters are no JSON: {error}") from error
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"a row's parameters are one JSON object, not a {type(given).__name__}")
    fields = cast(Mapping[str, Any], given or {})
    return {name: value for name, value in fields.items() if value is not None}
