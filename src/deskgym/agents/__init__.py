"""Agents: scripts, models behind an API, and people, each found by name."""

from deskgym.agents.null import null
from deskgym.agents.player import Agent, AgentBriefing, AgentTurn, Player, Seen
from deskgym.agents.scripted import ScriptedAgent
from deskgym.agents.scripts import EVERYWHERE, OF_SUITE, agents_of, find_agent
from deskgym.agents.source import AgentOptions, AgentSource, is_model, open_agent

__all__ = [
    "EVERYWHERE",
    "OF_SUITE",
    "Agent",
    "AgentBriefing",
    "AgentOptions",
    "AgentSource",
    "AgentTurn",
    "Player",
    "ScriptedAgent",
    "Seen",
    "agents_of",
    "find_agent",
    "is_model",
    "null",
    "open_agent",
]
