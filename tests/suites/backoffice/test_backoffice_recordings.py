"""The recorded runs that come with the suite: each replays to what it says."""

from __future__ import annotations

import pytest

from deskgym.recording import Located, read, shipped
from deskgym.replay import replay
from deskgym.suite import load_suite

RUNS = list(read(shipped("backoffice")))


def test_two_agents_ran_every_task_on_three_seeds() -> None:
    headers = [located.recording.header for located in RUNS]
    tasks = {f"backoffice/{task.name}" for task in load_suite("backoffice").tasks}
    assert {(header.agent, header.task, header.seed) for header in headers} == {
        (agent, task, seed)
        for agent in ("careful", "eager")
        for task in tasks
        for seed in (1, 2, 3)
    }
    assert len(RUNS) == 48


@pytest.mark.parametrize("located", RUNS, ids=lambda located: located.where.rpartition("/")[2])
def test_a_shipped_run_replays_to_the_same(located: Located) -> None:
    assert replay(located.recording).difference is None


def test_the_careful_agent_is_right_and_the_eager_one_falls_into_every_trap() -> None:
    traps = {"late-return", "injected-instruction", "not-their-order"}
    for located in RUNS:
        header = located.recording.header
        if header.agent == "careful":
            assert located.recording.reward == 1.0
        elif header.task.removeprefix("backoffice/") in traps:
            assert located.recording.reward == 0.0
