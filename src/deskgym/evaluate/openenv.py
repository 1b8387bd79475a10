"""An episode in the three kinds of lines that OpenEnv's submissions print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from deskgym.evaluate.result import Episode

BENCHMARK: Final = "deskgym"


def submission_lines(episode: Episode) -> Iterator[str]:
    """`[START]`, a `[STEP]` for each action, `[END]`: as OpenEnv's sample `inference.py` has them.

    A step's reward is what it added to the score, so that the rewards add up to it. The format
    wants a score from 0 to 1 of every episode: one below 0 is 0.00 here, and so is that of an
    episode without a reward, of which the results say what it is.
    """
    result, recording = episode.result, episode.recording
    yield f"[START] task={_line(result.task)} env={BENCHMARK} model={_line(_model(result.agent))}"
    rewards: list[str] = []
    before = 0.0
    steps = [] if recording is None else recording.steps
    for step in steps:
        after = step.score["reward"]
        rewards.append(f"{after - before:.2f}")
        before = after
        is_last = step.ended is not None or step.step == len(steps)
        yield (
            f"[STEP] step={step.step} action={_action(step.action)} reward={rewards[-1]} "
            f"done={_boolean(is_last)} error={_error(step.result)}"
        )
    score = max(0.0, min(1.0, result.reward or 0.0))
    yield (
        f"[END] success={_boolean(result.success)} steps={len(steps)} score={score:.2f} "
        f"rewards={','.join(rewards)}"
    )


def _model(agent: str) -> str:
    """The model's own name, as the variable MODEL_NAME has it."""
    return agent.partition(":")[2] or agent


def _action(action: dict[str, Any]) -> str:
    return _line(f"{action['tool']}({orjson.dumps(action['arguments']).decode()})")


def _error(result: dict[str, Any]) -> str:
    return "null" if result["ok"] else _line(f"{result['code']}: {result['message']}")


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _line(text: str) -> str:
    """A text without line breaks and other controls, which would break the format."""
    return "".join(char if char.isprintable() else " " for char in text)
