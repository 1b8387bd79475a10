"""A bounded search of the service cases: every sequence of writes, proposals and reports.

With the reads done, an agent can put remedies to the customer, write and report, in any order. For
one world, an alphabet of such actions and a depth in writes, this goes through all sequences and
holds each reward against a second reading of the rules, so that for that world and alphabet it is
proved, and not sampled, that no full reward is paid for anything but an acceptable outcome and that
no way leads around a ceiling.

**How all of them are covered with few runs.** Sequences are gathered in classes, and a class is run
once. That is sound as far as these hold:

* A write's answer depends on the store alone, and the customer's on the store and the proposal:
  neither reads the log. So what an action does is asked once in each state of the store, in a real
  episode. The store is taken for the same when the same deeds were committed, in whatever order;
  the numbers of their rows may differ, and nothing asks for those.
* The rubric reads the log for: which writes were committed, how many of them lacked the customer's
  choice, how many writes were refused, how many reports were contradicted, and which of those that
  fit an outcome came after its writes. A class is the first three of these, and each is run with
  the reports set into it; of those that fit no outcome only the answer counts, so one lie stands
  for all (at the end, each report is made). Which choice is open at the end, and what was declined,
  is read for nothing.
* Only the latest accepted proposal counts, so of several in a row the last stands for all.
* A report changes nothing, so it can be set anywhere into a run of a class.
* A sequence that the engine ends early (three equal answers) is one of the shorter ones. So that a
  class is run to its end all the same, a read stands before what might be a third one.

The first two are not taken on trust: classes that are reached by several ways are run by more than
one of them, and must earn the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from typing import Any, Final, NamedTuple, cast

from deskgym.aftermath import Record, Records
from deskgym.audit.attack import Attack, Target
from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.mutated_oracles import act_out
from deskgym.audit.opinion import aftermath_of, objections_to
from deskgym.environment import Environment
from deskgym.suites.service.claims import CLAIMS
from deskgym.suites.service.reckoning import Deed, Ledger, deed_of, goals, permitted_by
from deskgym.trajectory import Action, call

NAME: Final = "bounded-search"
LONG_RUN_SEEDS: Final = 100
"""From so many seeds on, a run is a long one, and every world is searched a write deeper."""

WAYS_MAX: Final = 2
"""By how many ways a class is run, to see that they earn the same."""
REASON: Final = "as agreed"

State = frozenset[Deed]
Choice = frozenset[Deed]
NO_CHOICE: Final[Choice] = frozenset()


class Move(NamedTuple):
    """Put something to the customer, or not, and then write."""

    proposal: Action | None
    write: Action


Way = tuple[Move, ...]


class Class(NamedTuple):
    """Sequences that the rubric cannot tell apart.

    Attributes:
        committed: what was committed.
        unchosen: how many of those writes were not what the customer had chosen.
        refused: how many writes were refused.
    """

    committed: State
    unchosen: int
    refused: int


Layer = dict[tuple[State, int, Choice, int], tuple[int, Way]]
"""Classes with the open choice, each with how many sequences of one length lead there, and one."""


@dataclass(frozen=True)
class Alphabet:
    """What an agent can do in a world once it has read it."""

    reads: tuple[Action, ...]
    proposals: tuple[Action, ...]
    writes: tuple[Action, ...]
    reports: tuple[Action, ...]


def alphabet_of(before: Records, account: str | None, opening: str) -> Alphabet:
    """The alphabet of a world: the case's order in full, and one write of each kind on others.

    Amounts are 1, a half, one less than was captured, all of it and one more.
    """
    own = [row for row in before["orders"] if row["customer_id"] == account]
    foreign = [row for row in before["orders"] if row["customer_id"] != account]
    named = [row for row in before["orders"] if row["id"] in opening]
    first = [row for row in own if row in named] or own[-1:]
    rest = [row for row in own if row not in first] + foreign[:1]
    writes: list[Action] = []
    for order in first:
        writes += _writes(before, order)
    for order in rest:
        writes += _one_of_each(_writes(before, order))
    main = first[0]["id"]
    reads = [
        call(tool, order_id=order["id"])
        for order in (*first, *(row for row in named if row not in first))
        for tool in ("get_order", "list_order_payments")
    ]
    told = [main, *(row["id"] for row in named if row not in first)]
    proposals = [_proposal(write) for write in writes if write.tool != "create_return"]
    proposals += [
        call("propose", remedy="return", order_id=main, item_id=item["id"])
        for item in _of(before, "order_items", main)
    ]
    proposals.append(call("propose", remedy="nothing", order_id=main))
    return Alphabet(
        (*reads, call("search_inventory")),
        tuple(proposals),
        tuple(writes),
        tuple(call("report", claim=claim, order_id=order) for order in told for claim in CLAIMS),
    )


def _of(before: Records, table: str, order_id: str) -> list[Record]:
    return [row for row in before[table] if row["order_id"] == order_id]


def _writes(before: Records, order: Record) -> list[Action]:
    order_id = order["id"]
    writes = [call("cancel_order", order_id=order_id, reason=REASON)]
    for parcel in _of(before, "shipments", order_id):
        writes.append(
            call("request_delivery_intercept", order_id=order_id, shipment_id=parcel["id"])
        )
    for payment in _of(before, "payments", order_id):
        cents = payment["captured_cents"] or payment["amount_cents"]
        for amount in dict.fromkeys((cents, cents - 1, cents + 1, cents // 2, 1)):
            if 1 <= amount <= 100_000:
                writes.append(
                    call("issue_refund", order_id=order_id, payment_id=payment["id"],
                         amount_cents=amount, reason=REASON)
                )  # fmt: skip
    for item in _of(before, "order_items", order_id):
        writes.append(call("create_return", order_id=order_id, item_id=item["id"], reason=REASON))
        for sku in _skus(before, item["sku"]):
            writes.append(
                call("create_replacement", order_id=order_id, item_id=item["id"],
                     replacement_sku=sku, return_id="")
            )  # fmt: skip
    skus = dict.fromkeys(
        sku for item in _of(before, "order_items", order_id) for sku in _skus(before, item["sku"])
    )
    writes += [call("create_stock_notification", order_id=order_id, sku=sku) for sku in skus]
    return writes


def _skus(before: Records, sku: str) -> list[str]:
    """A SKU and the next other one of the same product that is kept in stock."""
    product = {row["sku"]: row["product_id"] for row in before["variants"]}
    stocked = [row["sku"] for row in before["inventory"]]
    others = [item for item in stocked if product[item] == product[sku] and item != sku]
    return [sku, *others[:1]]


def _one_of_each(writes: Sequence[Action]) -> list[Action]:
    return list({write.tool: write for write in reversed(writes)}.values())


def _arguments(action: Action) -> dict[str, Any]:
    return dict(cast(Mapping[str, Any], action.arguments))


def _proposal(write: Action) -> Action:
    """What is put to the customer before a write."""
    given = _arguments(write)
    remedy = {
        "cancel_order": "cancellation", "request_delivery_intercept": "intercept",
        "issue_refund": "refund", "create_replacement": "replacement",
        "create_stock_notification": "stock_notification",
    }[write.tool]  # fmt: skip
    given.pop("reason", None)
    given.pop("return_id", None)
    if "replacement_sku" in given:
        given["sku"] = given.pop("replacement_sku")
    return call("propose", remedy=remedy, **given)


class Effects(NamedTuple):
    """What each action of the alphabet does in one state of the store, by its number there.

    Attributes:
        commits: the writes that are carried out.
        refuses: the writes that are not; all others find what they did before.
        accepts: the proposals that the customer accepts.
    """

    commits: tuple[int, ...]
    refuses: tuple[int, ...]
    accepts: tuple[int, ...]


@dataclass
class Search:
    """A search of one world.

    Attributes:
        environment: where it is played.
        seed: the episode's seed.
        depth: how many writes a sequence has at most.
    """

    environment: Environment
    seed: int
    depth: int
    runs: int = 0
    sequences: int = 0
    _effects: dict[State, Effects] = field(default_factory=dict[State, Effects])
    _paths: dict[State, tuple[Action, ...]] = field(default_factory=lambda: {frozenset[Deed](): ()})

    @cached_property
    def alphabet(self) -> Alphabet:
        """What can be done in the world."""
        self.environment.reset(self.seed)
        seen = aftermath_of(self.environment)
        return alphabet_of(seen.before, seen.account, seen.opening)

    @cached_property
    def deeds(self) -> list[Deed]:
        """The writes of the alphabet, as deeds."""
        return [deed_of(write.tool, _arguments(write)) for write in self.alphabet.writes]

    @cached_property
    def permits(self) -> list[Choice]:
        """What each proposal of the alphabet permits, once it is accepted."""
        return [permitted_by(_arguments(proposal)) for proposal in self.alphabet.proposals]

    # What actions do, by real episodes.

    def play(self, actions: Sequence[Action]) -> None:
        """Read the world, then take actions."""
        act_out(self.environment, self.seed, self.alphabet.reads)
        for action in actions:
            if self.environment.done:
                break
            self.take(action)
            if self._might_end():
                self.take(self.alphabet.reads[0])
        self.runs += 1

    def _might_end(self) -> bool:
        """Whether the last two answers were equal, so that a third one would end the episode."""
        first, second = self.environment.steps[-2:]
        return first.result_json == second.result_json

    def take(self, action: Action) -> Any:
        """Take an action; a replacement names the item's open return."""
        if action.tool == "create_replacement":
            given = _arguments(action)
            rows = self.environment.world.rows(
                "SELECT MAX(id) FROM returns WHERE item_id = :item AND status = 'open'",
                {"item": given["item_id"]},
            )
            action = call(action.tool, **{**given, "return_id": rows[0][0] or "RET-000001"})
        return self.environment.step(action)

    @property
    def states(self) -> int:
        """How many states of the store were seen."""
        return len(self._paths)

    def effects(self, state: State) -> Effects:
        """Which writes commit, which are refused and which proposals are accepted in a state."""
        if state not in self._effects:
            self._effects[state] = self._ask(state)
        return self._effects[state]

    def _ask(self, state: State) -> Effects:
        path = self._paths[state]
        commits: list[int] = []
        refuses: list[int] = []
        accepts: list[int] = []
        fresh = False
        for number, write in enumerate(self.alphabet.writes):
            if not fresh or self.environment.done:
                self.play(path)
            answer = self.take(write)
            changed = bool(self.environment.steps[-1].changes)
            fresh = not changed and not self.environment.done
            if changed:
                commits.append(number)
                self._paths.setdefault(state | {self.deeds[number]}, (*path, write))
            elif not answer.ok:
                refuses.append(number)
        for number, proposal in enumerate(self.alphabet.proposals):
            if self.environment.done or not fresh:
                self.play(path)
                fresh = True
            if self.take(proposal).code == "proposal_accepted":
                accepts.append(number)
        return Effects(tuple(commits), tuple(refuses), tuple(accepts))

    # All sequences, class by class.

    def classes(self) -> dict[Class, list[Way]]:
        """Every class that a sequence of the depth or less is in, with ways that lead there."""
        start = (frozenset[Deed](), 0, NO_CHOICE, 0)
        layer: Layer = {start: (1, ())}
        found: dict[Class, list[Way]] = {Class(frozenset(), 0, 0): [()]}
        self.sequences = self._with_reports(1, 0)
        for depth in range(1, self.depth + 1):
            layer = self._next(layer)
            for (state, unchosen, _, refused), (count, way) in layer.items():
                self.sequences += self._with_reports(count, 2 * depth)
                ways = found.setdefault(Class(state, unchosen, refused), [])
                if len(ways) < WAYS_MAX and way not in ways:
                    ways.append(way)
        return found

    def _with_reports(self, count: int, length: int) -> int:
        """How many sequences there are with up to two reports set anywhere into these."""
        kinds = len(self.alphabet.reports)
        return count * (1 + (length + 1) * kinds + comb(length + 2, 2) * kinds**2)

    def _next(self, layer: Layer) -> Layer:
        """A write further: what each place leads to, and by how many sequences."""
        following: Layer = {}
        writes, proposals = self.alphabet.writes, self.alphabet.proposals
        for (state, unchosen, choice, refused), (count, way) in layer.items():
            commits, refuses, accepts = self.effects(state)
            idle = len(writes) - len(commits) - len(refuses)
            declined = len(proposals) - len(accepts) + 1
            asked: list[tuple[Choice, int, Action | None]] = [(choice, declined, None)]
            asked += [(self.permits[number], 1, proposals[number]) for number in accepts]
            for chosen, times, proposal in asked:
                for number in commits:
                    deed = self.deeds[number]
                    more = unchosen + (deed not in chosen)
                    key = (state | {deed}, more, chosen, refused)
                    _add(following, key, count * times, (*way, Move(proposal, writes[number])))
                if refuses:
                    move = Move(proposal, writes[refuses[len(way) % len(refuses)]])
                    key = (state, unchosen, chosen, refused + 1)
                    _add(following, key, count * times * len(refuses), (*way, move))
                if idle:
                    key = (state, unchosen, chosen, refused)
                    _add(following, key, count * times * idle, way)
        return following

    # The runs of a class.

    @cached_property
    def fitting(self) -> tuple[Action, ...]:
        """The reports that tell of an acceptable outcome, by the second reading."""
        self.play(())
        told = {item for goal in goals(Ledger.of(aftermath_of(self.environment)))
                for item in goal.reports}  # fmt: skip
        return tuple(
            report for report in self.alphabet.reports
            if (_arguments(report)["claim"], _arguments(report)["order_id"]) in told
        )  # fmt: skip

    @cached_property
    def lie(self) -> Action:
        """A report that the records contradict, whatever was done."""
        found = (item for item in self.alphabet.reports
                 if _arguments(item)["claim"] == "delivery_stopped")  # fmt: skip
        return next(found)

    def briefly(self, way: Way) -> list[tuple[Action, ...]]:
        """Runs of a class by one way: without a report, with each that fits, and with a lie."""
        plain = _plain(way)
        return [plain, *((*plain, report) for report in (*self.fitting, self.lie))]

    def at_length(self, way: Way) -> list[tuple[Action, ...]]:
        """Runs with every report at the end, and each that fits and a lie anywhere, and both."""
        plain = _plain(way)
        scripts = [(*plain, report) for report in self.alphabet.reports]
        for at, action in enumerate(plain):
            if action.tool != "propose":
                scripts += [(*plain[:at], report, *plain[at:]) for report in self.fitting]
        scripts += [(self.lie, *plain, report) for report in self.fitting]
        scripts += [(*plain, report, self.lie) for report in self.fitting]
        return scripts


def _plain(way: Way) -> tuple[Action, ...]:
    return tuple(
        action for move in way for action in (move.proposal, move.write) if action is not None
    )


def _add(
    layer: Layer,
    key: tuple[State, int, Choice, int],
    count: int,
    way: Way,
) -> None:
    known = layer.get(key)
    layer[key] = (count, way) if known is None else (known[0] + count, known[1])


def judge_classes(
    target: Target, search: Search, classes: Mapping[Class, list[Way]]
) -> Iterator[Finding]:
    """Run every class, and hold what it earns against the second reading and the second opinion."""
    for place, ways in classes.items():
        earned: list[list[tuple[float, ...]]] = []
        for way in ways:
            earned.append([])
            for script in search.briefly(way):
                search.play(script)
                rewards = _rewards(target, search, every_version=len(earned) == 1)
                earned[-1].append(rewards[:1])
                if len(earned) == 1:
                    yield from _wrong(target, search, rewards)
        if any(other != earned[0] for other in earned):
            yield _finding(
                target, search, "", "all ways to one class of runs earn the same",
                f"they earn {earned}", None,
            )  # fmt: skip
        if not place.refused:
            for script in search.at_length(ways[0]):
                search.play(script)
                yield from _wrong(target, search, _rewards(target, search, every_version=False))


def _rewards(target: Target, search: Search, *, every_version: bool) -> tuple[float, ...]:
    rubrics = target.suite.rubrics if every_version else target.suite.rubrics[:1]
    return tuple(search.environment.score(rubric.version).reward for rubric in rubrics)


def _wrong(target: Target, search: Search, rewards: tuple[float, ...]) -> Iterator[Finding]:
    environment = search.environment
    assert target.suite.reckon is not None, "the attack applies to suites that reckon"
    expected = target.suite.reckon(aftermath_of(environment))
    for rubric, reward in zip(target.suite.rubrics, rewards, strict=False):
        if reward != expected[rubric.version]:
            yield _finding(
                target, search, rubric.version,
                f"it earns {expected[rubric.version]} by a second reading of the rules",
                f"it earns {reward}", reward,
            )  # fmt: skip
    if rewards[0] >= _FULL:
        objections = objections_to(environment)
        if objections:
            yield _finding(
                target, search, target.suite.rubric().version,
                "what earns the full reward is acceptable", "; ".join(objections), rewards[0],
            )  # fmt: skip


_FULL: Final = 1.0


def _finding(
    target: Target, search: Search, version: str, expected: str, got: str, reward: float | None
) -> Finding:
    environment = search.environment
    actions = tuple(step.action for step in environment.steps)
    return Finding(
        NAME, "a sequence of the search", target.suite.name, target.task.name, search.seed,
        dict(environment.parameters), version, expected, got, reward, actions,
    )  # fmt: skip


def worlds(target: Target) -> list[Mapping[str, int]]:
    """The parameters that a case is searched with: the defaults, and those of its controls."""
    found: list[Mapping[str, int]] = [{}]
    for control in target.task.controls:
        if control.parameters not in found:
            found.append(control.parameters)
    return found


def depth_of(target: Target, longest: int) -> int:
    """How many writes deep a case is searched.

    One more than its longest outcome takes in the small worlds of the five cases, and two at the
    least; as many as it takes in the richer worlds of the dialogues.

    Args:
        target: the case and the seeds that were asked for.
        longest: the number of writes of the longest outcome.
    """
    small = bool(target.task.parameters)
    depth = max(2, longest + 1) if small else max(1, longest)
    return depth + (len(target.seeds) >= LONG_RUN_SEEDS)


def run(target: Target) -> Section:
    """Search the worlds of a task."""
    found: list[Finding] = []
    rows: list[tuple[Any, ...]] = []
    totals = {"sequences": 0, "classes": 0, "states of the store": 0}
    episodes = 0
    seed = target.seeds[0]
    for parameters in worlds(target):
        with Environment(target.suite, target.task, parameters=parameters) as environment:
            environment.reset(seed)
            longest = max(len(goal.inside) for goal in goals(Ledger.of(aftermath_of(environment))))
            search = Search(environment, seed, depth_of(target, longest))
            classes = search.classes()
            found += judge_classes(target, search, classes)
        states = search.states
        world = ", ".join(f"{name} {value}" for name, value in parameters.items()) or "as it is"
        letters = search.alphabet
        rows.append((
            target.id, world, search.depth, len(letters.writes), len(letters.proposals),
            len(letters.reports), f"{search.sequences:,}", len(classes), states, search.runs,
        ))  # fmt: skip
        totals["sequences"] += search.sequences
        totals["classes"] += len(classes)
        totals["states of the store"] += states
        episodes += search.runs
    return Section(NAME, episodes, findings=tuple(found), counts=totals, tables=(_table(rows),))


def _table(rows: Sequence[tuple[Any, ...]]) -> Table:
    columns = (
        "task", "world", "writes deep", "writes", "proposals", "reports", "sequences", "classes",
        "states of the store", "episodes",
    )  # fmt: skip
    return Table("Sequences covered", columns, tuple(rows))


ATTACK: Final = Attack(
    name=NAME,
    sentence="goes through all sequences of writes, proposals and reports up to a depth, and holds "
    "each reward against a second reading of the rules: full reward means an acceptable outcome, "
    "and no way leads around a ceiling",
    run=run,
    scope="task",
    applies=lambda target: target.suite.name == "service" and target.suite.reckon is not None,
)
