"""deskgym: reinforcement-learning environments for customer service and back-office work.

An agent gets tools that change a store's records, and its reward is what the records end up
saying, not what it said.
"""

from deskgym.environment import Environment, make
from deskgym.errors import DeskgymError, InvalidParameter, UnknownName, UsageError
from deskgym.rubric import Score
from deskgym.suite import Suite, find_tasks, load_suite, suite_names
from deskgym.task import Control, Fixture, Parameter, Task
from deskgym.tool import Desk, Result, Tool, Toolbox, tool
from deskgym.trajectory import Action, Observation, Step, call

__all__ = [
    "Action",
    "Control",
    "Desk",
    "DeskgymError",
    "Environment",
    "Fixture",
    "InvalidParameter",
    "Observation",
    "Parameter",
    "Result",
    "Score",
    "Step",
    "Suite",
    "Task",
    "Tool",
    "Toolbox",
    "UnknownName",
    "UsageError",
    "call",
    "find_tasks",
    "load_suite",
    "make",
    "suite_names",
    "tool",
]
