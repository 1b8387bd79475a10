"""Name the category of a ticket: one reply, one word that counts."""

from deskgym.suites.tickets import control
from deskgym.suites.tickets.ticket import fixture_of
from deskgym.task import Control, Task

task = Task(
    title="Name a ticket's category",
    question="Which one of five categories does the ticket belong to?",
    fixture=fixture_of("easy"),
    rank=1,
    controls=(
        Control("one-category", "oracle", "name the category", control.oracle, 1.00),
        Control("no-reply", "null", "say nothing", control.no_reply, 0.00),
        Control("synonym", "near_miss", "name it by a synonym", control.synonym, 0.50),
        Control(
            "every-category",
            "forbidden",
            "list every category",
            control.everything,
            0.00,
            # The list has the right category in it.
            rewards={"ticket-reward.v1": 1.00},
        ),
    ),
)
