"""deskgym: reinforcement-learning environments for customer service and back-office work.

An agent gets tools that change a store's records, and its reward is what the records end up
saying, not what it said.

Names are loaded when they are first used, so that the import itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskgym.argument import Cents, Id, Text
    from deskgym.client import AsyncClient, Client
    from deskgym.desk import Desk, Result
    from deskgym.environment import AnyEnvironment, Environment, make
    from deskgym.errors import (
        DeskgymError,
        InvalidDefinition,
        InvalidParameter,
        Refusal,
        UnknownName,
        UsageError,
    )
    from deskgym.panel import Panel
    from deskgym.rubric import Score
    from deskgym.store import Template
    from deskgym.suite import Suite, find_tasks, load_suite, suite_names, tasks_in
    from deskgym.task import Control, Fixture, Parameter, Task
    from deskgym.tool import Tool, Toolbox
    from deskgym.trajectory import Action, Observation, Step, call

__all__ = [
    "Action",
    "AnyEnvironment",
    "AsyncClient",
    "Cents",
    "Client",
    "Control",
    "Desk",
    "DeskgymError",
    "Environment",
    "Fixture",
    "Id",
    "InvalidDefinition",
    "InvalidParameter",
    "Observation",
    "Panel",
    "Parameter",
    "Refusal",
    "Result",
    "Score",
    "Step",
    "Suite",
    "Task",
    "Template",
    "Text",
    "Tool",
    "Toolbox",
    "UnknownName",
    "UsageError",
    "call",
    "find_tasks",
    "load_suite",
    "make",
    "suite_names",
    "tasks_in",
]

_MODULES = {
    "argument": ("Cents", "Id", "Text"),
    "client": ("AsyncClient", "Client"),
    "desk": ("Desk", "Result"),
    "environment": ("AnyEnvironment", "Environment", "make"),
    "errors": (
        "DeskgymError",
        "InvalidDefinition",
        "InvalidParameter",
        "Refusal",
        "UnknownName",
        "UsageError",
    ),
    "panel": ("Panel",),
    "rubric": ("Score",),
    "store": ("Template",),
    "suite": ("Suite", "find_tasks", "load_suite", "suite_names", "tasks_in"),
    "task": ("Control", "Fixture", "Parameter", "Task"),
    "tool": ("Tool", "Toolbox"),
    "trajectory": ("Action", "Observation", "Step", "call"),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'deskgym' has no attribute {name!r}")
    value = getattr(import_module(f"deskgym.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
