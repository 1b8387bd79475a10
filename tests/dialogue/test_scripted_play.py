"""Scripts through the dialogue: the same run as without it."""

from __future__ import annotations

import asyncio

import pytest

import deskgym
from deskgym.agents import ScriptedAgent, open_agent
from deskgym.dialogue import PlayedEpisode, play_dialogue
from deskgym.environment import Environment
from deskgym.errors import UnknownName
from deskgym.recording import parse
from deskgym.runner import record
from deskgym.task import Control

CONTROLS = [
    (f"{suite.name}/{task.name}", control)
    for suite, task in deskgym.find_tasks()
    for control in task.controls
]


def found(task: str) -> tuple[deskgym.Suite, deskgym.Task]:
    return deskgym.find_tasks([task])[0]


def played(task: str, control: Control) -> PlayedEpisode:
    with Environment(*found(task), parameters=control.parameters) as environment:
        agent = ScriptedAgent(control.name, control.script)
        return asyncio.run(play_dialogue(environment, agent, seed=3))


@pytest.mark.parametrize(("task", "control"), CONTROLS)
def test_a_control_earns_its_reward_and_leaves_the_recording_that_record_makes(
    task: str, control: Control
) -> None:
    episode = played(task, control)
    assert episode.status == "reward"
    assert episode.score is not None
    assert episode.reward == control.reward_by(episode.score.rubric)
    with Environment(*found(task), parameters=control.parameters) as environment:
        expected = record(environment, control.script, 3, agent=control.name)
    assert episode.recording is not None
    assert episode.recording.to_json() == expected.to_json()
    assert parse(episode.recording.to_json()).header.format == 1


def test_a_script_costs_nothing_and_asks_no_model() -> None:
    episode = played(*next(each for each in CONTROLS if each[0] == "service/damaged-lamp"))
    assert episode.usage == (0, 0, 0)
    assert episode.cost_usd == 0
    assert episode.latencies_s == ()
    assert episode.termination == "agent_stopped"


def test_a_script_is_found_by_its_name_for_each_task() -> None:
    async def names() -> list[str]:
        async with open_agent("oracle") as agents:
            return [
                agents.agent_for(suite, task).name
                for suite, task in deskgym.find_tasks(["tickets"])
            ]

    assert asyncio.run(names()) == ["oracle"] * 3


def test_a_script_that_the_task_does_not_have_is_named() -> None:
    async def find() -> None:
        async with open_agent("oracel") as agents:
            agents.agent_for(*deskgym.find_tasks(["tickets"])[0])

    with pytest.raises(UnknownName, match="did you mean 'oracle'"):
        asyncio.run(find())
