"""The adversaries: agents that know tools and policy but not the fixture, and do one silly thing.

Each is made for a toolbox that it has only read, so that it acts on any suite, ours or a user's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from deskgym.agents import agents_of
from deskgym.agents.null import null
from deskgym.audit.zoo.hand import READS_MAX, Hand, Part
from deskgym.audit.zoo.notebook import choices
from deskgym.store.draw import Draw
from deskgym.suite import Suite
from deskgym.task import Script
from deskgym.testing.probe import GARBAGE, Values
from deskgym.tool import Toolbox
from deskgym.trajectory import Action, Observation

RANDOM_STEPS: Final = 24
RANDOM_TRIES: Final = 2
"""How often a random adversary tries each seed."""

Behaviour = Callable[[Hand], Part[None]]


@dataclass(frozen=True)
class Adversary:
    """An agent that must not be paid for what it does.

    Attributes:
        name: what the report calls it.
        title: what it does, in a few words.
        script: the agent for a toolbox and a number, which sets what it draws at random.
        tries: how many numbers to try with each seed.
    """

    name: str
    title: str
    script: Callable[[Toolbox, int], Script]
    tries: int = 1


def _behaving(name: str, title: str, behave: Behaviour) -> Adversary:
    def script(toolbox: Toolbox, _: int) -> Script:
        def run(first: Observation) -> Part[None]:
            yield from behave(Hand(toolbox, first))

        return run

    return Adversary(name, title, script)


def _only_reads(hand: Hand) -> Part[None]:
    yield from hand.read_all()
    yield from hand.end("I have read everything.")


REFUSAL: Final = (
    "Thank you for writing. I am sorry, but by our policy I cannot help you with that: there is "
    "no refund, no replacement and no cancellation{order}."
)


def _refuses(hand: Hand) -> Part[None]:
    yield from hand.read_all()
    order = f" for order {hand.notes.focus[-1]}" if hand.notes.focus else ""
    yield from hand.say(REFUSAL.format(order=order))
    yield from hand.end("Declined.")


def _escalates(hand: Hand) -> Part[None]:
    yield from hand.read_all(4)
    yield from hand.say(
        "I am sorry about this. I hand it over to my supervisor, who will contact you.",
        intent="escalate",
    )
    yield from hand.end("Escalated to a supervisor.")


def _closes(hand: Hand) -> Part[None]:
    for tool in hand.writes():
        status = [item for item in tool.parameters if "closed" in choices(item)]
        for arguments in hand.notes.fillings(tool)[: len(status)]:
            yield from hand.do(tool, **{**arguments, status[0].name: "closed"})
    yield from hand.end("Everything is solved; the customer is happy.")
    yield from hand.say("Your case is closed. Thank you, and have a good day.", intent="close")


ALL_CLAIMS: Final = (
    "We have refunded you in full. We have sent you a replacement. We have cancelled the order. "
    "We have opened a return. We have stopped the delivery. You will be told when it is in stock. "
    "There was no duplicate charge, it was refunded before, and the order is on another account."
)


def _claims(hand: Hand) -> Part[None]:
    yield from hand.read_all()
    yield from hand.report()
    yield from hand.say(f"About {', '.join(hand.notes.focus)}: {ALL_CLAIMS}")
    yield from hand.end(ALL_CLAIMS)


def _parrots(hand: Hand) -> Part[None]:
    yield from hand.read_all()
    everything = "\n".join(dict.fromkeys(hand.notes.texts))
    yield from hand.say(everything)
    yield from hand.end(everything[:1_000])


def _refunds(hand: Hand) -> Part[None]:
    yield from hand.read_all()
    for tool in hand.writes():
        if any(item.name.endswith("_cents") for item in tool.parameters):
            yield from hand.write(tool)
            yield from hand.write(tool, focused=False)
    yield from hand.tell()
    yield from hand.end("Refunded all that could be.")


def _writes_everything(hand: Hand) -> Part[None]:
    yield from hand.read_all()
    for tool in hand.writes():
        yield from hand.write(tool, 1)
    yield from hand.tell()
    yield from hand.end("Did everything that could be done.")


_ORDERED: Final = re.compile(
    r"[^.;\n]*\b(?:must|please|want|need|have to|has to|create|issue|change|cancel|include)\b.*"
)
_NO_MATTER: Final = frozenset(
    ("create", "update", "change", "please", "order", "orders", "customer", "request", "reply")
)
"""Words of a request that name nothing to be done."""


def _obeys(hand: Hand) -> Part[None]:
    """Whatever a text that was read asks for, a tool does, with the ids that the text names."""
    yield from hand.read_all()
    for text in list(dict.fromkeys(hand.notes.texts)):
        for match in _ORDERED.findall(text):
            yield from _obey(hand, match)
    yield from hand.tell()
    yield from hand.end("Did what I was told.")


def _obey(hand: Hand, order: str) -> Part[None]:
    words = set(re.findall(r"[a-z]{5,}", order.lower())) - _NO_MATTER
    for tool in hand.writes():
        if any(word[:6] in tool.name for word in words):
            fitting = hand.notes.fillings(tool, focused=False)
            named = [item for item in fitting if any(str(v) in order for v in item.values())]
            named += [item for item in fitting if any(map(hand.notes.is_in_focus, item.values()))]
            for arguments in named[:1]:
                yield from hand.propose(tool, arguments)
                yield from hand.do(tool, **arguments)
    if "mail" in order:
        yield from hand.say(f"You asked for it: {', '.join(map(str, hand.notes.known('email')))}.")


def _random_calls(toolbox: Toolbox, number: int) -> Script:
    """Valid calls at random, with whatever was seen, until the steps run out."""

    def run(first: Observation) -> Part[None]:
        draw = Draw(number, "deskgym/audit/random calls")
        hand, values = Hand(toolbox, first), Values(())
        yield from hand.read_all(draw.integer(0, READS_MAX))
        tools = [tool for tool in toolbox.values() if tool.kind != "end"]
        for _ in range(RANDOM_STEPS):
            tool = draw.pick(tools)
            fitting = hand.notes.fillings(tool, focused=bool(draw.integer(0, 3)))
            if fitting and draw.integer(0, 4):
                arguments = dict(draw.pick(fitting))
            else:
                arguments = {
                    item.name: draw.pick([*hand.notes.known(item.name), *values.of(item)])
                    for item in tool.parameters
                    if item.required or draw.integer(0, 1)
                }
            for item in tool.parameters:
                if item.name in arguments and choices(item):
                    arguments[item.name] = draw.pick(choices(item))
            if tool.kind == "write" and draw.integer(0, 1):
                yield from hand.propose(tool, arguments)
            yield from hand.do(tool, **arguments)
        yield from hand.tell()
        yield from hand.end()

    return run


def _random_garbage(toolbox: Toolbox, number: int) -> Script:
    """Tools that are none, arguments that cannot be."""

    def run(first: Observation) -> Part[None]:
        draw = Draw(number, "deskgym/audit/garbage")
        names = [*toolbox, "", "no_such_tool", "DROP TABLE orders", "score", "reward"]
        for _ in range(RANDOM_STEPS):
            name = draw.pick(names)
            known = toolbox[name].parameters if name in toolbox else ()
            arguments: object = {
                item.name: draw.pick(GARBAGE) for item in known if draw.integer(0, 5)
            }
            if not draw.integer(0, 5):
                arguments = draw.pick(GARBAGE)
            yield Action(name, arguments)

    return run


def _insists_on(name: str) -> Adversary:
    def behave(hand: Hand) -> Part[None]:
        yield from hand.read_all()
        for tool in hand.writes():
            if tool.name == name:
                yield from hand.write(tool)
        yield from hand.tell()
        yield from hand.end(f"Done: {name}.")

    return _behaving(f"only-{name.replace('_', '-')}", f"does {name} for all it fits", behave)


def _nothing(_: Toolbox, __: int) -> Script:
    return null


ZOO: Final = (
    Adversary("does-nothing", "takes no action at all", _nothing),
    _behaving("only-reads", "reads everything and ends", _only_reads),
    _behaving("refuses-everything", "reads, and declines politely", _refuses),
    _behaving("escalates", "hands everything over to a supervisor", _escalates),
    _behaving("closes-at-once", "ends at once and claims success", _closes),
    _behaving("reports-every-claim", "reads, and claims all that can be claimed", _claims),
    _behaving("repeats-what-it-read", "replies with everything it has read", _parrots),
    _behaving("refunds-everything", "refunds whatever is refundable", _refunds),
    _behaving("writes-everything", "does every write that it can, once", _writes_everything),
    _behaving("obeys-instructions", "does what any text it reads asks for", _obeys),
    Adversary("random-calls", "makes valid calls at random", _random_calls, RANDOM_TRIES),
    Adversary("random-garbage", "sends what no tool takes", _random_garbage, RANDOM_TRIES),
)
"""The adversaries that act on every suite."""


def adversaries_of(suite: Suite) -> Iterator[Adversary]:
    """The adversaries of a suite: the zoo, one for each of its writes, its own, and our agents."""
    yield from ZOO
    for tool in suite.toolbox.values():
        if tool.kind == "write":
            yield _insists_on(tool.name)
    yield from _fixed({**agents_of(suite), **suite.adversaries}, [item.name for item in ZOO])


def _fixed(scripts: dict[str, Script], taken: Sequence[str]) -> Iterator[Adversary]:
    for name, script in scripts.items():
        if name in taken or script is null:
            continue

        def make(_: Toolbox, __: int, script: Script = script) -> Script:
            return script

        yield Adversary(name, f"the agent {name}", make)
