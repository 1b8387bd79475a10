"""Episodes against the scripted model server, for tests."""

from __future__ import annotations

import asyncio
from typing import Any

import deskgym
from deskgym.agents import AgentOptions, open_agent
from deskgym.agents.model import ToolProtocol
from deskgym.customers import Customer
from deskgym.dialogue import Limits, PlayedEpisode, play_dialogue
from deskgym.environment import Environment
from deskgym.models.options import ModelOptions, RetryPolicy, Sampling
from deskgym.testing.model_server import ModelServer, Player, Provider

KEY = "sk-sentinel-0123456789"
QUICK = RetryPolicy(wait_s=0.001, wait_max_s=0.01)


def options_for(
    server: ModelServer, provider: Provider = "openai", **settings: Any
) -> ModelOptions:
    """How the server is reached: quick to try again, with a key that nothing may show."""
    defaults = {"base_url": server.url(provider), "api_key": KEY, "retry": QUICK, "timeout_s": 20}
    return ModelOptions(**{**defaults, **settings})


def play_model(
    player: Player,
    task: str = "service/damaged-lamp",
    *,
    provider: Provider = "openai",
    protocol: ToolProtocol = "native",
    stream: bool = False,
    stop_at_call: bool = False,
    seed: int = 0,
    limits: Limits | None = None,
    customer: Customer | None = None,
    sampling: Sampling | None = None,
    parameters: dict[str, int] | None = None,
    **settings: Any,
) -> PlayedEpisode:
    """One episode of a model that the player is."""

    ((suite, chosen),) = deskgym.find_tasks([task])

    async def play(server: ModelServer) -> PlayedEpisode:
        model = options_for(
            server, provider, stream=stream, sampling=sampling or Sampling(), **settings
        )
        options = AgentOptions(model, protocol, stop_at_call)
        async with open_agent(f"{provider}:scripted", options) as agents:
            with Environment(suite, chosen, parameters=parameters) as environment:
                agent = agents.agent_for(environment.suite, environment.task)
                return await play_dialogue(environment, agent, customer, seed=seed, limits=limits)

    with ModelServer(player, api_key=KEY) as server:
        episode = asyncio.run(play(server))
    assert not server.failures
    return episode
