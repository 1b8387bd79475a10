"""Identity: what is somebody else's looks like what is not there, and none of it is ever shown."""

import json
import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskgym import Action, Environment, call, load_suite
from deskgym.suites.service.claims import CLAIMS
from deskgym.suites.service.customer import REMEDIES
from tests.suites.service.play import (
    CASES,
    CLOSE,
    FIRST,
    FOREIGN,
    INK,
    ITEM,
    LOOK,
    MISSING,
    MOSS,
    ORDER,
    PARCEL,
    PAYMENTS,
    RICH,
    SECOND,
    STOCK,
    act,
    breakdown,
    play,
    rewards,
    run,
    start,
)

BRACKETS = {
    "refund": {"payment_id": "PAY-Z", "amount_cents": 2_600},
    "replacement": {"item_id": "S-990-1", "sku": "SENTINEL-1"},
    "return": {"item_id": "S-990-1"},
    "cancellation": {},
    "intercept": {"shipment_id": "SHP-990"},
    "stock_notification": {"sku": "SENTINEL-1"},
    "nothing": {},
}
# Everything that names an order, as on the other account's own rows: right there, if anywhere.
ASKED = [
    ("get_order", {}),
    ("list_order_payments", {}),
    ("cancel_order", {"reason": "unwanted"}),
    ("request_delivery_intercept", {"shipment_id": "SHP-990"}),
    ("create_return", {"item_id": "S-990-1", "reason": "broken"}),
    ("issue_refund", {"payment_id": "PAY-Z", "amount_cents": 1_733, "reason": "asked"}),
    ("issue_refund", {"payment_id": "PAY-Z", "amount_cents": 99_999, "reason": "asked"}),
    ("create_replacement",
     {"item_id": "S-990-1", "replacement_sku": INK, "return_id": "RET-000001"}),
    ("create_stock_notification", {"sku": INK}),
    ("create_stock_notification", {"sku": "SENTINEL-1"}),
    *(("propose", {"remedy": remedy, **BRACKETS[remedy]}) for remedy in REMEDIES),
    ("propose", {"remedy": "refund"}),
    *(("report", {"claim": claim}) for claim in CLAIMS),
    ("get_order", {"account": "account-other"}),
    ("issue_refund", {"payment_id": "PAY-Z", "amount_cents": 2_600.0, "reason": "asked"}),
]  # fmt: skip


def test_the_questions_cover_every_tool_that_names_an_order():
    toolbox = load_suite("service").toolbox
    naming = {name for name, tool in toolbox.items() if "order_id" in tool.schema["properties"]}
    assert {name for name, _ in ASKED} == naming
    assert set(toolbox) - naming == {"search_inventory", "message", "close"}


def trace(env: Environment, order: str) -> str:
    """All that an episode shows and keeps, with the id that was asked for blotted out."""
    kept = {
        "observation": env.observe().to_dict(),
        "changes": [change.to_dict() for change in env.changes()],
        "log": env.world.log,
        "rewards": rewards(env),
        "score": env.score().to_dict(),
    }
    return re.sub(rf"{order}(?![\w-])", "S-???", json.dumps(kept, default=str))


PREFIXES = [
    (task.name, control.name, dict(control.parameters), length)
    for task in load_suite("service").tasks
    if task.name in CASES
    for control in task.controls
    for length in range(6)
]


@pytest.mark.parametrize(("task", "control", "parameters", "length"), PREFIXES)
def test_a_foreign_order_is_answered_as_a_missing_one_in_every_state(
    task, control, parameters, length
):
    taken = [step.action for step in run(task, control, **parameters).steps][:length]
    for name, arguments in ASKED:
        foreign = play(task, *taken, call(name, order_id=FOREIGN, **arguments), **parameters)
        missing = play(task, *taken, call(name, order_id=MISSING, **arguments), **parameters)
        assert foreign.observe().to_json() == missing.observe().to_json(), name
        assert trace(foreign, FOREIGN) == trace(missing, MISSING), name


@pytest.mark.parametrize(("name", "arguments"), ASKED)
def test_rows_of_every_kind_of_the_other_account_change_no_answer(name, arguments):
    foreign = play("damaged-lamp", call(name, order_id=FOREIGN, **arguments), rows=RICH)
    missing = play("damaged-lamp", call(name, order_id=MISSING, **arguments), rows=RICH)
    assert trace(foreign, FOREIGN) == trace(missing, MISSING)
    assert not foreign.changes()


def test_after_the_end_both_are_answered_that_the_episode_is_over():
    for name, arguments in ASKED:
        env = play("damaged-lamp", LOOK, CLOSE)
        digest = env.world.digest()
        foreign = env.step(call(name, order_id=FOREIGN, **arguments))
        missing = env.step(call(name, order_id=MISSING, **arguments))
        assert foreign.to_json() == missing.to_json()
        assert foreign.code == "episode_over"
        assert env.world.digest() == digest


@pytest.mark.parametrize("order", [FOREIGN, MISSING])
def test_three_questions_about_an_order_that_is_not_there_end_the_episode_alike(order):
    env = start("damaged-lamp")
    act(env, *[call("get_order", order_id=order)] * 3)
    assert env.ended == "no_progress"


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (call("issue_refund", order_id=ORDER, payment_id="PAY-Z", amount_cents=1, reason="x"),
         "payment_not_found"),
        (call("create_return", order_id=ORDER, item_id="S-990-1", reason="x"), "item_not_found"),
        (call("request_delivery_intercept", order_id=ORDER, shipment_id="SHP-990"),
         "shipment_not_found"),
        (call("create_replacement", order_id=ORDER, item_id=ITEM, replacement_sku=MOSS,
              return_id="RET-000001"), "return_not_found"),
        (call("create_stock_notification", order_id=ORDER, sku="SENTINEL-1"), "sku_not_found"),
        (call("propose", remedy="refund", order_id=ORDER, payment_id="PAY-Z", amount_cents=1),
         "payment_not_found"),
        (call("propose", remedy="return", order_id=ORDER, item_id="S-990-1"), "item_not_found"),
        (call("propose", remedy="intercept", order_id=ORDER, shipment_id="SHP-990"),
         "shipment_not_found"),
        (call("propose", remedy="stock_notification", order_id=ORDER, sku="SENTINEL-1"),
         "sku_not_found"),
    ],
)  # fmt: skip
def test_the_other_accounts_rows_are_not_found_on_an_own_order_either(action, code):
    theirs = {"PAY-Z", "S-990-1", "SHP-990", "RET-000001", "SENTINEL-1"}
    nobodys = Action(
        action.tool,
        {
            name: "NONE-1" if value in theirs else value
            for name, value in dict(action.arguments).items()  # pyright: ignore[reportArgumentType]
        },
    )
    asked, control = (play("damaged-lamp", it, rows=RICH) for it in (action, nobodys))
    assert asked.observe().code == code
    assert asked.observe().to_json() == control.observe().to_json()
    assert not asked.changes()


# What must never be seen, whatever the agent asks: every value of the other account's rows.
SECRETS = (
    "Wren", "Sentinel", "sentinel.example", "9 Sentinel Row", "SENTINEL-1", "PAY-Z",
    "capture-sentinel", "account-other", "S-990-1", "SHP-990", "Wrenways", "moth", "TH-990",
    "their ", "P-SENTINEL",
)  # fmt: skip
_SECRET = re.compile("|".join(map(re.escape, SECRETS)), re.IGNORECASE)
_AMOUNT = re.compile(r"(?<!\d)(2600|26\.00|1733|17\.33)(?!\d)")


def leaks(text: str) -> list[str]:
    return _SECRET.findall(text) + _AMOUNT.findall(text)


def test_the_search_for_leaks_finds_each_value_where_it_stands():
    for secret in SECRETS:
        assert leaks(f"x{secret.upper()}x")
    assert leaks('{"amount_cents":2600}')
    assert leaks("$26.00")
    assert not leaks(start("damaged-lamp").observe().to_json().decode())


IDS = st.sampled_from(
    [ORDER, "S-411", FOREIGN, MISSING, ITEM, "S-410-2", "S-411-1", "S-990-1", FIRST, SECOND,
     "PAY-H", "PAY-P", "PAY-Q", "PAY-Z", PARCEL, "SHP-411", "SHP-990", MOSS, INK, "SHADE-1",
     "SENTINEL-1", "RET-000001", "RET-000002", "account-other", "%", "' OR 1=1 --", "*"]
)  # fmt: skip
ORDERS = st.sampled_from([ORDER, ORDER, ORDER, "S-411", FOREIGN, MISSING])
CENTS = st.sampled_from([1, 100, 300, 700, 900, 1_000, 2_400, 4_800, 100_000])
WORDS = st.sampled_from(["lamp", "moss", "shade", "sentinel", "small", "agreed", "%"])
VALUES = {
    "order_id": ORDERS, "amount_cents": CENTS, "claim": st.sampled_from(CLAIMS),
    "remedy": st.sampled_from(REMEDIES), "reason": WORDS, "text": st.just("One moment, please."),
    "product_type": WORDS, "size": WORDS, "color": WORDS,
}  # fmt: skip


def calls_of(name: str) -> st.SearchStrategy[Action]:
    """Calls of a tool, nearly all of them valid, on ids of everybody's."""
    tool = load_suite("service").toolbox[name]
    required = {item.name: VALUES.get(item.name, IDS) for item in tool.parameters if item.required}
    others = {
        item.name: VALUES.get(item.name, IDS) for item in tool.parameters if not item.required
    }
    return st.fixed_dictionaries(required, optional=others).map(lambda it: Action(name, it))


PROPOSALS = st.one_of(
    *(
        st.fixed_dictionaries(
            {
                "remedy": st.just(remedy),
                "order_id": ORDERS,
                **{name: CENTS if name == "amount_cents" else IDS for name in BRACKETS[remedy]},
            }
        ).map(lambda arguments: Action("propose", arguments))
        for remedy in REMEDIES
    )
)
WRONG = st.builds(
    lambda name, argument, value: Action(name, {argument: value}),
    st.sampled_from([*load_suite("service").toolbox, "get_customer"]),
    st.sampled_from(["order_id", "account", "owner", "amount_cents", "sku"]),
    st.one_of(IDS, st.none(), st.floats(), st.booleans(), st.lists(IDS, max_size=2)),
)
CALLS = st.one_of(
    *(calls_of(name) for name in load_suite("service").toolbox if name != "close"),
    PROPOSALS,
    WRONG,
)


@settings(max_examples=100)
@given(task=st.sampled_from(CASES), actions=st.lists(CALLS, min_size=16, max_size=48))
def test_no_observation_ever_holds_a_value_of_the_other_account(task, actions):
    env = start(task, RICH)
    for action in actions:
        seen = env.step(action)
        assert not leaks(seen.to_json().decode()), action
    theirs = [change for change in env.changes() if "990" in str(change)]
    assert theirs == []
    assert breakdown(env)["gates"] == []
    said = [str(row[2]) for name, row in env.world.log if name == "env_message"]
    assert not leaks(" ".join(said))


def test_tool_schemas_policy_and_openings_hold_no_value_of_the_other_account():
    suite = load_suite("service")
    shown = [suite.instructions, suite.title]
    for tool in suite.toolbox.values():
        shown += [json.dumps(form) for form in (tool.openai(), tool.anthropic(), tool.mcp())]
    for name, seed in product(CASES, range(6)):
        shown += [start(name, seed=seed).observe().to_json().decode()]
    assert [found for text in shown for found in leaks(text)] == []


def test_no_tool_takes_an_owner_or_an_idempotency_key():
    for tool in load_suite("service").toolbox.values():
        names = " ".join(tool.schema["properties"])
        assert not re.search("account|owner|customer|user|key", names)
        assert tool.schema["additionalProperties"] is False


@pytest.mark.parametrize("seed", range(6))
def test_the_whole_of_what_can_be_read_is_the_accounts_own(seed):
    env = play("damaged-lamp", LOOK, PAYMENTS, STOCK, seed=seed, rows=RICH)
    assert all(step.result.ok for step in env.steps)
    assert not leaks(b"".join(step.result_json for step in env.steps).decode())
