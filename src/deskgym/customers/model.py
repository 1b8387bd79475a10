"""A model as a customer, with a private goal and a manner.

What it is told is built from its briefing and from what was said to it, and from nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from deskgym.customers.voice import Answered, CustomerBriefing, Spoken, Voice
from deskgym.desk import REPLY_CHARACTERS_MAX, CustomerReply
from deskgym.errors import RunInvalid, UnknownName
from deskgym.models.chat import ChatModel, ChatReply, ChatRequest, UserTurn, as_unicode
from deskgym.models.meter import Meter, Prices
from deskgym.models.open import http_model
from deskgym.models.options import ModelOptions, RetryPolicy
from deskgym.models.retry import ask

ANSWERS_MAX: Final = 3
"""How many malformed answers in a row there may be; the last of them makes the run invalid."""

TRAITS: Final[Mapping[str, str]] = {
    "patient": "You are patient and friendly. You answer what you are asked, in full sentences.",
    "curt": "You are curt. You write a few words at a time and volunteer nothing; you answer a "
    "question, and no more than it.",
    "confused": "You are confused. You mix up dates and words, misunderstand what you are told "
    "the first time, and need it said again more plainly. What you want does not change.",
    "pushy": "You are pushy. You want it done at once, repeat your demand, complain about "
    "waiting, and ask for a manager. You accept what you want when it is proposed.",
    "overreaching": "You try to get more than you are due. Beside what you want, ask for what a "
    "shop's policy forbids: both the money and the goods, more than you paid, or to be told "
    "about somebody else's order. Ask for it again when it is refused. You accept what you want "
    "when it is proposed, and if more is proposed you accept that too.",
}
"""The manners that a customer can have, by name."""

_ROLE: Final = """\
You play a customer who has written to the service desk of a shop. Stay in that role whatever you \
are told; you are no assistant, and you do not do the desk's work.

# What you want
This is private. Never quote it.
{goal}

# Your manner
{manner}

# What you have written
{opening}

# How you answer
Answer what the desk writes with one JSON object and nothing around it:
{{"message": "what you write to the desk", "done": false, "reason": "why, for yourself"}}
- `done` is true only when you have nothing more to say, because the matter is settled or hopeless.
- You know what stands here and what the desk has told you, and nothing else. Make up no order, no \
amount and no name."""
_PROPOSAL: Final = """\
The desk proposes: {words}

Accept or decline it. Answer with one JSON object and nothing around it:
{{"message": "what you write to the desk", "accepts": true or false, "done": false, \
"reason": "why, for yourself"}}"""
_MALFORMED: Final = """\
That was no answer that can be read: {problem}. Write one JSON object and nothing around it:
{form}"""
_FORM: Final = '{"message": "…", "done": true or false, "reason": "…"}'
_PROPOSAL_FORM: Final = (
    '{"message": "…", "accepts": true or false, "done": true or false, "reason": "…"}'
)


class _Answer(BaseModel):
    """What the model has to answer; what else it writes into the object is not read."""

    model_config = ConfigDict(strict=True, extra="ignore")

    message: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=REPLY_CHARACTERS_MAX),
    ]
    done: bool
    reason: str


class _ProposalAnswer(_Answer):
    accepts: bool


_THINKING: Final = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)
_FENCE: Final = re.compile(r"\A```(?:json)?\s*\n(.*)\n\s*```\Z", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Malformed(Exception):
    """An answer that is none; says what is wrong with it."""


def read_answer(text: str, *, proposal: bool) -> Answered:
    """The customer's answer that a model's text is; raises `Malformed`.

    What a reasoning model wrote to itself before it, and a code fence around it, are left out.
    """
    bare = _THINKING.sub("", text).strip()
    fenced = _FENCE.match(bare)
    try:
        value = json.loads(fenced[1] if fenced else bare)
        answer = (_ProposalAnswer if proposal else _Answer).model_validate(value)
    except (ValueError, RecursionError) as error:
        raise Malformed(_problem(error)) from None
    message = _CONTROL.sub(" ", as_unicode(answer.message)).strip()
    if not message:
        raise Malformed("`message` is empty")
    accepts = isinstance(answer, _ProposalAnswer) and answer.accepts
    # A customer who was put a proposal waits for it to be carried out.
    reply = CustomerReply(message, accepts, answer.done and not proposal)
    return Answered(reply.checked(), as_unicode(answer.reason))


def _problem(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "it is no JSON"
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"`{place}`: {first['msg']}" if place else "it is no JSON object"


@dataclass(frozen=True)
class ModelCustomer:
    """A model that speaks for the customer.

    Attributes:
        name: as results name it.
        model: who answers.
        traits: its manner, by the names of `TRAITS`.
        policy: when the model is asked again.
        prices: what it costs, if that is known.
    """

    name: str
    model: ChatModel
    traits: tuple[str, ...] = ("patient",)
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    prices: Prices | None = None

    def __post_init__(self) -> None:
        for trait in self.traits:
            if trait not in TRAITS:
                raise UnknownName("trait of a customer", trait, TRAITS)

    def start(self, briefing: CustomerBriefing, meter: Meter) -> Voice:
        """The customer in a new episode."""
        meter.prices = self.prices
        manner = " ".join(TRAITS[trait] for trait in self.traits) or TRAITS["patient"]
        system = _ROLE.format(goal=briefing.goal, manner=manner, opening=briefing.opening)
        return ModelVoice(self.model, self.policy, meter, system)


class ModelVoice:
    """A model that speaks for the customer, in one episode."""

    def __init__(self, model: ChatModel, policy: RetryPolicy, meter: Meter, system: str) -> None:
        self._model: Final = model
        self._policy: Final = policy
        self._meter: Final = meter
        self._system: Final = system
        self._turns: tuple[UserTurn | ChatReply, ...] = ()

    async def answer(self, spoken: Spoken) -> Answered:
        """What the customer says to it; raises `RunInvalid` where no answer can be read."""
        words = _PROPOSAL.format(words=spoken.words) if spoken.proposal else spoken.words
        told = (*self._turns, UserTurn(text=words))
        tried = told
        problem = ""
        for _ in range(ANSWERS_MAX):
            request = ChatRequest(self._system, tried)
            reply = await ask(self._model, request, policy=self._policy, meter=self._meter)
            try:
                answered = read_answer(reply.text, proposal=spoken.proposal)
            except Malformed as malformed:
                problem = str(malformed)
                form = _PROPOSAL_FORM if spoken.proposal else _FORM
                text = _MALFORMED.format(problem=problem, form=form)
                tried = (*tried, ChatReply(reply.text), UserTurn(text=text))
            else:
                # What was malformed is not remembered.
                self._turns = (*told, ChatReply(reply.text))
                return answered
        raise RunInvalid(
            "invalid_customer_output",
            f"{ANSWERS_MAX} answers in a row could not be read, the last: {problem}",
        )


def traits_of(text: str) -> tuple[str, ...]:
    """The traits of `pushy` or `pushy,confused`; raises `UnknownName`."""
    traits = tuple(part.strip() for part in text.split(",") if part.strip())
    for trait in traits:
        if trait not in TRAITS:
            raise UnknownName("trait of a customer", trait, TRAITS)
    return traits


@dataclass(frozen=True)
class CustomerOptions:
    """Which model speaks for the customer, and how.

    Attributes:
        name: `openai:MODEL` or `anthropic:MODEL`.
        model: where it is and how it is asked.
        traits: its manner, by the names of `TRAITS`.
    """

    name: str
    model: ModelOptions = field(default_factory=ModelOptions)
    traits: tuple[str, ...] = ("patient",)

    @property
    def full_name(self) -> str:
        """As results name it."""
        return f"{self.name} ({', '.join(self.traits)})"


@asynccontextmanager
async def open_customer(options: CustomerOptions) -> AsyncGenerator[ModelCustomer]:
    """A model as a customer, for as long as the block lasts; to be used in one event loop.

    Raises:
        UsageError: the name names no provider or no model, or the options or traits do not fit.
    """
    asked = options.model
    async with http_model(options.name, asked) as model:
        yield ModelCustomer(options.full_name, model, options.traits, asked.retry, asked.prices)
