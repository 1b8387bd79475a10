"""The one tool of the suite: say something to the customer."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import StringConstraints

from deskgym.argument import TEXT_PATTERN
from deskgym.desk import CustomerReply, Desk, Result
from deskgym.suites.tickets.customer import Customer
from deskgym.suites.tickets.scenario import Intent
from deskgym.tool import tool
from deskgym.trajectory import TEXT_CHARACTERS_MAX

Message = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=TEXT_CHARACTERS_MAX, pattern=TEXT_PATTERN
    ),
]
"""A reply of 1 to 32,768 characters, without control characters but line breaks and tabs."""

_ENDED: Final = "That was the last reply of this ticket."


@tool("talk", codes=("customer_replied", "ticket_completed"))
def respond(desk: Desk, message: Message, intent: Intent | None = None) -> Result:
    """Send the customer your reply to what they wrote last. Each reply takes one turn.

    Args:
        message: what you say to the customer, in your own words.
        intent: what the reply does: classify names the ticket's category, respond solves it,
            clarify asks, escalate hands the ticket to somebody else, close says goodbye.
    """
    customer: Customer = desk.customer
    turn = len(desk.logged("env_turn")) + 1
    desk.log("env_turn", intent or "")
    desk.log("env_message", "agent", message)
    if turn >= customer.turns:
        desk.end("completed")
        return Result(True, "ticket_completed", _ENDED, turn_data(customer, turn))
    answer = desk.ask(message, lambda: CustomerReply(customer.answers[turn - 1])).message
    desk.log("env_message", "customer", answer)
    return Result(True, "customer_replied", answer, turn_data(customer, turn + 1))


def turn_data(customer: Customer, turn: int) -> dict[str, object]:
    """What an observation says beside the words: the task, and which turn is the agent's."""
    return {"task_name": customer.tier, "turn": turn, "turns": customer.turns}
