"""Tools that say they can be called again: whatever a control does with one, again is nothing."""

import pytest

from deskgym.environment import Environment
from deskgym.suite import Suite, load_suite
from deskgym.trajectory import Action


def repeated(suite: Suite) -> dict[str, int]:
    """Play every control, each call of such a tool twice; how often each tool's was kept."""
    kept: dict[str, int] = {}
    for task in suite.tasks:
        for control in task.controls:
            environment = Environment(suite, task, parameters=control.parameters)
            moves = control.script(environment.reset(0))
            action: Action | None = next(moves, None)
            while action is not None and not environment.done:
                seen = environment.step(action)
                tool = suite.toolbox.get(action.tool)
                if tool is not None and tool.idempotent and seen.ok and not environment.done:
                    environment.step(action)
                    assert environment.steps[-1].changes == (), action
                    kept[tool.name] = kept.get(tool.name, 0) + 1
                try:
                    action = moves.send(seen)
                except StopIteration:
                    break
            environment.close()
    return kept


@pytest.mark.parametrize("name", ["service", "backoffice", "tickets"])
def test_a_tool_that_says_so_changes_nothing_when_it_is_called_again(name: str) -> None:
    suite = load_suite(name)
    claimed = {tool.name for tool in suite.toolbox.values() if tool.idempotent}
    assert set(repeated(suite)) == claimed
    assert (name == "service") is bool(claimed)
