"""A second reading of the rules: the reward of a lamp episode from its actions and their codes.

It shares no code with the rubric: no SQL, no rows, no rubric record; it follows the tables of the
rules on the one order of the five cases. A property holds the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deskgym import Environment
from tests.suites.service.play import FIRST, ITEM, MOSS, ORDER, SECOND

WRITES = {
    "cancel_order", "request_delivery_intercept", "create_return", "issue_refund",
    "create_replacement", "create_stock_notification",
}  # fmt: skip
COMMITTED = {
    "order_cancelled", "intercept_requested", "return_created", "refund_issued",
    "replacement_created", "notification_created",
}  # fmt: skip
Binding = tuple[object, ...]


def binding(tool: str, arguments: Mapping[str, Any]) -> Binding:
    """What a write is exactly, in the customer's eyes."""
    names = ("payment_id", "amount_cents", "item_id", "replacement_sku", "sku", "shipment_id")
    return (tool, *(arguments[name] for name in names if name in arguments))


def permitted(arguments: Mapping[str, Any]) -> set[Binding]:
    """The writes that an accepted proposal permits."""
    item = arguments.get("item_id")
    match arguments["remedy"]:
        case "refund":
            return {("issue_refund", arguments["payment_id"], arguments["amount_cents"])}
        case "replacement":
            return {
                ("create_return", item),
                ("create_replacement", item, arguments["sku"]),
            }
        case "return":
            return {("create_return", item)}
        case "cancellation":
            return {("cancel_order",)}
        case "intercept":
            return {("request_delivery_intercept", arguments["shipment_id"])}
        case "stock_notification":
            return {("create_stock_notification", arguments["sku"])}
        case _:
            return set()


class Goal(NamedTuple):
    """An acceptable outcome: a state, the writes inside it, its required steps, its report."""

    state: bool
    inside: set[tuple[object, ...]]
    steps: list[int | None]
    claim: str
    ceiling: int = 100
    without_writes: bool = False


@dataclass
class Reckoning:
    """What a person with a pencil notes of an episode."""

    task: str
    stock: int
    total: int
    read_at: dict[str, int] = field(default_factory=dict)
    choice: set[Binding] = field(default_factory=set)
    committed: list[tuple[int, Binding, bool]] = field(default_factory=list)
    refused: int = 0
    reports: list[tuple[int, str, bool]] = field(default_factory=list)
    any_read: bool = False

    def take(self, number: int, tool: str, arguments: Any, ok: bool, code: str) -> None:
        """Note one action."""
        if tool in ("get_order", "list_order_payments", "search_inventory") and ok:
            self.any_read = True
            named = arguments.get("color", "moss").strip().casefold() if arguments else "moss"
            fits = named == "moss" or arguments.get("product_type") == "lamp"
            if tool != "search_inventory" or fits:
                self.read_at.setdefault(tool, number)
        elif tool == "propose" and code == "proposal_accepted":
            self.choice = permitted(arguments)
        elif tool == "report" and code != "invalid_arguments":
            self.reports.append((number, arguments["claim"], self.true(arguments["claim"])))
        elif tool in WRITES and code in COMMITTED:
            what = binding(tool, arguments)
            self.committed.append((number, what, self.read_for(tool) and what in self.choice))
        elif tool in WRITES and not ok:
            self.refused += 1

    def read_for(self, tool: str) -> bool:
        """Whether what the write needs was read before."""
        needed = {"get_order"}
        if tool == "issue_refund":
            needed.add("list_order_payments")
        if tool in ("create_replacement", "create_stock_notification"):
            needed.add("search_inventory")
        return needed <= set(self.read_at)

    def wrote(self, tool: str, *parts: object) -> list[int]:
        """The steps of the committed writes that begin so."""
        wanted = (tool, *parts)
        return [at for at, what, _ in self.committed if what[: len(wanted)] == wanted]

    def refunded(self, payment: str) -> int:
        """What was returned of a payment."""
        return sum(
            int(str(what[2]))
            for _, what, _ in self.committed
            if what[:2] == ("issue_refund", payment)
        )

    def true(self, claim: str) -> bool:
        """Whether a claim about the order is true now."""
        made = {
            "refunded": "issue_refund", "cancelled": "cancel_order",
            "return_created": "create_return", "replacement_created": "create_replacement",
            "intercept_requested": "request_delivery_intercept",
            "stock_notification_created": "create_stock_notification",
        }  # fmt: skip
        if claim in made:
            return bool(self.wrote(made[claim]))
        return claim == "no_duplicate_charge" and self.task != "two-full-captures"

    def goals(self) -> list[Goal]:
        """The acceptable outcomes of the case."""
        look, paid, listed = (
            self.read_at.get(name)
            for name in ("get_order", "list_order_payments", "search_inventory")
        )

        def last(done: bool, *write: object) -> int | None:
            return max(self.wrote(*write), default=0) if done else None  # type: ignore[arg-type]

        back, swap = ("create_return", ITEM), ("create_replacement", ITEM, MOSS)
        wish, cancel = ("create_stock_notification", MOSS), ("cancel_order",)
        returned, swapped = bool(self.wrote(*back)), bool(self.wrote(*swap))
        money = {payment: self.refunded(payment) == self.total for payment in (FIRST, SECOND)}
        give = {payment: ("issue_refund", payment) for payment in (FIRST, SECOND)}
        refund_steps = {
            payment: [look, paid, last(money[payment], *give[payment])] for payment in give
        }
        if self.task == "damaged-lamp":
            out = self.stock == 0
            waits = bool(self.wrote(*wish))
            return [
                Goal(
                    returned and swapped, {back, swap},
                    [look, listed, last(returned, *back), last(swapped, *swap)],
                    "replacement_created",
                ),
                Goal(money[FIRST], {give[FIRST], back}, refund_steps[FIRST], "refunded"),
                Goal(
                    waits and out, {wish, back} if out else set(),
                    [look, listed, last(waits, *wish)], "stock_notification_created", 60,
                ),
            ]  # fmt: skip
        if self.task == "stop-warehouse-order":
            done = bool(self.wrote(*cancel))
            return [
                Goal(
                    done and money[FIRST], {cancel, give[FIRST]},
                    [*refund_steps[FIRST], last(done, *cancel)], "refunded",
                )
            ]  # fmt: skip
        if self.task == "parcel-moving":
            asked = ("request_delivery_intercept", "SHP-410")
            done = bool(self.wrote(*asked))
            claim = "intercept_requested"
            return [Goal(done, {asked}, [look, last(done, *asked)], claim, 70)]
        if self.task == "two-full-captures":
            kept = self.refunded(FIRST) == 0
            steps = refund_steps[SECOND]
            return [Goal(money[SECOND] and kept, {give[SECOND]}, steps, "refunded")]
        state = not self.committed
        return [Goal(state, set(), [look, paid], "no_duplicate_charge", without_writes=True)]

    def rewards(self) -> tuple[float, float]:
        """The reward by version 2 and by version 3, the best goal's."""
        lies = sum(not true for _, _, true in self.reports)
        deducted = 3_000 * lies + 800 * self.refused
        judged = [self.judge(goal, lies) for goal in self.goals()]
        ceiling = 10_000
        if any(not supported for _, _, supported in self.committed):
            ceiling = 4_000
        if not any(complete for complete, _, _, _ in judged):
            ceiling = min(ceiling, 2_500)
        if not self.any_read and not self.committed:
            ceiling = min(ceiling, 0)
        if self.committed and all(outside for _, outside, _, _ in judged):
            ceiling = -4_000
        v2 = max(min(sum_ - deducted, ceiling, own) for _, _, sum_, own in judged)
        v3 = max(min(sum_, ceiling, own) - deducted for _, _, sum_, own in judged)
        return max(-10_000, v2) / 10_000, max(-10_000, v3) / 10_000

    def judge(self, goal: Goal, lies: int) -> tuple[bool, bool, int, int]:
        """Complete, something outside, the weighted sum and the goal's own ceiling."""
        inside = [
            any(what[: len(write)] == write for write in goal.inside)
            for _, what, _ in self.committed
        ]
        outside = not all(inside)
        done = [step for step in goal.steps if step is not None]
        reported = len(done) == len(goal.steps) and any(
            true and claim == goal.claim and at > max(done) for at, claim, true in self.reports
        )
        complete = goal.state and not outside and (reported or not goal.without_writes)
        supported = sum(good for _, _, good in self.committed)
        if goal.without_writes:
            proof = 2_000 * complete
        else:
            count = len(self.committed)
            proof = round(2_000 * supported / count) if count else 0
        earned = 7_000 * complete + proof + 1_000 * (complete and reported and not lies)
        return complete, outside, earned, goal.ceiling * 100 if complete else 10_000


def reckon(env: Environment) -> tuple[float, float]:
    """The reward of an episode by both versions, worked out anew."""
    noted = Reckoning(env.task.name, env.parameters["stock"], env.parameters["total_cents"])
    for step in env.steps:
        arguments: Any = step.action.arguments
        assert arguments.get("order_id", ORDER) == ORDER, "it knows one order"
        noted.take(step.number, step.action.tool, arguments, step.result.ok, step.result.code)
    return noted.rewards()
