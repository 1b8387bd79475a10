"""Parts of the documents that are made from the code."""

from __future__ import annotations

from deskgym.customers.model import TRAITS


def traits() -> str:
    """A table of the manners that a customer can have."""
    lines = ["| trait | what the model is told |", "|---|---|"]
    lines.extend(f"| `{name}` | {sentences} |" for name, sentences in TRAITS.items())
    return "\n".join(lines)
