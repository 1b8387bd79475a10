"""Permits: which rows a task may touch, column by column, and the check that nothing else did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from deskgym.rubric.check import Check
from deskgym.store import table
from deskgym.store.change import Operation

ONLY_TASK_ROWS_CHANGED: Final = "only-task-rows-changed"


@dataclass(frozen=True)
class Permit:
    """Rows that a task may touch.

    Attributes:
        table: whose rows; its primary key is one column.
        operation: what may be done with them.
        where: which rows, as SQL over `t`, the row as it is now, with `:name` for the case's keys.
        columns: for a change, the columns that may differ; all others have to be as they were.
    """

    table: str
    operation: Operation
    where: str
    columns: tuple[str, ...] = ()

    def sql(self) -> str:
        """The condition on a row `c` of `env_change` that it is permitted."""
        known = table(self.table)
        key = known.key[0]
        parts = [f"t.{key} = c.row_key", f"({self.where})"]
        source = f"{self.table} t"
        if self.operation == "change":
            source += f" JOIN before.{self.table} b ON b.{key} = t.{key}"
            parts.extend(
                f"(t.{name} = b.{name} OR t.{name} IS NULL AND b.{name} IS NULL)"
                for name in known.columns
                if name not in (*known.key, *self.columns)
            )
        return (
            f"(c.table_name = '{self.table}' AND c.operation = '{self.operation}' AND EXISTS ("
            f"SELECT 1 FROM {source} WHERE {' AND '.join(parts)}))"
        )


def only_permitted(permits: Sequence[Permit]) -> Check:
    """The check that every net change is permitted; its rows are those that are not."""
    allowed = " OR ".join(permit.sql() for permit in permits) or "1 = 0"
    return Check(
        ONLY_TASK_ROWS_CHANGED,
        "no row changes that the task does not ask for",
        "SELECT c.operation, c.table_name, c.row_key FROM env_change c "
        f"WHERE NOT ({allowed}) ORDER BY c.table_name, c.row_key",
        every_change=True,
    )
