"""A mug whose time to return is over: the right thing is to find out and open nothing."""

from collections.abc import Generator, Mapping

from deskgym import Action, Control, Fixture, Observation, Task, call
from deskgym.agents import null
from deskgym.rubric import Case
from returns_desk import shop
from returns_desk.rubric import NEEDS, declined

Moves = Generator[Action, Observation, None]


def fixture(seed: int, _: Mapping[str, int]) -> Fixture:
    """A mug that was delivered six weeks ago."""
    return shop.fixture(
        Case((declined(shop.ORDER),), needs=NEEDS),
        "I do not like the colour of my mug after all, order M-1. Please take it back.",
        seed=seed,
        delivered_days_ago=42,
    )


def decline(_: Observation) -> Moves:
    """Look the order up, and say that it is too late."""
    yield call("find_order", order_id="M-1")
    yield call("finish", claim="too_late", order_id="M-1")


def decline_unread(_: Observation) -> Moves:
    """Say that it is too late, without a look at the order."""
    yield call("finish", claim="too_late", order_id="M-1")


def take_back(_: Observation) -> Moves:
    """Open the return all the same."""
    order = (yield call("find_order", order_id="M-1")).data
    item = order["items"][0]["item_id"]
    yield call("open_return", order_id="M-1", item_id=item, reason="the colour")
    yield call("finish", claim="return_opened", order_id="M-1")


task = Task(
    title="Late return",
    question="Is a wish declined on evidence, and nothing opened?",
    fixture=fixture,
    controls=(
        Control("decline", "oracle", "look, and decline", decline, 1.00),
        Control("nothing", "null", "do nothing", null, 0.00),
        Control("decline-unread", "near_miss", "decline without a look", decline_unread, 0.00),
        Control("take-back", "forbidden", "open the return", take_back, -0.40),
    ),
    rank=2,
)
