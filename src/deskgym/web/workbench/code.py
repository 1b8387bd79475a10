"""An episode as code: the same settings and actions in Python, and for the API in a shell.

Code is printable ASCII: what an agent wrote can hide nothing in it.
"""

from __future__ import annotations

import json
import keyword
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from deskgym.runstore.state import EpisodeState
from deskgym.tool import Tool
from deskgym.trajectory import Action
from deskgym.web.site import Visit


class Snippet(NamedTuple):
    """Code to copy."""

    name: str
    title: str
    text: str


def snippets(visit: Visit, state: EpisodeState, actions: Sequence[Action]) -> list[Snippet]:
    """An episode so far as code."""
    request = visit.request
    address = f"{request.url.scheme}://{request.url.netloc}{visit.site.prefix}"
    keyed = bool(visit.service.keys)
    return [
        Snippet("python", "Python, in your own process", python(state, actions)),
        Snippet("curl", "curl, on this server", curl(address, state, actions, keyed=keyed)),
    ]


def python(state: EpisodeState, actions: Sequence[Action]) -> str:
    """Python that takes the same actions in a fresh world, and explains the reward."""
    given = [ascii(state.task), f"rubric={state.rubric!a}"]
    given += [f"{name}={value}" for name, value in state.parameters.items()]
    lines = [
        "import deskgym",
        "",
        f"env = deskgym.make({', '.join(given)})",
        f"observation = env.reset(seed={state.seed})",
        *(f"observation = env.step({_call(action)})" for action in actions),
        "print(env.score().explain())",
    ]
    return "\n".join(lines) + "\n"


def _call(action: Action) -> str:
    arguments = action.arguments
    if not isinstance(arguments, dict):
        return f"deskgym.Action({action.tool!a}, {arguments!a})"
    given: dict[str, Any] = arguments  # pyright: ignore[reportUnknownVariableType]
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in given):
        words = [ascii(action.tool), *(f"{name}={value!a}" for name, value in given.items())]
        return f"deskgym.call({', '.join(words)})"
    return f"deskgym.Action({action.tool!a}, {given!a})"


def curl(address: str, state: EpisodeState, actions: Sequence[Action], *, keyed: bool) -> str:
    """Shell lines that take the same actions on a server, and ask for the score."""
    made = {
        "task": state.task, "seed": state.seed, "parameters": state.parameters,
        "rubric": state.rubric,
    }  # fmt: skip
    key = ' -H "Authorization: Bearer $DESKGYM_API_KEY"' if keyed else ""
    send = f"curl -sS{key} -H 'Content-Type: application/json'"
    read_id = "python3 -c 'import json, sys; print(json.load(sys.stdin)[\"id\"])'"
    lines = [
        f"URL={shlex.quote(f'{address}/api/episodes')}",
        f'EPISODE=$({send} "$URL" -d {_body(made)} | {read_id})',
    ]
    for number, action in enumerate(actions, start=1):
        body = _body({"action": action.to_dict(), "number": number})
        lines.append(f'{send} "$URL/$EPISODE/steps" -d {body}')
    lines.append(f'curl -sS{key} "$URL/$EPISODE/score"')
    return "\n".join(lines) + "\n"


def _body(value: object) -> str:
    return shlex.quote(json.dumps(value))


def empty_command(tool: Tool) -> str:
    """A raw command to start from: a tool, and its needed arguments left empty."""
    needed = {parameter.name: "" for parameter in tool.parameters if parameter.required}
    command = {"tool": tool.name, "arguments": needed}
    return orjson.dumps(command, option=orjson.OPT_INDENT_2).decode()
