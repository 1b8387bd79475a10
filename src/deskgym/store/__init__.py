"""The store: one schema, worlds that are savepoints over a template, and what changed in them."""

from deskgym.store.change import RowChange
from deskgym.store.draw import Draw, shifted
from deskgym.store.engine import Engine, default_engine
from deskgym.store.opening import is_postgres, open_engine
from deskgym.store.place import WorldEngine, WorldSlot
from deskgym.store.schema import Table, table
from deskgym.store.template import EMPTY, AnyRow, AnyRows, Base, Rows, Template
from deskgym.store.world import World

__all__ = [
    "EMPTY",
    "AnyRow",
    "AnyRows",
    "Base",
    "Draw",
    "Engine",
    "RowChange",
    "Rows",
    "Table",
    "Template",
    "World",
    "WorldEngine",
    "WorldSlot",
    "default_engine",
    "is_postgres",
    "open_engine",
    "shifted",
    "table",
]
