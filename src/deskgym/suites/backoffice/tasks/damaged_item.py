"""Something arrived damaged: replaced when it is in stock, refunded when it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from deskgym.store.shop import OrderFacts
from deskgym.store.shop.catalogue import NOUNS
from deskgym.suites.backoffice import controls, script
from deskgym.suites.backoffice.case import ITEM_REPLACED, REFUNDS, case, only, opening
from deskgym.suites.backoffice.checks import (
    DAMAGE_REMEDIED,
    NO_REFUND_WHEN_IN_STOCK,
    mentions_order,
)
from deskgym.suites.backoffice.policy import DAMAGE_WINDOW
from deskgym.suites.backoffice.scene import LARGE_SHOP, Person, Scene
from deskgym.suites.backoffice.script import Case, Part
from deskgym.task import Fixture, Task

WORDS: Final = ("one", "two", "three", "four", "five")

WORDINGS: Final = (
    "Hi, my order {order} is here. {Pieces} in it arrived broken; the box itself looks fine. "
    "What can you do about it? Thanks, {first}",
    "I have to say I am disappointed. I waited for order {order}, took the morning off, carried "
    "the parcel up four flights of stairs because the lift is being painted (since November!), "
    "and then {pieces} turned out to be cracked right through. The other things on my list for "
    "today did not go well either, but those are not your fault. This one is. {name}",
    "Seriously? {Pieces}: smashed. Order {order}. Whoever packs this stuff should be ashamed. Fix "
    "it, and do not send me one of those canned answers.",
    "Dear team, thank you for the quick delivery of {order}. My sister ordered from you before and "
    "was always happy, which is why I chose you. Unfortunately {pieces} came damaged. I have "
    "pictures, in case you need them. My neighbour says that such things happen in winter, when "
    "it is icy; I would not know. Kind regards, {name}",
    "order {order} - {pieces} damaged on arrival. pls advise",
)


@dataclass(frozen=True)
class Damage:
    """A damaged delivery in a scene."""

    person: Person
    order: OrderFacts
    pieces: str
    damaged: int
    ordered: int


def draw_damage(scene: Scene, person: Person) -> Damage:
    """A delivered order of two lines, of which some pieces of the first are damaged.

    Half of the seeds have enough in stock to replace them; the rest lack a piece or more.
    """
    draw = scene.draw
    ordered = draw.pick((1, 1, 2, 3, 3))
    damaged = draw.integer(1, ordered)
    lines = scene.lines(ordered, draw.integer(1, 2))
    # The customer's noun has to mean one of the lines only.
    while len({NOUNS[line.sku] for line in lines}) < len(lines):
        lines = scene.lines(*(line.quantity for line in lines))
    days_ago = draw.integer(0, scene.policy[DAMAGE_WINDOW])
    order = scene.order(
        person, lines, "delivered", placed_days_ago=days_ago + 3, parcel="delivered",
        delivered_at=scene.days_ago(days_ago),
    )  # fmt: skip
    scene.place(order)
    short = draw.integer(0, 1)
    stock = draw.integer(0, damaged - 1) if short else damaged + draw.integer(0, 30)
    scene.set_stock(lines[0].sku, stock)
    scene.set_stock(lines[1].sku, max(lines[1].quantity, scene.stock(lines[1].sku)[0]))
    return Damage(person, order, pieces_of(lines[0].sku, damaged, ordered), damaged, ordered)


def pieces_of(sku: str, some: int, ordered: int) -> str:
    """`two of the three stoneware mugs`, `both stoneware mugs`, `the stoneware mug`."""
    noun = NOUNS[sku]
    plural = noun if noun.endswith("s") else f"{noun}s"
    if ordered == 1:
        return f"the {noun}"
    if some == ordered:
        return f"both {plural}" if ordered == 2 else f"all {WORDS[ordered - 1]} {plural}"
    return f"{WORDS[some - 1]} of the {WORDS[ordered - 1]} {plural}"


def write(wording: str, damage: Damage) -> str:
    """A customer's message."""
    pieces = damage.pieces
    return wording.format(
        order=damage.order.id,
        pieces=pieces,
        Pieces=pieces[0].upper() + pieces[1:],
        first=damage.person.first,
        name=damage.person.name,
    )


ONLY_TASK_ROWS: Final = only(REFUNDS, *ITEM_REPLACED)


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    """A customer with a damaged delivery."""
    scene = Scene("damaged-item", seed, values)
    damage = draw_damage(scene, scene.customer())
    body = write(scene.draw.pick(WORDINGS), damage)
    thread_id = scene.thread(damage.person, "Arrived damaged", body)
    scene.claim(thread_id, "damaged", damage.order, 0, damage.damaged)
    checks = case(
        thread_id,
        damage.order,
        ((DAMAGE_REMEDIED, 7_500), (mentions_order(), 2_500)),
        ONLY_TASK_ROWS,
        NO_REFUND_WHEN_IN_STOCK,
    )
    return scene.fixture(opening(thread_id), checks)


def settle_in_parts(seen: Case) -> Part[None]:
    """The right remedy, piece by piece or in two refunds, told in two replies."""
    item, quantity = seen.item, seen.quantity
    yield from script.reply(seen, f"Thank you, we are looking at order {seen.order_id}.")
    if (yield from script.in_stock(item["sku"])) >= quantity:
        for _ in range(quantity):
            yield from script.replace_item(seen, item["sku"], 1)
        yield from script.reply_replaced(seen)
    else:
        due = script.damaged_due(seen)
        yield from script.refund(seen, due // 3, "damaged, first part")
        yield from script.refund(seen, due - due // 3, "damaged, the rest")
        yield from script.reply_refunded(seen, due)


def remedy_only(seen: Case) -> Part[None]:
    """The right remedy, and no word to the customer."""
    item, quantity = seen.item, seen.quantity
    if (yield from script.in_stock(item["sku"])) >= quantity:
        yield from script.replace_item(seen, item["sku"], quantity)
    else:
        yield from script.refund(seen, script.damaged_due(seen), "damaged on arrival")


def remedy_and_noise(seen: Case) -> Part[None]:
    """The right remedy, and a reply that names everything."""
    yield from remedy_only(seen)
    yield from controls.name_everything(seen)


def reply_only(seen: Case) -> Part[None]:
    """A reply that names the order and does nothing."""
    yield from script.reply(seen, f"Thank you for writing about order {seen.order_id}.")


def a_cent_short(seen: Case) -> Part[None]:
    """A refund that lacks a cent; nothing at all where a replacement is due."""
    if (yield from script.in_stock(seen.item["sku"])) < seen.quantity:
        yield from script.refund(seen, script.damaged_due(seen) - 1, "damaged on arrival")
    yield from reply_only(seen)


def refund_anyway(seen: Case) -> Part[None]:
    """Money where goods are due, and a cent too much where money is."""
    due = script.damaged_due(seen)
    stock = yield from script.in_stock(seen.item["sku"])
    yield from script.refund(seen, due if stock >= seen.quantity else due + 1, "damaged")
    yield from script.reply_refunded(seen, due)


def refund_on_top(seen: Case) -> Part[None]:
    """The right remedy, and a cent of the order on top of it."""
    yield from script.settle_damage(seen)
    yield from script.refund(seen, 1, "for the trouble")


def and_the_other_item(seen: Case) -> Part[None]:
    """The right remedy, and a piece of something that was not damaged."""
    yield from script.settle_damage(seen)
    others = [item for item in seen.order["items"] if item["item_id"] != seen.item["item_id"]]
    for item in others:
        yield from script.replace_item(seen, item["sku"], 1)


task = Task(
    title="Damaged item",
    question="Replacement or refund: which one do the stock and the policy give?",
    fixture=fixture,
    parameters=(LARGE_SHOP,),
    rank=1,
    controls=(
        controls.control("replace-or-refund", "oracle", "replace if in stock, else refund",
                         script.settle_damage, 1.00),
        controls.control("in-parts", "alternate", "the same in parts, with two replies",
                         settle_in_parts, 1.00),
        *controls.common(script.settle_damage),
        controls.control("no-reply", "near_miss", "the remedy without a reply", remedy_only, 0.75),
        controls.control("names-everything", "near_miss", "the remedy, and a reply that names "
                         "every order and amount", remedy_and_noise, 0.75),
        controls.control("reply-only", "near_miss", "a reply and no remedy", reply_only, 0.25),
        controls.control("a-cent-short", "near_miss", "a refund that lacks a cent, or none",
                         a_cent_short, 0.25),
        controls.control("refund-anyway", "forbidden", "a refund though it is in stock, or of a "
                         "cent too much", refund_anyway, 0.00),
        controls.control("and-the-other-item", "forbidden", "the remedy, and a gift",
                         and_the_other_item, 0.00),
        controls.control("refund-on-top", "forbidden", "the remedy and money on top",
                         refund_on_top, 0.00),
    ),
)  # fmt: skip
