"""The agent's seat: what one episode offers over MCP, and what a call is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from deskgym.environment import Environment
from deskgym.errors import InvalidParameter
from deskgym.suite import load_suite
from deskgym.trajectory import Action, Observation

STEP_KEY: Final = "deskgym/step"
"""A call's `_meta` may name the number of its step here; then it can be sent again safely."""

PROMPT: Final = "task"

OUTPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "whether the call did its work"},
        "code": {"type": "string", "description": "what happened"},
        "message": {"type": "string", "description": "the same in a sentence"},
        "data": {"type": "object", "description": "what a read found, what a write made"},
        "step": {"type": "integer", "description": "how many actions were used"},
        "steps_max": {"type": "integer", "description": "how many there are"},
        "done": {"type": "boolean", "description": "whether the episode is over"},
        "ended": {"type": ["string", "null"], "description": "why, if it is"},
    },
    "required": ["ok", "code", "message", "data", "step", "steps_max", "done", "ended"],
    "additionalProperties": False,
}
"""What every tool answers: an observation."""

Step = Callable[[Action, int | None], Awaitable[Observation]]


class Briefing(NamedTuple):
    """What an agent is told before its first action: the policy, and what it is asked."""

    suite: str
    policy: str
    opening: Observation

    @property
    def text(self) -> str:
        """Both as one text."""
        return f"{self.policy.rstrip()}\n\n{self.opening.message}"


def briefing_of(environment: Environment) -> Briefing:
    """The briefing of an episode; the same at every step."""
    return Briefing(environment.suite.name, environment.instructions, environment.opening())


@dataclass(frozen=True)
class Seat:
    """One episode as an MCP server has it. Its values are JSON, in the protocol's own names.

    Attributes:
        briefing: what the agent is told first.
        take: takes an action, with the number of its step if the agent counts.
    """

    briefing: Briefing
    take: Step

    def tools(self) -> list[dict[str, Any]]:
        """The tools, as `tools/list` has them."""
        return tools_of(self.briefing.suite)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Call a tool, as `tools/call` answers: every call is a step of the episode.

        A refused call is an error that the agent sees, and not one of the protocol: so is a
        tool that does not exist, and a call after the end.

        Raises:
            UsageError: what `Episodes.step` raises, and a step's number that is none.
        """
        observation = await self.take(Action(tool, dict(arguments)), _number(meta))
        return {
            "content": [{"type": "text", "text": observation.to_json().decode()}],
            "structuredContent": observation.to_dict(),
            "isError": not observation.ok,
        }

    def prompts(self) -> list[dict[str, Any]]:
        """The prompts, as `prompts/list` has them: the task, for clients that show no policy."""
        description = "The policy and what the customer or the store asks of you."
        return [{"name": PROMPT, "title": "Your task", "description": description}]

    def prompt(self) -> dict[str, Any]:
        """The task as a message to the model, as `prompts/get` answers."""
        message = {"role": "user", "content": {"type": "text", "text": self.briefing.text}}
        return {"description": "The task", "messages": [message]}


@lru_cache(maxsize=64)
def _tools(suite: str) -> tuple[dict[str, Any], ...]:
    toolbox = load_suite(suite).toolbox
    return tuple({**tool.mcp(), "outputSchema": OUTPUT_SCHEMA} for tool in toolbox.values())


def tools_of(suite: str) -> list[dict[str, Any]]:
    """A suite's tools with their annotations and what they answer."""
    return list(_tools(suite))


def _number(meta: Mapping[str, Any]) -> int | None:
    number = meta.get(STEP_KEY)
    if number is None or (type(number) is int and number >= 1):
        return number
    raise InvalidParameter(f"{STEP_KEY} is the number of a step, a whole number from 1")
