"""The desk: what a tool's function works with, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar

import orjson

from deskgym.errors import CustomerAsked, UsageError
from deskgym.store.change import Row
from deskgym.store.place import LogRow, WorldSlot

T = TypeVar("T")

Ending = Literal["closed", "submitted", "no_progress", "action_limit", "customer_done", "completed"]
"""Why an episode ended: the agent closed or submitted it, three identical observations in a row,
the last action allowed, a customer with nothing more to say, or a task that has run its course."""


def compact_json(value: object) -> bytes:
    """Canonical JSON. orjson keeps a 4 KB block behind each result; the copy lets it go."""
    return bytes(memoryview(orjson.dumps(value)))


_NO_DATA: Final[Mapping[str, Any]] = MappingProxyType({})


class Result(NamedTuple):
    """What a tool answers: whether it did its work, a code, a sentence, and data."""

    ok: bool
    code: str
    message: str
    data: Mapping[str, Any] = _NO_DATA

    def to_dict(self) -> dict[str, object]:
        """The result as an agent sees it."""
        return {
            "ok": self.ok,
            "code": self.code,
            "message": self.message,
            "data": dict(self.data),
        }

    def to_json(self) -> bytes:
        """The result as canonical JSON; raises TypeError for data that JSON cannot hold."""
        ok, code, message, data = self
        if not isinstance(data, dict):
            data = dict(data)
        return compact_json({"ok": ok, "code": code, "message": message, "data": data})


REPLY_CHARACTERS_MAX: Final = 8_192


class CustomerReply(NamedTuple):
    """What a customer who is no script said to an action; it is recorded with the action.

    Attributes:
        message: the words; all that the agent sees.
        accepts: whether a proposal is accepted; False where none was put.
        done: whether the customer has nothing more to say.
    """

    message: str
    accepts: bool = False
    done: bool = False

    def checked(self) -> CustomerReply:
        """The reply, if it can be recorded and shown; raises `UsageError`."""
        message, accepts, done = self
        if type(message) is not str or type(accepts) is not bool or type(done) is not bool:
            raise UsageError("a customer's reply is a text and two booleans")
        if not message.strip() or len(message) > REPLY_CHARACTERS_MAX:
            raise UsageError(
                f"a customer's reply has 1 to {REPLY_CHARACTERS_MAX} characters, not {len(message)}"
            )
        try:
            message.encode()
        except UnicodeEncodeError:
            raise UsageError("a customer's reply is Unicode text") from None
        return self


class Desk:
    """What a tool's function works with: the store, who is signed in, and the episode's log.

    Attributes:
        account: the signed-in customer's id, or None where the agent is the store's own staff.
        step: the number of this action, from 1.
        now: the store's time, UTC in ISO 8601. It stands still within an episode.
        customer: who answers what the agent proposes or says; None where nobody does.
        log_rows: rows for the environment's own tables, kept if the call is.
        reply: what a customer who is no script says to this action, if it asks for it.
        asking: whether the action is only tried, to learn what it would put to the customer.
        replied: whether the action took `reply`.
    """

    __slots__ = (
        "_slot", "account", "asking", "customer", "ending", "log_rows", "now", "replied", "reply",
        "step",
    )  # fmt: skip

    def __init__(
        self,
        slot: WorldSlot,
        *,
        step: int,
        now: str,
        account: str | None,
        customer: Any = None,
        reply: CustomerReply | None = None,
        asking: bool = False,
    ) -> None:
        self._slot: Final = slot
        self.log_rows: list[LogRow] = []
        self.step: Final = step
        self.now: Final = now
        self.account: Final = account
        self.customer: Final[Any] = customer
        self.ending: Ending | None = None
        self.reply: Final = reply
        self.asking: Final = asking
        self.replied = False

    def rows(self, sql: str, *bindings: object, **named: object) -> list[Row]:
        """Run one statement; its rows as tuples."""
        return self._slot.rows(sql, named or bindings)

    def records(self, sql: str, *bindings: object, **named: object) -> list[dict[str, Any]]:
        """Run one statement; its rows by column name."""
        return self._slot.records(sql, named or bindings)

    def record(self, sql: str, *bindings: object, **named: object) -> dict[str, Any] | None:
        """Run one statement; its first row by column name, or None."""
        found = self._slot.records(sql, named or bindings)
        return found[0] if found else None

    def value(self, sql: str, *bindings: object, **named: object) -> Any:
        """Run one statement; the first value of its first row, or None."""
        found = self._slot.rows(sql, named or bindings)
        return found[0][0] if found else None

    def next_id(self, table: str, prefix: str) -> str:
        """A fresh id for a table: `prefix`, then six digits, one above the highest there is.

        Every id of the table has that form, so that the highest text is the highest number.
        """
        highest = self.value(f"SELECT MAX(id) FROM {table}")
        return f"{prefix}{int(highest[len(prefix) :]) + 1 if highest else 1:06d}"

    def log(self, table: str, *values: object) -> None:
        """Add a row, its first value this step, to one of the environment's own tables.

        Kept only if the call is.
        """
        self.log_rows.append((table, (self.step, *values)))

    def logged(self, table: str) -> list[Row]:
        """The rows that earlier actions added to one of the environment's own tables, in order.

        SQL in a tool does not see them: they are written when a rubric first reads them.
        """
        world = self._slot.world
        return [row for name, row in world.log if name == table] if world is not None else []

    def log_each(self, table: str, values: Iterable[object]) -> None:
        """As `log`, a row for each value."""
        step = self.step
        self.log_rows.extend([(table, (step, value)) for value in values])

    def ask(
        self, words: str, scripted: Callable[[], T], *, proposal: bool = False
    ) -> T | CustomerReply:
        """Put words to the customer: a reply from outside, or else what the script answers.

        A tool calls it once, after it has refused what is to be refused.

        Args:
            words: what the customer hears, as a plain sentence.
            scripted: the answer of the task's own customer.
            proposal: whether the customer is to accept or decline.
        """
        if self.asking:
            raise CustomerAsked(words, proposal=proposal)
        if self.reply is None:
            return scripted()
        self.replied = True
        return self.reply

    @property
    def touched(self) -> bool:
        """Whether the call has written to the store so far."""
        return self._slot.touched

    def end(self, reason: Ending) -> None:
        """End the episode with this action."""
        self.ending = reason
