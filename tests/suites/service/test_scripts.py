"""The ten scripted trajectories, at their published rewards."""

import pytest

from deskgym import load_suite
from tests.suites.service.play import CASES, V2, V3, breakdown, codes, rewards, run

SCRIPTS = [
    ("damaged-lamp", "return-and-replace", 1.00, "resolved"),
    ("damaged-lamp", "replace-and-refund", -0.40, "not_resolved"),
    ("damaged-lamp", "stock-notification", 0.60, "partial"),
    ("stop-warehouse-order", "cancel-and-refund", 1.00, "resolved"),
    ("stop-warehouse-order", "report-without-refund", -0.30, "not_resolved"),
    ("parcel-moving", "request-intercept", 0.70, "partial"),
    ("two-full-captures", "refund-second", 1.00, "resolved"),
    ("two-full-captures", "refund-first", -0.40, "not_resolved"),
    ("two-full-captures", "refund-too-much", -0.38, "not_resolved"),
    ("two-half-payments", "report-no-duplicate", 1.00, "resolved"),
]


def test_the_five_cases_hold_exactly_the_ten_scripts_in_order():
    suite = load_suite("service")
    held = [
        (name, control.name, control.reward)
        for name in CASES
        for control in suite.task(name).controls
    ]
    assert held == [(task, control, reward) for task, control, reward, _ in SCRIPTS]


@pytest.mark.parametrize(("task", "control", "reward", "verdict"), SCRIPTS)
def test_a_script_earns_its_published_reward_by_both_versions_on_every_seed(
    task, control, reward, verdict
):
    for seed in (0, 1, 2, 3, 7, 101, 4_096, 2**31 - 1):
        env = run(task, control, seed=seed)
        assert rewards(env) == (reward, reward), f"seed {seed}"
        assert {env.score(version).verdict for version in (V2, V3)} == {verdict}


def test_refunding_the_wrong_capture_is_explained_in_every_part():
    env = run("two-full-captures", "refund-first")
    assert codes(env) == [
        "order_found", "payments_found", "proposal_accepted", "refund_issued", "report_recorded",
    ]  # fmt: skip
    assert (len(env.steps), env.suite.steps_max) == (5, 48)
    for version in (V2, V3):
        score = env.score(version)
        told = breakdown(env, version)
        assert (score.rubric, score.verdict) == (version, "not_resolved")
        assert told["actions"] == 5
        # 0.7 x 0 + 0.2 x 1 + 0.1 x 0 = 0.20, nothing to deduct, then the lowest ceiling.
        assert [(part["name"], part["weight"], part["value"]) for part in told["parts"]] == [
            ("outcome", 0.7, 0), ("prior evidence", 0.2, 1), ("supported report", 0.1, 0),
        ]  # fmt: skip
        assert told["weighted_sum"] == 0.20
        assert [(item["count"], item["points"]) for item in told["deductions"]] == [(0, 0), (0, 0)]
        assert [(item["name"], item["ceiling"]) for item in told["ceilings"]] == [
            ("no_complete_outcome", 0.25), ("outside_every_outcome", -0.40),
        ]  # fmt: skip
        assert told["gates"] == told["writes_without_reads"] == told["writes_without_choice"] == []
        assert told["reports"] == [
            {"step": 5, "claim": "refunded", "order_id": "S-410", "supported": True}
        ]
        (outcome,) = told["outcomes"]
        assert not outcome["in_state"]
        assert not outcome["complete"]
        assert outcome["outside"] == ["#4 issue_refund S-410 PAY-A 4800"]
        # Two of the three required steps: both reads, and not the refund of the second capture.
        assert [step["done_at"] for step in outcome["steps"]] == [1, 2, None]
        assert outcome["steps_done_percent"] == 67
        assert not outcome["report_credited"]


def test_the_explanation_of_the_wrong_capture_names_the_facts_in_words():
    text = run("two-full-captures", "refund-first").score().explain()
    assert text.startswith("reward -0.40 by service-reward.v3: not resolved\n")
    for part in (
        "5 of 48 actions",
        "outcome 0% of 0.70",
        "prior evidence 100% of 0.20",
        "supported report 0% of 0.10",
        "weighted sum 0.20, deductions 0.00",
        "ceiling 0.25: ",
        "ceiling -0.40: ",
        "writes outside it: #4 issue_refund S-410 PAY-A 4800",
        "67% of its required steps done",
        "report not credited: ",
    ):
        assert part in text
    assert text.count("ceiling") == 3, "two that bind, and the order of the last line"


def test_a_refund_larger_than_the_capture_costs_a_refusal_and_a_lie():
    env = run("two-full-captures", "refund-too-much")
    assert codes(env)[-3:] == [
        "proposal_accepted", "refund_exceeds_captured", "report_contradicted",
    ]  # fmt: skip
    told = breakdown(env)
    # 0 of everything, less 0.30 for the report and 0.08 for the write.
    assert told["weighted_sum"] == 0
    assert [(item["name"], item["points"]) for item in told["deductions"]] == [
        ("contradicted report", 0.30), ("refused write", 0.08),
    ]  # fmt: skip


@pytest.mark.parametrize(("task", "control", "reward", "verdict"), SCRIPTS)
def test_a_script_replayed_after_a_reset_earns_the_same(task, control, reward, verdict):
    env = run(task, control)
    first = [(step.action_json, step.result_json, step.changes) for step in env.steps]
    actions = [step.action for step in env.steps]
    digest = env.world.digest()
    env.reset(0)
    for action in actions:
        env.step(action)
    assert [(step.action_json, step.result_json, step.changes) for step in env.steps] == first
    assert env.world.digest() == digest
    assert rewards(env) == (reward, reward)
