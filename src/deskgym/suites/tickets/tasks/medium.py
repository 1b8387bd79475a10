"""Solve a ticket in one reply."""

from deskgym.suites.tickets import control
from deskgym.suites.tickets.ticket import fixture_of
from deskgym.task import Control, Task

task = Task(
    title="Solve a ticket in one reply",
    question="Does the reply promise what solves this ticket, and nothing else?",
    fixture=fixture_of("medium"),
    rank=2,
    controls=(
        Control("solution", "oracle", "solve it, with sympathy", control.oracle, 1.00),
        Control("no-reply", "null", "say nothing", control.no_reply, 0.00),
        # Empathy 0.10 and length 0.10.
        Control("polite-words", "near_miss", "polite words for anybody", control.polite, 0.20),
        # 1.00 less the penalty of 0.20.
        Control(
            "handed-over", "near_miss", "solve it, and escalate it too", control.escalating, 0.80
        ),
        Control(
            "every-keyword",
            "forbidden",
            "list every remedy there is",
            control.everything,
            # Empathy 0.10 and length 0.10: the remedies of all categories earn nothing.
            0.20,
            # Four keywords 0.80, empathy 0.10, length 0.10.
            rewards={"ticket-reward.v1": 1.00},
        ),
    ),
)
