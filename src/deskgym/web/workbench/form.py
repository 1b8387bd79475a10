"""A form for a tool, made from its schema, and the action that a filled form stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import ValidationError

from deskgym.agents.human import value_of
from deskgym.serve.api.forms import ActionForm
from deskgym.tool import Kind, Parameter, Tool, Toolbox
from deskgym.trajectory import Action, Step
from deskgym.web import show

Control = Literal["id", "text", "whole", "choice", "json"]
PREFIX: Final = "arg."
"""What the name of an argument's field starts with, so that no argument is taken for another."""

ID_CHARACTERS_MAX: Final = 64
KINDS: Final[Mapping[Kind, str]] = {
    "read": "Look up",
    "write": "Change",
    "talk": "Talk",
    "end": "Finish",
}


class FormProblem(Exception):
    """Raised for what cannot be sent: a form that is not filled in, or text that is no command.

    Attributes:
        fields: what is wrong, by the name of the argument; `command` for a raw one.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name} {problem}" for name, problem in fields.items()))
        self.fields = dict(fields)


@dataclass(frozen=True)
class Field:
    """One argument in a form.

    Attributes:
        name: the argument's name.
        control: how it is typed in.
        description: what it is for.
        expectation: what would be right.
        default: what it is when it is left out, as text; empty where that means nothing.
        options: the members of its closed set.
        suggestions: values that the records hold.
        limits: the lowest and the highest whole number, where there are any.
        longest: how many characters it may have, or None.
        value: what stands in it.
        problem: what is wrong with that, if anything is.
    """

    name: str
    required: bool
    control: Control
    description: str
    expectation: str
    default: str
    options: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    limits: tuple[int | None, int | None] = (None, None)
    longest: int | None = None
    value: str = ""
    problem: str = ""

    @property
    def cents(self) -> bool:
        """Whether it is an amount of money."""
        return self.control == "whole" and self.name.endswith("_cents")

    def amount(self, currency: str) -> str:
        """The amount that stands in it, as money; empty if there is none."""
        typed = self.value.strip()
        whole = typed.isascii() and typed.isdecimal() and len(typed) < 13
        return show.money(int(typed), currency) if whole else ""


def fields_of(
    tool: Tool,
    values: Mapping[str, str],
    suggestions: Mapping[str, Sequence[str]],
    problems: Mapping[str, str] | None = None,
) -> list[Field]:
    """The fields of a tool's form.

    Args:
        tool: the tool.
        values: what stands in the fields, by argument.
        suggestions: values that the records hold, by the name of a column.
        problems: what is wrong, by argument.
    """
    found = problems or {}
    return [
        _field(parameter, values.get(parameter.name, ""), suggestions,
               found.get(parameter.name, ""))
        for parameter in tool.parameters
    ]  # fmt: skip


def _field(
    parameter: Parameter, value: str, suggestions: Mapping[str, Sequence[str]], problem: str
) -> Field:
    schema = _schema_of(parameter)
    control, options = _control(parameter)
    default = parameter.schema.get("default")
    return Field(
        parameter.name,
        parameter.required,
        control,
        str(parameter.schema.get("description", "")),
        parameter.expectation(),
        "" if default is None else show.as_json(default, indent=False).strip('"'),
        options,
        tuple(_suggested(parameter.name, suggestions)) if control == "id" else (),
        (schema.get("minimum"), schema.get("maximum")),
        schema.get("maxLength"),
        value,
        problem,
    )


def _schema_of(parameter: Parameter) -> Mapping[str, Any]:
    """The one schema that a value other than null has to fit; of a union the whole."""
    parts = [part for part in parameter.schema.get("anyOf", ()) if part.get("type") != "null"]
    return parts[0] if len(parts) == 1 else parameter.schema


def _control(parameter: Parameter) -> tuple[Control, tuple[str, ...]]:
    schema = _schema_of(parameter)
    if "const" in schema or "enum" in schema:
        return "choice", tuple(map(str, schema.get("enum", [schema.get("const")])))
    match schema.get("type"):
        case "boolean":
            return "choice", ("true", "false")
        case "integer":
            return "whole", ()
        case "string":
            longest = schema.get("maxLength")
            return "id" if longest is not None and longest <= ID_CHARACTERS_MAX else "text", ()
        case _:
            return "json", ()


def _suggested(name: str, suggestions: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Values of the column of that name; a `replacement_sku` is a `sku`."""
    if name in suggestions:
        return suggestions[name]
    for column, values in suggestions.items():
        if name.endswith(f"_{column}"):
            return values
    return ()


def carried(steps: Sequence[Step]) -> dict[str, str]:
    """The ids that earlier actions named, the latest of each: a case is about few of them."""
    found: dict[str, str] = {}
    for step in steps:
        arguments = step.action.arguments
        if isinstance(arguments, dict):
            given: dict[str, Any] = arguments  # pyright: ignore[reportUnknownVariableType]
            found.update(
                (name, value)
                for name, value in given.items()
                if name.endswith("_id") and isinstance(value, str)
            )
    return found


# What a filled form stands for.


def action_from(toolbox: Toolbox, tool: str, typed: Mapping[str, str]) -> Action:
    """The action of a filled form. What a text may hold is left to the tool to judge.

    Raises:
        FormProblem: a needed argument is empty, or a text is no value of the argument's type.
        UnknownName: there is no such tool.
    """
    arguments: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for parameter in toolbox[tool].parameters:
        text = typed.get(parameter.name, "").replace("\r\n", "\n")
        if not text.strip():
            if parameter.required:
                problems[parameter.name] = f"is missing; it {parameter.expectation()}"
            continue
        try:
            arguments[parameter.name] = _value(parameter, text)
        except ValueError:
            problems[parameter.name] = parameter.expectation()
    if problems:
        raise FormProblem(problems)
    return Action(tool, arguments)


def _value(parameter: Parameter, text: str) -> Any:
    control, options = _control(parameter)
    if control == "choice" and text in options and _schema_of(parameter).get("type") != "boolean":
        return text
    return value_of(parameter, text if control in ("id", "text") else text.strip())


def command_from(text: str) -> Action:
    """The action of a raw command; whatever stands in `arguments` is the tool's to judge.

    Raises:
        FormProblem: it is no JSON, or no command.
    """
    try:
        form = ActionForm.model_validate_json(text)
    except ValidationError as error:
        raise FormProblem({"command": _what_is_wrong(error)}) from None
    return Action(form.tool, form.arguments)


def _what_is_wrong(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    right = 'a command is {"tool": "NAME", "arguments": {…}}'
    return f"{place + ': ' if place else ''}{first['msg']}; {right}"
