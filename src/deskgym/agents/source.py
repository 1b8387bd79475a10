"""Agents by name: a script of the task, a built-in agent, a model behind an API, or a person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from deskgym.agents.human import HUMAN, HumanAgent
from deskgym.agents.model import ModelAgent, ToolProtocol
from deskgym.agents.player import Agent
from deskgym.agents.scripted import ScriptedAgent
from deskgym.agents.scripts import find_agent
from deskgym.models.open import DIALECTS, http_model
from deskgym.models.options import ModelOptions
from deskgym.suite import Suite
from deskgym.task import Task


@dataclass(frozen=True)
class AgentOptions:
    """How agents are made.

    Attributes:
        model: where a model is and how it is asked.
        protocol: how it calls tools.
        stop_at_call: by the text protocol, whether the provider is told to stop after a call, so
            that a model cannot write the results itself; it can then make one call a turn.
    """

    model: ModelOptions = field(default_factory=ModelOptions)
    protocol: ToolProtocol = "native"
    stop_at_call: bool = False


class AgentSource(Protocol):
    """Gives the agent for a task. Models of one source share their connections."""

    def agent_for(self, suite: Suite, task: Task) -> Agent:
        """The agent for a task; raises `UnknownName` for a script that the task does not have."""
        ...


@dataclass(frozen=True)
class _Scripts:
    name: str

    def agent_for(self, suite: Suite, task: Task) -> Agent:
        return ScriptedAgent(self.name, find_agent(suite, task, self.name))


@dataclass(frozen=True)
class _Always:
    agent: Agent

    def agent_for(self, suite: Suite, task: Task) -> Agent:
        del suite, task
        return self.agent


def is_model(name: str) -> bool:
    """Whether an agent's name means a model: `openai:MODEL` or `anthropic:MODEL`."""
    provider, colon, _ = name.partition(":")
    return bool(colon) and provider in DIALECTS


@asynccontextmanager
async def open_agent(name: str, options: AgentOptions | None = None) -> AsyncGenerator[AgentSource]:
    """Agents of a name, for as long as the block lasts; to be used in one event loop.

    Args:
        name: a script's or built-in agent's name, `openai:MODEL`, `anthropic:MODEL` or `human`.
        options: how models are reached and asked.

    Raises:
        UsageError: the name names no provider or no model, or the options do not fit.
    """
    if name == HUMAN:
        yield _Always(HumanAgent())
    elif ":" in name:
        async with open_model_agent(name, options or AgentOptions()) as agent:
            yield _Always(agent)
    else:
        yield _Scripts(name)


@asynccontextmanager
async def open_model_agent(name: str, options: AgentOptions) -> AsyncGenerator[ModelAgent]:
    """A model as an agent, for as long as the block lasts.

    Raises:
        UsageError: the name names no provider or no model, or the options do not fit.
    """
    asked = options.model
    async with http_model(name, asked) as model:
        yield ModelAgent(
            name, model, options.protocol, options.stop_at_call, asked.retry, asked.prices
        )
