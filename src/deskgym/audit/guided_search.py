"""A guided search of the back office: climb towards reward without knowing what is right.

It starts from an agent that has read what its task is about, and knows the tools and what it has
seen, and nothing else. From there it adds one action at a time, scores each attempt, and goes on
from the best ones, whatever they are. It is told the reward, which no agent is, so it finds sooner
than any agent what pays; whatever pays in full has to be acceptable by the suite's own second
opinion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.mutated_oracles import act_out, sampled
from deskgym.audit.opinion import objections_to
from deskgym.environment import Environment
from deskgym.store.draw import Draw
from deskgym.suites.backoffice.script import dollars
from deskgym.trajectory import Action, Observation, call

NAME: Final = "guided-search"
SEEDS_MIN: Final = 1
SEEDS_PERCENT: Final = 3
WIDTH: Final = 4
"""How many attempts are gone on from."""
DEPTH: Final = 6
"""How many actions are added."""
TRIES: Final = 60
"""How many actions are tried after each attempt, drawn from all that fit."""

SENTENCES: Final = (
    "This is about order {order}.",
    "We have refunded {money} for order {order}.",
    "We have sent you a replacement for order {order}.",
    "We have cancelled order {order} for you.",
    "We have cancelled order {order} and refunded {money}.",
    "I am sorry, but we cannot refund order {order}: returns are taken up to {days} days after "
    "delivery.",
    "I cannot help with that order, because it is on another account.",
)
"""What an agent may say, whatever the task is."""


@dataclass
class Known:
    """What the reads have shown.

    Attributes:
        thread_id: the thread of the task; None where it has none.
        orders: the orders that the thread names, as they were read.
        stock: the rows of the stock.
        days: the numbers of the policy.
    """

    thread_id: str | None = None
    orders: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    stock: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    days: list[int] = field(default_factory=list[int])

    def amounts(self, order: Mapping[str, Any]) -> list[int]:
        """Amounts that an order's records suggest, each with what is a cent less."""
        found: list[int] = [payment["captured_cents"] for payment in order["payments"]]
        found.append(order["total_cents"])
        for item in order["items"]:
            pieces = item["quantity"]
            found += [
                (2 * item["paid_cents"] * some + pieces) // (2 * pieces)
                for some in range(1, pieces + 1)
            ]
        found.append(sum(item["paid_cents"] for item in order["items"]))
        return [cents for cents in dict.fromkeys(found) if cents > 0]


class Attempt(NamedTuple):
    """A run so far, and what it earns."""

    reward: float
    actions: tuple[Action, ...]


def look(environment: Environment, seed: int) -> tuple[list[Action], Known]:
    """Read the policy and the thread with its orders, or the stock; what was done and seen."""
    first = environment.reset(seed)
    known = Known()
    actions: list[Action] = []

    def read(tool: str, **arguments: object) -> Observation:
        action = call(tool, **arguments)
        actions.append(action)
        return environment.step(action)

    policy = read("read_policy").data
    known.days = list(policy["numbers"].values())
    thread = re.search(r"\bT-\d+\b", first.message)
    if thread is None:
        page: int | None = 1
        while page is not None:
            found = read("check_inventory", page=page).data
            known.stock += found["rows"]
            page = found["next_page"]
        read("list_purchase_orders", status="open")
        return actions, known
    known.thread_id = thread[0]
    bodies = " ".join(
        item["body"] for item in read("read_thread", thread_id=thread[0]).data["messages"]
    )
    for number in dict.fromkeys(re.findall(r"(?<![\w.$-])\d{4,5}(?![\w-])", bodies)):
        found_order = read("get_order", order_id=number)
        if found_order.ok:
            known.orders.append(found_order.data)
    return actions, known


def moves(known: Known) -> Iterator[Action]:
    """Every action that what was seen suggests."""
    for order in known.orders:
        yield from _writes(known, order)
        for cents in known.amounts(order):
            for sentence in SENTENCES[1:5:3]:
                yield _reply(known, sentence, order, cents)
        for sentence in (SENTENCES[0], *SENTENCES[2:4], *SENTENCES[5:]):
            yield _reply(known, sentence, order, 0)
    for row in known.stock:
        if row["quantity"] < row["threshold"]:
            wanted = row["target"] - row["quantity"]
            for pieces in (wanted, 1):
                yield call("create_purchase_order", sku=row["sku"], qty=pieces)
    low = [row["sku"] for row in known.stock if row["quantity"] < row["threshold"]]
    for count in range(len(low) + 1):
        ordered = sorted(low, key=lambda sku: _priority(known, sku))
        yield call("submit", summary=f"Bought: {', '.join(ordered[:count])}.")
    if known.thread_id is not None:
        for status in ("open", "pending", "closed"):
            yield call("set_thread_status", thread_id=known.thread_id, status=status)


def _priority(known: Known, sku: str) -> int:
    return next(row["priority"] for row in known.stock if row["sku"] == sku)


def _reply(known: Known, sentence: str, order: Mapping[str, Any], cents: int) -> Action:
    days = max(known.days, default=0)
    body = sentence.format(order=order["order_id"], money=dollars(cents), days=days)
    return call("reply_to_thread", thread_id=known.thread_id, body=body)


def _writes(known: Known, order: Mapping[str, Any]) -> Iterator[Action]:
    order_id = order["order_id"]
    yield call("cancel_order", order_id=order_id, reason="asked for")
    yield call("update_shipping_address", order_id=order_id, address="1 Other Street, Elsewhere")
    for item in order["items"]:
        for pieces in range(1, item["quantity"] + 1):
            yield call("create_replacement", order_id=order_id, sku=item["sku"], qty=pieces)
        yield call("create_purchase_order", sku=item["sku"], qty=item["quantity"])
    payments = [None, *(payment["payment_id"] for payment in order["payments"])]
    for cents in known.amounts(order):
        for payment_id in payments:
            for amount in (cents, cents - 1):
                named = {} if payment_id is None else {"payment_id": payment_id}
                if amount > 0:
                    yield call("issue_refund", order_id=order_id, amount_cents=amount,
                               reason="asked for", **named)  # fmt: skip


@dataclass
class Climb:
    """A climb from one task and seed.

    Attributes:
        environment: where it is tried.
        seed: the episode's seed.
        attempts: how many runs were scored.
        full: the runs that earned the whole reward.
    """

    environment: Environment
    seed: int
    attempts: int = 0
    best: float = 0.0
    full: list[Attempt] = field(default_factory=list[Attempt])

    def run(self) -> Iterator[Attempt]:
        """Climb; yields each run that earns the whole reward, as it stands in the environment."""
        start, known = look(self.environment, self.seed)
        every = list(moves(known))
        draw = Draw(self.seed, f"audit/{self.environment.task.name}")
        front = [Attempt(0.0, tuple(start))]
        seen: set[str] = set()
        for _ in range(DEPTH):
            following: list[Attempt] = []
            for attempt in front:
                for action in islice(draw.shuffled(every), TRIES):
                    tried = self._try((*attempt.actions, action))
                    digest = self._state()
                    if tried.reward >= 1.0:
                        yield tried
                    if digest not in seen and not self.environment.done:
                        seen.add(digest)
                        following.append(tried)
            following.sort(key=lambda item: -item.reward)
            front = following[:WIDTH]
            if not front:
                return

    def _try(self, actions: Sequence[Action]) -> Attempt:
        act_out(self.environment, self.seed, actions)
        self.attempts += 1
        reward = self.environment.score().reward
        self.best = max(self.best, reward)
        return Attempt(reward, tuple(actions))

    def _state(self) -> str:
        said = [row for name, row in self.environment.world.log if name == "env_reply"]
        return f"{self.environment.world.digest()} {[row[1:] for row in said]}"


def run(target: Target) -> Section:
    """Climb from some seeds of a task."""
    found: list[Finding] = []
    accepted = 0
    attempts = 0
    rows: list[tuple[Any, ...]] = []
    for seed in sampled(target.seeds, SEEDS_MIN, SEEDS_PERCENT):
        with Environment(target.suite, target.task) as environment:
            climb = Climb(environment, seed)
            full = 0
            for attempt in climb.run():
                full += 1
                objections = objections_to(environment)
                if objections:
                    found.append(_finding(target, environment, attempt, objections))
                else:
                    accepted += 1
            attempts += climb.attempts
            rows.append((f"{target.id} seed {seed}", climb.attempts, climb.best, full))
    columns = ("climb", "attempts", "best reward", "full rewards, all acceptable")
    return Section(
        NAME,
        attempts,
        findings=tuple(found),
        counts={"full rewards found": accepted + len(found), "acceptable": accepted},
        tables=(Table("Climbs", columns, tuple(rows)),),
    )


def _finding(
    target: Target, environment: Environment, attempt: Attempt, objections: Sequence[str]
) -> Finding:
    return Finding(
        NAME, "the climb", target.suite.name, target.task.name, environment.seed,
        dict(environment.parameters), environment.rubric.version,
        "what earns the full reward is acceptable", "; ".join(objections), attempt.reward,
        attempt.actions,
    )  # fmt: skip


ATTACK: Final = Attack(
    name=NAME,
    sentence="climbs towards reward in the back office, told the reward and never what is right: "
    "whatever earns it in full must be acceptable",
    run=run,
    scope="task",
    applies=lambda target: target.suite.name == "backoffice",
)
