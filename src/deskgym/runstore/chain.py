"""The hash chain over a stored episode: what it was made from, then each action and its outcome.

An episode that is rebuilt has to give the same chain, so that its observations, row changes, and
with them its world and its rewards, are those that were acknowledged.
"""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

import orjson

from deskgym.desk import CustomerReply
from deskgym.environment import Environment
from deskgym.trajectory import Step


class StoredStep(NamedTuple):
    """One action as it is stored.

    Attributes:
        number: from 1.
        action: canonical JSON, as is `result`.
        changes: the net row changes, as JSON.
        ended: why the episode ended with it, or None.
        chain: the hash of everything up to here.
        reply: what a customer who is no script said to it, as canonical JSON, or None.
    """

    number: int
    action: str
    result: str
    changes: str
    ended: str | None
    chain: str
    reply: str | None = None

    def holds_after(self, chain: str) -> bool:
        """Whether the step is what its own hash says, after an episode of that hash."""
        return self == self.sealed_after(chain)

    def sealed_after(self, chain: str) -> StoredStep:
        """The step with the hash that it has after an episode of the hash `chain`."""
        sealed = _sealed(chain, self.action, self.result, self.changes, self.ended, self.reply)
        return self._replace(chain=sealed)

    def customer_reply(self) -> CustomerReply | None:
        """The reply, as `Environment.step` takes it."""
        return None if self.reply is None else CustomerReply(**orjson.loads(self.reply))


def opening_chain(environment: Environment) -> str:
    """The chain's first hash: the task, how it was built, and what the agent was told first."""
    fixture = environment.fixture
    made_from = [
        environment.id,
        environment.seed,
        dict(environment.parameters),
        environment.rubric.version,
        fixture.template.id,
        environment.opening().to_dict(),
    ]
    return sha256(orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS)).hexdigest()


def stored_step(step: Step, chain: str) -> StoredStep:
    """A step of a trajectory as it is stored, after an episode of the hash `chain`."""
    action, result = step.action_json.decode(), step.result_json.decode()
    changes = (
        orjson.dumps([[*change] for change in step.changes]).decode() if step.changes else "[]"
    )
    reply = None if step.reply is None else orjson.dumps(step.reply._asdict()).decode()
    stored = StoredStep(step.number, action, result, changes, step.ended, "", reply)
    return stored.sealed_after(chain)


def _sealed(
    chain: str, action: str, result: str, changes: str, ended: str | None, reply: str | None
) -> str:
    # The lengths keep one part's end from being read as the next one's start.
    parts = [chain, action, result, changes, ended or ""]
    if reply is not None:
        parts.append(reply)
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return sha256(text.encode()).hexdigest()
