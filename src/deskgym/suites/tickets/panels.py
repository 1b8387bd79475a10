"""What stands beside a ticket: which task it is, and how many turns are taken."""

from typing import Final

from deskgym.panel import Panel

PANELS: Final = (
    Panel(
        "Ticket",
        "SELECT t.tier AS task, (SELECT COUNT(*) FROM env_turn) AS turns_taken FROM env_ticket t",
    ),
)
"""The ticket's words are its conversation, which stands beside every case that has one; which
scenario it is stays the grader's."""
