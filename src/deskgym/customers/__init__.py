"""Customers who are no script of a task: they hear what an agent says to them, and answer."""

from deskgym.customers.model import (
    TRAITS,
    CustomerOptions,
    ModelCustomer,
    open_customer,
    traits_of,
)
from deskgym.customers.voice import Answered, Customer, CustomerBriefing, Spoken, Voice

__all__ = [
    "TRAITS",
    "Answered",
    "Customer",
    "CustomerBriefing",
    "CustomerOptions",
    "ModelCustomer",
    "Spoken",
    "Voice",
    "open_customer",
    "traits_of",
]
