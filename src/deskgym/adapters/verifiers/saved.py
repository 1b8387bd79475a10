"""What a saved run of verifiers holds: the recordings, to show, verify and replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from deskgym.errors import UsageError
from deskgym.recording import Recording, parse

INFO: Final = "deskgym"
"""Where a trace's `info` holds how its episode went, with the recording."""

_FILE: Final = "traces.jsonl"


def recordings(run: Path | str) -> Iterator[Recording]:
    """The recordings of a run, in the order in which its rollouts ended.

    Those that have no reward are among them (`footer.status`). A rollout that failed before there
    was an episode has none.

    Args:
        run: the folder of the run, or its `traces.jsonl`.

    Raises:
        UsageError: it is no saved run.
        InvalidRecording: a recording was changed; it says where.
    """
    path = Path(run)
    file = path / _FILE if path.is_dir() else path
    try:
        lines = file.open("rb")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    with lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield from _in_episode(line, f"{file}:{number}")


def _in_episode(line: bytes, where: str) -> Iterator[Recording]:
    try:
        traces: Any = orjson.loads(line)["traces"]
        kept = [trace["info"].get(INFO) for trace in traces]
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(f"{where} is no saved episode of verifiers") from error
    for item in kept:
        if item and item.get("recording"):
            yield parse(orjson.dumps(item["recording"]), where)
