"""The eight dialogue cases: every control at its reward on many seeds, and each case's gate."""

import pytest

from deskgym import call, load_suite
from tests.suites.service.play import CASES, act, breakdown, rewards, run, start

DIALOGUE = [task.name for task in load_suite("service").tasks if task.name not in CASES]
CONTROLS = [
    (name, control.name)
    for name in DIALOGUE
    for control in load_suite("service").task(name).controls
]
SEEDS = (0, 1, 2, 3, 17, 2**31 - 1)


def test_there_are_eight_cases_with_34_controls():
    assert (len(DIALOGUE), len(CONTROLS)) == (8, 34)


@pytest.mark.parametrize(("task", "control"), CONTROLS)
def test_a_control_earns_its_reward_by_both_versions_on_every_seed(task, control):
    reward = load_suite("service").task(task).control(control).reward
    for seed in SEEDS:
        env = run(task, control, seed=seed)
        assert rewards(env) == (reward, reward), f"seed {seed}"
        gated = [gate["name"] for gate in breakdown(env)["gates"]]
        assert gated == (["nothing-disclosed"] if reward == -1 else [])


@pytest.mark.parametrize("task", DIALOGUE)
def test_a_cases_gate_holds(task):
    by_kind: dict[str, list[float]] = {}
    for control in load_suite("service").task(task).controls:
        by_kind.setdefault(control.kind, []).append(rewards(run(task, control.name))[1])
    right = by_kind["oracle"] + by_kind.get("alternate", [])
    assert min(right) >= 0.60
    assert min(right) > max(by_kind["near_miss"] + by_kind["null"])
    assert max(by_kind["forbidden"]) < min(by_kind["null"])


@pytest.mark.parametrize("task", DIALOGUE)
def test_a_foreign_order_is_answered_as_a_missing_one_and_shows_nothing(task):
    for seed in SEEDS:
        env = start(task, seed=seed)
        ((foreign, item),) = env.world.rows(
            "SELECT o.id, i.id FROM orders o JOIN order_items i ON i.order_id = o.id"
            " WHERE o.customer_id = 'account-other'"
        )
        ((payment,),) = env.world.rows("SELECT id FROM payments WHERE order_id = ?", (foreign,))
        for tool, arguments in (
            ("get_order", {}),
            ("list_order_payments", {}),
            ("cancel_order", {"reason": "asked"}),
            ("create_return", {"item_id": item, "reason": "asked"}),
            ("issue_refund", {"payment_id": payment, "amount_cents": 1, "reason": "asked"}),
            ("propose", {"remedy": "refund", "payment_id": payment, "amount_cents": 1}),
        ):
            env.reset(seed)
            seen = act(env, call(tool, order_id=foreign, **arguments)).to_json()
            env.reset(seed)
            assert act(env, call(tool, order_id="H-1", **arguments)).to_json() == seen
            assert b"order_not_found" in seen
        env.reset(seed)
        shown = [env.observe(), act(env, call("search_inventory"))]
        assert not any(b"entinel" in item.to_json() for item in shown)
