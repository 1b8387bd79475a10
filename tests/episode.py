"""Episodes played by a task's own controls, and what they leave, in one text."""

from __future__ import annotations

import json
from hashlib import sha256

from deskgym import Control, Environment, Suite, Task, find_tasks
from deskgym.store import WorldEngine
from deskgym.task import Script

SERVICE = [(suite, task, control) for suite, task in find_tasks(["service"])
           for control in task.controls]  # fmt: skip


def play(environment: Environment, script: Script, seed: int = 0) -> list[bytes]:
    """Let a scripted agent act until it stops; every observation."""
    observation = environment.reset(seed)
    seen = [observation.to_json()]
    agent = script(observation)
    try:
        action = next(agent)
        while True:
            observation = environment.step(action)
            seen.append(observation.to_json())
            action = agent.send(observation)
    except StopIteration:
        return seen


def transcript(
    suite: Suite, task: Task, control: Control, seed: int = 0, engine: WorldEngine | None = None
) -> str:
    """Observations, changes, score and digest of a control's episode."""
    with Environment(suite, task, parameters=control.parameters, engine=engine) as environment:
        seen = play(environment, control.script, seed)
        left = {
            "observations": [line.decode() for line in seen],
            "steps": [step.action_json.decode() for step in environment.steps],
            "changes": [change.to_dict() for change in environment.changes()],
            "by step": [[str(row) for row in step.changes] for step in environment.steps],
            "score": environment.score().to_dict(),
            "explained": environment.score().explain(),
            "digest": environment.world.digest(),
        }
    return json.dumps(left)


def service_hash() -> str:
    """One hash over all the service suite's controls, with two seeds each."""
    lines = [
        transcript(suite, task, control, seed)
        for suite, task, control in SERVICE
        for seed in (0, 12_345)
    ]
    return sha256("\n".join(lines).encode()).hexdigest()


if __name__ == "__main__":
    print(len(SERVICE), service_hash())
