"""An episode's tools as Inspect's, each from deskgym's own JSON Schema."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool
from inspect_ai.tool import ToolCall, ToolDef, ToolParams

from deskgym.adapters.inspect.desk import Desk
from deskgym.tool import ToolSchema
from deskgym.trajectory import Action


def tools_of(desk: Desk) -> list[ToolDef]:
    """The tools of an episode. What they return is never cut short."""
    return [_tool_def(desk, tool) for tool in desk.environment.tools.values()]


def _tool_def(desk: Desk, tool: ToolSchema) -> ToolDef:
    return ToolDef(
        _caller(desk, tool.name),
        name=tool.name,
        description=tool.description,
        parameters=ToolParams.model_validate(tool.schema),
        parallel=False,
        max_output=0,
    )


def _caller(desk: Desk, name: str) -> Callable[..., Awaitable[str]]:
    # Inspect hands the arguments over as they are where a tool takes `**kwargs: Any`.
    async def execute(**kwargs: Any) -> str:
        return await desk.call(Action(name, kwargs))

    return execute


async def refuse_in_the_episode(desk: Desk, messages: list[ChatMessage]) -> None:
    """Let the episode answer the last calls whose arguments Inspect refused.

    Inspect checks arguments by the schema and answers for the tool. The episode has to know of such
    a call, which is an action like any other, and the model gets the answer that it gets anywhere
    else: a code, and what would be right.
    """
    first = len(messages)
    while first and isinstance(messages[first - 1], ChatMessageTool):
        first -= 1
    asked = messages[first - 1]
    if not isinstance(asked, ChatMessageAssistant):
        return
    made = {call.id: call for call in asked.tool_calls or ()}
    for place in range(first, len(messages)):
        message = messages[place]
        assert isinstance(message, ChatMessageTool), "only these were counted"
        call = made.get(message.tool_call_id or "")
        if call is not None and _was_refused(desk, message, call):
            messages[place] = ChatMessageTool(
                content=await desk.call(Action(call.function, call.arguments)),
                tool_call_id=call.id,
                function=call.function,
            )


def _was_refused(desk: Desk, message: ChatMessageTool, call: ToolCall) -> bool:
    error = message.error
    return (
        error is not None
        and error.type == "parsing"
        and call.parse_error is None
        and call.function in desk.environment.tools
    )
