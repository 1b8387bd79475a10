"""Recordings that say what they should not, and are sealed all the same: anyone can seal one."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import orjson

from deskgym.recording import Recording, parse


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
    reseal(document)
    return orjson.dumps(document)


def reseal(document: dict[str, Any]) -> None:
    """Make a document's seals fit, whatever was changed in it.

    They are worked out here as docs/recordings.md has it, and not by the code that checks.
    """
    last = _seal("", document["header"])
    for step in document["steps"]:
        body = {name: value for name, value in step.items() if name != "hash"}
        last = step["hash"] = _seal(last, body)
    document["hash"] = _seal(last, document["footer"])


def _seal(before: str, body: dict[str, Any]) -> str:
    canonical = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return sha256(before.encode() + canonical).hexdigest()
