"""The example of the specification: a refund earns 0.75, and a purchase nobody asked for 0."""

import apsw
import pytest

from deskgym import Environment, Task, call, make
from deskgym.rubric.checks import CheckBreakdown
from deskgym.runner import play as play_script
from deskgym.store import Engine, World
from deskgym.suites.backoffice import suite
from tests.suites.backoffice.play import actions_of, broken


def out_of_stock_seed() -> int:
    for seed in range(20):
        if any(item.tool == "issue_refund" for item in actions_of("damaged-item", "oracle", seed)):
            return seed
    raise AssertionError("no seed is out of stock")


@pytest.fixture
def seed() -> int:
    return out_of_stock_seed()


def test_the_worked_example(seed: int):
    with make("backoffice/damaged-item") as desk:
        desk.reset(seed)
        policy, thread, order, stock, refund, reply, submit = actions_of(
            "damaged-item", "oracle", seed
        )
        rewards: list[float] = []
        for action in (policy, call("list_inbox", status="open"), thread, order, stock):
            desk.step(action)
            rewards.append(desk.score().reward)
        assert rewards == [0, 0, 0, 0, 0]

        assert desk.step(refund).ok
        assert desk.score().reward == 0.75
        sku = stock.arguments["sku"]  # type: ignore[index]
        assert desk.step(call("create_purchase_order", sku=sku, qty=20)).ok
        assert desk.score().reward == 0
        assert broken(desk) == {
            "only-task-rows-changed": (
                "unexpected: change budgets main, add purchase_orders PO-000013"
            ),
            "reply-mentions-order": broken(desk)["reply-mentions-order"],
        }
        desk.step(reply)
        desk.step(submit)

        score = desk.score()
        assert (score.reward, score.verdict) == (0, "not_resolved")
        assert isinstance(score.breakdown, CheckBreakdown)
        assert [(item.name, item.forbidden, item.holds) for item in score.breakdown.findings] == [
            ("correct-remedy", False, True),
            ("reply-mentions-order", False, True),
            ("no-refund-when-in-stock", True, True),
            ("only-task-rows-changed", True, False),
            ("refunds-follow-policy", True, True),
        ]
        assert "unexpected: change budgets main, add purchase_orders PO-000013" in score.explain()
        data = score.to_dict()["breakdown"]["checks"]
        assert [check["weight"] for check in data] == [0.75, 0.25, 0, 0, 0]
        assert data[3]["rows"] == [
            {"operation": "change", "table_name": "budgets", "row_key": "main"},
            {"operation": "add", "table_name": "purchase_orders", "row_key": "PO-000013"},
        ]


def test_every_step_of_the_example_is_replayed_alike(seed: int):
    def run() -> list[object]:
        with make("backoffice/damaged-item") as desk:
            desk.reset(seed)
            made: list[object] = []
            for action in actions_of("damaged-item", "and-a-purchase", seed):
                observation = desk.step(action)
                changes = [change.to_dict() for change in desk.steps[-1].changes]
                made.append((observation.to_json(), changes, desk.score().to_dict()))
            return made

    assert run() == run()


class Fresh:
    """The world without what was kept from earlier scorings."""

    def __init__(self, world: World) -> None:
        self.rows = world.rows
        self.records = world.records


@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_scoring_after_every_step_is_scoring_anew(task: Task):
    rubric = suite.rubric()
    for control in task.controls:
        for seed in range(2):
            environment = Environment(suite, task, parameters=control.parameters)
            moves = control.script(environment.reset(seed))
            action = next(moves, None)
            while action is not None and not environment.done:
                observation = environment.step(action)
                kept = environment.score()
                assert kept == rubric.score(Fresh(environment.world), environment.fixture.case)
                try:
                    action = moves.send(observation)
                except StopIteration:
                    action = None
            environment.close()


def test_a_world_that_is_reset_is_scored_anew(seed: int):
    with make("backoffice/damaged-item") as desk:
        for _ in range(2):
            desk.reset(seed)
            assert desk.score().reward == 0
            for action in actions_of("damaged-item", "oracle", seed):
                desk.step(action)
                desk.score()
            assert desk.score().reward == 1


@pytest.mark.parametrize("task", suite.tasks, ids=lambda task: task.name)
def test_no_answer_hangs_on_the_order_of_an_unordered_scan(task: Task):
    def runs(engine: Engine) -> list[object]:
        made: list[object] = []
        for control in task.controls:
            environment = Environment(suite, task, parameters=control.parameters, engine=engine)
            play_script(environment, control.script)
            made.append((environment.steps, environment.score()))
            environment.close()
        return made

    def reverse(connection: apsw.Connection) -> None:
        connection.execute("PRAGMA reverse_unordered_selects = ON")

    straight, reversed_ = Engine(1), Engine(1)
    expected = runs(straight)
    apsw.connection_hooks.append(reverse)
    try:
        assert runs(reversed_) == expected
    finally:
        apsw.connection_hooks.remove(reverse)
        straight.close()
        reversed_.close()
