"""Episodes of the service suite, played action by action, and the actions they are made of.

`ORDER` and the like are the lamp world's own; `FOREIGN` is the other account's order there and
`MISSING` is nobody's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deskgym import Action, Environment, Observation, call, load_suite
from deskgym.rubric.outcome import Outcome
from deskgym.store import Template
from deskgym.store.change import Row
from deskgym.task import Fixture

V2, V3 = "service-reward.v2", "service-reward.v3"
ORDER, ITEM, PARCEL = "S-410", "S-410-1", "SHP-410"
FIRST, SECOND = "PAY-A", "PAY-B"
MOSS, INK = "LAMP-MOSS", "LAMP-INK"
FOREIGN, MISSING = "S-990", "S-999"
TOTAL = 4_800
CASES = (
    "damaged-lamp", "stop-warehouse-order", "parcel-moving", "two-full-captures",
    "two-half-payments",
)  # fmt: skip

Rows = Mapping[str, Sequence[Row]]

_AT = "2026-03-12T08:00:00Z"
RICH: Rows = {
    "products": [("P-SHADE", "Glass shade", "shade", "")],
    "variants": [("SHADE-1", "P-SHADE", "Clear", "small", "clear", 900)],
    "orders": [("S-411", "account-demo", "pending", 0, 0, 900, "USD", "9 Elsewhere", _AT)],
    "order_items": [
        ("S-410-2", ORDER, "SHADE-1", 1, 900, 900), ("S-411-1", "S-411", "SHADE-1", 1, 900, 900),
    ],
    "payments": [
        ("PAY-H", ORDER, "authorized", 700, 0, "hold-first", _AT),
        ("PAY-P", ORDER, "captured", 1_000, 1_000, "capture-part", _AT),
        ("PAY-Q", "S-411", "captured", 900, 900, "capture-shade", _AT),
        ("PAY-Z", FOREIGN, "captured", 2_600, 2_600, "capture-sentinel", _AT),
    ],
    "shipments": [
        ("SHP-411", "S-411", "label_created", "Northline", "NL-LABEL", None, None, None),
        ("SHP-990", FOREIGN, "in_transit", "Wrenways", "WW-SENTINEL", _AT, None, None),
    ],
    "shipment_items": [("SHP-990", "S-990-1", 1)],
    "refunds": [
        ("REF-000001", ORDER, "PAY-P", 300, "pending", "dent", f"{ORDER}:PAY-P:300", _AT),
        ("REF-000002", ORDER, "PAY-P", 400, "failed", "dent", f"{ORDER}:PAY-P:400", _AT),
        ("REF-000003", FOREIGN, "PAY-Z", 1_733, "succeeded", "moth", f"{FOREIGN}:PAY-Z:1733", _AT),
    ],
    "returns": [("RET-000001", FOREIGN, "S-990-1", "open", "moth", "their return", _AT)],
    "delivery_intercepts": [
        ("INT-000001", FOREIGN, "SHP-990", "requested", "their intercept", _AT),
    ],
    "stock_notifications": [
        ("NOT-000001", "account-other", FOREIGN, INK, "active", "their wish", _AT),
    ],
    "threads": [("TH-990", "account-other", "Moths in the wren", "open", _AT)],
    "messages": [("MSG-990", "TH-990", "customer", "Moths ate my sentinel", _AT)],
}  # fmt: skip
"""More than the lamp: a second item and order of the account's own, a hold, a payment with a
pending and a failed refund, a labelled parcel; and of the other account a row of every kind."""


def start(
    task: str,
    rows: Rows | None = None,
    *,
    seed: int = 0,
    outcome: Outcome | None = None,
    **parameters: Any,
) -> Environment:
    """A fresh episode.

    `rows` stand in its world from the start, in place of those they replace; `outcome` is its only
    acceptable one, in place of the case's own.
    """
    suite = load_suite("service")
    chosen = suite.task(task)
    if rows is not None or outcome is not None:
        build = chosen.fixture

        def changed(seed: int, values: Mapping[str, int]) -> Fixture:
            fixture = build(seed, values)
            case = replace(fixture.case, outcomes=(outcome,)) if outcome else fixture.case
            template = Template(_merged(fixture.template.rows, rows or {}))
            return replace(fixture, template=template, case=case)

        chosen = replace(chosen, fixture=changed)
    env = Environment(suite, chosen, parameters=parameters)
    env.reset(seed)
    return env


def _merged(old: Rows, new: Rows) -> dict[str, list[Row]]:
    merged = {name: list(items) for name, items in old.items()}
    for name, items in new.items():
        keys = {row[0] for row in items}
        merged[name] = [row for row in merged.get(name, []) if row[0] not in keys] + list(items)
    return merged


def play(
    task: str,
    *actions: Action,
    rows: Rows | None = None,
    seed: int = 0,
    outcome: Outcome | None = None,
    **parameters: Any,
) -> Environment:
    """An episode after these actions, each of which the episode took."""
    env = start(task, rows, seed=seed, outcome=outcome, **parameters)
    act(env, *actions)
    return env


def act(env: Environment, *actions: Action) -> Observation:
    """Take actions one after the other; what the last one was answered."""
    seen = env.observe()
    for action in actions:
        assert not env.done, f"{env.id} ended before {action}"
        seen = env.step(action)
    return seen


def run(task: str, control_name: str, *, seed: int = 0, **parameters: Any) -> Environment:
    """An episode after one of the task's scripts."""
    control = load_suite("service").task(task).control(control_name)
    env = start(task, seed=seed, **{**control.parameters, **parameters})
    script = control.script(env.observe())
    action = next(script, None)
    while action is not None:
        try:
            action = script.send(env.step(action))
        except StopIteration:
            action = None
    return env


def rewards(env: Environment) -> tuple[float, float]:
    """The reward by version 2 and by version 3."""
    return env.score(V2).reward, env.score(V3).reward


def breakdown(env: Environment, version: str = V3) -> dict[str, Any]:
    """Why the reward is what it is."""
    return env.score(version).to_dict()["breakdown"]


def ceilings(env: Environment) -> set[str]:
    """The names of the ceilings that bind."""
    return {ceiling["name"] for ceiling in breakdown(env)["ceilings"]}


def evidence(env: Environment) -> float:
    """The value of prior evidence, 0 to 1."""
    (part,) = (part for part in breakdown(env)["parts"] if part["name"] == "prior evidence")
    return part["value"]


def codes(env: Environment) -> list[str]:
    """What each action was answered."""
    return [step.result.code for step in env.steps]


# Reads.
LOOK = call("get_order", order_id=ORDER)
PAYMENTS = call("list_order_payments", order_id=ORDER)
STOCK = call("search_inventory")

# What needs no argument but the lamp's own ids.
CLOSE = call("close")
PROPOSE_REPLACEMENT = call("propose", remedy="replacement", order_id=ORDER, item_id=ITEM, sku=MOSS)
PROPOSE_RETURN = call("propose", remedy="return", order_id=ORDER, item_id=ITEM)
PROPOSE_CANCELLATION = call("propose", remedy="cancellation", order_id=ORDER)
PROPOSE_INTERCEPT = call("propose", remedy="intercept", order_id=ORDER, shipment_id=PARCEL)
PROPOSE_WAIT = call("propose", remedy="stock_notification", order_id=ORDER, sku=MOSS)
PROPOSE_NOTHING = call("propose", remedy="nothing", order_id=ORDER)
CANCEL = call("cancel_order", order_id=ORDER, reason="unwanted")
INTERCEPT = call("request_delivery_intercept", order_id=ORDER, shipment_id=PARCEL)
SEND_BACK = call("create_return", order_id=ORDER, item_id=ITEM, reason="cracked")
WAIT = call("create_stock_notification", order_id=ORDER, sku=MOSS)


def replacing(sku: str = MOSS, return_id: str = "RET-000001") -> Action:
    """Send a piece for the lamp."""
    return call(
        "create_replacement", order_id=ORDER, item_id=ITEM, replacement_sku=sku,
        return_id=return_id,
    )  # fmt: skip


def propose_refund(cents: int = TOTAL, payment: str = FIRST, order: str = ORDER) -> Action:
    """Put a refund to the customer."""
    return call("propose", remedy="refund", order_id=order, payment_id=payment, amount_cents=cents)


def refund(cents: int = TOTAL, payment: str = FIRST, reason: str = "agreed") -> Action:
    """Issue a refund."""
    return call(
        "issue_refund", order_id=ORDER, payment_id=payment, amount_cents=cents, reason=reason
    )


def report(claim: str, order: str = ORDER) -> Action:
    """Report a claim."""
    return call("report", claim=claim, order_id=order)


def message(text: str) -> Action:
    """Say something to the customer."""
    return call("message", text=text)
