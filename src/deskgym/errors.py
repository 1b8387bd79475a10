"""Everything that deskgym raises on purpose.

```
DeskgymError
├── UsageError                a caller's mistake: names what was wrong and what would be right
│   ├── UnknownName           a task, suite, tool, agent or rubric that does not exist
│   ├── InvalidParameter      a task's parameter out of its limits
│   ├── InvalidDefinition     a tool, task or suite that is declared wrongly
│   ├── InvalidDatabase       a database URL that names none, or a server that cannot serve
│   ├── MissingExtra          a part of deskgym that is not installed
│   ├── UnknownEpisode        an episode that the run store does not hold
│   ├── EpisodeClosed         an action on an episode that was closed or expired
│   ├── StepConflict          a step number that is taken by another action, or out of turn
│   ├── TooManyEpisodes       a live episode more than the limit allows
│   └── AccessRefused         a server that does not take the key, or asks for one
├── ServerUnavailable         a server that cannot be reached, or is stopping
├── ServerFailed              a server that answered with an error of its own
├── DatabaseUnavailable       a server that does not answer, or no more; nothing was lost
├── DatabaseDamaged           stored rows that are not what was written, or do not replay
├── StoreError                the store refused a statement
│   └── ConstraintViolation   a row that the schema does not allow
├── Refusal                   raised by a tool: a code and a sentence for the agent
├── RunInvalid                a run that cannot be judged, through no fault of the agent
└── CustomerAsked             raised in a call that is only tried: what the customer would hear
```

A bug in a tool is none of these: it surfaces as itself in `Environment.bugs`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Literal


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, if any is near."""
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


class DeskgymError(Exception):
    """The root of what deskgym raises on purpose."""


class UsageError(DeskgymError):
    """A caller's mistake."""


class UnknownName(UsageError):
    """A name that does not exist; says which one was probably meant."""

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        listed = ", ".join(names) if names else "none"
        super().__init__(
            f"there is no {what} {name!r}{did_you_mean(name, names)} (known: {listed})"
        )
        self.what = what
        self.name = name


class InvalidParameter(UsageError):
    """A parameter of a task that is unknown, of the wrong type, or out of its limits."""


class InvalidDefinition(UsageError):
    """A tool, task, rubric or suite whose declaration cannot work."""


class InvalidDatabase(UsageError):
    """A database URL that names none, or a server that worlds cannot live in."""


class MissingExtra(UsageError):
    """A part of deskgym that is not installed; says how to install it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs more packages: pip install 'deskgym[{extra}]'")
        self.extra = extra


class UnknownEpisode(UsageError):
    """An episode that the run store does not hold: never made, or pruned."""


class EpisodeClosed(UsageError):
    """An action on an episode that its caller closed, or that stood idle for too long."""


class StepConflict(UsageError):
    """A step number that is taken by another action, or that would leave a gap.

    Attributes:
        expected: the number of the episode's next step.
    """

    def __init__(self, message: str, expected: int) -> None:
        super().__init__(message)
        self.expected = expected


class TooManyEpisodes(UsageError):
    """A live episode more than the limit allows; one has to end first."""


class AccessRefused(UsageError):
    """A server that does not take the key that it was shown, or asks for one."""


class ServerUnavailable(DeskgymError):
    """A server that cannot be reached, or that cannot serve now, for as long as was waited.

    Its episodes are as they were stored: the same call can be made again.
    """


class ServerFailed(DeskgymError):
    """A server that answered with an error of its own, or with what is no answer of deskgym's."""


class DatabaseDamaged(DeskgymError):
    """Stored rows that are not what was written, or an episode that does not come out again."""


class DatabaseUnavailable(DeskgymError):
    """A database that does not answer, or no more, or is busy for too long.

    Nothing is lost: the step that it interrupted did not happen, and can be taken again once the
    server is back.
    """


class StoreError(DeskgymError):
    """The store refused a statement; the call that made it is undone as a whole."""


class ConstraintViolation(StoreError):
    """A statement would have left a row that the schema does not allow."""


class Refusal(DeskgymError):
    """Raised inside a tool to refuse a call: the world stays as it was, the episode goes on.

    `code` is one of the tool's declared codes; `sentence` tells the agent what would be right.
    """

    def __init__(self, code: str, sentence: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code
        self.sentence = sentence
        self.data: Mapping[str, object] = {} if data is None else data


InvalidReason = Literal[
    "provider_failure", "provider_rejected", "refused_output", "invalid_customer_output", "deadline"
]
"""Why a run cannot be judged: the provider failed for good, it would not take the request or the
key, it withheld the model's answer, the customer's model answered nonsense, or time was up."""


class RunInvalid(DeskgymError):
    """A run that cannot be judged. Its message names no key."""

    def __init__(self, reason: InvalidReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: InvalidReason = reason
        self.detail = detail


class CustomerAsked(DeskgymError):
    """Raised where a call that is only tried turns to the customer; the call is undone.

    `words` is what the customer would hear; `proposal` tells whether it is to be accepted or
    declined.
    """

    def __init__(self, words: str, *, proposal: bool) -> None:
        super().__init__(words)
        self.words = words
        self.proposal = proposal
