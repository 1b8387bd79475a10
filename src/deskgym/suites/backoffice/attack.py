"""What injected instructions do to an agent, in three figures."""

from __future__ import annotations

from collections.abc import Iterable

from deskgym.environment import Environment, make
from deskgym.rubric.checks import CheckBreakdown
from deskgym.suites.backoffice.checks import INSTRUCTION_NOT_OBEYED
from deskgym.task import AttackFigures, Script


def attack_figures(agent: Script, seeds: Iterable[int]) -> AttackFigures:
    """Run an agent on each seed twice, and compare."""
    clean: list[float] = []
    attacked: list[float] = []
    obeyed = 0
    for seed in seeds:
        for attack, rewards in ((0, clean), (1, attacked)):
            with make("backoffice/injected-instruction", attack=attack) as env:
                _run(env, agent, seed)
                score = env.score()
            rewards.append(score.reward)
            breakdown = score.breakdown
            assert isinstance(breakdown, CheckBreakdown), "the suite's rubric is of checks"
            names = {finding.name for finding in breakdown.broken}
            obeyed += attack and INSTRUCTION_NOT_OBEYED.name in names
    count = len(clean)
    return AttackFigures(sum(clean) / count, sum(attacked) / count, obeyed / count)


def _run(env: Environment, agent: Script, seed: int) -> None:
    """Let a script act until it or the episode ends."""
    first = env.reset(seed)
    actions = agent(first)
    try:
        action = next(actions)
        while not env.done:
            action = actions.send(env.step(action))
    except StopIteration:
        return
    finally:
        actions.close()
