"""The hand of an adversary: it acts with a toolbox that it has only read the schemas of."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

from deskgym.audit.zoo.notebook import TEXT, Notebook, Scalars, choices
from deskgym.tool import Parameter, Tool, Toolbox
from deskgym.trajectory import Action, Observation

T = TypeVar("T")
Part = Generator[Action, Observation, T]

READS_MAX: Final = 18
WRITES_MAX: Final = 8
TEXT_CHARACTERS_MAX: Final = 4_000
SPOKEN: Final = ("body", "text", "message")
"""Arguments in which a tool takes what is said to somebody."""


class Deed(NamedTuple):
    """A write that was carried out."""

    tool: str
    arguments: Mapping[str, object]
    answer: Mapping[str, Any]


class Hand:
    """Acts, and notes what it is answered.

    Attributes:
        notes: what it knows.
        deeds: the writes that were carried out.
    """

    def __init__(self, toolbox: Toolbox, first: Observation) -> None:
        self._toolbox: Final = toolbox
        self.notes: Final = Notebook(first)
        self.deeds: Final[list[Deed]] = []
        self._asked: Final[set[str]] = set()

    def tools(self, kind: str) -> list[Tool]:
        """The tools of a kind."""
        return [item for item in self._toolbox.values() if item.kind == kind]

    def do(self, tool: Tool, **arguments: object) -> Part[Observation]:
        """Call a tool and note the answer."""
        action = Action(tool.name, arguments)
        seen = yield action
        self.notes.learn(action, seen)
        if seen.ok and tool.kind == "write" and not _spoken(tool):
            self.deeds.append(Deed(tool.name, arguments, seen.data))
        return seen

    # Reading.

    def read_all(self, reads_max: int = READS_MAX) -> Part[None]:
        """Read what the task names, then what can be listed, then what the first of it names."""
        left = reads_max
        for _ in range(3):
            for tool in self.tools("read"):
                for arguments in self._readings(tool):
                    mark = f"{tool.name} {sorted(arguments.items())}"
                    if mark not in self._asked and left:
                        self._asked.add(mark)
                        left -= 1
                        yield from self.do(tool, **arguments)

    def _readings(self, tool: Tool) -> list[Scalars]:
        """Arguments to read with: none where none is needed, and one id each."""
        required = [item.name for item in tool.parameters if item.required]
        if len(required) > 1:
            return []
        names = required or [
            item.name for item in tool.parameters if item.name.endswith("_id") or item.name == "sku"
        ]
        given: list[Scalars] = [] if required else [{}]
        for name in names:
            given += [{name: value} for value in self.notes.near(name)[:4]]
        return given

    # Writing.

    def writes(self) -> list[Tool]:
        """The tools that change records, those that only speak left out."""
        return [tool for tool in self.tools("write") if not _spoken(tool)]

    def write(self, tool: Tool, times_max: int = WRITES_MAX, *, focused: bool = True) -> Part[None]:
        """Do a write for each record that it fits, asking the customer first where one can."""
        for arguments in self.notes.fillings(tool, focused=focused)[:times_max]:
            yield from self.propose(tool, arguments)
            yield from self.do(tool, **arguments)

    def propose(self, tool: Tool, arguments: Mapping[str, object]) -> Part[None]:
        """Put a write to the customer, by a tool that binds what the write binds."""
        for talk in self.tools("talk"):
            names = {item.name for item in talk.parameters}
            remedy = _choice_for(talk, tool.name)
            if remedy is None or len(names) <= 2:
                continue
            bound = {"sku" if k == "replacement_sku" else k: v for k, v in arguments.items()}
            given = {k: v for k, v in bound.items() if k in names and k not in TEXT}
            yield from self.do(talk, **{remedy[0]: remedy[1]}, **given)

    # Speaking.

    def say(self, text: str, intent: str | None = None) -> Part[None]:
        """Say something wherever somebody listens; on and on where there is nothing else to do."""
        for tool in self._toolbox.values():
            spoken = _spoken(tool)
            if not spoken:
                continue
            given = self._said(tool, spoken, text, intent)
            repeats = 1 if self.tools("end") else 10
            for _ in range(repeats if given is not None else 0):
                yield from self.do(tool, **cast(Scalars, given))

    def _said(self, tool: Tool, spoken: str, text: str, intent: str | None) -> Scalars | None:
        given: Scalars = {spoken: text[:TEXT_CHARACTERS_MAX] or "…"}
        for item in tool.parameters:
            if item.name == spoken:
                continue
            if intent is not None and intent in choices(item):
                given[item.name] = intent
            elif item.required:
                known = [v for v in self.notes.known(item.name) if self.notes.is_in_focus(v)]
                known += self.notes.focus
                if not known:
                    return None
                given[item.name] = known[0]
        return given

    def report(self, claims: Sequence[str] | None = None) -> Part[None]:
        """State what was done by the tools that take a claim; every claim if none is given."""
        for tool in self.tools("talk"):
            if len(tool.parameters) > 2:
                continue
            for item in tool.parameters:
                for claim in choices(item):
                    if (claims is None or claim in claims) and item.required:
                        yield from self._report(tool, item, claim)

    def _report(self, tool: Tool, closed: Parameter, claim: str) -> Part[None]:
        others = [item.name for item in tool.parameters if item is not closed]
        if not others:
            yield from self.do(tool, **{closed.name: claim})
            return
        for value in self.notes.focus[:1]:
            yield from self.do(tool, **{closed.name: claim, others[0]: value})

    def tell(self) -> Part[None]:
        """Report and say what was done, and no more."""
        names = list(dict.fromkeys(deed.tool for deed in self.deeds))
        claims = [claim for name in names if (claim := self._claim_for(name))]
        yield from self.report(claims)
        yield from self.say(" ".join(map(_sentence, self.deeds)) or "I have looked into it.")

    def _claim_for(self, name: str) -> str | None:
        for tool in self.tools("talk"):
            if len(tool.parameters) <= 2:
                found = _choice_for(tool, name)
                if found is not None:
                    return found[1]
        return None

    def end(self, summary: str = "Done.") -> Part[None]:
        """End the episode."""
        for tool in self.tools("end"):
            given = {item.name: summary for item in tool.parameters if item.required}
            yield from self.do(tool, **given)


def _spoken(tool: Tool) -> str:
    """The argument in which a tool takes what is said; empty where it takes nothing said."""
    if tool.kind not in ("talk", "write"):
        return ""
    return next((item.name for item in tool.parameters if item.name in SPOKEN), "")


def _choice_for(talk: Tool, name: str) -> tuple[str, str] | None:
    """The argument and the member of its closed set that stand for a write, if any does."""
    for item in talk.parameters:
        for member in sorted(choices(item), key=lambda text: text.count("_")):
            if any(word[:6] in name for word in member.split("_") if len(word) > 4):
                return item.name, member
    return None


def _sentence(deed: Deed) -> str:
    order = deed.arguments.get("order_id", "")
    cents = deed.arguments.get("amount_cents")
    if isinstance(cents, int):
        return f"We have refunded ${cents // 100:,}.{cents % 100:02d} for order {order}."
    if "replac" in deed.tool:
        return f"We have sent you a replacement for order {order}."
    if "cancel" in deed.tool:
        return f"We have cancelled order {order}."
    return f"For order {order} we have done this: {deed.tool.replace('_', ' ')}."
