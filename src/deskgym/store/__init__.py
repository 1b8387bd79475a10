"""The store: one schema, worlds that are savepoints over a template, and what changed in them."""

from deskgym.store.change import RowChange
from deskgym.store.engine import Engine, default_engine
from deskgym.store.schema import Table, table
from deskgym.store.template import EMPTY, Base, Rows, Template
from deskgym.store.world import World

__all__ = [
    "EMPTY",
    "Base",
    "Engine",
    "RowChange",
    "Rows",
    "Table",
    "Template",
    "World",
    "default_engine",
    "table",
]
