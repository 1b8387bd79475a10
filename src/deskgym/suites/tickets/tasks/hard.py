"""Ask, solve, close: a ticket in three replies."""

from deskgym.suites.tickets import control
from deskgym.suites.tickets.ticket import fixture_of
from deskgym.task import Control, Task

task = Task(
    title="Ask, solve and close",
    question="Is each reply what the conversation needs at that point?",
    fixture=fixture_of("hard"),
    rank=3,
    controls=(
        Control(
            "conversation",
            "oracle",
            "ask about it, solve it, close",
            control.oracle,
            1.00,
            # (0.40 + 0.50 + 0.30) / 3, the most that there is.
            rewards={"ticket-reward.v1": 0.40},
        ),
        Control("no-reply", "null", "say nothing", control.no_reply, 0.00),
        Control(
            "polite-words",
            "near_miss",
            "polite words for anybody",
            control.polite,
            # (a question 0.30 + empathy and length 0.20 + a close 0.40) / 3
            0.30,
            # (0.30 + 0.12 + 0.08 + 0.30) / 3
            rewards={"ticket-reward.v1": 0.2667},
        ),
        Control(
            "solution-each-turn",
            "near_miss",
            "give the solution three times",
            control.solving_each_turn,
            # (no question 0.00 + all of 1.00 + restated without a close 0.60) / 3
            0.5333,
            # (0.00 + 0.50 + 0.00) / 3
            rewards={"ticket-reward.v1": 0.1667},
        ),
        Control(
            "every-keyword",
            "forbidden",
            "list every topic and every remedy",
            control.everything,
            # (a question 0.30 + empathy and length 0.20 + a close 0.40) / 3
            0.30,
            # The same 0.40 as the best that there is.
            rewards={"ticket-reward.v1": 0.40},
        ),
    ),
)
