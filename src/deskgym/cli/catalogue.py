"""`deskgym tasks` and `deskgym tools`: what there is."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from deskgym.cli.console import AsJson, escape, out, print_json, table
from deskgym.dispatch import COMMON_CODES
from deskgym.suite import find_tasks, load_suite
from deskgym.task import Task
from deskgym.tool import Tool


def tasks(
    suite: Annotated[str | None, typer.Argument(help="A suite; all of them by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the tasks, what each asks, and the parameters that it takes."""
    found = find_tasks([suite] if suite else [])
    if as_json:
        print_json([_task_as_json(owner.name, task) for owner, task in found])
        return
    rows = table("task", "question", "parameters", whole=("task",))
    for owner, task in found:
        rows.add_row(f"{owner.name}/{task.name}", escape(task.question), _parameters(task))
    out.print(rows)


def _parameters(task: Task) -> str:
    return "\n".join(
        f"{item.name} {item.minimum}-{item.maximum} (default {item.default})"
        for item in task.parameters
    )


def _task_as_json(suite: str, task: Task) -> dict[str, Any]:
    return {
        "id": f"{suite}/{task.name}",
        "title": task.title,
        "question": task.question,
        "parameters": [vars(parameter) for parameter in task.parameters],
        "controls": [
            {
                "name": control.name,
                "kind": control.kind,
                "title": control.title,
                "reward": control.reward,
                "rewards": dict(control.rewards),
                "parameters": dict(control.parameters),
            }
            for control in task.controls
        ],
    }


class SchemaFormat(StrEnum):
    """Whose tool schemas to print."""

    openai = "openai"
    anthropic = "anthropic"
    mcp = "mcp"


def tools(
    suite: Annotated[str, typer.Argument(help="A suite.")],
    schemas: Annotated[
        SchemaFormat | None,
        typer.Option("--format", help="Print the schemas as this API takes them, as JSON."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List a suite's tools: arguments, what they do, and the codes that they answer with."""
    toolbox = load_suite(suite).toolbox
    if schemas is not None:
        print_json([getattr(tool, schemas.value)() for tool in toolbox.values()])
        return
    if as_json:
        print_json([_tool_as_json(tool) for tool in toolbox.values()])
        return
    rows = table("tool", "kind", "what it does", "codes")
    for tool in toolbox.values():
        arguments = ", ".join(
            item.name if item.required else f"{item.name}?" for item in tool.parameters
        )
        first = tool.description.partition("\n\n")[0]
        rows.add_row(f"{tool.name}({arguments})", tool.kind, escape(first), ", ".join(tool.codes))
    out.print(rows)
    out.print(f"\nAny call can also be answered with {', '.join(COMMON_CODES)}.")


def _tool_as_json(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "kind": tool.kind,
        "description": tool.description,
        "parameters": tool.schema,
        "codes": list(tool.codes),
    }
