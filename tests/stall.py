"""A suite of our own for the tests: a stall with one lamp in stock, and tools that break rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from deskgym import Desk, Environment, Fixture, Result, Suite, Task, Toolbox
from deskgym.argument import Cents, Id, Text
from deskgym.errors import Refusal
from deskgym.rubric import Reader, Score
from deskgym.store import Engine, Template
from deskgym.tool import tool
from tests.store.shop import SHOP, TIME

STOCK = "SELECT quantity FROM inventory WHERE sku = 'V1'"
SELL = "UPDATE inventory SET quantity = quantity - ?"


@tool("read", codes=("found",))
def look(desk: Desk) -> Result:
    """Count the stock."""
    return Result(True, "found", "The stock.", {"quantity": desk.value(STOCK)})


@tool("write", codes=("sold", "sold_out"))
def sell(desk: Desk, pieces: Annotated[int, Field(ge=1, le=2)] = 1) -> Result:
    """Sell lamps.

    Args:
        pieces: how many.
    """
    desk.log("env_message", "agent", "selling")
    desk.rows(SELL, pieces)
    if desk.value(STOCK) == 0:
        raise Refusal("sold_out", "The last lamp is not for sale.", {"left": 1})
    return Result(True, "sold", "Sold.", {"pieces": pieces})


@tool("write", codes=("paid",))
def pay(desk: Desk, order_id: Id, amount_cents: Cents, note: Text | None = None) -> Result:
    """Pay for an order.

    Args:
        order_id: the order,
            by its number.
        amount_cents: how much.
        note: what to say.
    """
    data = {"order_id": order_id, "amount_cents": amount_cents, "note": note}
    return Result(True, "paid", "Paid.", data)


@tool("write", codes=("never",))
def oversell(desk: Desk) -> Result:
    """Sell more than there is."""
    desk.log("env_message", "agent", "overselling")
    desk.rows(SELL, 1)
    desk.rows(SELL, 100)
    return Result(True, "never", "Sold.")


Fault = Literal[
    "raise", "undeclared code", "undeclared refusal", "not ok, yet changed", "no result",
    "no JSON", "no JSON refused", "bad SQL swallowed",
]  # fmt: skip


@tool("write", codes=("done", "no"))
def err(desk: Desk, fault: Fault) -> Result:
    """Sell a lamp, then break a rule.

    Args:
        fault: which one.
    """
    desk.log("env_message", "agent", "erring")
    desk.end("submitted")
    desk.rows(SELL, 1)
    match fault:
        case "raise":
            raise ZeroDivisionError("by mistake")
        case "undeclared code":
            return Result(True, "other", "Done.")
        case "undeclared refusal":
            raise Refusal("other", "No.")
        case "not ok, yet changed":
            return Result(False, "no", "No.")
        case "no result":
            return None  # type: ignore[return-value]
        case "no JSON":
            return Result(True, "done", "Done.", {"value": object()})
        case "no JSON refused":
            raise Refusal("no", "No.", {"value": object()})
        case "bad SQL swallowed":
            return _swallow(desk)


def _swallow(desk: Desk) -> Result:
    try:
        desk.rows("SELECT * FROM missing")
    except Exception:
        return Result(True, "done", "Done.")
    raise AssertionError("there is such a table")


@tool("read", codes=("found",))
def meddle(desk: Desk) -> Result:
    """Read, and write by mistake."""
    desk.rows(SELL, 1)
    return Result(True, "found", "Found.")


@tool("end", codes=("finished", "not_yet"))
def finish(desk: Desk, sure: bool) -> Result:
    """Finish.

    Args:
        sure: whether you are.
    """
    desk.end("submitted")
    return Result(sure, "finished" if sure else "not_yet", "Finished." if sure else "Not yet.")


class Breakdown:
    def lines(self) -> list[str]:
        return []

    def reasons(self) -> list[str]:
        return []

    def brief(self) -> dict[str, Any]:
        return {}

    def to_dict(self) -> dict[str, Any]:
        return {}


class Sales:
    """A rubric that rewards each lamp sold with a tenth."""

    def __init__(self, version: str) -> None:
        self.version = version

    def score(self, world: Reader, case: int) -> Score:
        ((left,),) = world.rows(STOCK)
        assert isinstance(left, int)
        return Score(self.version, (case - left) * 1_000, "partial", Breakdown())


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    rows = {**SHOP, "settings": [("seed", str(seed))]}
    return Fixture(
        Template(rows), TIME, "Sell.", case=5, data={"goods": [{"sku": "V1"}]}, account="C1"
    )


STALL = Suite(
    name="stall",
    title="A stall",
    instructions="Sell lamps.",
    toolbox=Toolbox(look, sell, pay, oversell, err, meddle, finish),
    rubrics=(Sales("sales.v2"), Sales("sales.v1")),
    tasks=(Task("Sell", "Can it sell?", fixture, (), name="sell-lamps"),),
    steps_max=12,
)


def open_stall(engine: Engine | None = None) -> Environment:
    """An environment of the stall, started."""
    environment = Environment(STALL, STALL.tasks[0], engine=engine or Engine(1))
    environment.reset()
    return environment
