"""`/tickets`: the seven published endpoints of the ticket environment, with their shapes.

It is a trainer's door: rewards are in what it answers, so show an agent the conversation only.
"""

from deskgym.serve.tickets.door import door

__all__ = ["door"]
