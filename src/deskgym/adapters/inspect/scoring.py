"""The scorer: what the log's own recording earns, replayed; a changed log is refused."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ChatMessageTool
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from deskgym.adapters.inspect.sample import RECORDING, row_of
from deskgym.adapters.judgement import rescored
from deskgym.recording import InvalidRecording, Recording, parse

_METRICS = [mean(), stderr(cluster="task")]


@scorer(metrics={"reward": _METRICS, "resolved": _METRICS})
def deskgym_scorer() -> Scorer:
    """The reward of the recording that a sample holds, and whether the case is resolved.

    The episode is played again from the recording, so that `inspect score` works on any log. The
    standard errors are clustered by task.
    """

    async def score(state: TaskState, target: Target) -> Score:
        del target
        row = row_of(state.metadata)
        document = state.store.get(RECORDING)
        earned = rescored(document, row)
        _check_messages(row.name, document, state.messages)
        return Score(
            value={"reward": earned.reward, "resolved": float(earned.verdict == "resolved")},
            explanation=earned.explain(),
            metadata=earned.to_dict(),
        )

    return score


def _check_messages(name: str, document: Mapping[str, Any], messages: list[ChatMessage]) -> None:
    """Refuse a log whose messages tell of other results than its recording.

    A message that is missing is no fault: long conversations are shortened.
    """
    results = {step["step"]: step["result"] for step in document["steps"]}
    for told in _observations(messages):
        result = results.get(told["step"])
        # The answer to a call after the end is in no recording.
        if told["code"] == "episode_over":
            continue
        if result is None or any(told.get(key) != result[key] for key in result):
            raise InvalidRecording(
                f"{name}: what the log tells the model of step {told['step']} is not what was "
                "recorded: the log was changed"
            )


def _observations(messages: list[ChatMessage]) -> Iterator[dict[str, Any]]:
    for message in messages:
        if isinstance(message, ChatMessageTool) and message.error is None:
            try:
                told = json.loads(message.text)
            except ValueError:
                continue
            if isinstance(told, dict) and {"ok", "code", "step"} <= told.keys():
                yield told


def recording_in(sample: EvalSample) -> Recording:
    """The recording in a sample of a log, to show, verify and replay.

    Raises:
        InvalidRecording: there is none, or it was changed.
    """
    document = sample.store.get(RECORDING)
    if document is None:
        raise InvalidRecording(f"sample {sample.id} holds no recording")
    return parse(orjson.dumps(document), str(sample.id))
