"""A person as an agent, in the terminal: the same tools, by forms for their arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from deskgym.agents.player import AgentBriefing, AgentTurn, Player, Seen
from deskgym.models.meter import Meter
from deskgym.protocol import CallError
from deskgym.tool import Parameter, Tool
from deskgym.trajectory import Action, Observation

if TYPE_CHECKING:
    from rich.console import Console

HUMAN: Final = "human"
_UNSAFE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_HELP: Final = (
    "Type a tool's number or name to call it, [bold]policy[/] or [bold]tools[/] to read them "
    "again, [bold]quit[/] to stop."
)
_SAYS: Final = "Anything else that you type is said to the customer."


@dataclass(frozen=True)
class HumanAgent:
    """Whoever sits at the terminal."""

    name: str = HUMAN
    is_budgeted: bool = False

    def start(self, briefing: AgentBriefing, meter: Meter) -> Player:
        """A person in a new episode; asks no model."""
        # Imported here because only a person needs it.
        from rich.console import Console

        del meter
        return HumanPlayer(briefing, Console(highlight=False))


class HumanPlayer:
    """A person in one episode."""

    def __init__(self, briefing: AgentBriefing, console: Console) -> None:
        self._briefing: Final = briefing
        self._tools: Final = list(briefing.toolbox.values())
        self._console: Final = console
        self._show_policy()
        self._show_tools()
        self._say("The case", briefing.opening.message)
        if briefing.opening.data:
            self._data(briefing.opening.data)

    async def turn(self, seen: Seen | None) -> AgentTurn:
        """What the person does next; the end of the input stops, as `quit` does."""
        if seen is not None:
            self._show(seen)
        try:
            while True:
                turn = self._command(self._ask("\n[bold]>[/] "))
                if turn is not None:
                    return turn
        except EOFError:
            self._console.print()
            return AgentTurn(stop=True)

    def _command(self, typed: str) -> AgentTurn | None:
        """The turn that a line asks for; None where it asks for none yet."""
        match typed.lower():
            case "":
                return None
            case "quit" | "exit":
                return AgentTurn(stop=True)
            case "policy":
                self._show_policy()
                return None
            case "tools" | "help" | "?":
                self._show_tools()
                return None
            case _:
                return self._act(typed)

    def _act(self, typed: str) -> AgentTurn | None:
        tool = self._tool(typed)
        if tool is not None:
            arguments = self._form(tool)
            return None if arguments is None else AgentTurn((Action(tool.name, arguments),))
        if not self._briefing.speaks or typed.isdecimal():
            self._console.print(f"There is no such tool. {_HELP}")
            return None
        return AgentTurn(speech=typed)

    def _tool(self, typed: str) -> Tool | None:
        if typed.isascii() and typed.isdecimal() and 1 <= int(typed[:9]) <= len(self._tools):
            return self._tools[int(typed[:9]) - 1]
        return self._briefing.toolbox.get(typed)

    def _form(self, tool: Tool) -> dict[str, Any] | None:
        """The arguments of a call, asked for one by one; None if it is given up."""
        if tool.parameters:
            self._console.print("[dim]An empty line leaves an argument out; ! gives up.[/]")
        arguments: dict[str, Any] = {}
        for parameter in tool.parameters:
            while True:
                typed = self._ask(_question(parameter))
                if typed == "!":
                    return None
                if not typed and not parameter.required:
                    break
                try:
                    arguments[parameter.name] = value_of(parameter, typed)
                except ValueError:
                    self._console.print(f"  It {parameter.expectation()}.")
                else:
                    break
        try:
            tool.validate(arguments)
        except ValidationError as error:
            for name, problem in tool.problems(arguments, error).items():
                self._console.print(f"  {_safe(name)} {_safe(problem)}")
            return None
        return arguments

    def _ask(self, prompt: str) -> str:
        return self._console.input(prompt).strip()

    def _show(self, seen: Seen) -> None:
        for answer in seen.answers:
            self._show_answer(answer)
        if seen.said is not None:
            self._say("The customer", seen.said)
        if seen.notice is not None:
            self._console.print(_safe(seen.notice))

    def _show_answer(self, answer: Observation | CallError) -> None:
        if isinstance(answer, CallError):
            self._console.print(f"[red]{answer.code}[/]: {_safe(answer.hint)}")
            return
        color = "green" if answer.ok else "red"
        left = f"action {answer.step} of {answer.steps_max}"
        self._console.print(f"[{color}]{answer.code}[/]: {_safe(answer.message)} [dim]({left})[/]")
        if answer.data:
            self._data(answer.data)

    def _show_policy(self) -> None:
        self._say("The policy", self._briefing.instructions.strip())

    def _show_tools(self) -> None:
        self._console.print("\n[bold]Tools[/]")
        for number, tool in enumerate(self._tools, start=1):
            first = tool.description.split("\n\n")[0].replace("\n", " ")
            self._console.print(f"{number:>3}  [bold]{tool.name}[/]  {_safe(first)}")
        self._console.print(f"{_HELP} {_SAYS if self._briefing.speaks else ''}")

    def _say(self, who: str, text: str) -> None:
        self._console.print(f"\n[bold]{who}[/]\n{_safe(text)}")

    def _data(self, data: Mapping[str, Any]) -> None:
        self._console.print(_safe(json.dumps(dict(data), indent=2, ensure_ascii=False)))


def _safe(text: str) -> str:
    """A text to print as it is: no markup, and no character that steers a terminal."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text).replace("[", r"\[")


def _choices(parameter: Parameter) -> list[str]:
    parts = (parameter.schema, *parameter.schema.get("anyOf", ()))
    return [str(member) for part in parts for member in part.get("enum", ())]


def _question(parameter: Parameter) -> str:
    choices = _choices(parameter)
    listed = "".join(f"\n    {place} {name}" for place, name in enumerate(choices, start=1))
    optional = "" if parameter.required else " [dim](optional)[/]"
    description = _safe(str(parameter.schema.get("description", "")))
    return f"  [bold]{parameter.name}[/]{optional}: {description}{listed}\n  = "


def value_of(parameter: Parameter, typed: str) -> Any:
    """What a person typed, as the argument's type; raises `ValueError` where it is none.

    A member of a closed set can be given by its number.
    """
    choices = _choices(parameter)
    parts = (parameter.schema, *parameter.schema.get("anyOf", ()))
    kinds = {part.get("type") for part in parts} - {None, "null"}
    if choices and typed.isascii() and typed.isdecimal() and 1 <= int(typed[:9]) <= len(choices):
        return choices[int(typed[:9]) - 1]
    if choices and typed in choices:
        return typed
    if kinds == {"string"} and not choices and typed:
        return typed
    if kinds == {"boolean"} and typed.lower() in ("y", "yes", "n", "no"):
        return typed.lower().startswith("y")
    value = None if kinds == {"string"} else _json_of(typed)
    if value is None or (kinds == {"integer"} and type(value) is not int):
        raise ValueError(f"{parameter.name} {parameter.expectation()}")
    return value


def _json_of(typed: str) -> Any:
    """What a text is as JSON; None if it is none."""
    try:
        return json.loads(typed)
    except (ValueError, RecursionError):
        return None
