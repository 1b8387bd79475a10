"""What an adapter pays: the reward of a saved recording, replayed, or an error and no reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from deskgym.adapters.rows import Row
from deskgym.dialogue import PlayedEpisode
from deskgym.environment import Environment
from deskgym.errors import RunInvalid
from deskgym.recording import InvalidRecording, Recording, parse
from deskgym.replay import replay
from deskgym.rubric import Score


def raise_unless_judged(played: PlayedEpisode, environment: Environment) -> None:
    """Raise what kept an episode from having a reward, so that no framework takes it for a 0.

    Raises:
        RunInvalid: it cannot be judged: the provider, the customer or the time failed it.
        Exception: what a tool of ours raised by mistake, as itself.
        RuntimeError: another error of ours; it says which.
    """
    if played.invalid is not None:
        raise RunInvalid(played.invalid, played.detail)
    if played.status == "error":
        raise environment.bugs[0] if environment.bugs else RuntimeError(played.detail)


def rescored(document: Mapping[str, Any] | None, row: Row) -> Score:
    """The score of a row's saved recording: every action is taken again in a fresh world.

    Args:
        document: the recording as JSON, read back from wherever a framework kept it.
        row: the episode that it has to be of.

    Raises:
        InvalidRecording: there is none, it was changed, it is another episode's, it has no
            reward, or it does not come out again; it says what.
    """
    if document is None:
        raise InvalidRecording(f"{row.name}: there is no recording to score")
    recording = parse(orjson.dumps(document), row.name)
    _check_row(recording, row)
    footer = recording.footer
    if footer.status != "reward":
        detail = (footer.run or {}).get("detail")
        why = f" ({detail})" if detail else ""
        raise InvalidRecording(f"{row.name} has no reward: the run ended as {footer.status}{why}")
    made = replay(recording)
    if made.difference is not None:
        raise InvalidRecording(f"{row.name} does not replay: {made.difference}")
    return made.score


def _check_row(recording: Recording, row: Row) -> None:
    with row.environment() as environment:
        expected = {
            "task": environment.id,
            "seed": row.seed,
            "parameters": dict(environment.parameters),
            "rubric": environment.rubric.version,
        }
    header = recording.header
    for name, value in expected.items():
        found = getattr(header, name)
        if found != value:
            raise InvalidRecording(
                f"{row.name} has the recording of another episode: its {name} is "
                f"{found!r} and not {value!r}"
            )
