"""Which recordings a list shows: what the query asks for, checked, and how it is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast, get_args
from urllib.parse import urlencode

from deskgym.errors import UsageError
from deskgym.runstore import RecordingFilter
from deskgym.web.site import Visit

Shelf = Literal["shipped", "own", "uploaded"]
SHELVES: Final[Mapping[Shelf, str]] = {
    "own": "Run here",
    "uploaded": "Uploaded",
    "shipped": "Shipped with deskgym",
}
"""Where recordings are kept apart, and what each place is called."""

Sort = Literal["newest", "oldest", "highest", "lowest"]
SORTS: Final[Mapping[Sort, str]] = {
    "newest": "newest first",
    "oldest": "oldest first",
    "highest": "highest reward first",
    "lowest": "lowest reward first",
}
_TEXTS: Final = ("agent", "task", "verdict", "status", "broken")
_REWARDS: Final = ("reward_min", "reward_max")
_CLOSED: Final[Mapping[str, tuple[str, ...]]] = {
    "verdict": ("resolved", "partial", "not_resolved"),
    "status": ("reward", "invalid", "error"),
}


@dataclass(frozen=True)
class Choice:
    """What a list shows.

    Attributes:
        fields: what was asked for, by name, as it stands in the form; empty where nothing was.
        which: the same, as the store takes it.
        sort: the order.
    """

    fields: Mapping[str, str]
    which: RecordingFilter
    sort: Sort

    @property
    def narrows(self) -> bool:
        """Whether it leaves any recording out."""
        return any(self.fields.values())

    def within(self, shelf: Shelf) -> RecordingFilter:
        """The filter for what the store keeps on a shelf."""
        return replace(self.which, origin=shelf)

    def query(self, **more: str | None) -> str:
        """The query that asks for it, with other fields; None leaves one out."""
        asked = {**self.fields, "sort": self.sort if self.sort != "newest" else None, **more}
        return urlencode({name: value for name, value in asked.items() if value})


def chosen(visit: Visit) -> Choice:
    """What the query asks for.

    Raises:
        UsageError: a value is none that there is; says which are.
    """
    fields = {name: visit.query(name).strip()[:500] for name in (*_TEXTS, *_REWARDS)}
    # Links name a suite alone; in the form it is one of the tasks to choose from.
    fields["task"] = fields["task"] or visit.query("suite").strip()[:500]
    for name, known in _CLOSED.items():
        if fields[name] and fields[name] not in known:
            raise UsageError(f"{name} is one of {', '.join(known)}, not {fields[name][:40]!r}")
    sort = visit.query("sort") or "newest"
    if sort not in get_args(Sort):
        raise UsageError(f"sort is one of {', '.join(SORTS)}, not {sort[:40]!r}")
    wanted: dict[str, Any] = {name: fields[name] for name in _TEXTS if fields[name]}
    if "task" in wanted and "/" not in wanted["task"]:
        wanted["suite"] = wanted.pop("task")
    wanted |= {name: _reward(name, fields[name]) for name in _REWARDS if fields[name]}
    if "verdict" in wanted or "reward_min" in wanted or "reward_max" in wanted:
        # What an invalid run would have earned is no reward.
        wanted.setdefault("status", "reward")
    return Choice(fields, RecordingFilter(**wanted), cast(Sort, sort))


def _reward(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not -1 <= value <= 1:
        raise UsageError(f"{name.replace('_', ' ')} is a number from -1 to 1, not {text[:40]!r}")
    return value
