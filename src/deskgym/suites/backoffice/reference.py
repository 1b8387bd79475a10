"""The suite's tools, tasks and checks as Markdown, for its document."""

from __future__ import annotations

from deskgym.rubric.check import Check
from deskgym.rubric.checks import CheckCase
from deskgym.rubric.score import as_reward
from deskgym.suites.backoffice import suite
from deskgym.suites.backoffice.policy import policy_text
from deskgym.task import Task
from deskgym.tool import Tool


def tools() -> str:
    """A table of the tools: what they are for and what they answer."""
    lines = ["| tool | kind | what it does | codes |", "|---|---|---|---|"]
    for tool in suite.toolbox.values():
        what = " ".join(tool.description.split("\n\n")[0].split())
        codes = ", ".join(f"`{code}`" for code in tool.codes)
        lines.append(f"| `{_signature(tool)}` | {tool.kind} | {what} | {codes} |")
    return "\n".join(lines)


def _signature(tool: Tool) -> str:
    names = (
        parameter.name if parameter.required else f"{parameter.name}?"
        for parameter in tool.parameters
    )
    return f"{tool.name}({', '.join(names)})"


def tasks() -> str:
    """A table of the tasks, with their parameters."""
    lines = ["| task | what it asks | parameters | controls |", "|---|---|---|---|"]
    for task in suite.tasks:
        parameters = ", ".join(f"`{item.name}`" for item in task.parameters)
        lines.append(
            f"| `backoffice/{task.name}` | {task.question} | {parameters} | {len(task.controls)} |"
        )
    return "\n".join(lines)


def checks() -> str:
    """A table of the checks by task, with their weights."""
    lines = ["| task | check | weight | holds when |", "|---|---|---|---|"]
    for task in suite.tasks:
        case = _case(task)
        for item in case.required:
            lines.append(_line(task, item.check.check, as_reward(item.points)))
        for bound in case.forbidden:
            lines.append(_line(task, bound.check, "forbidden"))
    return "\n".join(lines)


def _case(task: Task) -> CheckCase:
    case = task.build(0, task.values({})).case
    assert isinstance(case, CheckCase), "the suite's cases are of checks"
    return case


def _line(task: Task, check: Check, weight: str) -> str:
    return f"| {task.name} | `{check.name}` | {weight} | {check.sentence} |"


def policy() -> str:
    """The policy as one seed has it, as a quotation."""
    numbers = {"return_window_days": 30, "damage_window_days": 10, "parcel_wait_days": 5}
    text = policy_text(numbers, "UTC-05:00")
    return "\n".join(f"> {line}" if line else ">" for line in text.strip().splitlines())
