"""A provider of models that are scripts: `--model deskgym/oracle` needs no key and no network.

It shows what a task is and what its log looks like before a model is paid for, as `deskgym run`
does with its scripted agents.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from itertools import count
from typing import Final

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo
from inspect_ai.util import store

from deskgym.adapters.inspect.sample import ROW, row_of
from deskgym.agents import find_agent
from deskgym.errors import UsageError
from deskgym.testing.model_server import ModelRequest, Say, play_script


@modelapi(name="deskgym")
def scripted_models() -> type[ModelAPI]:
    """Models by the names of scripts: `oracle`, `null`, a control, `careful`, `eager`."""
    return ScriptedModel


class ScriptedModel(ModelAPI):
    """A script of whichever task the sample is of: a control, or a built-in agent."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The script's next action; nothing where it is at its end.

        Raises:
            UsageError: the sample is none of deskgym's.
            UnknownName: its task has no such script.
        """
        del tools, tool_choice, config
        metadata = store().get(ROW)
        if metadata is None:
            raise UsageError("models of the provider `deskgym` play deskgym's own tasks")
        with row_of(metadata).environment() as environment:
            script = find_agent(environment.suite, environment.task, self.model_name)
        told = [{"role": message.role, "content": message.text} for message in input]
        request = ModelRequest("openai", len(input), {"messages": told, "tools": [True]}, {})
        return output_of(play_script(script, goodbye="")(request), self.model_name)


_ids: Final = count(1)


def output_of(say: Say, name: str) -> ModelOutput:
    """A scripted reply as Inspect has it. It tells of no tokens, so that none are counted."""
    calls = [
        ToolCall(id=f"call_{next(_ids)}", function=call.name, arguments=json.loads(call.arguments))
        for call in say.calls
    ]
    message = ChatMessageAssistant(content=say.text, tool_calls=calls or None)
    reason = "tool_calls" if calls else "stop"
    choice = ChatCompletionChoice(message=message, stop_reason=reason)
    return ModelOutput(model=name, choices=[choice], usage=ModelUsage())
