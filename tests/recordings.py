"""Recordings that say what they should not, and are sealed all the same: anyone can seal one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from deskgym.recording import Recording, _seal, parse


def sealed(
    recording: Recording,
    *,
    header: Mapping[str, Any] | None = None,
    steps: list[dict[str, Any]] | None = None,
    footer: Mapping[str, Any] | None = None,
) -> Recording:
    """A recording with other fields, as if it had been recorded so."""
    return parse(sealed_bytes(recording, header=header, steps=steps, footer=footer))


def sealed_bytes(
    recording: Recording,
    *,
    header: Mapping[str, Any] | None = None,
    steps: list[dict[str, Any]] | None = None,
    footer: Mapping[str, Any] | None = None,
) -> bytes:
    """The same as JSON, whether it can be read or not."""
    document: dict[str, Any] = orjson.loads(recording.to_json())
    document["header"] |= header or {}
    document["footer"] |= footer or {}
    if steps is not None:
        document["steps"] = steps
    seal = _seal("", document["header"])
    for step in document["steps"]:
        body = {name: value for name, value in step.items() if name != "hash"}
        seal = step["hash"] = _seal(seal, body)
    document["hash"] = _seal(seal, document["footer"])
    return orjson.dumps(document)
