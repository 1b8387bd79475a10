"""A model as an agent, by native tool calls or by the text protocol.

A player's messages are built from its briefing and from what it has seen, and it holds nothing
else: neither the environment nor the customer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from deskgym.agents.player import AgentBriefing, AgentTurn, Player, Seen
from deskgym.models.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    ToolAnswer,
    ToolCall,
    UserTurn,
    with_new_ids,
)
from deskgym.models.meter import Meter, Prices
from deskgym.models.options import RetryPolicy
from deskgym.models.retry import ask
from deskgym.protocol import (
    ERROR_CODES,
    STOP_SEQUENCE,
    CallError,
    catalogue,
    format_error,
    format_result,
    parse,
    read_native_call,
)
from deskgym.trajectory import Action, Observation

ToolProtocol = Literal["native", "text"]
"""How a model calls tools: by its provider's tool calling, or by `deskgym.protocol` in its text."""

_SPEAKS: Final = (
    "What you write without calling a tool is said to the customer. What you write beside calls "
    "is private: nobody hears it."
)
_CUT_CALL: Final = "It was cut off by the length limit. Write less beside it."
_ACTS: Final = "Act by calling tools. Nobody reads what you write beside calls."


@dataclass(frozen=True)
class ModelAgent:
    """A model that acts.

    Attributes:
        name: as results name it.
        model: who answers.
        protocol: how it calls tools.
        stop_at_call: by the text protocol, whether it is stopped after a call.
        policy: when it is asked again.
        prices: what it costs, if that is known.
    """

    name: str
    model: ChatModel
    protocol: ToolProtocol = "native"
    stop_at_call: bool = False
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    prices: Prices | None = None
    is_budgeted: bool = True

    def start(self, briefing: AgentBriefing, meter: Meter) -> Player:
        """The model in a new episode."""
        meter.prices = self.prices
        asked = _Asked(self.model, self.policy, meter)
        if self.protocol == "native":
            return NativePlayer(asked, briefing)
        return TextPlayer(asked, briefing, stop_at_call=self.stop_at_call)


class _Asked(NamedTuple):
    """Whom a player asks, and where that is counted."""

    model: ChatModel
    policy: RetryPolicy
    meter: Meter

    async def reply(self, request: ChatRequest) -> ChatReply:
        return await ask(self.model, request, policy=self.policy, meter=self.meter)


def opening_text(opening: Observation) -> str:
    """The first observation, as what a model is told first."""
    more = f"\n\n{json.dumps(dict(opening.data), ensure_ascii=False)}" if opening.data else ""
    return opening.message + more


def native_system(briefing: AgentBriefing) -> str:
    """The instructions of a model that calls tools as its provider has it."""
    return f"{briefing.instructions.strip()}\n\n{_SPEAKS if briefing.speaks else _ACTS}"


def seen_text(seen: Seen) -> str:
    """What was said, and what the runner has to say, in brackets so that it is no customer's."""
    notice = f"[{seen.notice}]" if seen.notice else ""
    return "\n\n".join(part for part in (seen.said, notice) if part)


class Thought(NamedTuple):
    """A reply's text, with what the model wrote to itself apart."""

    private: str
    text: str


_THINKING: Final = re.compile(
    r"\A\s*(?:<think(?:ing)?>(.*?)|((?:(?!<tool_call>).)*?))</think(?:ing)?>\s*", re.DOTALL
)
_TAG: Final = re.compile(r"<(?=/?\s*tool_)", re.IGNORECASE)
_CUT_THINKING: Final = re.compile(r"\A\s*<think(?:ing)?>(.*)\Z", re.DOTALL)


def thought(text: str) -> Thought:
    """Take apart what a reasoning model wrote to itself, where its server leaves that in the text.

    It stands at the beginning, up to a closing tag; chat templates swallow the opening one.
    """
    if "think" not in text:  # to look for it takes long in a long text
        return Thought("", text)
    found = _THINKING.match(text) or _CUT_THINKING.match(text)
    if found is None:
        return Thought("", text)
    private = next(part for part in found.groups() if part is not None)
    return Thought(private.strip(), text[found.end() :])


class NativePlayer:
    """A model that calls tools as its provider has it."""

    def __init__(self, asked: _Asked, briefing: AgentBriefing) -> None:
        self._asked: Final = asked
        self._toolbox: Final = briefing.toolbox
        self._tools: Final = tuple(briefing.toolbox.values())
        self._ids: Final[set[str]] = set()
        self._system: Final = native_system(briefing)
        self._turns: list[UserTurn | ChatReply] = [UserTurn(text=opening_text(briefing.opening))]

    async def turn(self, seen: Seen | None) -> AgentTurn:
        """The model's next turn."""
        if seen is not None:
            self._turns.append(self._told(seen))
        request = ChatRequest(self._system, tuple(self._turns), self._tools)
        reply = with_new_ids(await self._asked.reply(request), self._ids)
        self._ids.update(call.id for call in reply.calls)
        self._turns.append(reply)
        cut = reply.finish == "length"
        calls = self._read(reply.calls, cut=cut)
        private, text = thought(reply.text)
        if calls:
            return AgentTurn(calls, private=reply.text.strip(), cut=cut)
        if cut:
            return AgentTurn(private=reply.text, cut=True)
        return AgentTurn(speech=text.strip(), private=private)

    def _read(self, made: tuple[ToolCall, ...], *, cut: bool) -> tuple[Action | CallError, ...]:
        calls = [read_native_call(call.name, call.arguments, self._toolbox) for call in made]
        if cut and made and not made[-1].arguments.strip(" {}"):
            # Cut off before its arguments, a call looks like one without any.
            calls[-1] = CallError("malformed_json", ERROR_CODES["malformed_json"], _CUT_CALL)
        return tuple(calls)

    def _told(self, seen: Seen) -> UserTurn:
        last = self._turns[-1]
        calls = last.calls if isinstance(last, ChatReply) else ()
        answers = tuple(
            ToolAnswer(call.id, *answer_text(answer))
            for call, answer in zip(calls, seen.answers, strict=True)
        )
        text = seen_text(seen)
        return UserTurn(answers, text or ("" if answers else "[Go on.]"))


class ToldAnswer(NamedTuple):
    """What a call returned, and whether it did its work."""

    text: str
    ok: bool


def answer_text(answer: Observation | CallError) -> ToldAnswer:
    """What a call returned, for the model."""
    if isinstance(answer, CallError):
        fields = {"code": answer.code, "message": answer.message, "hint": answer.hint}
        return ToldAnswer(json.dumps(fields, ensure_ascii=False), False)
    return ToldAnswer(json.dumps(answer.to_dict(), ensure_ascii=False), answer.ok)


def text_system(briefing: AgentBriefing) -> str:
    """The policy, the tools and how to call them in text: a model's system prompt."""
    how = _SPEAKS if briefing.speaks else _ACTS
    return "\n\n".join((briefing.instructions.strip(), catalogue(briefing.toolbox), how))


def text_told(seen: Seen) -> str:
    """What came of a turn, by the text protocol, as a model is told it."""
    results = [
        format_error(answer) if isinstance(answer, CallError) else format_result(answer)
        for answer in seen.answers
    ]
    # What a customer says cannot be taken for a result.
    words = _TAG.sub("&lt;", seen_text(seen))
    return "\n".join([*results, *filter(None, [words])]) or "[Go on.]"


class TextPlayer:
    """A model that writes its calls into its text."""

    def __init__(self, asked: _Asked, briefing: AgentBriefing, *, stop_at_call: bool) -> None:
        self._asked: Final = asked
        self._toolbox: Final = briefing.toolbox
        self._stop: Final = (STOP_SEQUENCE,) if stop_at_call else ()
        self._system: Final = text_system(briefing)
        self._turns: list[UserTurn | ChatReply] = [UserTurn(text=opening_text(briefing.opening))]

    async def turn(self, seen: Seen | None) -> AgentTurn:
        """The model's next turn."""
        if seen is not None:
            results = [
                format_error(answer) if isinstance(answer, CallError) else format_result(answer)
                for answer in seen.answers
            ]
            # What a customer says cannot be taken for a result.
            words = _TAG.sub("&lt;", seen_text(seen))
            parts = [*results, *filter(None, [words])]
            self._turns.append(UserTurn(text="\n".join(parts) or "[Go on.]"))
        request = ChatRequest(self._system, tuple(self._turns), stop=self._stop)
        reply = await self._asked.reply(request)
        private, text = thought(reply.text)
        stopped = bool(self._stop) and reply.finish in ("end", "stop_sequence")
        parsed = parse(text, self._toolbox, stopped=stopped)
        closed = STOP_SEQUENCE if stopped and _is_open(text) else ""
        self._turns.append(ChatReply(text.strip() + closed))
        cut = reply.finish == "length"
        if parsed.items:
            return AgentTurn(parsed.items, private=reply.text.strip(), cut=cut)
        if cut:
            return AgentTurn(private=reply.text, cut=True)
        return AgentTurn(speech=parsed.visible.strip(), private=private)


def _is_open(text: str) -> bool:
    """Whether the last call of a text lacks its closing tag."""
    return text.rfind("<tool_call>") > text.rfind(STOP_SEQUENCE)
