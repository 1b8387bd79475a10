"""Players: functions from a request to what the server answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson

from deskgym.errors import UsageError
from deskgym.models.meter import Usage
from deskgym.suite import find_tasks
from deskgym.task import Script
from deskgym.testing.model_server.reply import Drop, Fail, Half, RawCall, Reply, Say, Send, Stall
from deskgym.testing.model_server.request import ModelRequest
from deskgym.trajectory import Observation

Player = Callable[[ModelRequest], Reply]
"""What answers a request. It is called in the server's thread, one request at a time."""

_RESULT: Final = re.compile(r"<tool_result>(.*?)</tool_result>", re.DOTALL)
DONE: Final = "That is all from my side. Goodbye!"


def playback(replies: Iterable[Reply]) -> Player:
    """Give these replies, one a request, in their order; after the last one, an error 500."""
    rest = iter(list(replies))
    return lambda _: next(rest, Fail(500, "there is no recorded reply left"))


def read_replies(path: Path | str) -> list[Reply]:
    """Recorded replies from a JSON Lines file.

    A line is a model's reply, `{"text": …, "calls": [{"name": …, "arguments": …}], "finish": …,
    "usage": {…}, "delay_s": …}`, where all may be left out; an error, `{"status": 500, "message":
    …, "headers": {…}}`; or a body that is sent as it is, `{"body": …}`.

    Raises:
        UsageError: a line is something else; it names the line.
    """
    lines = Path(path).read_bytes().splitlines()
    return [
        _reply_of(line, f"{path}:{number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def _reply_of(line: bytes, where: str) -> Reply:
    try:
        fields: dict[str, Any] = orjson.loads(line)
        if "body" in fields:
            return Send(orjson.dumps(fields["body"]))
        if "status" in fields:
            return Fail(**fields)
        fields["calls"] = tuple(_raw_call(**call) for call in fields.get("calls", ()))
        fields["usage"] = Usage(**fields.get("usage", {}))
        return Say(**fields)
    except (orjson.JSONDecodeError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{where} is no recorded reply: {error}") from error


def _raw_call(name: str, arguments: object) -> RawCall:
    return RawCall(name, arguments if isinstance(arguments, str) else json.dumps(arguments))


def play_script(script: Script, *, goodbye: str = DONE) -> Callable[[ModelRequest], Say]:
    """A model that plays a script, a call a turn, and says goodbye where the script ends.

    It has no memory: from each request it plays the script up to where the conversation is, so
    that one server serves any number of episodes at once, and a request that is sent again gets
    the same reply.
    """

    def play(request: ModelRequest) -> Say:
        opening, *results = _observations(request)
        moves = script(opening)
        try:
            action = next(moves)
            for result in results:
                action = moves.send(result)
        except StopIteration:
            return Say(goodbye)
        finally:
            moves.close()
        return request.calling(action)

    return play


def play_controls(
    names: Sequence[str], *, control: str = "oracle", seeds: Iterable[int] = (0,)
) -> Player:
    """A model that plays a control of whichever task it is asked about.

    It knows the task by the words that open it, so for tasks that open alike it plays the first.

    Args:
        names: ids of tasks, or names of suites.
        control: the control's name or kind.
        seeds: the seeds that it is prepared for.
    """
    players: dict[str, Player] = {}
    chosen_seeds = tuple(seeds)
    for _, task in find_tasks(names):
        chosen = task.control(control)
        values = task.values(chosen.parameters)
        for seed in chosen_seeds:
            opening = task.build(seed, values).opening
            players.setdefault(opening, play_script(chosen.script))

    def play(request: ModelRequest) -> Reply:
        opening = _opening(request.user_texts[0]).message
        player = players.get(opening)
        return (
            Fail(400, f"no task opens so: {opening[:80]!r}") if player is None else player(request)
        )

    return play


def _observations(request: ModelRequest) -> list[Observation]:
    """The first observation and those that followed, as far as a model sees them."""
    first, *rest = request.user_texts
    results = request.results if request.is_native else _RESULT.findall("\n".join(rest))
    return [_opening(first), *(Observation(**orjson.loads(text)) for text in results)]


def _opening(text: str) -> Observation:
    message, _, last = text.rpartition("\n\n{")
    try:
        data: Mapping[str, Any] = orjson.loads("{" + last)
    except orjson.JSONDecodeError:
        message, data = text, {}
    return Observation(True, "ready", message or text, data, 0, 0)


def with_faults(
    player: Player, rate: float, *, seed: int = 0, stall: bool = True, retry_after_s: float = 0.0
) -> Player:
    """A player some of whose replies go wrong, drawn by a seed in the order of the requests.

    Args:
        player: who answers the others.
        rate: the share of requests that go wrong, 0 to 1.
        seed: what the draws are made from.
        stall: whether some replies never end; a client finds out by its own deadline.
        retry_after_s: what a 429 asks to wait.
    """
    draw = Random(seed)

    def play(request: ModelRequest) -> Reply:
        goes_wrong, kind = draw.random() < rate, draw.randrange(6 if stall else 5)
        reply = player(request)
        if not goes_wrong or not isinstance(reply, Say):
            return reply
        return (
            Fail(429, "slow down", {"Retry-After": f"{retry_after_s:g}"}),
            Fail(500, "the server is broken"),
            Half(reply),
            Drop(),
            Drop(reply),
            Stall(reply),
        )[kind]

    return play
