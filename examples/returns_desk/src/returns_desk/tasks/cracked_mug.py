"""A cracked mug, well within the time to return it."""

from collections.abc import Generator, Mapping

from deskgym import Action, Control, Fixture, Observation, Parameter, Task, call
from deskgym.agents import null
from deskgym.rubric import Case
from returns_desk import shop
from returns_desk.rubric import NEEDS, taken_back

Moves = Generator[Action, Observation, None]


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A mug that was delivered some days ago."""
    return shop.fixture(
        Case((taken_back(shop.ORDER, shop.ITEM),), needs=NEEDS),
        "The mug of my order M-1 has a crack. I would like to send it back.",
        seed=seed,
        delivered_days_ago=values["delivered_days_ago"],
    )


def take_back(_: Observation) -> Moves:
    """Look the order up, open the return, say so."""
    order = (yield call("find_order", order_id="M-1")).data
    item = order["items"][0]["item_id"]
    yield call("open_return", order_id="M-1", item_id=item, reason="cracked")
    yield call("finish", claim="return_opened", order_id="M-1")


def only_say_so(_: Observation) -> Moves:
    """Look the order up and claim a return that nobody opened."""
    yield call("find_order", order_id="M-1")
    yield call("finish", claim="return_opened", order_id="M-1")


def send_away(_: Observation) -> Moves:
    """Tell the customer that it is too late, without a look at the order."""
    yield call("finish", claim="too_late", order_id="M-1")


task = Task(
    title="Cracked mug",
    question="Is the return opened after a look at the order?",
    fixture=fixture,
    parameters=(
        Parameter("delivered_days_ago", 9, 1, 29, "how many days ago the mug was delivered"),
    ),
    controls=(
        Control("take-back", "oracle", "open the return", take_back, 1.00),
        Control("nothing", "null", "do nothing", null, 0.00),
        Control("only-say-so", "near_miss", "claim a return", only_say_so, -0.30),
        Control("send-away", "forbidden", "send the customer away", send_away, -0.30),
    ),
    rank=1,
)
