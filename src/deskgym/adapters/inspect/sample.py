"""What an Inspect sample holds of an episode: which it is, and afterwards its recording."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from inspect_ai.dataset import Sample
from inspect_ai.solver import TaskState

from deskgym.adapters.rows import Row
from deskgym.agents.model import opening_text
from deskgym.errors import UsageError
from deskgym.recording import Recording

RECORDING: Final = "deskgym:recording"
"""Where a sample's store holds its recording."""

ROW: Final = "deskgym:row"
"""Where it holds which episode is played, for scripted models."""


def sample_of(row: Row) -> Sample:
    """A row as Inspect keeps it. It holds no score and nothing of the answer."""
    with row.environment() as environment:
        told = opening_text(environment.reset(row.seed))
    return Sample(id=row.name, input=told, metadata=metadata_of(row))


def metadata_of(row: Row) -> dict[str, Any]:
    """A row as JSON."""
    return {
        "task": row.task,
        "seed": row.seed,
        "parameters": dict(row.parameters),
        "rubric": row.rubric,
    }


def row_of(metadata: Mapping[str, Any]) -> Row:
    """The row that a sample is of; raises `UsageError` for a sample of another data set."""
    try:
        return Row(metadata["task"], metadata["seed"], metadata["parameters"], metadata["rubric"])
    except KeyError as error:
        raise UsageError(
            f"this is no sample of deskgym's: its metadata lacks {error}; "
            "make the data set with desk_task"
        ) from None


def keep_recording(state: TaskState, recording: Recording | None) -> None:
    """Keep the recording of an episode with its sample."""
    if recording is not None:
        state.store.set(RECORDING, orjson.loads(recording.to_json()))
