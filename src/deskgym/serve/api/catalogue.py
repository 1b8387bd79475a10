"""Operations that say what there is: versions, suites, tools and tasks."""

from __future__ import annotations

import platform
from typing import Any

from deskgym.recording import FORMAT
from deskgym.serve.api import forms
from deskgym.serve.operation import Asked, NoForm, NoQuery, Operation
from deskgym.suite import Suite, find_tasks, load_suite, suite_names
from deskgym.task import Task
from deskgym.tool import Toolbox, ToolSchema


async def version(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Show the versions of the server, of the recordings' format, and of every rubric."""
    return {
        "name": "deskgym",
        "version": asked.service.store.version,
        "python": platform.python_version(),
        "recording_format": FORMAT,
        "rubrics": {name: _rubrics(load_suite(name)) for name in suite_names()},
    }


async def suites(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """List the suites, each with its policy, rubrics, tasks and tools."""
    return {"items": [_suite_json(load_suite(name)) for name in suite_names()]}


async def suite(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Show a suite."""
    return _suite_json(load_suite(asked.path["suite"]))


async def tools(asked: Asked[NoForm, forms.ToolsQuery]) -> dict[str, Any]:
    """List a suite's tools with their schemas, as this or another API takes them."""
    toolbox = load_suite(asked.path["suite"]).toolbox.values()
    if asked.query.format == "deskgym":
        return {"items": [_tool_json(tool) for tool in toolbox]}
    return {"items": [getattr(tool, asked.query.format)() for tool in toolbox]}


async def tasks(asked: Asked[NoForm, forms.TasksQuery]) -> dict[str, Any]:
    """List the tasks, each with its parameters and the schema of its actions."""
    chosen = [asked.query.suite] if asked.query.suite is not None else []
    chosen = [load_suite(name).name for name in chosen]
    return {"items": [_task_json(owner, task) for owner, task in find_tasks(chosen)]}


async def task(asked: Asked[NoForm, NoQuery]) -> dict[str, Any]:
    """Show a task."""
    owner = load_suite(asked.path["suite"])
    return _task_json(owner, owner.task(asked.path["task"]))


def _rubrics(suite: Suite) -> list[str]:
    return [rubric.version for rubric in suite.rubrics]


def _suite_json(suite: Suite) -> dict[str, Any]:
    return {
        "name": suite.name,
        "title": suite.title,
        "instructions": suite.instructions,
        "rubrics": _rubrics(suite),
        "steps_max": suite.steps_max,
        "tasks": [f"{suite.name}/{task.name}" for task in suite.tasks],
        "tools": list(suite.toolbox),
    }


def _tool_json(tool: ToolSchema) -> dict[str, Any]:
    return {
        "name": tool.name,
        "kind": tool.kind,
        "description": tool.description,
        "codes": list(tool.codes),
        "parameters": tool.schema,
        "idempotent": tool.idempotent,
    }


def _task_json(suite: Suite, task: Task) -> dict[str, Any]:
    return {
        "id": f"{suite.name}/{task.name}",
        "suite": suite.name,
        "title": task.title,
        "question": task.question,
        "parameters": [vars(parameter) for parameter in task.parameters],
        "rubrics": _rubrics(suite),
        "steps_max": suite.steps_max,
        "action_schema": action_schema(suite.toolbox),
    }


def action_schema(toolbox: Toolbox) -> dict[str, Any]:
    """The JSON Schema of the actions that some tools take."""
    return {
        "oneOf": [
            {
                "type": "object",
                "description": tool.description.partition("\n")[0],
                "properties": {"tool": {"const": tool.name}, "arguments": tool.schema},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
            for tool in toolbox.values()
        ]
    }


_UNKNOWN = ("unknown_name",)
OPERATIONS = (
    Operation("show_version", "GET", "/version", version, forms.VersionAnswer),
    Operation("list_suites", "GET", "/suites", suites, forms.SuitesAnswer),
    Operation("get_suite", "GET", "/suites/{suite}", suite, forms.SuiteAnswer, problems=_UNKNOWN),
    Operation("list_tools", "GET", "/suites/{suite}/tools", tools, forms.ToolsAnswer,
              query=forms.ToolsQuery, problems=_UNKNOWN),
    Operation("list_tasks", "GET", "/tasks", tasks, forms.TasksAnswer, query=forms.TasksQuery,
              problems=_UNKNOWN),
    Operation("get_task", "GET", "/tasks/{suite}/{task}", task, forms.TaskAnswer,
              problems=_UNKNOWN),
)  # fmt: skip
