"""A model of Inspect's that speaks for the customer: the model role `customer`."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Model,
    get_model,
)

from deskgym.customers import ModelCustomer, traits_of
from deskgym.models.chat import ChatReply, ChatRequest, as_unicode
from deskgym.models.options import RetryPolicy

ROLE: Final = "customer"


def inspect_customer(persona: str) -> ModelCustomer:
    """A customer of a manner such as `pushy,confused`; raises `UnknownName` for another."""
    traits = traits_of(persona)
    model = get_model(role=ROLE)
    name = f"inspect:{model.name} ({', '.join(traits)})"
    # Inspect tries again by itself.
    return ModelCustomer(name, InspectModel(model), traits, RetryPolicy(attempts_max=1))


@dataclass(frozen=True)
class InspectModel:
    """A model of Inspect's, asked in words and without tools; its calls are in Inspect's log."""

    model: Model

    async def reply(self, request: ChatRequest) -> ChatReply:
        """The model's answer; what the provider raises comes as itself."""
        messages: list[ChatMessage] = [ChatMessageSystem(content=request.system)]
        for turn in request.turns:
            told = isinstance(turn, ChatReply)
            kind = ChatMessageAssistant if told else ChatMessageUser
            messages.append(kind(content=turn.text))
        output = await self.model.generate(messages)
        refused = output.stop_reason == "content_filter"
        return ChatReply(as_unicode(output.completion), finish="refused" if refused else "end")
