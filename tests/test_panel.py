"""Panels: what they need, and that none shows what no observation may show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deskgym import Environment, InvalidDefinition, Panel, find_tasks, load_suite, suite_names
from deskgym.panel import plain_panels
from deskgym.store import open_engine
from deskgym.store.place import WorldEngine

CHOSEN = {"thread_id": "T-331", "customer_id": "C-120", "order_id": "1152"}


def shown(environment: Environment, panel: Panel) -> list[dict[str, object]]:
    """A panel's records, with what a person might choose."""
    fixture = environment.fixture
    values = {"account": fixture.account, "now": fixture.now, **CHOSEN}
    bound = {name: values[name] for name in panel.bound}
    return environment.look(lambda world: world.records(panel.query, bound))


def panels_of(environment: Environment) -> tuple[Panel, ...]:
    signed_in = environment.fixture.account is not None
    return (*environment.suite.panels, *plain_panels(account=signed_in))


def rows_of(suite: str, task: str, engine: WorldEngine | None = None) -> list[object]:
    """What each panel of a task shows at the start."""
    owner = load_suite(suite)
    with Environment(owner, owner.task(task), engine=engine) as environment:
        environment.reset(0)
        return [(panel.title, shown(environment, panel)) for panel in panels_of(environment)]


def test_a_panel_needs_the_names_that_nobody_gives_it():
    assert Panel("A", "SELECT 1 WHERE :account = :now").needs == ()
    assert Panel("A", "SELECT 1 WHERE :b = :a AND :b <> :account").needs == ("b", "a")


@pytest.mark.parametrize("name", [f"{suite.name}/{task.name}" for suite, task in find_tasks()])
def test_every_panel_of_every_task_can_be_read_and_shows_nothing_private(name: str):
    suite, task = find_tasks([name])[0]
    for seed in (0, 1):
        with Environment(suite, task) as environment:
            environment.reset(seed)
            private = set(environment.fixture.private)
            for panel in panels_of(environment):
                for record in shown(environment, panel):
                    values = {str(value) for value in record.values()}
                    assert not values & private, panel.title


@pytest.mark.parametrize("suite", suite_names())
def test_panels_show_the_same_in_postgresql(postgres_url: str, suite: str):
    task = load_suite(suite).tasks[0].name
    engine = open_engine(postgres_url)
    assert rows_of(suite, task, engine) == rows_of(suite, task)


def test_looking_leaves_the_episode_as_it_is():
    suite, task = find_tasks(["service/damaged-lamp"])[0]
    with Environment(suite, task) as environment:
        environment.reset(0)
        before = environment.score().to_dict(), environment.world.digest()
        for panel in panels_of(environment):
            shown(environment, panel)
        assert (environment.score().to_dict(), environment.world.digest()) == before
        assert environment.steps == ()


def test_a_panel_that_answers_by_a_tool_that_is_not_there_is_refused():
    wrong = Panel("Threads", "SELECT t.id AS thread_id FROM threads t", answer="answer_thread")
    with pytest.raises(InvalidDefinition, match="service has no tool answer_thread to answer from"):
        replace(load_suite("service"), panels=(wrong,))
